"""OpenAI's Responses API, as OpenAI, Azure and others serve it.

Sources: https://platform.openai.com/docs/api-reference/responses, and the package `openai` (`types/responses/`:
requests in `response_create_params.py`, `response_input_item_param.py` and `tool_param.py`, replies in `response.py`).
The system text goes into `instructions`, as in https://platform.openai.com/docs/guides/migrate-to-responses.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

from pytest_chatprompt.apis import message_rules, option_rules
from pytest_chatprompt.apis.conversation import (
    Conversation,
    ConversationTurn,
    Thought,
    UnreadPart,
    as_items,
    as_mapping,
    as_text,
    json_text,
    read_call,
    result_parts,
    role_and_parts,
)
from pytest_chatprompt.apis.fitting import Turn, split_prompt
from pytest_chatprompt.apis.model_api import CREATED, EventsAPI, FinishReasons, make_response, pieces
from pytest_chatprompt.apis.openai import OPENAI_SHARED_RULES, OPENAI_TOOLS, OpenAIBase, OpenAIErrors, read_chat_part
from pytest_chatprompt.apis.preflight import Rule, about_calls
from pytest_chatprompt.apis.reply import Answer, Definitions, ModelRequest
from pytest_chatprompt.apis.vendor_api import MediaSupport, MediaTable, Payload, SettingField, given
from pytest_chatprompt.prompt.chat_prompt import ChatMessage, ChatPrompt, Media
from pytest_chatprompt.providers.response import ProviderResponse


def _image(media: Media) -> dict[str, Any]:
    return given(type="input_image", image_url=media.url, detail=media.detail)


def _document(media: Media) -> dict[str, Any]:
    if media.content is None:
        return given(type="input_file", file_url=media.url, detail=media.detail)
    return given(type="input_file", filename=media.file_name, file_data=media.url, detail=media.detail)


_RESPONSES: Final = "https://platform.openai.com/docs/api-reference/responses/create"


class OpenAIResponsesProvider(OpenAIBase):
    """Sends chat prompts to OpenAI's Responses API, at `{base_url}/responses`.

    Args:
        model: the model's name.
        base_url: including the version; `None` reads it in a live run from the environment variable
            `OPENAI_BASE_URL`, and without that it is `https://api.openai.com/v1`.
        settings: see `ChatSettings`; this API has neither `stop` nor `seed`.
    """

    vendor = "OpenAI Responses"
    offline_api = "openai-responses"
    setting_fields: Mapping[str, SettingField] = {
        "temperature": SettingField(("temperature",)),
        "max_output_tokens": SettingField(("max_output_tokens",)),
        "top_p": SettingField(("top_p",)),
        "reasoning_effort": SettingField(("reasoning", "effort")),
    }
    name = "openai_responses"
    media: ClassVar[MediaTable] = {
        "image": MediaSupport(_image, roles=("user", "tool"), takes_urls=True, takes_detail=True),
        "document": MediaSupport(_document, roles=("user", "tool"), takes_urls=True, takes_detail=True),
    }
    rules = (
        about_calls("tool-call-without-result", OPENAI_TOOLS, message_rules.calls_never_answered),
        about_calls("tool-call-id-twice", OPENAI_TOOLS, message_rules.call_ids_used_twice),
        *OPENAI_SHARED_RULES,
        # The API's own error says so: "Expected a value >= 16".
        Rule("output-minimum", _RESPONSES, option_rules.max_output_tokens_below(16)),
    )

    def endpoint_path(self) -> str:
        """`/responses`."""
        return "/responses"

    def build_payload(self, prompt: ChatPrompt) -> Payload:
        """The system text as `instructions`, the turns as items of `input`: messages, calls, and their results."""
        split = split_prompt(prompt, self.vendor, joins_results=False)
        body: dict[str, Any] = {"model": self.model}
        body["input"] = [item for turn in split.turns for item in self._items(turn)]
        if isinstance(split.system, tuple):
            # `instructions` have no parts.
            body["input"].insert(0, {"role": "system", "content": self.text_or_blocks(split.system)})
        elif split.system:
            body = {"model": self.model, "instructions": split.system, "input": body["input"]}
        self.settings_body(body)
        return Payload(body, split.adjustments)

    def text_block(self, text: str) -> dict[str, Any]:
        """An `input_text`."""
        return {"type": "input_text", "text": text}

    def _items(self, turn: Turn) -> list[dict[str, Any]]:
        if turn.raw:
            return [turn.raw]
        if turn.results:
            results = [(result.tool_call_id, self.text_or_blocks(result.content)) for result in turn.results]
            return [{"type": "function_call_output", "call_id": call_id, "output": text} for call_id, text in results]
        message = turn.message
        calls = [{"call_id": call.id, **call.function.model_dump()} for call in message.tool_calls]
        # A text comes before the calls of its turn, as the API's own output has them.
        says = [{"role": message.role, "content": self._content(message)}] if message.content or not calls else []
        return [*says, *({"type": "function_call", **call} for call in calls)]

    def _content(self, message: ChatMessage) -> Any:
        content = self.text_or_blocks(message.content)
        for block in content if message.role == "assistant" and isinstance(content, list) else ():
            # The API's own error for an `input_text`: "Supported values are: 'output_text' and 'refusal'".
            if block.get("type") == "input_text":
                block["type"] = "output_text"
        return content

    def tools_payload(self, tools: Sequence[Mapping[str, Any]]) -> Payload:
        """`tools`, each with its definition beside its type."""
        return Payload({"tools": [tool["raw"] if tool["type"] == "raw" else _flat(tool) for tool in tools]})

    def tool_choice_payload(self, choice: str | Mapping[str, Any]) -> Payload:
        """`tool_choice`."""
        if isinstance(choice, str):
            return Payload({"tool_choice": choice})
        flat = _flat(choice)
        if flat["type"] == "allowed_tools":
            flat["tools"] = [_flat(tool) for tool in flat["tools"]]
        return Payload({"tool_choice": flat})

    def response_format_payload(self, response_format: Mapping[str, Any]) -> Payload:
        """`text` with the format."""
        return Payload({"text": {"format": _flat(response_format)}})

    def read_reply(self, data: Any) -> ProviderResponse:
        """Read the messages and the calls of the output; a refusal, a filtered or a failed answer sets `blocked`."""
        parts = [part for item in data["output"] if item["type"] == "message" for part in item["content"]]
        calls = [item for item in data["output"] if item["type"] == "function_call"]
        refusal = "".join(part["refusal"] for part in parts if part["type"] == "refusal")
        # A model may fail although the status is 200.
        error, reason = data.get("error"), (data.get("incomplete_details") or {}).get("reason")
        failure = None if error is None else f"{error.get('code')}: {error.get('message')}"
        return make_response(
            data,
            "".join(part["text"] for part in parts if part["type"] == "output_text"),
            [(call["call_id"], call["name"], call["arguments"]) for call in calls],
            finish_reason=reason or data.get("status"),
            blocked=refusal or failure or ("content_filter" if reason == "content_filter" else None),
        )


def _flat(data: Mapping[str, Any]) -> dict[str, Any]:
    """A tool, a choice or a format with its definition beside its type, as Responses has it."""
    kind = data["type"]
    nested = data.get(kind)
    flat = {"type": kind, **nested} if isinstance(nested, Mapping) else dict(data)
    if kind == "custom" and isinstance(flat.get("format"), Mapping):
        # The grammar of a custom tool stands beside its type too.
        flat["format"] = _flat(flat["format"])
    return flat


# What a `Response` repeats of its request, and what stands there if the request does not say.
_REPEATED: Mapping[str, Any] = {
    "instructions": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "reasoning": {"effort": None, "summary": None},
    "temperature": 1.0,
    "tool_choice": "auto",
    "top_p": 1.0,
}


class OpenAIResponses(OpenAIErrors, EventsAPI):
    """OpenAI's Responses API."""

    prompt_keys = ("model", "previous_response_id", "text", "tools", "instructions", "input")
    finish_reasons = FinishReasons("completed", "max_output_tokens", "completed")

    def definitions(self, body: Mapping[str, Any]) -> Definitions:
        """Read `tools`, `tool_choice` and `text.format`."""
        text_format = as_mapping(body.get("text")).get("format")
        return Definitions.read(body.get("tools"), body.get("tool_choice"), text_format)

    def body(self, model_request: ModelRequest, answer: Answer) -> dict[str, Any]:
        """The body of the reply, a `Response`."""
        reason = self.finish_reason(answer)
        status = "completed" if reason == "completed" else "incomplete"
        repeated = {**_REPEATED, **given(**{key: model_request.body.get(key) for key in _REPEATED})}
        return {
            **repeated,
            "id": f"resp_{answer.digest}",
            "object": "response",
            "created_at": CREATED,
            "completed_at": CREATED if status == "completed" else None,
            "status": status,
            "error": None,
            "incomplete_details": None if status == "completed" else {"reason": reason},
            "model": model_request.replied_model,
            "output": list(_output(model_request, answer, status)),
            "text": {"format": {"type": "text"}, **as_mapping(model_request.body.get("text"))},
            "tools": [
                _repeated_tool(tool) for tool in map(as_mapping, as_items(model_request.body.get("tools"))) if tool
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

    def events(self, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """The events of a response, numbered."""
        return ({**event, "sequence_number": number} for number, event in enumerate(_events(body)))

    def join_stream(self, events: Sequence[Any]) -> Any:
        """The response of the last event that has it: the one that ends the stream has all of it."""
        return next((event["response"] for event in reversed(events) if "response" in event), None)

    def read_conversation(self, body: Any) -> Conversation:
        """Read `instructions` and `input`."""
        sent = as_mapping(body)
        turns = _read_items(sent.get("instructions"), "system")
        if sent.get("prompt") is not None:
            # A prompt that is stored at OpenAI: its text is not in the request.
            turns.append(ConversationTurn("system", (UnreadPart(json_text({"prompt": sent["prompt"]})),)))
        return Conversation((*turns, *_read_items(sent.get("input"), "user")))


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
        named = {"call_id": call.id, "name": call.name}
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
        events = _message_events(item) if item["type"] == "message" else _call_events(item)
        yield from ({**event, "output_index": index} for event in events)
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": f"response.{response['status']}", "response": response}


def _message_events(item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"type": "response.output_item.added", "item": {**item, "status": "in_progress", "content": []}}
    part = item["content"][0]
    place = {"item_id": item["id"], "content_index": 0}
    yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
    for piece in pieces(part["text"]):
        yield {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []}
    yield {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []}
    yield {"type": "response.content_part.done", **place, "part": part}


def _call_events(item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    key = _CALLS[item["type"]]
    begun = {**item, key: "", **({"status": "in_progress"} if "status" in item else {})}
    yield {"type": "response.output_item.added", "item": begun}
    name = f"response.{item['type']}_{key}"
    for piece in pieces(item[key]):
        yield {"type": f"{name}.delta", "item_id": item["id"], "delta": piece}
    yield {"type": f"{name}.done", "item_id": item["id"], key: item[key]}


_CALLS: Final = {"function_call": "arguments", "custom_tool_call": "input"}


def _read_items(items: Any, role: str) -> list[ConversationTurn]:
    turns: list[ConversationTurn] = []
    # Calls and thoughts are items of their own; they belong to the turn of the assistant that they follow.
    is_open = False
    for item in as_items(items):
        kind = as_text(as_mapping(item).get("type"))
        joins = False
        if not isinstance(item, Mapping) or kind in ("", "message"):
            turn = ConversationTurn(*role_and_parts(item, read_chat_part, default=role))
            only_thoughts = is_open and all(isinstance(part, Thought) for part in turns[-1].parts)
            joins = only_thoughts and turn.role == "assistant"
        elif kind in ("function_call_output", "custom_tool_call_output"):
            result = result_parts(item.get("output"), read_chat_part)
            turn = ConversationTurn("tool", result, call_id=as_text(item.get("call_id")))
        elif kind == "reasoning":
            texts = [as_mapping(part).get("text") for key in ("summary", "content") for part in as_items(item.get(key))]
            turn = ConversationTurn("assistant", (Thought("\n".join(map(as_text, texts))),))
            joins = is_open and not turns[-1].tool_calls
        elif kind in _CALLS:
            call = read_call(item.get("name"), item.get(_CALLS[kind]), item.get("call_id"))
            turn = ConversationTurn("assistant", (call,))
            joins = is_open
        else:
            # Calls of OpenAI's own tools, and their results.
            teller = "tool" if kind.endswith("_output") else "assistant"
            turn = ConversationTurn(teller, (UnreadPart(json_text(item)),))
        if joins:
            turns[-1] = ConversationTurn("assistant", (*turns[-1].parts, *turn.parts))
        else:
            turns.append(turn)
        is_open = turn.role == "assistant" and kind in ("", "message", "reasoning", *_CALLS)
    return turns
