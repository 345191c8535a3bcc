"""Time limits: a request ends by its limit, however slowly the other side connects, reads or answers."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from pytest_chatprompt import APIConnectionError, ChatMessage, OpenAIProvider, ProviderRequest
from pytest_chatprompt.providers.context import Cancellation, SendContext, use_context
from tests.raw_server import RawServer, chat_body, http_reply, read_request

HI = ProviderRequest(chat_prompt=(ChatMessage("user", "hi"),))
# Far more than a limit of 0.3 s, and far less than what the other side would take.
SOON_SECONDS = 8


def drip(connection: socket.socket, data: bytes) -> None:
    for byte in data:
        connection.sendall(bytes([byte]))
        time.sleep(0.1)


def drip_headers(connection: socket.socket, _: int) -> None:
    read_request(connection)
    drip(connection, b"HTTP/1.1 200 OK\r\n" + b"x-drip: drip\r\n" * 50)


def drip_body(connection: socket.socket, _: int) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")
    drip(connection, b"x" * 1000)


def drip_body_without_length(connection: socket.socket, _: int) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    drip(connection, b"x" * 1000)


def drip_informational_replies(connection: socket.socket, _: int) -> None:
    read_request(connection)
    for _ in range(300):
        connection.sendall(b"HTTP/1.1 102 Processing\r\n\r\n")
        time.sleep(0.1)


def read_slowly(connection: socket.socket, _: int) -> None:
    while connection.recv(2048):
        time.sleep(0.05)


def drip_second_reply(connection: socket.socket, number: int) -> None:
    read_request(connection)
    if number == 0:
        connection.sendall(http_reply(chat_body("one")))
        return
    drip(connection, b"HTTP/1.1 200 OK\r\n" + b"x-drip: drip\r\n" * 50)


each_slow_server = pytest.mark.parametrize(
    ("talk", "content"),
    [
        pytest.param(drip_headers, "hi", id="headers that come byte by byte"),
        pytest.param(drip_body, "hi", id="a body that comes byte by byte"),
        pytest.param(drip_body_without_length, "hi", id="a body without a length"),
        pytest.param(drip_informational_replies, "hi", id="informational replies without end"),
        pytest.param(read_slowly, "x" * 20_000_000, id="a request that is read slowly"),
    ],
)


@each_slow_server
def test_a_request_ends_by_its_limit_as_a_timeout(
    raw_server: RawServer, talk: Callable[[socket.socket, int], None], content: str
) -> None:
    raw_server.talk = talk
    provider = OpenAIProvider(base_url=raw_server.url, api_key="k", max_retries=0, timeout_seconds=0.3)
    started = time.monotonic()
    with pytest.raises(APIConnectionError, match=r"^OpenAI did not answer within 0\.3 s$"):
        provider.send(ProviderRequest(chat_prompt=(ChatMessage("user", content),)))
    assert time.monotonic() - started < SOON_SECONDS
    provider.close()


def test_the_limit_holds_for_each_request(raw_server: RawServer) -> None:
    raw_server.talk = drip_second_reply
    provider = OpenAIProvider(base_url=raw_server.url, api_key="k", max_retries=0, timeout_seconds=0.3)
    assert provider.send(HI).text == "one"
    started = time.monotonic()
    with pytest.raises(APIConnectionError, match="did not answer within"):
        provider.send(HI)
    assert time.monotonic() - started < SOON_SECONDS
    assert len(raw_server.connections) == 2
    provider.close()


def test_a_timeout_of_headers_that_drip_is_retried(raw_server: RawServer) -> None:
    def talk(connection: socket.socket, number: int) -> None:
        if number:
            read_request(connection)
            connection.sendall(http_reply(chat_body("in time")))
        else:
            drip_headers(connection, number)

    raw_server.talk = talk
    provider = OpenAIProvider(base_url=raw_server.url, api_key="k", max_retries=1, timeout_seconds=0.3)
    response = provider.send(HI)
    assert (response.text, response.retries) == ("in time", 1)
    provider.close()


def test_many_slow_requests_end_together(raw_server: RawServer) -> None:
    raw_server.talk = drip_headers
    provider = OpenAIProvider(base_url=raw_server.url, api_key="k", max_retries=0, timeout_seconds=0.3)
    started = time.monotonic()
    with ThreadPoolExecutor(64) as pool:
        futures = [pool.submit(provider.send, HI) for _ in range(64)]
        assert all(isinstance(future.exception(), APIConnectionError) for future in futures)
    assert time.monotonic() - started < SOON_SECONDS
    provider.close()


def test_a_short_limit_holds_while_a_long_one_waits(raw_server: RawServer) -> None:
    raw_server.talk = drip_headers
    provider = OpenAIProvider(base_url=raw_server.url, api_key="k", max_retries=0, timeout_seconds=2)
    with ThreadPoolExecutor() as pool:
        long = pool.submit(provider.send, HI)
        while not raw_server.connections:
            time.sleep(0.01)
        provider.timeout_seconds = 0.3
        with pytest.raises(APIConnectionError, match=r"did not answer within 0\.3 s"):
            provider.send(HI)
        assert not long.done()
        assert str(long.exception(SOON_SECONDS)) == "OpenAI did not answer within 2 s"
    provider.close()


def test_no_thread_is_left_when_nothing_is_in_flight(raw_server: RawServer) -> None:
    def talk(connection: socket.socket, _: int) -> None:
        read_request(connection)
        connection.sendall(http_reply(chat_body("hello")))

    raw_server.talk = talk
    provider = OpenAIProvider(base_url=raw_server.url, api_key="k", max_retries=0)
    before = set(threading.enumerate())
    for _ in range(2):
        assert provider.send(HI).text == "hello"
    deadline = time.monotonic() + SOON_SECONDS
    while set(threading.enumerate()) - before:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    provider.close()


def resolve_to(monkeypatch: pytest.MonkeyPatch, name: str, addresses: list[tuple[str, int]]) -> None:
    """Let a host name have these addresses."""
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", address) for address in addresses]
    real: Any = socket.getaddrinfo
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda host, *args, **kwargs: found if host == name else real(host, *args, **kwargs)
    )


def test_the_next_address_is_tried_if_one_refuses(raw_server: RawServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def talk(connection: socket.socket, _: int) -> None:
        read_request(connection)
        connection.sendall(http_reply(chat_body("second")))

    raw_server.talk = talk
    resolve_to(monkeypatch, "two.test", [("127.0.0.9", raw_server.port), ("127.0.0.1", raw_server.port)])
    provider = OpenAIProvider(base_url=f"http://two.test:{raw_server.port}", api_key="k", max_retries=0)
    assert provider.send(HI).text == "second"
    provider.close()


def test_a_host_without_an_address_cannot_be_reached() -> None:
    provider = OpenAIProvider(base_url="http://nowhere.invalid", api_key="k", max_retries=0)
    with pytest.raises(APIConnectionError, match=r"^OpenAI at nowhere\.invalid cannot be reached: "):
        provider.send(HI)
    provider.close()


def test_the_limit_holds_for_a_tls_handshake_that_drips(raw_server: RawServer) -> None:
    # A record of TLS that is announced with 16,384 bytes, and comes one by one.
    raw_server.talk = lambda connection, _: drip(connection, b"\x16\x03\x03\x40\x00" + b"\x02" * 300)
    provider = OpenAIProvider(
        base_url=raw_server.url.replace("http:", "https:"), api_key="k", max_retries=0, timeout_seconds=0.5
    )
    started = time.monotonic()
    with pytest.raises(APIConnectionError, match=r"did not answer within 0\.5 s"):
        provider.send(HI)
    assert time.monotonic() - started < SOON_SECONDS
    provider.close()


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_limit_holds_for_a_proxy(raw_server: RawServer, monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    def talk(connection: socket.socket, _: int) -> None:
        connection.recv(65536)
        drip(connection, b"HTTP/1.1 200 OK\r\n" + b"x-drip: drip\r\n" * 50)

    monkeypatch.setenv(f"{scheme.upper()}_PROXY", raw_server.url)
    monkeypatch.setenv("NO_PROXY", "localhost")
    raw_server.talk = talk
    provider = OpenAIProvider(base_url=f"{scheme}://api.example", api_key="k", max_retries=0, timeout_seconds=0.5)
    started = time.monotonic()
    with pytest.raises(APIConnectionError, match=r"did not answer within 0\.5 s"):
        provider.send(HI)
    assert time.monotonic() - started < SOON_SECONDS
    assert len(raw_server.connections) == 1


def test_a_tls_handshake_can_be_cancelled(raw_server: RawServer) -> None:
    hello = threading.Event()

    def talk(connection: socket.socket, _: int) -> None:
        connection.recv(65536)
        hello.set()
        connection.recv(1)

    raw_server.talk = talk
    provider = OpenAIProvider(base_url=raw_server.url.replace("http:", "https:"), api_key="k", max_retries=0)
    cancellation = Cancellation()

    def send() -> None:
        with use_context(SendContext(cancellation=cancellation)):
            provider.send(HI)

    with ThreadPoolExecutor() as pool:
        future = pool.submit(send)
        assert hello.wait(20)
        cancellation.cancel()
        with pytest.raises(APIConnectionError, match=r"^the run was stopped$"):
            future.result(timeout=SOON_SECONDS)
