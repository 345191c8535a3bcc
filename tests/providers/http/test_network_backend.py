"""The network backend: what it does with connections that are encrypted, and with transports that have none."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from typing import Any, cast

import httpcore
import httpx
import pytest

from pytest_chatprompt.providers.cancellation import Cancellation
from pytest_chatprompt.providers.http.network_backend import (
    DeadlineBackend,
    LimitedStream,
    limit_connections,
)
from pytest_chatprompt.providers.http.per_thread_pool import PerThreadPool
from pytest_chatprompt.providers.http.request_deadline import RequestDeadline

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
        assert isinstance(pools, PerThreadPool)
        assert isinstance(pools._pool._network_backend, DeadlineBackend)
        assert client.get("http://api.example/").status_code == 200
