"""`http.client`: connections that are used by hand, kept, and led through a proxy."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from pytest_chatprompt.capture.clients.seams import intercept_clients
from tests.capture.clients.client import Parts
from tests.capture.clients.echo_server import EchoServer
from tests.capture.clients.interceptors import RecordingInterceptor, nothing_is_left
from tests.raw_server import RawServer, read_request


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    with nothing_is_left():
        yield


@pytest.fixture
def interceptor() -> RecordingInterceptor:
    return RecordingInterceptor(lambda _: httpx.Response(200, text="Hi"))


def test_a_request_that_is_put_together_by_hand(interceptor: RecordingInterceptor) -> None:
    with intercept_clients(interceptor):
        connection = http.client.HTTPSConnection("api.example", 8443)
        connection.connect()
        connection.sock.settimeout(3)
        connection.sock.setsockopt(1, 2, 3)
        connection.putrequest("PUT", "/a?b=1", skip_host=True, skip_accept_encoding=True)
        connection.putheader("Transfer-Encoding", "chunked")
        connection.endheaders(iter([b"Hello", b" there"]), encode_chunked=True)
        with connection.getresponse() as response:
            assert response.read() == b"Hi"
        connection.close()
    (sent,) = interceptor.sent
    assert (f"{sent.method} {sent.url}", sent.content) == ("PUT https://api.example:8443/a?b=1", b"Hello there")
    assert dict(sent.headers) == {"transfer-encoding": "chunked"}


def test_a_tunnel_through_a_proxy_leads_to_the_real_host(interceptor: RecordingInterceptor) -> None:
    connection = http.client.HTTPSConnection("proxy.example", 3128)
    connection.set_tunnel("api.example", 443)
    with intercept_clients(interceptor):
        connection.request("GET", "/a")
        assert connection.getresponse().read() == b"Hi"
    assert interceptor.targets == ["GET https://api.example/a"]


def test_a_stream_is_read_as_it_comes_and_may_be_closed_early() -> None:
    parts = Parts([b"one\n", b"two\n", b"three\n"])
    with intercept_clients(RecordingInterceptor(lambda _: httpx.Response(200, stream=parts))):
        connection = http.client.HTTPConnection("api.example")
        connection.request("GET", "/")
        response = connection.getresponse()
        assert (response.readline(), parts.taken) == (b"one\n", 1)
        response.close()
    assert (parts.taken, parts.is_closed) == (1, True)


def test_a_request_that_was_begun_before_the_end_goes_to_the_network(
    interceptor: RecordingInterceptor, echo_server: EchoServer
) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", echo_server.server_port, timeout=30)
    with intercept_clients(interceptor):
        connection.request("POST", "/a", b"Hello")
    assert json.loads(connection.getresponse().read())["body"] == "Hello"
    connection.close()
    assert interceptor.sent == []


def test_a_connection_that_connects_in_its_own_way_is_left_alone(
    interceptor: RecordingInterceptor, echo_server: EchoServer
) -> None:
    class OwnConnection(http.client.HTTPConnection):
        def connect(self) -> None:
            self.sock: Any = self._create_connection(("127.0.0.1", echo_server.server_port))  # type: ignore[attr-defined]

    connection = OwnConnection("localhost")
    with intercept_clients(interceptor):
        for _ in range(2):
            connection.request("POST", "/a", b"Hello")
            assert json.loads(connection.getresponse().read())["body"] == "Hello"
    connection.close()
    assert interceptor.sent == []


def test_a_kept_connection_sends_what_is_let_pass(echo_server: EchoServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", echo_server.server_port, timeout=30)
    interceptor = RecordingInterceptor(lambda _: None)
    bodies = []
    connection.connect()
    with intercept_clients(interceptor):
        for _ in range(3):
            connection.request("POST", "/a", b"Hello")
            bodies.append(json.loads(connection.getresponse().read())["body"])
    connection.close()
    assert bodies == ["Hello"] * 3
    assert (len(interceptor.sent), echo_server.connections) == (3, 1)


def test_a_reply_from_the_network_may_end_with_its_connection(raw_server: RawServer) -> None:
    def talk(connection: socket.socket, _: int) -> None:
        read_request(connection)
        connection.sendall(b"HTTP/1.0 200 OK\r\n\r\nHello")
        connection.sendall(b" there" * 100_000)

    raw_server.talk = talk
    with intercept_clients(RecordingInterceptor(lambda _: None)):
        connection = http.client.HTTPConnection("127.0.0.1", raw_server.port, timeout=30)
        connection.request("POST", "/", b"Hello")
        with connection.getresponse() as response:
            # The connection has let go of the socket by now.
            assert connection.sock is None
            assert response.read() == b"Hello" + b" there" * 100_000


def test_the_response_of_the_interceptor_is_not_changed() -> None:
    response = httpx.Response(200, text="Hi")
    before = response.headers.copy()
    with intercept_clients(RecordingInterceptor(lambda _: response)):
        connection = http.client.HTTPConnection("api.example")
        connection.request("GET", "/")
        with connection.getresponse() as received:
            assert received.getheader("connection") == "close"
    assert response.headers == before


def _refuse(_: httpx.Request) -> httpx.Response:
    raise ValueError("refused")


@pytest.mark.parametrize(
    ("handle", "error"),
    [
        pytest.param(_refuse, ValueError, id="the interceptor"),
        pytest.param(lambda _: None, ConnectionRefusedError, id="the network"),
    ],
)
def test_a_response_that_cannot_be_had_is_closed(
    handle: Callable[[httpx.Request], httpx.Response | None], error: type[Exception]
) -> None:
    made: list[http.client.HTTPResponse] = []

    class Response(http.client.HTTPResponse):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            made.append(self)

    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        connection = http.client.HTTPConnection("127.0.0.1", unheard.getsockname()[1], timeout=30)
        connection.response_class = Response
        with intercept_clients(RecordingInterceptor(handle)):
            connection.request("GET", "/")
            with pytest.raises(error):
                connection.getresponse()
    # One that never had a file could not be closed.
    assert [response.isclosed() for response in made] == [True]
