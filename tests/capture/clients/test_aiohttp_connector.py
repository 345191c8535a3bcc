"""aiohttp: compressed bodies, `Expect`, Unix sockets and websockets."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import pytest
from aiohttp import web

from pytest_chatprompt.capture.clients.aiohttp_connector import _ReplyTransport
from pytest_chatprompt.capture.clients.seams import intercept_clients
from pytest_chatprompt.capture.clients.wire import RawReply
from pytest_chatprompt.errors import CaptureError
from tests.capture.clients.client import Parts
from tests.capture.clients.interceptors import RecordingInterceptor, nothing_is_left

URL = "https://api.example/"


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    with nothing_is_left():
        yield


@pytest.fixture
def interceptor() -> RecordingInterceptor:
    return RecordingInterceptor(lambda _: httpx.Response(200, text="Hi"))


def run(
    interceptor: RecordingInterceptor, use: Callable[[aiohttp.ClientSession], Awaitable[Any]], **options: Any
) -> Any:
    async def in_session() -> Any:
        async with aiohttp.ClientSession(**options) as session:
            return await use(session)

    with intercept_clients(interceptor):
        return asyncio.run(in_session())


async def text(response: Any) -> str:
    async with response as opened:
        return str(await opened.text())


@pytest.mark.parametrize(
    ("encoding", "decode"), [("gzip", gzip.decompress), ("deflate", zlib.decompress)], ids=["gzip", "deflate"]
)
def test_a_body_that_aiohttp_compresses(
    interceptor: RecordingInterceptor, encoding: str, decode: Callable[[bytes], bytes]
) -> None:
    assert run(interceptor, lambda session: text(session.post(URL, data=b"Hello", compress=encoding))) == "Hi"
    (sent,) = interceptor.sent
    assert (sent.headers["content-encoding"], decode(sent.content)) == (encoding, b"Hello")


def test_a_request_that_waits_to_continue(interceptor: RecordingInterceptor) -> None:
    assert run(interceptor, lambda session: text(session.post(URL, data=b"Hello", expect100=True))) == "Hi"
    assert interceptor.sent[0].content == b"Hello"


def test_a_form_with_files_is_seen_whole(interceptor: RecordingInterceptor) -> None:
    form = aiohttp.FormData({"a": "1"})
    form.add_field("file", b"Hello", filename="a.txt")
    assert run(interceptor, lambda session: text(session.post(URL, data=form))) == "Hi"
    assert b'filename="a.txt"\r\n\r\nHello\r\n' in interceptor.sent[0].content


def test_a_stream_may_be_closed_early() -> None:
    parts = Parts([b"x" * 1_000_000] * 40)

    async def read(session: aiohttp.ClientSession) -> bytes:
        async with session.get(URL) as response:
            return await response.content.read(10)

    assert run(RecordingInterceptor(lambda _: httpx.Response(200, stream=parts)), read) == b"x" * 10
    assert parts.taken < 40
    assert parts.is_closed


def test_a_stream_that_stalls_runs_into_the_timeout_of_the_session() -> None:
    class Stalling(httpx.AsyncByteStream):
        async def __aiter__(self) -> Any:
            yield b"Hello"
            await asyncio.sleep(60)

    timeout = aiohttp.ClientTimeout(sock_read=0.1)
    interceptor = RecordingInterceptor(lambda _: httpx.Response(200, stream=Stalling()))
    with pytest.raises(TimeoutError):
        run(interceptor, lambda session: text(session.get(URL)), timeout=timeout)


def test_many_requests_do_not_use_up_the_connections_of_a_session(interceptor: RecordingInterceptor) -> None:
    async def read(session: aiohttp.ClientSession) -> list[str]:
        return await asyncio.gather(*(text(session.get(URL)) for _ in range(20)))

    async def in_session() -> list[str]:
        connector = aiohttp.TCPConnector(limit=1, limit_per_host=1)
        async with aiohttp.ClientSession(connector=connector) as session:
            return await read(session)

    with intercept_clients(interceptor):
        assert asyncio.run(in_session()) == ["Hi"] * 20


def test_a_unix_socket_and_a_websocket_are_left_alone(interceptor: RecordingInterceptor, tmp_path: Path) -> None:
    async def echo(request: web.Request) -> web.WebSocketResponse:
        websocket = web.WebSocketResponse()
        await websocket.prepare(request)
        await websocket.send_str(await websocket.receive_str())
        await websocket.close()
        return websocket

    async def served() -> str:
        app = web.Application()
        app.router.add_get("/", echo)
        runner = web.AppRunner(app)
        await runner.setup()
        path = str(tmp_path / "s")
        await web.UnixSite(runner, path).start()
        async with (
            aiohttp.ClientSession(connector=aiohttp.UnixConnector(path)) as session,
            session.ws_connect("http://localhost/") as websocket,
        ):
            await websocket.send_str("Hello")
            answer = await websocket.receive_str()
        await runner.cleanup()
        return answer

    with intercept_clients(interceptor):
        assert asyncio.run(served()) == "Hello"
    assert interceptor.sent == []


def test_what_comes_after_the_end_of_a_connection_is_dropped() -> None:
    class Protocol:
        received = b""
        losses = 0

        def data_received(self, data: bytes) -> None:
            self.received += data

        def connection_lost(self, _: Any) -> None:
            self.losses += 1

    async def close_early() -> tuple[bytes, int]:
        protocol = Protocol()
        reply = RawReply(httpx.Response(200, text="Hi"), "GET", CaptureError)
        transport = _ReplyTransport(protocol, reply, expects=None)
        transport.writelines([b"GET /", b" HTTP/1.1"])
        transport.is_written.set()
        transport.abort()
        transport.close()
        assert transport.is_closing()
        await asyncio.sleep(0)
        return protocol.received, protocol.losses

    assert asyncio.run(close_early()) == (b"", 1)
