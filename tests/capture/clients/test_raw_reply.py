"""The reply: the bytes that a server would send for a response."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterator

import httpx
import pytest

from pytest_chatprompt.capture.clients.wire import RawReply
from pytest_chatprompt.errors import CaptureError


class SyncParts(httpx.SyncByteStream):
    def __init__(self) -> None:
        self.is_closed = False

    def __iter__(self) -> Iterator[bytes]:
        yield from (b"Hello", b"", b" there")

    def close(self) -> None:
        self.is_closed = True


class AsyncParts(httpx.AsyncByteStream):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"Hello"


async def collect(parts: AsyncIterable[bytes]) -> list[bytes]:
    return [part async for part in parts]


@pytest.mark.parametrize(
    ("response", "method", "expected"),
    [
        pytest.param(
            httpx.Response(200, headers={"X-One": "1"}, content=b"Hi"),
            "GET",
            [b"HTTP/1.1 200 OK\r\nX-One: 1\r\nContent-Length: 2\r\n\r\n", b"Hi"],
            id="a whole body",
        ),
        pytest.param(
            httpx.Response(200, headers={"Content-Length": "9", "Transfer-Encoding": "chunked"}, content=b"Hi"),
            "GET",
            [b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", b"Hi"],
            id="a wrong length",
        ),
        pytest.param(
            httpx.Response(200, stream=SyncParts()),
            "GET",
            [
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                b"5\r\nHello\r\n",
                b"6\r\n there\r\n",
                b"0\r\n\r\n",
            ],
            id="a stream",
        ),
        pytest.param(
            httpx.Response(200, headers={"content-length": "11"}, stream=SyncParts()),
            "GET",
            [b"HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n", b"Hello", b" there"],
            id="a stream with a length",
        ),
        pytest.param(
            httpx.Response(299, extensions={"reason_phrase": b"Fine"}, stream=SyncParts()),
            "HEAD",
            [b"HTTP/1.1 299 Fine\r\n\r\n"],
            id="HEAD",
        ),
    ],
)
def test_a_reply_as_http1(response: httpx.Response, method: str, expected: list[bytes]) -> None:
    reply = RawReply(response, method, CaptureError)
    assert list(filter(None, reply.framed())) == expected
    if reply.body is None:
        assert list(filter(None, asyncio.run(collect(reply.async_framed())))) == expected


def test_a_sync_stream_is_given_to_async_clients_too() -> None:
    stream = SyncParts()
    reply = RawReply(httpx.Response(200, stream=stream), "GET", CaptureError)
    assert asyncio.run(collect(reply)) == [b"Hello", b"", b" there"]
    asyncio.run(reply.aclose())
    assert stream.is_closed


def test_an_async_stream_is_not_given_to_sync_clients() -> None:
    reply = RawReply(httpx.Response(200, stream=AsyncParts()), "GET", CaptureError)
    with pytest.raises(TypeError, match="cannot be answered with an async stream"):
        list(reply)
    reply.close()
