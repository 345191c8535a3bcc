"""The network: what a request is when it is sent on, what comes back, and when connections are closed."""

from __future__ import annotations

import asyncio
import gzip
import os
import queue
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from pytest_chatprompt.capture.clients.seams import intercept_clients
from pytest_chatprompt.capture.recording.open_recording import send, send_async
from tests.raw_server import RawServer, http_reply, read_request
from tests.server import Reply, Server

# Of the client that made the request; each connection has its own.
FRAMED = {"accept-encoding": "br, zstd", "connection": "close", "authorization": "Bearer x", "x-a": "1"}


class _Refusing:
    """An interceptor that no request of these tests may come to."""

    async def handle(self, request: httpx.Request, *, is_async: bool) -> httpx.Response:  # noqa: ARG002
        raise AssertionError(request.url)


@pytest.fixture(autouse=True)
def _intercepted() -> Iterator[None]:
    interceptor = _Refusing()
    with intercept_clients(interceptor):
        yield


def sent_by_sync(request: httpx.Request) -> tuple[httpx.Response, bytes]:
    response = send(request)
    assert not response.is_closed
    return response, response.read()


def sent_by_async(request: httpx.Request) -> tuple[httpx.Response, bytes]:
    async def run() -> tuple[httpx.Response, bytes]:
        response = await send_async(request)
        assert not response.is_closed
        return response, await response.aread()

    return asyncio.run(run())


both = pytest.mark.parametrize("send_it", [sent_by_sync, sent_by_async])


@both
def test_a_request_keeps_url_headers_and_body(server: Server, send_it: Any) -> None:
    server.reply = Reply({"a": 1}, 201)
    request = httpx.Request("POST", f"{server.url}/v1/chat?x=1", json={"b": 2}, headers=FRAMED)
    response, body = send_it(request)
    assert (response.status_code, body) == (201, b'{"a": 1}')
    ((path, headers, content),) = server.requests
    assert (path, content) == ("/v1/chat?x=1", {"b": 2})
    assert (headers["authorization"], headers["x-a"]) == ("Bearer x", "1")
    assert headers["accept-encoding"] == "gzip, deflate"
    assert headers["content-length"] == str(len(request.content))
    assert "connection" not in headers or headers["connection"] != "close"


@both
def test_a_chunked_body_is_sent_with_its_length(server: Server, send_it: Any) -> None:
    request = httpx.Request("POST", server.url, content=iter([b"[1,", b"2]"]))
    assert request.headers["transfer-encoding"] == "chunked"
    request.read()
    send_it(request)
    assert server.requests[0][1]["content-length"] == "5"
    assert "transfer-encoding" not in server.requests[0][1]


@both
def test_a_compressed_reply_is_decoded_and_a_redirect_is_not_followed(server: Server, send_it: Any) -> None:
    headers = {"content-encoding": "gzip", "location": f"{server.url}/elsewhere"}
    server.reply = Reply(gzip.compress(b"text"), 307, headers)
    response, body = send_it(httpx.Request("POST", server.url, json={}))
    assert (response.status_code, body, len(server.requests)) == (307, b"text", 1)


@both
def test_a_server_that_drops_the_connection_is_an_error(server: Server, send_it: Any) -> None:
    server.reply = Reply(fault="drop before")
    with pytest.raises(httpx.TransportError):
        send_it(httpx.Request("POST", server.url, json={}))


@both
def test_the_time_limits_of_the_client_count(raw_server: RawServer, send_it: Any) -> None:
    def silent(connection: socket.socket, _: int) -> None:
        read_request(connection)
        connection.recv(1)

    raw_server.talk = silent
    timeout = httpx.Timeout(30, read=0.05).as_dict()
    with pytest.raises(httpx.ReadTimeout):
        send_it(httpx.Request("POST", raw_server.url, json={}, extensions={"timeout": timeout}))


def test_certificates_are_read_once_and_anew_where_the_environment_names_others(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def create(**_: Any) -> ssl.SSLContext:
        read.append(os.environ["SSL_CERT_FILE"])
        return ssl.create_default_context()

    monkeypatch.setattr(httpx, "create_ssl_context", create)
    files = [tmp_path / "one.pem", tmp_path / "two.pem"]
    for file in (files[0], files[0], files[1]):
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        sent_by_sync(httpx.Request("POST", server.url, json={}))
        sent_by_async(httpx.Request("POST", server.url, json={}))
    assert read == [str(file) for file in files]


ENDLESS = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nbegin"


def test_a_response_that_is_closed_early_closes_its_connection(raw_server: RawServer) -> None:
    seen: queue.Queue[bytes] = queue.Queue()

    def begin(connection: socket.socket, _: int) -> None:
        read_request(connection)
        connection.sendall(ENDLESS)
        connection.settimeout(30)
        seen.put(connection.recv(1))

    raw_server.talk = begin
    response = send(httpx.Request("POST", raw_server.url, json={}))
    assert next(response.iter_raw()) == b"begin"
    response.close()
    assert seen.get(timeout=30) == b""

    async def run() -> None:
        response = await send_async(httpx.Request("POST", raw_server.url, json={}))
        async for chunk in response.aiter_raw():
            assert chunk == b"begin"
            break
        await response.aclose()

    asyncio.run(run())
    assert seen.get(timeout=30) == b""


@both
def test_a_proxy_is_asked_for_the_host(raw_server: RawServer, send_it: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def refuse(connection: socket.socket, _: int) -> None:
        asked.append(connection.recv(65536).partition(b"\r\n")[0])
        connection.sendall(http_reply(b"", status="403 No"))

    raw_server.talk = refuse
    monkeypatch.setenv("HTTPS_PROXY", raw_server.url)
    with pytest.raises(httpx.ProxyError, match="403"):
        send_it(httpx.Request("GET", "https://api.example/v1/a", extensions={"target": b"/v1/./a"}))
    assert asked == [b"CONNECT api.example:443 HTTP/1.1"]
