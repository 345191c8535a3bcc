"""Every transport: what a request looks like, and what becomes of a reply, also of unusual ones."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import traceback
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import aiohttp
import httpx
import httpx2
import pytest
import requests
import urllib3

from pytest_chatprompt.capture.clients.seams import intercept_clients
from tests.capture.clients.client import Parts
from tests.capture.clients.echo_server import EchoServer
from tests.capture.clients.interceptors import RecordingInterceptor, nothing_is_left
from tests.capture.clients.transports import DECODING, TRANSPORTS, Outgoing, Received

URL = "https://api.example:8443/v1/a%2Fb/c?q=x%20y&r=%C3%A9"
each_transport = pytest.mark.parametrize("transport", TRANSPORTS)
FOLLOWING = [name for name in TRANSPORTS if name != "http.client"]


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    with nothing_is_left():
        yield


def send(
    transport: str, answer: Callable[[httpx.Request], httpx.Response | None], request: Outgoing
) -> tuple[Received, list[httpx.Request]]:
    interceptor = RecordingInterceptor(answer)
    with intercept_clients(interceptor):
        received = TRANSPORTS[transport](request)
    return received, interceptor.sent


def generate(*parts: bytes) -> Iterator[bytes]:
    yield from parts


BODIES: dict[str, Callable[[], Any]] = {
    "bytes": lambda: b"Hello there",
    "a generator": lambda: generate(b"Hello ", b"there"),
    "a file": lambda: io.BytesIO(b"Hello there"),
}
each_body = pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)


@each_transport
@each_body
def test_a_request_is_seen_whole(transport: str, body: Callable[[], Any]) -> None:
    request = Outgoing(URL, body=body, headers={"X-One": "1", "Content-Type": "text/plain"})
    received, (sent,) = send(transport, lambda _: httpx.Response(200, text="Hi"), request)
    assert (received.status, received.content) == (200, b"Hi")
    assert f"{sent.method} {sent.url}" == f"POST {URL}"
    assert (sent.content, sent.headers["x-one"], sent.headers["content-type"]) == (b"Hello there", "1", "text/plain")
    assert sent.headers["host"] == "api.example:8443"
    assert sent.headers.get("content-length", "11") == "11"


@each_transport
@each_body
def test_what_is_let_pass_is_sent_as_ever(transport: str, body: Callable[[], Any], echo_server: EchoServer) -> None:
    request = Outgoing(f"{echo_server.url}/v1/a%2Fb?q=1", body=body, headers={"Content-Type": "text/plain"})
    expected = json.loads(TRANSPORTS[transport](request).content)
    received, (sent,) = send(transport, lambda _: None, request)
    assert json.loads(received.content) == expected
    assert expected["body"] == "Hello there"
    assert sent.content == b"Hello there"
    sent_headers = {name: value for name, value in expected["headers"].items() if name in sent.headers}
    assert {name: sent.headers[name] for name in sent_headers} == sent_headers


@each_transport
def test_a_reply_may_be_compressed(transport: str) -> None:
    reply = httpx.Response(200, headers={"Content-Encoding": "gzip"}, content=gzip.compress(b"Hello there"))
    received, _ = send(transport, lambda _: reply, Outgoing(URL))
    content = received.content if transport in DECODING else gzip.decompress(received.content)
    assert content == b"Hello there"
    assert received.header("content-encoding") == ["gzip"]


@each_transport
def test_a_stream_may_be_compressed(transport: str) -> None:
    data = gzip.compress(b"Hello there")
    reply = httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=Parts([data[:12], data[12:]]))
    received, _ = send(transport, lambda _: reply, Outgoing(URL))
    content = received.content if transport in DECODING else gzip.decompress(received.content)
    assert content == b"Hello there"


@each_transport
def test_a_response_that_was_read_before_arrives_decoded(transport: str) -> None:
    data = gzip.compress(b"Hello there")
    reply = httpx.Response(
        200, headers={"Content-Encoding": "gzip", "Content-Length": str(len(data))}, stream=Parts([data])
    )
    assert reply.read() == b"Hello there"
    received, _ = send(transport, lambda _: reply, Outgoing(URL))
    assert (received.content, received.header("content-encoding")) == (b"Hello there", [])
    assert received.header("content-length") == ["11"]


@each_transport
def test_a_stream_may_have_a_length(transport: str) -> None:
    reply = httpx.Response(200, headers={"Content-Length": "11"}, stream=Parts([b"Hello", b"", b" there"]))
    received, _ = send(transport, lambda _: reply, Outgoing(URL))
    assert (received.content, received.header("content-length")) == (b"Hello there", ["11"])


@each_transport
@pytest.mark.parametrize(
    ("method", "reply"),
    [
        pytest.param("HEAD", httpx.Response(200, headers={"Content-Length": "99"}), id="HEAD"),
        pytest.param("HEAD", httpx.Response(200, text="Hi"), id="HEAD with a body"),
        pytest.param("POST", httpx.Response(204), id="204"),
        pytest.param("POST", httpx.Response(304), id="304"),
        pytest.param("POST", httpx.Response(200, headers={"Content-Length": "0"}), id="an empty body"),
    ],
)
def test_a_reply_may_have_no_body(transport: str, method: str, reply: httpx.Response) -> None:
    received, _ = send(transport, lambda _: reply, Outgoing(URL, method))
    assert (received.status, received.content) == (reply.status_code, b"")
    assert received.header("content-length") == reply.headers.get_list("content-length")


@each_transport
def test_headers_may_repeat(transport: str) -> None:
    reply = httpx.Response(299, headers=[("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("X-One", "1")], text="Hi")
    received, _ = send(transport, lambda _: reply, Outgoing(URL))
    assert received.status == 299
    cookies = [cookie for value in received.header("set-cookie") for cookie in value.split(", ")]
    assert (cookies, received.header("x-one")) == (["a=1", "b=2"], ["1"])


@pytest.mark.parametrize("transport", FOLLOWING)
@pytest.mark.parametrize("status", [302, 303])
def test_a_reply_may_redirect(transport: str, status: int) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/new":
            return httpx.Response(200, text="Hi")
        return httpx.Response(status, headers={"Location": "/new?a=1"})

    received, sent = send(transport, answer, Outgoing("https://api.example/old", body=lambda: b"Hello"))
    assert (received.status, received.content) == (200, b"Hi")
    assert [str(each.url) for each in sent] == ["https://api.example/old", "https://api.example/new?a=1"]
    if transport != "urllib3":
        # urllib3 sends a POST again where others send a GET.
        assert (sent[1].method, sent[1].content) == ("GET", b"")


@pytest.mark.parametrize("transport", [name for name in FOLLOWING if name != "http.client urllib.request"])
def test_a_redirect_may_be_left_to_the_caller(transport: str) -> None:
    reply = httpx.Response(307, headers={"Location": "/new"})
    received, sent = send(transport, lambda _: reply, Outgoing(URL, redirects=False))
    assert (received.status, received.header("location"), len(sent)) == (307, ["/new"], 1)


class OwnError(Exception):
    """An error of the interceptor."""


@each_transport
def test_an_error_of_the_interceptor_arrives_as_it_is(transport: str) -> None:
    calls: list[httpx.Request] = []

    def fail(request: httpx.Request) -> httpx.Response:
        calls.append(request)
        raise OwnError("stop")

    with pytest.raises(OwnError, match="stop"):
        send(transport, fail, Outgoing(URL))
    assert len(calls) == 1


TIMEOUTS = {
    "httpx": httpx.ReadTimeout,
    "httpx async": httpx.ReadTimeout,
    "httpx2": httpx2.ReadTimeout,
    "httpx2 async": httpx2.ReadTimeout,
    # A POST is not sent again if it may have arrived.
    "urllib3": urllib3.exceptions.ReadTimeoutError,
    "urllib3 requests": requests.exceptions.ReadTimeout,
    "http.client": TimeoutError,
    "http.client urllib.request": TimeoutError,
    "aiohttp": asyncio.TimeoutError,
}
CONNECT_ERRORS = {
    "httpx": httpx.ConnectError,
    "httpx async": httpx.ConnectError,
    "httpx2": httpx2.ConnectError,
    "httpx2 async": httpx2.ConnectError,
    "urllib3": urllib3.exceptions.ProtocolError,
    "urllib3 requests": requests.exceptions.ConnectionError,
    "http.client": ConnectionRefusedError,
    "http.client urllib.request": ConnectionRefusedError,
    "aiohttp": aiohttp.ClientConnectionError,
}
LOST_CONNECTIONS = {
    **CONNECT_ERRORS,
    "httpx": httpx.ReadError,
    "httpx async": httpx.ReadError,
    "httpx2": httpx2.ReadError,
    "httpx2 async": httpx2.ReadError,
    "http.client": ConnectionResetError,
    "http.client urllib.request": ConnectionResetError,
}


@pytest.mark.parametrize(
    ("error", "own_errors"),
    [
        pytest.param(httpx.ReadTimeout("too slow"), TIMEOUTS, id="a timeout"),
        pytest.param(httpx.ConnectError("no way"), CONNECT_ERRORS, id="no connection"),
        pytest.param(httpx.ReadError("lost"), LOST_CONNECTIONS, id="a lost connection"),
    ],
)
@each_transport
def test_an_error_of_httpx_arrives_as_the_error_of_the_library(
    transport: str, error: Exception, own_errors: dict[str, type[Exception]]
) -> None:
    def fail(_: httpx.Request) -> httpx.Response:
        raise error

    with pytest.raises(own_errors[transport]) as caught:
        send(transport, fail, Outgoing(URL))
    # aiohttp and urllib3 word each timeout of a connection in their own way.
    assert str(error) in "".join(traceback.format_exception(caught.value))


class Broken(Parts):
    """A stream that breaks off."""

    def __init__(self, error: Exception) -> None:
        super().__init__([b"Hello"])
        self.error = error

    def __iter__(self) -> Any:
        yield from super().__iter__()
        raise self.error

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in super().__aiter__():
            yield part
        raise self.error


BROKEN_STREAMS = {
    "httpx": httpx.ReadError,
    "httpx async": httpx.ReadError,
    "httpx2": httpx2.ReadError,
    "httpx2 async": httpx2.ReadError,
    "urllib3": urllib3.exceptions.ProtocolError,
    "urllib3 requests": requests.exceptions.ChunkedEncodingError,
    "http.client": ConnectionResetError,
    "http.client urllib.request": ConnectionResetError,
    "aiohttp": aiohttp.ClientPayloadError,
}


@each_transport
def test_a_stream_may_break_off(transport: str) -> None:
    stream = Broken(httpx.ReadError("lost"))
    with pytest.raises(BROKEN_STREAMS[transport]):
        send(transport, lambda _: httpx.Response(200, stream=stream), Outgoing(URL))
    assert stream.is_closed


@each_transport
def test_an_own_error_in_a_stream_is_not_hidden(transport: str) -> None:
    stream = Broken(OwnError("stop"))
    with pytest.raises((OwnError, aiohttp.ClientPayloadError), match="stop"):
        send(transport, lambda _: httpx.Response(200, stream=stream), Outgoing(URL))
    assert stream.is_closed


@each_transport
def test_a_sync_client_refuses_an_async_stream(transport: str) -> None:
    class AsyncOnly(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield b"Hello"

    response = httpx.Response(200, stream=AsyncOnly())
    if "async" in transport or transport == "aiohttp":
        assert send(transport, lambda _: response, Outgoing(URL))[0].content == b"Hello"
    else:
        with pytest.raises(TypeError, match="cannot be answered with an async stream"):
            send(transport, lambda _: response, Outgoing(URL))


@each_transport
def test_proxies_of_the_environment_do_not_hide_the_url(transport: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://user:pass@proxy.example:3128")
    for url in ("http://api.example/v1/ask?a=1", "https://api.example/v1/ask?a=1"):
        received, (sent,) = send(transport, lambda _: httpx.Response(200, text="Hi"), Outgoing(url))
        assert (received.content, str(sent.url)) == (b"Hi", url)


@each_transport
def test_ipv6_and_default_ports(transport: str) -> None:
    for url in ("http://[2001:db8::1]:8080/a", "https://api.example:443/a", "http://api.example/"):
        _, (sent,) = send(transport, lambda _: httpx.Response(200), Outgoing(url))
        assert sent.url == httpx.URL(url)
