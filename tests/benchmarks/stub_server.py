"""A stub of OpenAI's API in a process of its own, which waits before each reply.

A `Replies` comes in; the URL of the server comes out, and in the end what became of the replies, and the CPU time of
the server, since it shares the machine with what is measured. `comparison` and `repeats` use it.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Final

# Connections that the operating system accepts while the server is busy.
_BACKLOG: Final = 1024
_COMPLETION: Final = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
}


@dataclass
class Replies:
    """Gives the reply to each request; a subclass gives others.

    Attributes:
        requests: how many it has replied to.
    """

    requests: int = 0

    def reply(self, body: bytes) -> tuple[int, str]:  # noqa: ARG002 - for subclasses
        """The status and the text of the reply of chat completions to the body of a request."""
        self.requests += 1
        return 200, "good"


@dataclass(frozen=True)
class StubServer:
    """A server that runs.

    Args:
        url: its base URL, without a slash at the end.
        connection: to its process.
    """

    url: str
    connection: Connection

    def end(self) -> tuple[Any, float]:
        """End it; gives its `Replies` and the CPU seconds of its process."""
        self.connection.send("end")
        replies, cpu_seconds = self.connection.recv()
        return replies, cpu_seconds


@contextmanager
def stub_server(replies: Replies, latency_seconds: float) -> Iterator[StubServer]:
    """Run a server.

    Args:
        replies: what it replies.
        latency_seconds: how long it waits before each reply.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, replies, latency_seconds), daemon=True)
    process.start()
    try:
        yield StubServer(f"http://127.0.0.1:{ours.recv()}", ours)
    finally:
        process.terminate()
        process.join()


def _serve(connection: Connection, replies: Replies, latency_seconds: float) -> None:
    async def serve() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: _Exchange(loop, replies, latency_seconds), "127.0.0.1", 0, backlog=_BACKLOG
        )
        connection.send(server.sockets[0].getsockname()[1])
        await asyncio.to_thread(connection.recv)
        connection.send((replies, time.process_time()))

    asyncio.run(serve())


class _Exchange(asyncio.Protocol):
    """The requests of one connection and their replies, without asyncio's streams, which would take twice the time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, replies: Replies, latency_seconds: float) -> None:
        self._loop = loop
        self._replies = replies
        self._latency_seconds = latency_seconds
        self._received = b""
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        if not end:
            return
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(body) == length:
            self._received = b""
            self._loop.call_later(self._latency_seconds, self._answer, *self._replies.reply(body))

    def _answer(self, status: int, text: str) -> None:
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        reply = {**_COMPLETION, "choices": [choice]}
        body = json.dumps(reply).encode()
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        self._transport.write(head + body)
