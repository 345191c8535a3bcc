"""OpenAI's chat completions, as OpenAI, Azure and many others serve them.

Source: https://platform.openai.com/docs/api-reference/chat, and the package `openai` (`types/chat/`). `table` lists the
API; `azure` and `mistral` build on it, and `cohere`, `ollama` and `openai_responses_input` read messages with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from pytest_chatprompt.capture.apis.completion import Answer, AnswerToolCall
from pytest_chatprompt.capture.apis.conversation import (
    Conversation,
    ConversationTurn,
    Media,
    Part,
    Thought,
    ToolResult,
)
from pytest_chatprompt.capture.apis.json_text import json_text
from pytest_chatprompt.capture.apis.model_api import CREATED, ChatAPI
from pytest_chatprompt.capture.apis.model_request import Demand, ModelRequest, Tool, force
from pytest_chatprompt.capture.apis.openai_errors import OPENAI_ERRORS, openai_error
from pytest_chatprompt.capture.apis.reading import (
    as_items,
    as_mapping,
    as_text,
    first_of,
    read_base64,
    read_call,
    read_parts,
    read_role,
    read_url,
    result_parts,
)
from pytest_chatprompt.capture.apis.reply_stream import pieces, server_sent_event

_MOST_CHOICES = 128


class OpenAIChat(ChatAPI):
    """OpenAI's chat completions."""

    name = "openai-chat"
    path = r"/chat/completions/?$"
    prompt_keys = ("model", "response_format", "tools", "functions", "messages")
    error_words: ClassVar[Mapping[int, str]] = OPENAI_ERRORS

    def demand(self, model_request: ModelRequest) -> Demand:
        """Read `response_format`, `tool_choice` and its older form `function_call`."""
        tools = [
            *map(_tool, as_items(model_request.body.get("tools"))),
            *map(_function, as_items(model_request.body.get("functions"))),
        ]
        tools = [tool for tool in tools if tool.name]
        return Demand(tools, _forced(model_request.body, tools), self.schema(model_request.body.get("response_format")))

    def schema(self, response_format: Any) -> Any:
        """The schema that a `response_format` demands."""
        wanted = as_mapping(response_format)
        if wanted.get("type") == "json_schema":
            return as_mapping(wanted.get("json_schema")).get("schema", {"type": "object"})
        return {"type": "object"} if wanted.get("type") == "json_object" else None

    def call_id(self, call: AnswerToolCall) -> str:
        """Make the id of a tool call."""
        return call.id or f"call_{call.digest}"

    def body(self, model_request: ModelRequest, answer: Answer) -> dict[str, Any]:
        """A `ChatCompletion` with as many choices as `n` says."""
        message: dict[str, Any] = {"role": "assistant", "content": answer.text, "refusal": None, "annotations": []}
        reason = self.finish_reason(answer)
        if answer.tool_calls and "functions" in model_request.body and "tools" not in model_request.body:
            call = answer.tool_calls[0]
            message["function_call"] = {"name": call.name, "arguments": json_text(call.arguments)}
            reason = "function_call" if reason == "tool_calls" else reason
        elif answer.tool_calls:
            message["tool_calls"] = [self._call(call) for call in answer.tool_calls]
        count = model_request.body.get("n")
        count = min(count, _MOST_CHOICES) if isinstance(count, int) and count > 0 else 1
        choice = {"message": message, "logprobs": None, "finish_reason": reason}
        return {
            "id": f"chatcmpl-{answer.digest[:24]}",
            "object": "chat.completion",
            "created": CREATED,
            "model": model_request.model,
            "choices": [{"index": index, **choice} for index in range(int(count))],
            "usage": {
                "prompt_tokens": answer.input_tokens,
                "completion_tokens": answer.output_tokens,
                "total_tokens": answer.total_tokens,
                "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0, "audio_tokens": 0},
                "completion_tokens_details": {
                    "reasoning_tokens": 0,
                    "audio_tokens": 0,
                    "accepted_prediction_tokens": 0,
                    "rejected_prediction_tokens": 0,
                },
            },
            "service_tier": "default",
            "system_fingerprint": "fp_offline",
        }

    def _call(self, call: AnswerToolCall) -> dict[str, Any]:
        if call.takes_text:
            return {"id": self.call_id(call), "type": "custom", "custom": {"name": call.name, "input": call.input}}
        function = {"name": call.name, "arguments": json_text(call.arguments)}
        return {"id": self.call_id(call), "type": "function", "function": function}

    def stream(self, model_request: ModelRequest, body: dict[str, Any]) -> Iterator[bytes]:
        """`ChatCompletionChunk`s; the usage last, if `stream_options` asks for it."""
        wants_usage = as_mapping(model_request.body.get("stream_options")).get("include_usage") is True
        head = {key: body[key] for key in body if key not in ("choices", "usage")} | {"object": "chat.completion.chunk"}
        more = {"usage": None} if wants_usage else {}
        for choice in body["choices"]:
            for delta, reason in _deltas(choice):
                chosen = {"index": choice["index"], "delta": delta, "logprobs": None, "finish_reason": reason}
                yield server_sent_event({**head, "choices": [chosen], **more})
        if wants_usage:
            yield server_sent_event({**head, "choices": [], "usage": body["usage"]})
        yield b"data: [DONE]\n\n"

    def error_body(self, model_request: ModelRequest, status: int, message: str) -> Any:  # noqa: ARG002 - the same for all
        """The body of an error in OpenAI's shape."""
        return openai_error(status, message)

    def read_conversation(self, path: str, body: Any) -> Conversation:  # noqa: ARG002 - the path says nothing
        """Read `messages`."""
        messages = as_items(as_mapping(body).get("messages"))
        return Conversation(tuple(read_chat_message(message) for message in messages))


def _forced(body: Mapping[str, Any], tools: list[Tool]) -> tuple[Tool, ...]:
    choice = body.get("tool_choice", body.get("function_call"))
    if choice in ("required", "any"):
        return force(tools)
    if not isinstance(choice, Mapping):
        return ()
    allowed = as_mapping(choice.get("allowed_tools"))
    if allowed:
        names = [_tool(tool).name for tool in as_items(allowed.get("tools"))]
        return force(tools, names) if allowed.get("mode") == "required" else ()
    return force(tools, [choice.get("name") or _tool(choice).name])


def _tool(tool: Any) -> Tool:
    declared = as_mapping(tool)
    if "custom" in declared:
        return Tool(as_text(as_mapping(declared["custom"]).get("name")), None)
    return _function(declared.get("function"))


def _function(function: Any) -> Tool:
    declared = as_mapping(function)
    return Tool(as_text(declared.get("name")), declared.get("parameters") or {})


def _deltas(choice: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], str | None]]:
    """The deltas of a choice, each with the finish reason, which only the last one has."""
    message = choice["message"]
    yield {"role": "assistant", "content": "" if message["content"] is not None else None, "refusal": None}, None
    for piece in pieces(message["content"] or ""):
        yield {"content": piece}, None
    if "function_call" in message:
        call = message["function_call"]
        yield {"function_call": {"name": call["name"], "arguments": ""}}, None
        for piece in pieces(call["arguments"]):
            yield {"function_call": {"arguments": piece}}, None
    for index, call in enumerate(message.get("tool_calls") or ()):
        kind, text = ("custom", "input") if "custom" in call else ("function", "arguments")
        yield {"tool_calls": [{"index": index, **call, kind: {**call[kind], text: ""}}]}, None
        for piece in pieces(call[kind][text]):
            yield {"tool_calls": [{"index": index, kind: {text: piece}}]}, None
    yield {}, choice["finish_reason"]


def read_chat_message(message: Any) -> ConversationTurn:
    """Read a message of chat completions, also an invalid one."""
    if not isinstance(message, Mapping):
        return ConversationTurn("user", (as_text(message),))
    role = read_role(message.get("role"))
    if role == "unknown":
        return ConversationTurn(role, (json_text(message),))
    parts = list(read_parts(message.get("content"), read_chat_part))
    for key in ("reasoning_content", "reasoning"):
        if isinstance(message.get(key), str):
            parts.insert(0, Thought(message[key]))
    if message.get("refusal") is not None:
        parts.append(as_text(message["refusal"]))
    if isinstance(message.get("audio"), Mapping):
        parts.append(Media("audio", source=as_text(message["audio"].get("id"))))
    if role == "tool":
        result = ToolResult(result_parts(parts), as_text(message.get("tool_call_id")), as_text(message.get("name")))
        return ConversationTurn(role, (result,))
    parts += map(_read_call, as_items(message.get("tool_calls")))
    if message.get("function_call") is not None:
        parts.append(_read_call({"function": message["function_call"]}))
    return ConversationTurn(role, tuple(parts))


def read_chat_part(part: Any) -> Iterable[Part]:
    """Read one part of a content: a text, an image, audio, a file."""
    kind = as_mapping(part).get("type")
    if kind in ("text", "refusal", "input_text", "output_text"):
        yield as_text(part.get("text" if kind != "refusal" else "refusal"))
    elif kind in ("image_url", "document_url", "video_url", "audio_url") and kind in part:
        url = part[kind]
        yield read_url(url.get("url") if isinstance(url, Mapping) else url, kind.removesuffix("_url"))
    elif kind == "input_audio" and "input_audio" in part:
        audio = part["input_audio"]
        data, name = (audio.get("data"), audio.get("format")) if isinstance(audio, Mapping) else (audio, "")
        yield read_base64(data, f"audio/{as_text(name)}" if name else "", "audio")
    elif kind == "file" and isinstance(part.get("file"), Mapping):
        yield read_file(part["file"])
    elif kind == "thinking":
        texts = read_parts(part.get("thinking"), read_chat_part)
        yield Thought("\n".join(map(str, texts)))
    else:
        yield json_text(part)


def read_file(file: Mapping[str, Any]) -> Media:
    """Read a file that is named by its id or its URL, or is given as data."""
    name = first_of(file, "filename", "file_name")
    if file.get("file_data") is not None:
        return (
            read_url(file["file_data"], name=name)
            if str(file["file_data"]).startswith("data:")
            else read_base64(file["file_data"], "", "document", name)
        )
    return Media("document", source=as_text(first_of(file, "file_id", "file_url", "filename")))


def _read_call(call: Any) -> Part:
    function = first_of(as_mapping(call), "function", "custom")
    if not isinstance(function, Mapping):
        return json_text(call)
    return read_call(function.get("name"), first_of(function, "arguments", "input"), as_mapping(call).get("id"))
