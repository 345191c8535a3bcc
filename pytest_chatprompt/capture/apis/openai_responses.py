"""OpenAI's Responses API, as OpenAI, Azure and others serve it.

Source: https://platform.openai.com/docs/api-reference/responses, and the package `openai` (`types/responses/`). `table`
lists the API; `openai_responses_input` reads its requests.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from pytest_chatprompt.capture.apis.completion import Answer
from pytest_chatprompt.capture.apis.conversation import Conversation
from pytest_chatprompt.capture.apis.json_text import json_text
from pytest_chatprompt.capture.apis.model_api import CREATED, ChatAPI
from pytest_chatprompt.capture.apis.model_request import Demand, ModelRequest, Tool, force
from pytest_chatprompt.capture.apis.openai_errors import OPENAI_ERRORS, openai_error
from pytest_chatprompt.capture.apis.openai_responses_input import read_input
from pytest_chatprompt.capture.apis.reading import as_items, as_mapping, as_text
from pytest_chatprompt.capture.apis.reply_stream import named_events, pieces

# What a `Response` repeats of its request, and what stands there if the request does not say.
_REPEATED: Mapping[str, Any] = {
    "background": False,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "reasoning": {"effort": None, "summary": None},
    "safety_identifier": None,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}


class OpenAIResponses(ChatAPI):
    """OpenAI's Responses API."""

    name = "openai-responses"
    path = r"(^|/v\d+\w*|/openai|/codex)/responses/?$"
    prompt_keys = ("model", "previous_response_id", "text", "tools", "instructions", "input")
    finish_reasons: ClassVar[Mapping[str, str]] = {
        "length": "max_output_tokens",
        "stop": "completed",
        "tool_calls": "completed",
    }
    error_words = OPENAI_ERRORS

    def demand(self, model_request: ModelRequest) -> Demand:
        """Read `text.format` and `tool_choice`."""
        wanted = as_mapping(as_mapping(model_request.body.get("text")).get("format"))
        schema = {"json_schema": wanted.get("schema", {"type": "object"}), "json_object": {"type": "object"}}.get(
            wanted.get("type", "")
        )
        tools = [_tool(tool) for tool in as_items(model_request.body.get("tools")) if _tool(tool).name]
        choice = model_request.body.get("tool_choice")
        if choice == "required":
            return Demand(tools, force(tools), schema)
        choice = as_mapping(choice)
        if choice.get("type") == "allowed_tools":
            names = [as_mapping(tool).get("name") for tool in as_items(choice.get("tools"))]
            return Demand(tools, force(tools, names) if choice.get("mode") == "required" else (), schema)
        forced = force(tools, [choice.get("name")]) if choice.get("type") in ("function", "custom") else ()
        return Demand(tools, forced, schema)

    def body(self, model_request: ModelRequest, answer: Answer) -> dict[str, Any]:
        """The body of the reply, a `Response`."""
        reason = self.finish_reason(answer)
        status = "completed" if reason == "completed" else "incomplete"
        repeated = {
            key: model_request.body.get(key) if model_request.body.get(key) is not None else _REPEATED[key]
            for key in _REPEATED
        }
        return {
            **repeated,
            "id": f"resp_{answer.digest}",
            "object": "response",
            "created_at": CREATED,
            "completed_at": CREATED if status == "completed" else None,
            "status": status,
            "error": None,
            "incomplete_details": None if status == "completed" else {"reason": reason},
            "model": model_request.model,
            "output": list(_output(model_request, answer, status)),
            "text": {"format": {"type": "text"}, **as_mapping(repeated["text"])},
            "tools": [
                _repeated_tool(tool) for tool in as_items(model_request.body.get("tools")) if isinstance(tool, Mapping)
            ],
            "usage": {
                "input_tokens": answer.input_tokens,
                "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                "output_tokens": answer.output_tokens,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": answer.total_tokens,
            },
            "service_tier": "default",
        }

    def stream(self, model_request: ModelRequest, body: dict[str, Any]) -> Iterator[bytes]:  # noqa: ARG002 - all is in the body
        """The events of a response, numbered."""
        return named_events({**event, "sequence_number": number} for number, event in enumerate(_events(body)))

    def error_body(self, model_request: ModelRequest, status: int, message: str) -> Any:  # noqa: ARG002 - the same for all
        """The body of an error in OpenAI's shape."""
        return openai_error(status, message)

    def read_conversation(self, path: str, body: Any) -> Conversation:  # noqa: ARG002 - the path says nothing
        """Read `instructions` and `input`."""
        return Conversation(read_input(as_mapping(body)))


def _tool(tool: Any) -> Tool:
    declared = as_mapping(tool)
    kind, name = declared.get("type"), as_text(declared.get("name"))
    if kind not in ("function", "custom"):
        # What OpenAI runs itself, such as its web search.
        return Tool("")
    return Tool(name, None if kind == "custom" else declared.get("parameters") or {})


def _repeated_tool(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"parameters": None, "strict": None, **tool} if tool.get("type") == "function" else tool


def _output(model_request: ModelRequest, answer: Answer, status: str) -> Iterator[dict[str, Any]]:
    """The items of `output`: the text as a message, then the calls.

    Clients send the items back. So their ids come from their places, as those of calls do.
    """
    thread = model_request.body.get("previous_response_id")
    seed = json_text([len(as_items(model_request.body.get("input"))), thread])
    digest = hashlib.sha256(seed.encode(errors="surrogatepass")).hexdigest()[:24]
    if answer.text is not None:
        part = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
        yield {"id": f"msg_{digest}", "type": "message", "role": "assistant", "status": status, "content": [part]}
    for call in answer.tool_calls:
        named = {"call_id": call.id or f"call_{call.digest}", "name": call.name}
        if call.takes_text:
            yield {"id": f"ctc_{call.digest}", "type": "custom_tool_call", **named, "input": call.input}
        else:
            arguments = {"arguments": json_text(call.arguments), "status": status}
            yield {"id": f"fc_{call.digest}", "type": "function_call", **named, **arguments}


def _events(response: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    begun = {**response, "status": "in_progress", "output": [], "usage": None, "completed_at": None}
    begun["incomplete_details"] = None
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(response["output"]):
        place = {"output_index": index}
        events = _message_events if item["type"] == "message" else _call_events
        yield from events(item, place)
        yield {"type": "response.output_item.done", **place, "item": item}
    yield {"type": f"response.{response['status']}", "response": response}


def _message_events(item: Mapping[str, Any], place: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    yield {
        "type": "response.output_item.added",
        **place,
        "item": {**item, "status": "in_progress", "content": []},
    }
    part = item["content"][0]
    of_part = {**place, "item_id": item["id"], "content_index": 0}
    yield {"type": "response.content_part.added", **of_part, "part": {**part, "text": ""}}
    for piece in pieces(part["text"]):
        yield {"type": "response.output_text.delta", **of_part, "delta": piece, "logprobs": []}
    yield {"type": "response.output_text.done", **of_part, "text": part["text"], "logprobs": []}
    yield {"type": "response.content_part.done", **of_part, "part": part}


def _call_events(item: Mapping[str, Any], place: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    is_custom = item["type"] == "custom_tool_call"
    key, name = ("input", "custom_tool_call_input") if is_custom else ("arguments", "function_call_arguments")
    begun = {**item, key: ""} if is_custom else {**item, key: "", "status": "in_progress"}
    yield {"type": "response.output_item.added", **place, "item": begun}
    of_item = {**place, "item_id": item["id"]}
    for piece in pieces(item[key]):
        yield {"type": f"response.{name}.delta", **of_item, "delta": piece}
    yield {"type": f"response.{name}.done", **of_item, key: item[key]}
