"""The network backend: what it does with connections that are encrypted, and with transports that have none."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import httpcore
import httpx
import pytest

from pytest_chatprompt.providers.cancellation import Cancellation
from pytest_chatprompt.providers.http.network_backend import (
    DeadlineBackend,
    LimitedStream,
    PoolOfEachThread,
    limit_connections,
)
from pytest_chatprompt.providers.http.request_deadline import RequestDeadline
from tests.raw_server import RawServer, http_reply, read_request

CONTEXT = ssl.create_default_context()


class Stream(httpcore.NetworkStream):
    """A connection that is encrypted at once."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.timeouts: list[float | None] = []

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        assert (ssl_context, server_hostname) == (CONTEXT, "api.example")
        self.timeouts.append(timeout)
        return self

    def get_extra_info(self, info: str) -> Any:
        return self.connection if info == "socket" else None


@pytest.fixture
def connection() -> Iterator[socket.socket]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours


def test_an_encrypted_connection_is_limited_too(connection: socket.socket) -> None:
    limits = RequestDeadline()
    stream = Stream(connection)
    with limits.apply(60, Cancellation()):
        encrypted = LimitedStream(stream, limits).start_tls(CONTEXT, "api.example", 5)
    assert isinstance(encrypted, LimitedStream)
    assert encrypted.get_extra_info("socket") is connection
    assert stream.timeouts == [5]


def test_tls_within_tls_is_left_to_httpcore() -> None:
    ours, theirs = socket.socketpair()
    with theirs, CONTEXT.wrap_socket(ours, server_hostname="proxy.example", do_handshake_on_connect=False) as wrapped:
        stream = Stream(cast(socket.socket, wrapped))
        assert isinstance(LimitedStream(stream, RequestDeadline()).start_tls(CONTEXT, "api.example"), LimitedStream)
    # No request of this thread has a limit.
    assert stream.timeouts == [None]


def test_a_transport_without_connections_stays_as_it_is() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(200))
    limits = RequestDeadline()
    with httpx.Client(transport=transport, mounts={"https://": httpx.HTTPTransport()}) as client:
        limit_connections(client, limits)
        (mounted,) = client._mounts.values()
        assert isinstance(mounted, httpx.HTTPTransport)
        pools: Any = mounted._pool
        assert isinstance(pools, PoolOfEachThread)
        assert isinstance(pools._pool._network_backend, DeadlineBackend)
        assert client.get("http://api.example/").status_code == 200


def test_each_thread_has_a_pool_of_its_own_until_it_ends(
    raw_server: RawServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[httpcore.ConnectionPool] = []
    handle_request = httpcore.ConnectionPool.handle_request

    def note_pool(pool: httpcore.ConnectionPool, request: httpcore.Request) -> httpcore.Response:
        seen.append(pool)
        return handle_request(pool, request)

    def talk(connection: socket.socket, _: int) -> None:
        read_request(connection)
        connection.sendall(http_reply(b"{}"))

    # What captures or mocks requests replaces this method of the class.
    monkeypatch.setattr(httpcore.ConnectionPool, "handle_request", note_pool)
    raw_server.talk = talk
    both_are_here = threading.Barrier(2, timeout=60)
    with httpx.Client(limits=httpx.Limits(max_connections=7)) as client, ThreadPoolExecutor(2) as threads:
        limit_connections(client, RequestDeadline())

        def get_twice(_: int) -> None:
            both_are_here.wait()
            for _ in range(2):
                client.post(raw_server.url, content=b"{}")

        list(threads.map(get_twice, range(2)))
    assert len(seen) == 4
    assert len(set(seen)) == 2
    assert [pool._max_connections for pool in seen] == [7] * 4
    assert [pool.connections for pool in seen] == [[]] * 4


def test_closing_it_closes_the_connections_of_all_threads(raw_server: RawServer) -> None:
    ended = threading.Event()

    def talk(connection: socket.socket, _: int) -> None:
        read_request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n")
        if connection.recv(1) == b"":
            ended.set()

    raw_server.talk = talk
    pools = PoolOfEachThread(httpcore.ConnectionPool())
    opened, closed = threading.Event(), threading.Event()
    headers = [("host", "api.example"), ("content-length", "2")]

    def leave_open() -> None:
        response = pools.handle_request(httpcore.Request("POST", raw_server.url, headers=headers, content=b"{}"))
        opened.set()
        assert closed.wait(60)
        del response

    thread = threading.Thread(target=leave_open)
    thread.start()
    assert opened.wait(60)
    with pools:
        pass
    assert ended.wait(60)
    closed.set()
    thread.join()
