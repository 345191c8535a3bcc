"""The table of clients: how each of them is made and used, and what it is answered.

Tests run every row; what a row lacks, the client does not have. `tests/clients` adds rows of further clients.
"""

from __future__ import annotations

import binascii
import json
import struct
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp
import anthropic
import boto3  # type: ignore[import-untyped]
import httpx
import httpx2
import openai
import requests
import urllib3
from google import genai

Call = Callable[[Any], str]
AsyncCall = Callable[[Any], Awaitable[str]]
KEY: Final = "a-key-of-tests"


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
    environment: dict[str, str] = field(default_factory=dict)


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
_BEDROCK_MODEL: Final = "anthropic.claude-v2:1"
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
PLAIN: Final = API(
    "https://api.example/v1/ask?a=1", "Hi there", "https://api.example/v1/stream", "text/plain", [b"Hi", b" there"]
)
_BODY: Final = {"question": "Hello?"}
_MESSAGES: Final[Any] = [{"role": "user", "content": "Hello?"}]
_BEDROCK_MESSAGES: Final[Any] = [{"role": "user", "content": [{"text": "Hello?"}]}]


def _openai_text(client: openai.OpenAI) -> str:
    return client.chat.completions.create(model="m", messages=_MESSAGES).choices[0].message.content or ""


def _openai_stream(client: openai.OpenAI) -> str:
    with client.chat.completions.create(model="m", messages=_MESSAGES, stream=True) as stream:
        return "".join([chunk.choices[0].delta.content or "" for chunk in stream])


async def _openai_text_async(client: openai.AsyncOpenAI) -> str:
    completion = await client.chat.completions.create(model="m", messages=_MESSAGES)
    return completion.choices[0].message.content or ""


async def _openai_stream_async(client: openai.AsyncOpenAI) -> str:
    async with await client.chat.completions.create(model="m", messages=_MESSAGES, stream=True) as stream:
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])


def _anthropic_text(client: anthropic.Anthropic) -> str:
    return str(client.messages.create(model="m", max_tokens=9, messages=_MESSAGES).to_dict()["content"][0]["text"])  # type: ignore[index]


def _anthropic_stream(client: anthropic.Anthropic) -> str:
    with client.messages.stream(model="m", max_tokens=9, messages=_MESSAGES) as stream:
        return "".join(stream.text_stream)


async def _anthropic_text_async(client: anthropic.AsyncAnthropic) -> str:
    message = await client.messages.create(model="m", max_tokens=9, messages=_MESSAGES)
    return str(message.to_dict()["content"][0]["text"])  # type: ignore[index]


async def _anthropic_stream_async(client: anthropic.AsyncAnthropic) -> str:
    async with client.messages.stream(model="m", max_tokens=9, messages=_MESSAGES) as stream:
        return "".join([text async for text in stream.text_stream])


def _gemini_client() -> genai.Client:
    return genai.Client(api_key=KEY, http_options={"api_version": "v1"})


def _gemini_text(client: genai.Client) -> str:
    return client.models.generate_content(model="gemini-pro", contents="Hello?").text or ""


def _gemini_stream(client: genai.Client) -> str:
    stream = client.models.generate_content_stream(model="gemini-pro", contents="Hello?")
    return "".join([chunk.text or "" for chunk in stream])


async def _gemini_text_async(client: genai.Client) -> str:
    response = await client.aio.models.generate_content(model="gemini-pro", contents="Hello?")
    return response.text or ""


async def _gemini_stream_async(client: genai.Client) -> str:
    stream = await client.aio.models.generate_content_stream(model="gemini-pro", contents="Hello?")
    return "".join([chunk.text or "" async for chunk in stream])


def _bedrock_client() -> Any:
    return boto3.client(
        "bedrock-runtime", region_name="us-east-1", aws_access_key_id="a-key-id", aws_secret_access_key=KEY
    )


def _bedrock_text(client: Any) -> str:
    reply = client.converse(modelId=_BEDROCK_MODEL, messages=_BEDROCK_MESSAGES)
    return str(reply["output"]["message"]["content"][0]["text"])


def _bedrock_stream(client: Any) -> str:
    reply = client.converse_stream(modelId=_BEDROCK_MODEL, messages=_BEDROCK_MESSAGES)
    deltas = [event["contentBlockDelta"]["delta"]["text"] for event in reply["stream"] if "contentBlockDelta" in event]
    return "".join(deltas)


def _httpx_stream(client: Any) -> str:
    with client.stream("POST", PLAIN.stream_url, json=_BODY) as response:
        return "".join(response.iter_text())


async def _httpx_text_async(client: Any) -> str:
    return str((await client.post(PLAIN.url, json=_BODY)).json())


async def _httpx_stream_async(client: Any) -> str:
    async with client.stream("POST", PLAIN.stream_url, json=_BODY) as response:
        return "".join([text async for text in response.aiter_text()])


def _requests_stream(session: requests.Session) -> str:
    with session.post(PLAIN.stream_url, json=_BODY, stream=True) as response:
        return "".join([part.decode() for part in response.iter_content(None)])


def _urllib3_stream(pool: urllib3.PoolManager) -> str:
    response = pool.request("POST", PLAIN.stream_url, json=_BODY, preload_content=False)
    return "".join([part.decode() for part in response.stream(2)])


def _urllib_request(url: str) -> str:
    request = urllib.request.Request(url, json.dumps(_BODY).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as response:
        return str(response.read().decode())


async def _aiohttp_text(session: aiohttp.ClientSession) -> str:
    async with session.post(PLAIN.url, json=_BODY) as response:
        return str(await response.json())


async def _aiohttp_stream(session: aiohttp.ClientSession) -> str:
    async with session.post(PLAIN.stream_url, json=_BODY) as response:
        return "".join([part.decode() async for part in response.content.iter_any()])


def _nothing(_: Any) -> None:
    """There is nothing to close."""


CLIENTS: Final = (
    Client(
        "openai", "httpx2", OPENAI,
        lambda: openai.OpenAI(api_key=KEY), _openai_text, _openai_stream,
        lambda: openai.AsyncOpenAI(api_key=KEY), _openai_text_async, _openai_stream_async,
    ),
    Client(
        "anthropic", "httpx2", ANTHROPIC,
        lambda: anthropic.Anthropic(api_key=KEY), _anthropic_text, _anthropic_stream,
        lambda: anthropic.AsyncAnthropic(api_key=KEY), _anthropic_text_async, _anthropic_stream_async,
    ),
    Client(
        "google-genai", "httpx2", GEMINI,
        _gemini_client, _gemini_text, _gemini_stream,
        _gemini_client, _gemini_text_async, _gemini_stream_async,
        aclose=lambda client: client.aio.aclose(), async_library="aiohttp",
    ),
    Client("boto3", "urllib3", BEDROCK, _bedrock_client, _bedrock_text, _bedrock_stream),
    Client(
        "httpx", "httpx", PLAIN,
        httpx.Client, lambda client: str(client.post(PLAIN.url, json=_BODY).json()), _httpx_stream,
        httpx.AsyncClient, _httpx_text_async, _httpx_stream_async, aclose=lambda client: client.aclose(),
    ),
    Client(
        "httpx2", "httpx2", PLAIN,
        httpx2.Client, lambda client: str(client.post(PLAIN.url, json=_BODY).json()), _httpx_stream,
        httpx2.AsyncClient, _httpx_text_async, _httpx_stream_async, aclose=lambda client: client.aclose(),
    ),
    Client(
        "requests", "urllib3", PLAIN,
        requests.Session, lambda session: str(session.post(PLAIN.url, json=_BODY).json()), _requests_stream,
    ),
    Client(
        "urllib3", "urllib3", PLAIN,
        urllib3.PoolManager, lambda pool: str(pool.request("POST", PLAIN.url, json=_BODY).json()), _urllib3_stream,
        close=lambda pool: pool.clear(),
    ),
    Client(
        "urllib.request", "http.client", PLAIN,
        lambda: None, lambda _: str(json.loads(_urllib_request(PLAIN.url))), lambda _: _urllib_request(PLAIN.stream_url),
        close=_nothing,
    ),
    Client(
        "aiohttp", "aiohttp", PLAIN,
        make_async=aiohttp.ClientSession, send_async=_aiohttp_text, stream_async=_aiohttp_stream,
    ),
)  # fmt: skip
