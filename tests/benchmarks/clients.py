"""Sends requests of one client, answered by an interceptor or by the client's own mock; a side of a comparison runs it.

`python -m tests.benchmarks.clients openai capture 2000`: the client, who answers (`capture` or `mock`), how many times.
"""

from __future__ import annotations

import asyncio
import importlib
import io
import json
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Final
from unittest import mock

import httpx

from pytest_chatprompt.capture.clients.seams import intercept_clients
from tests.capture.clients.client import ANTHROPIC, BEDROCK, OPENAI, PLAIN

_MESSAGES: Final[Any] = [{"role": "user", "content": "Hello?"}]
_BEDROCK_MESSAGES: Final[Any] = [{"role": "user", "content": [{"text": "Hello?"}]}]


def _module(name: str) -> Any:
    # Only the client that is measured is imported.
    return importlib.import_module(name)


def _httpx_transport(module: Any, is_mocked: bool, reply: Any) -> dict[str, Any]:
    if not is_mocked:
        return {}
    return {"transport": module.MockTransport(lambda _: module.Response(200, json=reply))}


def _send_openai(is_mocked: bool, count: int) -> None:
    transport = _httpx_transport(_module("httpx2"), is_mocked, OPENAI.reply)
    openai = _module("openai")
    with openai.OpenAI(api_key="a-key", http_client=openai.DefaultHttpxClient(**transport)) as client:
        for _ in range(count):
            assert client.chat.completions.create(model="m", messages=_MESSAGES).choices[0].message.content


def _send_openai_async(is_mocked: bool, count: int) -> None:
    transport = _httpx_transport(_module("httpx2"), is_mocked, OPENAI.reply)

    openai = _module("openai")

    async def run() -> None:
        async with openai.AsyncOpenAI(
            api_key="a-key", http_client=openai.DefaultAsyncHttpxClient(**transport)
        ) as client:
            for _ in range(count):
                await client.chat.completions.create(model="m", messages=_MESSAGES)

    asyncio.run(run())


def _send_anthropic(is_mocked: bool, count: int) -> None:
    transport = _httpx_transport(_module("httpx2"), is_mocked, ANTHROPIC.reply)
    anthropic = _module("anthropic")
    with anthropic.Anthropic(api_key="a-key", http_client=anthropic.DefaultHttpxClient(**transport)) as client:
        for _ in range(count):
            assert client.messages.create(model="m", max_tokens=9, messages=_MESSAGES).content


def _send_httpx(is_mocked: bool, count: int) -> None:
    with httpx.Client(**_httpx_transport(httpx, is_mocked, PLAIN.reply)) as client:
        for _ in range(count):
            assert client.post(PLAIN.url, json=_MESSAGES).json()


def _send_boto3(is_mocked: bool, count: int) -> None:
    client = _module("boto3").client(
        "bedrock-runtime", region_name="us-east-1", aws_access_key_id="a-key-id", aws_secret_access_key="a-key"
    )
    # Neither botocore nor urllib3 has a mock of its transport. botocore's hook `before-send` leaves out urllib3 and
    # `http.client`, which a request needs as httpx needs its client; so only the socket is replaced.
    with _socket_mock() if is_mocked else nullcontext():
        for _ in range(count):
            assert client.converse(modelId="anthropic.claude-v2:1", messages=_BEDROCK_MESSAGES)["output"]


@contextmanager
def _socket_mock() -> Iterator[None]:
    """Have urllib3's connections read replies from memory."""
    ours, theirs = socket.socketpair()

    class Socket:
        def sendall(self, data: bytes) -> None:
            """Forget it."""

        def makefile(self, *_: Any) -> io.BytesIO:
            body = json.dumps(BEDROCK.reply).encode()
            head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            return io.BytesIO(head.encode() + body)

        def fileno(self) -> int:
            # urllib3 asks whether a kept connection was closed: this one is open, and there is nothing to read.
            return ours.fileno()

        def settimeout(self, _: Any) -> None:
            """Nothing takes time."""

        def close(self) -> None:
            """There is nothing to close."""

    def connect(connection: Any) -> None:
        connection.sock, connection.is_verified = Socket(), True

    with ours, theirs, mock.patch.object(_module("urllib3.connection").HTTPSConnection, "connect", connect):
        yield


_REPLIES: Final = {OPENAI.url: OPENAI.reply, ANTHROPIC.url: ANTHROPIC.reply, PLAIN.url: PLAIN.reply}
CLIENTS: Final[dict[str, Callable[[bool, int], None]]] = {
    "openai": _send_openai,
    "openai-async": _send_openai_async,
    "anthropic": _send_anthropic,
    "httpx": _send_httpx,
    "boto3": _send_boto3,
}


class _CountingInterceptor:
    """Answers every request, and keeps none: a growing heap would be measured too."""

    def __init__(self) -> None:
        self.count = 0

    async def handle(self, request: httpx.Request, *, is_async: bool) -> httpx.Response:  # noqa: ARG002
        self.count += 1
        return httpx.Response(200, json=_REPLIES.get(str(request.url), BEDROCK.reply))


def main(client: str, answered_by: str, count: int) -> None:
    """Send requests, and print how many were answered."""
    if answered_by == "mock":
        CLIENTS[client](True, count)
    else:
        interceptor = _CountingInterceptor()
        with intercept_clients(interceptor):
            CLIENTS[client](False, count)
        if interceptor.count != count:
            raise RuntimeError(f"{interceptor.count} requests were captured")
    print(f"{count} passed")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
