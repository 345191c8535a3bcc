"""The clients that tests try: what a row of the table says, and the APIs that answer them."""

from __future__ import annotations

import binascii
import json
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import httpx

Call = Callable[[Any], str]
AsyncCall = Callable[[Any], Awaitable[str]]


@dataclass(frozen=True)
class API:
    """An API, as far as the tests use it.

    Args:
        url: of a request.
        reply: the JSON data of its reply, which says `Hi there`.
        stream_url: of a request for a stream.
        content_type: of the stream.
        stream: the parts of a streamed reply, which say the same.
    """

    url: str
    reply: Any
    stream_url: str
    content_type: str
    stream: Sequence[bytes]

    def answer(self, request: httpx.Request) -> httpx.Response:
        """The reply to a request: a stream, where it asks for one."""
        is_stream = str(request.url) == self.stream_url and (
            self.stream_url != self.url or b'"stream": true' in request.content or b'"stream":true' in request.content
        )
        if not is_stream:
            return httpx.Response(200, json=self.reply)
        return httpx.Response(200, headers={"Content-Type": self.content_type}, stream=Parts(self.stream))


class Parts(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A stream that counts what was taken from it, for sync and async clients."""

    def __init__(self, parts: Iterable[bytes]) -> None:
        self.parts = parts
        self.taken = 0
        self.is_closed = False

    def __iter__(self) -> Any:
        for part in self.parts:
            self.taken += 1
            yield part

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self.parts:
            self.taken += 1
            yield part

    def close(self) -> None:
        self.is_closed = True

    async def aclose(self) -> None:
        self.is_closed = True


@dataclass(frozen=True)
class Client:
    """A client that people use.

    Args:
        name: its package.
        library: the HTTP library that it sends through.
        async_library: the one that its async client sends through, if that is another.
        api: what it asks.
        make, send, stream: makes it; sends a request, and returns the text of the reply; the same as a stream.
        make_async, send_async, stream_async: the same of its async client. Made in an event loop.
        close, aclose: close it.
        tested_in: the environment that has it: that of `make test`, or one of `make test-clients`.
    """

    name: str
    library: str
    api: API
    make: Callable[[], Any] | None = None
    send: Call | None = None
    stream: Call | None = None
    make_async: Callable[[], Any] | None = None
    send_async: AsyncCall | None = None
    stream_async: AsyncCall | None = None
    close: Callable[[Any], None] = lambda client: client.close()
    aclose: Callable[[Any], Awaitable[None]] = lambda client: client.close()
    async_library: str = ""
    tested_in: Literal["test", "current", "older"] = "test"


def _events(*data: Any) -> list[bytes]:
    """Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""
    parts = []
    for each in data:
        name = f"event: {each['type']}\n" if isinstance(each, dict) and "type" in each else ""
        parts.append(f"{name}data: {each if isinstance(each, str) else json.dumps(each)}\n\n".encode())
    return parts


def _aws_event(name: str, data: Any) -> bytes:
    """An event of an AWS event stream (https://docs.aws.amazon.com/transcribe/latest/dg/event-stream.html)."""
    headers = b""
    for key, value in ((":message-type", "event"), (":event-type", name), (":content-type", "application/json")):
        headers += struct.pack("!B", len(key)) + key.encode() + b"\7" + struct.pack("!H", len(value)) + value.encode()
    payload = json.dumps(data).encode()
    prelude = struct.pack("!II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + struct.pack("!I", binascii.crc32(prelude)) + headers + payload
    return message + struct.pack("!I", binascii.crc32(message))


def _openai_chunk(delta: dict[str, str], finish_reason: str | None = None) -> Any:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice]}


OPENAI: Final = API(
    "https://api.openai.com/v1/chat/completions",
    {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Hi there"},
                "finish_reason": "stop",
                "logprobs": None,
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
    },
    "https://api.openai.com/v1/chat/completions",
    "text/event-stream",
    _events(
        _openai_chunk({"role": "assistant", "content": "Hi"}),
        _openai_chunk({"content": " there"}),
        _openai_chunk({}, "stop"),
        "[DONE]",
    ),
)
_ANTHROPIC_MESSAGE: Final = {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None}
ANTHROPIC: Final = API(
    "https://api.anthropic.com/v1/messages",
    {
        **_ANTHROPIC_MESSAGE,
        "content": [{"type": "text", "text": "Hi there"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 2},
    },
    "https://api.anthropic.com/v1/messages",
    "text/event-stream",
    _events(
        {
            "type": "message_start",
            "message": {
                **_ANTHROPIC_MESSAGE,
                "content": [],
                "stop_reason": None,
                "usage": {"input_tokens": 1, "output_tokens": 0},
            },
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": " there"}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 2},
        },
        {"type": "message_stop"},
    ),
)


def _gemini(text: str) -> Any:
    return {
        "candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2, "totalTokenCount": 3},
    }


_GEMINI_URL: Final = "https://generativelanguage.googleapis.com/v1/models/gemini-pro"
GEMINI: Final = API(
    f"{_GEMINI_URL}:generateContent",
    _gemini("Hi there"),
    f"{_GEMINI_URL}:streamGenerateContent?alt=sse",
    "text/event-stream",
    _events(_gemini("Hi"), _gemini(" there")),
)
_BEDROCK_URL: Final = "https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-v2%3A1"
BEDROCK: Final = API(
    f"{_BEDROCK_URL}/converse",
    {
        "output": {"message": {"role": "assistant", "content": [{"text": "Hi there"}]}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3},
        "metrics": {"latencyMs": 1},
    },
    f"{_BEDROCK_URL}/converse-stream",
    "application/vnd.amazon.eventstream",
    [
        _aws_event("messageStart", {"role": "assistant"}),
        _aws_event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Hi"}}),
        _aws_event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": " there"}}),
        _aws_event("contentBlockStop", {"contentBlockIndex": 0}),
        _aws_event("messageStop", {"stopReason": "end_turn"}),
    ],
)


def _openai_compatible(url: str) -> API:
    return API(url, OPENAI.reply, url, OPENAI.content_type, OPENAI.stream)


MISTRAL: Final = _openai_compatible("https://api.mistral.ai/v1/chat/completions")
GROQ: Final = _openai_compatible("https://api.groq.com/openai/v1/chat/completions")
COHERE: Final = API(
    "https://api.cohere.com/v2/chat",
    {
        "id": "c",
        "finish_reason": "COMPLETE",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "Hi there"}]},
        "usage": {"tokens": {"input_tokens": 1, "output_tokens": 2}},
    },
    "https://api.cohere.com/v2/chat",
    "text/event-stream",
    _events(
        {"type": "message-start", "id": "c", "delta": {"message": {"role": "assistant", "content": []}}},
        {"type": "content-start", "index": 0, "delta": {"message": {"content": {"type": "text", "text": ""}}}},
        {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "Hi"}}}},
        {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": " there"}}}},
        {"type": "content-end", "index": 0},
        {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}},
    ),
)


def _ollama(text: str, *, done: bool) -> Any:
    message = {"role": "assistant", "content": text}
    return {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": done}


OLLAMA: Final = API(
    "http://127.0.0.1:11434/api/chat",
    _ollama("Hi there", done=True),
    "http://127.0.0.1:11434/api/chat",
    "application/x-ndjson",
    [json.dumps(_ollama(text, done=text == "")).encode() + b"\n" for text in ("Hi", " there", "")],
)
GEMINI_BETA: Final = API(
    GEMINI.url.replace("/v1/", "/v1beta/"),
    GEMINI.reply,
    GEMINI.stream_url.replace("/v1/", "/v1beta/"),
    GEMINI.content_type,
    GEMINI.stream,
)
PLAIN: Final = API(
    "https://api.example/v1/ask?a=1", "Hi there", "https://api.example/v1/stream", "text/plain", [b"Hi", b" there"]
)
