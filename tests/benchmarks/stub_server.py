"""A stub of OpenAI's API in a process of its own, which answers each request after the same time."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Final

# What every third reply is, by turns, where there are faults, and what its answer counts as.
_FAULTS: Final = ((200, "poor", "failed"), (500, "", "error"), (200, "", "failed"))
_USAGE: Final = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


@dataclass(frozen=True)
class StubServer:
    """A server that runs.

    Args:
        url: its base URL, without a slash at the end.
        connection: to its process.
    """

    url: str
    connection: Connection

    def end(self) -> Counter[str]:
        """End it. Gives how many answers of each kind it gave: `passed`, `failed`, `error`."""
        self.connection.send("end")
        given: Counter[str] = self.connection.recv()
        return given


@contextmanager
def stub_server(latency_seconds: float, *, has_faults: bool = False) -> Iterator[StubServer]:
    """Run a server.

    Args:
        latency_seconds: how long it waits before each reply.
        has_faults: whether every third reply is an error or an answer that is not good.
    """
    context = multiprocessing.get_context("spawn")
    connection, other = context.Pipe()
    process = context.Process(target=_serve, args=(other, latency_seconds, has_faults), daemon=True)
    process.start()
    try:
        yield StubServer(f"http://127.0.0.1:{connection.recv()}", connection)
    finally:
        process.terminate()
        process.join()


def _serve(connection: Connection, latency_seconds: float, has_faults: bool) -> None:
    given: Counter[str] = Counter()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(int(length.partition(b":")[2]))
        number = given.total()
        is_fault = has_faults and number % 3 == 0
        status, text, outcome = _FAULTS[number // 3 % len(_FAULTS)] if is_fault else (200, "good", "passed")
        given[outcome] += 1
        await asyncio.sleep(latency_seconds)
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        reply = {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [choice],
            "usage": _USAGE,
        }
        body = json.dumps(reply).encode()
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        writer.write(head + body)
        await writer.drain()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            # The client has closed the connection.
            writer.close()

    async def serve() -> None:
        server = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=1024)
        connection.send(server.sockets[0].getsockname()[1])
        await asyncio.to_thread(connection.recv)
        connection.send(given)

    asyncio.run(serve())
