"""The connection of one request: every step of it ends by the request's deadline, and another thread can end it.

httpx has a limit for each step, such as one read, so a reply whose headers come byte by byte would never end. Here a
backend of httpcore (https://www.encode.io/httpcore/network-backends/) gives each step what is left until the deadline.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from http.cookiejar import CookieJar
from typing import Any, Final

import httpcore
import httpx

from pytest_chatprompt.providers.context import Cancellation

# One `send` takes this much as a whole once there is room, so the deadline is looked at between any two.
_WRITE_BYTES: Final = 16 * 1024
# No connection is used twice: bytes that come after a reply would be taken for the next one, and an open connection
# would evade what refuses new ones.
_LIMITS: Final = httpx.Limits(max_connections=None, max_keepalive_connections=0)


@contextmanager
def open_client(
    certificates: ssl.SSLContext, cookies: CookieJar, timeout_seconds: float, cancellation: Cancellation
) -> Iterator[httpx.Client]:
    """A client for one request, all of whose steps together take at most `timeout_seconds`."""
    backend = _Backend(time.monotonic() + timeout_seconds, cancellation)
    new_client = partial(httpx.Client, verify=certificates, limits=_LIMITS, cookies=cookies)
    try:
        client = new_client()
    except KeyError:
        # httpx looks through the environment, from which pytest removes a variable at the end of each test.
        client = new_client()
    with client:
        # httpx has no argument for the backend of httpcore, and a transport of our own would not know the proxies.
        for transport in (client._transport, *client._mounts.values()):
            if isinstance(transport, httpx.HTTPTransport):
                pool: Any = transport._pool
                pool._network_backend = backend
        try:
            yield client
        finally:
            backend.close()


class _Backend(httpcore.SyncBackend):
    """Opens connections by a deadline, in seconds of the monotonic clock."""

    def __init__(self, deadline: float, cancellation: Cancellation) -> None:
        self._deadline = deadline
        self._cancellation = cancellation
        self._handle: socket.socket | None = None

    def seconds_left(self, timeout: float | None, error_class: type[Exception]) -> float:
        """How long the next step may take; raises an error of the class if nothing is left."""
        seconds = self._deadline - time.monotonic()
        if seconds <= 0:
            raise error_class("the request took too long")
        return seconds if timeout is None else min(timeout, seconds)

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to the first address of a host that answers."""
        failure: Exception = httpcore.ConnectError(f"{host} has no address")
        for address in _addresses(host, port):
            seconds = self.seconds_left(timeout, httpcore.ConnectTimeout)
            try:
                stream = super().connect_tcp(address, port, seconds, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
            else:
                # TLS takes the connection away from its socket object; a second one ends it all the same.
                self._handle = stream.get_extra_info("socket").dup()
                self._cancellation.use(self._handle)
                return _Stream(stream, self)
        raise failure

    def close(self) -> None:
        """Let go of the connection: its request has ended."""
        self._cancellation.use(None)
        if self._handle is not None:
            self._handle.close()


class _Stream(httpcore.NetworkStream):
    """A connection whose steps end by the deadline of its backend."""

    def __init__(self, stream: httpcore.NetworkStream, backend: _Backend) -> None:
        self._stream = stream
        self._backend = backend
        self._seconds_left = backend.seconds_left

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what has arrived."""
        return self._stream.read(max_bytes, self._seconds_left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write all of a buffer."""
        for start in range(0, len(buffer), _WRITE_BYTES):
            seconds = self._seconds_left(timeout, httpcore.WriteTimeout)
            self._stream.write(buffer[start : start + _WRITE_BYTES], seconds)

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """Shake hands for TLS."""
        seconds = self._seconds_left(timeout, httpcore.ConnectTimeout)
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, seconds), self._backend)

    def get_extra_info(self, info: str) -> Any:
        """What httpcore asks about the connection."""
        return self._stream.get_extra_info(info)

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()


def _addresses(host: str, port: int) -> list[str]:
    """The addresses of a host, each once: Python's own loop over them would give each the whole time."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise httpcore.ConnectError(str(error)) from error
    return [str(sockaddr[0]) for *_, sockaddr in found]
