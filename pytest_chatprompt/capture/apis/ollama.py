"""Ollama's API: `/api/chat` and `/api/generate`.

Source: https://github.com/ollama/ollama/blob/main/docs/api.md, and the package `ollama` (`_types.py`, `_client.py`).
`table` lists both.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

import httpx

from pytest_chatprompt.capture.apis.completion import Answer
from pytest_chatprompt.capture.apis.conversation import Conversation, ConversationTurn, Media, Part, Thought, ToolResult
from pytest_chatprompt.capture.apis.json_text import json_text
from pytest_chatprompt.capture.apis.model_api import ChatAPI
from pytest_chatprompt.capture.apis.model_request import Demand, ModelRequest
from pytest_chatprompt.capture.apis.openai_chat import read_chat_part
from pytest_chatprompt.capture.apis.reading import (
    as_items,
    as_mapping,
    as_text,
    read_base64,
    read_call,
    read_parts,
    read_role,
    result_parts,
)
from pytest_chatprompt.capture.apis.reply import Reply
from pytest_chatprompt.capture.apis.reply_stream import json_bytes, pieces


class OllamaAPI(ChatAPI):
    """Base of Ollama's chat and generate APIs."""

    stream_type = "application/x-ndjson"
    finish_reasons: ClassVar[Mapping[str, str]] = {"tool_calls": "stop"}

    def claims(self, request: httpx.Request) -> bool:
        """Whether the body names a model: applications have a path `/api/chat` too."""
        return "model" in ModelRequest.from_httpx(request).body

    def is_streamed(self, model_request: ModelRequest) -> bool:
        """Whether the request asks for a stream, which is Ollama's default."""
        return model_request.body.get("stream") is not False

    def demand(self, model_request: ModelRequest) -> Demand:
        """Read `format`; no field of Ollama forces a tool."""
        wanted = model_request.body.get("format")
        return Demand(
            schema={"type": "object"} if wanted == "json" else wanted if isinstance(wanted, Mapping) else None
        )

    def body(self, model_request: ModelRequest, answer: Answer) -> dict[str, Any]:
        """The whole reply: the fields of the last line, with all of the answer."""
        return {
            "model": model_request.model,
            "created_at": "2025-01-01T00:00:00Z",
            **self.content(answer),
            "done": True,
            "done_reason": self.finish_reason(answer),
            "total_duration": 0,
            "load_duration": 0,
            "prompt_eval_count": answer.input_tokens,
            "prompt_eval_duration": 0,
            "eval_count": answer.output_tokens,
            "eval_duration": 0,
        }

    @abstractmethod
    def content(self, answer: Answer) -> dict[str, Any]:
        """The fields of the body that hold the answer."""

    @abstractmethod
    def contents(self, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """The same fields for each piece of a streamed answer, the last piece empty."""

    def stream(self, model_request: ModelRequest, body: dict[str, Any]) -> Iterator[bytes]:  # noqa: ARG002 - all is in the body
        """A line of JSON for each piece."""
        *begin, end = self.contents(body)
        head = {"model": body["model"], "created_at": body["created_at"]}
        for content in begin:
            yield json_bytes({**head, **content, "done": False}) + b"\n"
        yield json_bytes({**body, **end}) + b"\n"

    def error_body(self, model_request: ModelRequest, status: int, message: str) -> Any:  # noqa: ARG002 - the same for all
        """The body of an error in Ollama's shape."""
        return {"error": message}


class OllamaChat(OllamaAPI):
    """Ollama's `/api/chat`."""

    name = "ollama-chat"
    path = r"/api/chat/?$"
    prompt_keys = ("model", "tools", "messages")

    def content(self, answer: Answer) -> dict[str, Any]:
        """The answer as a message."""
        message: dict[str, Any] = {"role": "assistant", "content": answer.text or ""}
        if answer.tool_calls:
            message["tool_calls"] = [
                {"function": {"name": call.name, "arguments": call.arguments}} for call in answer.tool_calls
            ]
        return {"message": message}

    def contents(self, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """The pieces of the answer, each as a message."""
        message = body["message"]
        for piece in pieces(message["content"]):
            yield {"message": {"role": "assistant", "content": piece}}
        if "tool_calls" in message:
            yield {"message": {**message, "content": ""}}
        yield {"message": {"role": "assistant", "content": ""}}

    def read_conversation(self, path: str, body: Any) -> Conversation:  # noqa: ARG002 - the path says nothing
        """Read `messages`."""
        return Conversation(tuple(map(_read_message, as_items(as_mapping(body).get("messages")))))


class OllamaGenerate(OllamaAPI):
    """Ollama's `/api/generate`, which has no tools."""

    name = "ollama-generate"
    path = r"/api/generate/?$"
    prompt_keys = ("model", "template", "system", "prompt", "suffix")
    refusal = "/api/generate has no tools; queue a text for it, or ask /api/chat"

    def accepts(self, reply: Reply) -> bool:
        """Accept all replies but tool calls, which wait for a request to another API."""
        return not reply.tool_calls

    def content(self, answer: Answer) -> dict[str, Any]:
        """The answer as a text."""
        return {"response": answer.text or "", "context": []}

    def contents(self, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """The pieces of the answer, each as a text."""
        for piece in (*pieces(body["response"]), ""):
            yield {"response": piece}

    def read_conversation(self, path: str, body: Any) -> Conversation:  # noqa: ARG002 - the path says nothing
        """Read `system`, `prompt`, `suffix` and `images`."""
        sent = as_mapping(body)
        turns = [ConversationTurn("system", (as_text(sent["system"]),))] if sent.get("system") else []
        texts = [as_text(sent[key]) for key in ("prompt", "suffix") if sent.get(key)]
        parts: tuple[Part, ...] = (*texts, *_images(sent.get("images")))
        return Conversation((*turns, *([ConversationTurn("user", parts)] if parts else [])))


def _read_message(message: Any) -> ConversationTurn:
    if not isinstance(message, Mapping):
        return ConversationTurn("user", (as_text(message),))
    role = read_role(message.get("role"))
    if role == "unknown":
        return ConversationTurn(role, (json_text(message),))
    parts: list[Part] = [Thought(as_text(message["thinking"]))] if message.get("thinking") else []
    parts += read_parts(message.get("content"), read_chat_part)
    parts += _images(message.get("images"))
    if role == "tool":
        name = as_text(message.get("tool_name") or message.get("name"))
        return ConversationTurn(role, (ToolResult(result_parts(parts), as_text(message.get("tool_call_id")), name),))
    parts += map(_read_call, as_items(message.get("tool_calls")))
    return ConversationTurn(role, tuple(parts))


def _read_call(call: Any) -> Part:
    function = as_mapping(call).get("function")
    if not isinstance(function, Mapping):
        return json_text(call)
    return read_call(function.get("name"), function.get("arguments"), as_mapping(call).get("id"))


def _images(images: Any) -> Iterable[Media]:
    return (read_base64(image, "", "image") for image in as_items(images))
