"""Cohere's chat API, version 2.

Source: https://docs.cohere.com/reference/chat, and the package `cohere` (`v2/`, `types/`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_chatprompt.apis.conversation import Conversation, ConversationTurn, as_items, as_mapping, as_text, first_of
from pytest_chatprompt.apis.model_api import EventsAPI, FinishReasons, joined, make_response, pieces
from pytest_chatprompt.apis.openai import function_calls, read_chat_message, written_call
from pytest_chatprompt.apis.reply import Answer, Definitions, ModelRequest
from pytest_chatprompt.providers.response import ProviderResponse
from pytest_chatprompt.text.json_data import value_at


class CohereChat(EventsAPI):
    """Cohere's chat API, version 2."""

    price_vendor = "cohere"
    call_ids = "{name}_{digest:.12}"
    prompt_keys = ("model", "tools", "documents", "messages")
    finish_reasons = FinishReasons("COMPLETE", "MAX_TOKENS", "TOOL_CALL", "ERROR")

    def definitions(self, body: Mapping[str, Any]) -> Definitions:
        """Read `tools`, `tool_choice` and `response_format`."""
        wanted = as_mapping(body.get("response_format"))
        schema = first_of(wanted, "json_schema", "schema") or {"type": "object"}
        is_json = wanted.get("type") == "json_object"
        choice = as_text(body.get("tool_choice")).lower() or None
        return Definitions.read(body.get("tools"), choice, schema=schema if is_json else None)

    def body(self, model_request: ModelRequest, answer: Answer) -> dict[str, Any]:  # noqa: ARG002 - the answer says it all
        """A `V2ChatResponse`; the text beside calls is the plan for them."""
        message = {"role": "assistant", "content": [{"type": "text", "text": answer.text}]}
        if answer.tool_calls:
            calls = [*map(written_call, answer.tool_calls)]
            message = {"role": "assistant", "tool_plan": answer.text or "", "tool_calls": calls}
        counts = {"input_tokens": answer.input_tokens, "output_tokens": answer.output_tokens}
        return {
            "id": answer.digest[:32],
            "message": message,
            "finish_reason": self.finish_reason(answer),
            "usage": {"billed_units": counts, "tokens": counts},
        }

    def events(self, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """The events of a message."""
        message = body["message"]
        begun = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
        yield {"type": "message-start", "id": body["id"], "delta": {"message": begun}}
        for piece in pieces(message.get("tool_plan", "")):
            yield {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": piece}}}
        for index, call in enumerate(message.get("tool_calls", ())):
            empty = {**call, "function": {**call["function"], "arguments": ""}}
            yield {"type": "tool-call-start", "index": index, "delta": {"message": {"tool_calls": empty}}}
            for piece in pieces(call["function"]["arguments"]):
                delta = {"message": {"tool_calls": {"function": {"arguments": piece}}}}
                yield {"type": "tool-call-delta", "index": index, "delta": delta}
            yield {"type": "tool-call-end", "index": index}
        for index, content in enumerate(message.get("content", ())):
            yield {"type": "content-start", "index": index, "delta": {"message": {"content": {**content, "text": ""}}}}
            for piece in pieces(content["text"]):
                yield {"type": "content-delta", "index": index, "delta": {"message": {"content": {"text": piece}}}}
            yield {"type": "content-end", "index": index}
        ended = {"finish_reason": body["finish_reason"], "usage": body["usage"]}
        yield {"type": "message-end", "id": body["id"], "delta": ended}

    def read_reply(self, body: Any) -> ProviderResponse:
        """Read the texts of the content and the calls; without content, the text is the plan for the calls."""
        message = body["message"]
        texts = [part.get("text", "") for part in message.get("content") or ()]
        text = "".join(texts) or message.get("tool_plan") or ""
        usage = (body.get("usage") or {}).get("tokens")
        return make_response(body, text, function_calls(message), usage, finish_reason=body.get("finish_reason"))

    def join_stream(self, events: Sequence[Any]) -> Any:
        """The message, with its texts and calls put together."""
        whole: Any = {}
        for event in events:
            delta = event.get("delta") or {}
            for key in ("content", "tool_calls"):
                # One item of a list, whose place the event says.
                if isinstance(value_at(delta, ["message", key]), Mapping):
                    delta = {"message": {key: [{**delta["message"][key], "index": event["index"]}]}}
            whole = joined(whole, delta)
        return whole

    def error_body(self, model_request: ModelRequest, status: int, message: str) -> Any:  # noqa: ARG002 - the same for all
        """The body of an error in Cohere's shape."""
        return {"id": model_request.digest[:32], "message": message}

    def read_conversation(self, body: Any) -> Conversation:
        """Read `messages` and `documents`."""
        sent = as_mapping(body)
        turns = map(read_chat_message, as_items(sent.get("messages")))
        documents = tuple(as_text(document) for document in as_items(sent.get("documents")))
        return Conversation((*([ConversationTurn("system", documents)] if documents else []), *turns))
