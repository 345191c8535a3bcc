"""httpcore and httpcore2: streams, Unix sockets, and errors that only httpx has."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpcore
import httpx
import httpx2
import pytest

from pytest_chatprompt.capture.clients.seams import intercept_clients
from tests.capture.clients.client import Parts
from tests.capture.clients.interceptors import RecordingInterceptor, nothing_is_left

URL = "https://api.example/"
each_module = pytest.mark.parametrize("module", [httpx, httpx2], ids=["httpx", "httpx2"])


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    with nothing_is_left():
        yield


@each_module
def test_a_stream_is_read_as_it_comes_and_may_be_closed_early(module: Any) -> None:
    parts = Parts([b"one", b"two", b"three"])
    with (
        intercept_clients(RecordingInterceptor(lambda _: httpx.Response(200, stream=parts))),
        module.Client() as client,
        client.stream("GET", URL) as response,
    ):
        assert (next(response.iter_raw()), parts.taken) == (b"one", 1)
    assert (parts.taken, parts.is_closed) == (1, True)


@each_module
def test_the_same_with_an_async_client(module: Any) -> None:
    parts = Parts([b"one", b"two", b"three"])

    async def run() -> None:
        async with module.AsyncClient() as client, client.stream("GET", URL) as response:
            async for part in response.aiter_raw():
                assert (part, parts.taken) == (b"one", 1)
                break

    with intercept_clients(RecordingInterceptor(lambda _: httpx.Response(200, stream=parts))):
        asyncio.run(run())
    assert (parts.taken, parts.is_closed) == (1, True)


@each_module
def test_a_form_with_files_is_seen_whole(module: Any) -> None:
    interceptor = RecordingInterceptor(lambda _: httpx.Response(200))
    with intercept_clients(interceptor), module.Client() as client:
        client.post(URL, data={"a": "1"}, files={"file": ("a.txt", b"Hello")})
    assert b'filename="a.txt"' in interceptor.sent[0].content


@each_module
def test_an_error_that_the_library_does_not_have_stays_that_of_httpx(module: Any) -> None:
    def fail(_: httpx.Request) -> httpx.Response:
        raise httpx.CloseError("not closed")

    with intercept_clients(RecordingInterceptor(fail)), pytest.raises(httpx.CloseError), module.Client() as client:
        client.get(URL)


@each_module
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_unix_socket_is_left_alone(module: Any, is_async: bool, tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nhere")

    async def get() -> str:
        async with module.AsyncClient(transport=module.AsyncHTTPTransport(uds=path)) as client:
            return str((await client.get("http://service/")).text)

    thread = threading.Thread(target=serve)
    thread.start()
    interceptor = RecordingInterceptor(lambda _: httpx.Response(200, text="Hi"))
    with intercept_clients(interceptor):
        if is_async:
            text = asyncio.run(get())
        else:
            with module.Client(transport=module.HTTPTransport(uds=path)) as client:
                text = client.get("http://service/").text
    thread.join(30)
    listener.close()
    assert (text, interceptor.sent) == ("here", [])


def test_a_pool_that_is_used_directly() -> None:
    interceptor = RecordingInterceptor(lambda _: httpx.Response(418, headers={"X-One": "1"}, text="Hi"))
    with intercept_clients(interceptor), httpcore.ConnectionPool() as pool:
        response = pool.request("POST", URL, content=b"Hello")
    assert (response.status, response.content, (b"X-One", b"1") in response.headers) == (418, b"Hi", True)
    assert response.extensions == {"http_version": b"HTTP/1.1", "reason_phrase": b"I'm a teapot"}
