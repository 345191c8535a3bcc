"""A connection: HTTP/1.1 as clients write it, byte by byte."""

from __future__ import annotations

import gzip
import socket

import httpx
import pytest

from pytest_chatprompt.capture.sent_request import SentRequest
from tests.capture.server.conftest import StartServer, connect, receive, receive_all


def echo(request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, content=request.method.encode() + b":" + request.content)


def test_a_chunked_body_is_read_whole(start_server: StartServer) -> None:
    seen: list[httpx.Headers] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers)
        return echo(request)

    with connect(start_server(answer)) as client:
        client.sendall(b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n")
        client.sendall(b"2;x=y\r\nde\r\n0\r\ntrailer: z\r\n\r\n")
        assert receive(client, b"POST:abcde").startswith(b"HTTP/1.1 200 OK\r\n")
    assert "transfer-encoding" not in seen[0]
    assert seen[0]["content-length"] == "5"


@pytest.mark.parametrize(
    ("target", "shown"),
    [
        ("/openai/v1/./a?b=<c>", "/v1/./a?b=<c>"),
        ("/openai/v1/a?b=é", "/v1/a?b=é"),
        ("/openai/v1/a?b=%C3%A9", "/v1/a?b=%C3%A9"),
        ("/openai//v1/a", "//v1/a"),
        ("http://api.openai.com/v1/a?b=%zz", "/v1/a?b=%zz"),
        ("http://api.openai.com", "/"),
    ],
)
def test_path_and_query_are_shown_as_the_client_writes_them(start_server: StartServer, target: str, shown: str) -> None:
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(SentRequest.from_httpx(request).endpoint)
        assert request.url.host == "api.openai.com"
        return httpx.Response(204)

    with connect(start_server(answer)) as client:
        client.sendall(f"GET {target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".encode())
        assert receive_all(client).startswith(b"HTTP/1.1 204")
    assert seen == [f"GET {shown}"]


def test_a_client_that_waits_for_100_continue_gets_it(start_server: StartServer) -> None:
    with connect(start_server(echo)) as client:
        client.sendall(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\nexpect: 100-continue\r\n\r\n")
        assert receive(client, b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"ab")
        assert receive(client, b"POST:ab").startswith(b"HTTP/1.1 200 OK\r\n")


def test_the_reply_to_head_has_no_body(start_server: StartServer) -> None:
    with connect(start_server(echo)) as client:
        client.sendall(b"HEAD / HTTP/1.1\r\nhost: x\r\n\r\nGET / HTTP/1.1\r\nhost: x\r\n\r\n")
        assert receive(client, b"GET:") == (
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nGET:"
        )


@pytest.mark.parametrize("status", [204, 304])
def test_a_status_without_a_body_has_none(start_server: StartServer, status: int) -> None:
    with connect(start_server(lambda _: httpx.Response(status))) as client:
        client.sendall(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        reply = receive_all(client)
    assert reply.endswith(b"\r\n\r\n")
    assert b"length" not in reply.lower()


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        pytest.param(b"nonsense\r\n\r\n", b"400", id="no HTTP"),
        pytest.param(b"GET / HTTP/1.1\r\nhost: x\r\nx: " + b"y" * 300_000, b"431", id="a head without end"),
        pytest.param(
            b"GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
            b"426",
            id="a WebSocket",
        ),
        pytest.param(b"CONNECT other.example:443 HTTP/1.1\r\nhost: other.example\r\n\r\n", b"403", id="a tunnel"),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"505", id="HTTP/2"),
    ],
)
def test_what_is_no_plain_request_is_refused(start_server: StartServer, request_bytes: bytes, status: bytes) -> None:
    server = start_server(echo)
    with connect(server) as client:
        client.sendall(request_bytes)
        assert receive_all(client).startswith(b"HTTP/1.1 " + status)
    assert server.errors == []


@pytest.mark.parametrize(
    "request_bytes",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"POST / HTT", id="in the head"),
        pytest.param(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nab", id="in the body"),
        pytest.param(b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab", id="in a chunk"),
    ],
)
def test_a_request_that_breaks_off_is_never_handed_over(start_server: StartServer, request_bytes: bytes) -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return echo(request)

    server = start_server(answer)
    with connect(server) as client:
        client.sendall(request_bytes)
        client.shutdown(socket.SHUT_WR)
        receive_all(client)
    server.close()
    assert (seen, server.errors) == ([], [])


def test_a_reply_is_written_as_it_is(start_server: StartServer) -> None:
    # Compressed bytes stay compressed; what is about one connection is left out.
    packed = gzip.compress(b"hello", mtime=0)
    headers = [("content-encoding", "gzip"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("keep-alive", "timeout=5")]
    with connect(start_server(lambda _: httpx.Response(200, headers=headers, content=packed))) as client:
        client.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        assert receive(client, packed) == (
            b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n"
            b"Content-Length: %d\r\n\r\n%b" % (len(packed), packed)
        )


def test_a_reply_that_was_read_before_is_written_too(start_server: StartServer) -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        response = httpx.Response(201, headers={"content-encoding": "identity"}, content=iter((b"he", b"llo")))
        response.read()
        return response

    with connect(start_server(answer)) as client:
        client.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        assert receive(client, b"hello") == b"HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nhello"


def test_a_whole_reply_has_its_own_length_as_in_this_process(start_server: StartServer) -> None:
    server = start_server(lambda _: httpx.Response(200, headers={"content-length": "1"}, content=b"too long"))
    with connect(server) as client:
        client.sendall(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        assert receive_all(client).endswith(b"too long")
    assert server.errors == []
