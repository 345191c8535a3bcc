"""Anthropic's Messages API, as Anthropic and others serve it, and as Vertex serves it by `rawPredict`.

Source: https://docs.claude.com/en/api/messages, and the package `anthropic` (`types/`, `lib/vertex/`). `table` lists
the API.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from pytest_chatprompt.capture.apis.anthropic_schema import with_limits
from pytest_chatprompt.capture.apis.completion import Answer
from pytest_chatprompt.capture.apis.conversation import Conversation, ConversationTurn, Media, Part, Thought, ToolResult
from pytest_chatprompt.capture.apis.json_text import json_text
from pytest_chatprompt.capture.apis.model_api import ChatAPI
from pytest_chatprompt.capture.apis.model_request import Demand, ModelRequest, Tool, force
from pytest_chatprompt.capture.apis.reading import (
    as_items,
    as_mapping,
    as_text,
    read_base64,
    read_call,
    read_message,
    read_parts,
    read_url,
    result_parts,
)
from pytest_chatprompt.capture.apis.reply_stream import named_events, pieces

_VERTEX_PATH = re.compile(r"/publishers/anthropic/models/([^/:@]+)[^/:]*:(?:stream)?[rR]awPredict$")


class AnthropicMessages(ChatAPI):
    """Anthropic's Messages API."""

    name = "anthropic"
    path = rf"/v1/messages/?$|{_VERTEX_PATH.pattern}"
    # https://docs.claude.com/en/docs/build-with-claude/prompt-caching
    prompt_keys = ("model", "output_config", "output_format", "tools", "system", "messages")
    finish_reasons: ClassVar[Mapping[str, str]] = {
        "stop": "end_turn",
        "length": "max_tokens",
        "tool_calls": "tool_use",
        "content_filter": "refusal",
    }
    # `types/shared/` of the package; https://docs.claude.com/en/api/errors
    error_words: ClassVar[Mapping[int, str]] = {
        400: "invalid_request_error",
        401: "authentication_error",
        403: "permission_error",
        404: "not_found_error",
        408: "timeout_error",
        409: "invalid_request_error",
        413: "request_too_large",
        422: "invalid_request_error",
        429: "rate_limit_error",
        500: "api_error",
        503: "api_error",
        504: "timeout_error",
        529: "overloaded_error",
    }

    def demand(self, model_request: ModelRequest) -> Demand:
        """Read `output_config.format`, its older form `output_format`, and `tool_choice`."""
        wanted = as_mapping(
            as_mapping(model_request.body.get("output_config")).get("format") or model_request.body.get("output_format")
        )
        schema = with_limits(wanted.get("schema")) if wanted.get("type") == "json_schema" else None
        tools = [
            Tool(tool["name"], tool["input_schema"])
            for tool in map(as_mapping, as_items(model_request.body.get("tools")))
            # Tools of Anthropic's own have no schema.
            if isinstance(tool.get("name"), str) and isinstance(tool.get("input_schema"), Mapping)
        ]
        choice = as_mapping(model_request.body.get("tool_choice"))
        if choice.get("type") == "any":
            return Demand(tools, force(tools), schema)
        return Demand(tools, force(tools, [choice.get("name")]) if choice.get("type") == "tool" else (), schema)

    def headers(self, model_request: ModelRequest) -> Mapping[str, str]:
        """The id of the request, under Anthropic's own name."""
        return {"request-id": f"req_{model_request.digest[:24]}"}

    def body(self, model_request: ModelRequest, answer: Answer) -> dict[str, Any]:
        """The body of the reply, a `Message`."""
        content: list[dict[str, Any]] = []
        if answer.text is not None:
            content.append({"type": "text", "text": answer.text, "citations": None})
        content += [
            {"type": "tool_use", "id": call.id or f"toolu_{call.digest}", "name": call.name, "input": call.arguments}
            for call in answer.tool_calls
        ]
        in_path = _VERTEX_PATH.search(model_request.path)
        return {
            "id": f"msg_{answer.digest[:24]}",
            "type": "message",
            "role": "assistant",
            "model": model_request.model if in_path is None else in_path[1],
            "content": content,
            "stop_reason": self.finish_reason(answer),
            "stop_sequence": None,
            "usage": {
                "input_tokens": answer.input_tokens,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
                "output_tokens": answer.output_tokens,
                "service_tier": "standard",
            },
        }

    def stream(self, model_request: ModelRequest, body: dict[str, Any]) -> Iterator[bytes]:  # noqa: ARG002 - all is in the body
        """The events of a message, each with its name."""
        return named_events(_events(body))

    def error_body(self, model_request: ModelRequest, status: int, message: str) -> Any:
        """The body of an error in Anthropic's shape."""
        error = {"type": self.error_words.get(status, "api_error"), "message": message}
        return {"type": "error", "error": error, "request_id": f"req_{model_request.digest[:24]}"}

    def read_conversation(self, path: str, body: Any) -> Conversation:  # noqa: ARG002 - the path says nothing
        """Read `system` and `messages`."""
        sent = as_mapping(body)
        turns: list[ConversationTurn] = []
        if sent.get("system") is not None:
            turns.append(ConversationTurn("system", read_parts(sent["system"], _read_block)))
        for message in as_items(sent.get("messages")):
            turns += read_message(message, _read_block)
        return Conversation(tuple(turns))


def _events(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    usage = message["usage"]
    begun = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 0}}
    yield {"type": "message_start", "message": begun}
    yield {"type": "ping"}
    for index, block in enumerate(message["content"]):
        is_text = block["type"] == "text"
        empty = {**block, "text": ""} if is_text else {**block, "input": {}}
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for piece in pieces(block["text"] if is_text else json_text(block["input"])):
            delta = (
                {"type": "text_delta", "text": piece}
                if is_text
                else {"type": "input_json_delta", "partial_json": piece}
            )
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": message["stop_sequence"]}
    counts = {key: count for key, count in usage.items() if key not in ("cache_creation", "service_tier")}
    yield {"type": "message_delta", "delta": ended, "usage": counts}
    yield {"type": "message_stop"}


def _read_block(block: Any) -> Iterable[Part]:
    content = as_mapping(block)
    match content.get("type"):
        case "text":
            yield as_text(content.get("text"))
        case "image" | "document" as kind if isinstance(content.get("source"), Mapping):
            yield _read_source(content["source"], kind, content.get("title"))
        case "tool_use":
            yield read_call(content.get("name"), content.get("input"), content.get("id"))
        case "tool_result":
            parts = result_parts(read_parts(content.get("content"), _read_block))
            yield ToolResult(parts, as_text(content.get("tool_use_id")))
        case "thinking":
            yield Thought(as_text(content.get("thinking")))
        case "redacted_thinking":
            yield Thought()
        case _:
            yield json_text(block)


def _read_source(source: Mapping[str, Any], kind: str, title: Any) -> Part:
    match source.get("type"):
        case "base64":
            return read_base64(source.get("data"), source.get("media_type"), kind, title)
        case "url":
            return read_url(source.get("url"), kind)
        case "file":
            return Media(kind, source=as_text(source.get("file_id")))
        case "text":
            return as_text(source.get("data"))
        case "content":
            return "\n".join(map(str, read_parts(source.get("content"), _read_block)))
    return json_text(source)
