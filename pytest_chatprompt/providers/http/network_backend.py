"""The network backend of httpx's connections: every step of a request ends by the request's deadline.

httpx has a limit for each step, such as one read, so a reply whose headers come byte by byte would never end. Here a
backend of httpcore (https://www.encode.io/httpcore/network-backends/) opens the connections, and gives each step what
is left until the deadline. It also notes which connection a request uses. `HTTPClient` calls `limit_connections` when
it opens a client for the network; offline nothing imports this module.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterable
from typing import Any, Final, cast

import httpcore
import httpx

from pytest_chatprompt.providers.http.per_thread_pool import PerThreadPool
from pytest_chatprompt.providers.http.request_deadline import RequestDeadline

# One `send` takes this much as a whole once there is room, so the deadline is looked at between any two.
_WRITE_BYTES: Final = 16 * 1024


class LimitedStream(httpcore.NetworkStream):
    """A connection whose reads and writes end by the deadline of the request that uses it.

    Args:
        stream: the connection.
        limits: what limits the request of the calling thread.
    """

    def __init__(self, stream: httpcore.NetworkStream, limits: RequestDeadline) -> None:
        self._stream = stream
        self._limits = limits
        self._socket: socket.socket = stream.get_extra_info("socket")

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what has arrived."""
        self._limits.use(self._socket)
        seconds = self._limits.seconds_left(timeout, httpcore.ReadTimeout)
        return self._stream.read(max_bytes, seconds)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write all of a buffer."""
        self._limits.use(self._socket)
        for start in range(0, len(buffer), _WRITE_BYTES):
            seconds = self._limits.seconds_left(timeout, httpcore.WriteTimeout)
            self._stream.write(buffer[start : start + _WRITE_BYTES], seconds)

    def close(self) -> None:
        """Close the connection."""
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """Shake hands for TLS."""
        seconds = self._limits.seconds_left(timeout, httpcore.ConnectTimeout)
        if isinstance(self._socket, ssl.SSLSocket):
            # TLS within TLS, to a proxy: the socket stays as it is.
            return LimitedStream(self._stream.start_tls(ssl_context, server_hostname, seconds), self._limits)
        # Python takes the connection away from this socket object before it shakes hands; a second one keeps it.
        with self._socket.dup() as handle:
            self._limits.use(handle)
            stream = self._stream.start_tls(ssl_context, server_hostname, seconds)
            self._limits.use(stream.get_extra_info("socket"))
        return LimitedStream(stream, self._limits)

    def get_extra_info(self, info: str) -> Any:
        """What httpcore asks about the connection."""
        return self._stream.get_extra_info(info)


class DeadlineBackend(httpcore.SyncBackend):
    """Opens connections, each within the deadline of the request that needs it.

    Args:
        limits: what limits the request of the calling thread.
    """

    def __init__(self, limits: RequestDeadline) -> None:
        self._limits = limits

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
            seconds = self._limits.seconds_left(timeout, httpcore.ConnectTimeout)
            try:
                stream = super().connect_tcp(address, port, seconds, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
            else:
                limited = LimitedStream(stream, self._limits)
                self._limits.use(stream.get_extra_info("socket"))
                return limited
        raise failure


def _addresses(host: str, port: int) -> list[str]:
    """The addresses of a host, each once: Python's own loop over them would give each the whole time."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise httpcore.ConnectError(str(error)) from error
    return [str(sockaddr[0]) for *_, sockaddr in found]


def limit_connections(client: httpx.Client, limits: RequestDeadline) -> None:
    """Let a new client open its connections through a `DeadlineBackend`, also those to proxies; a pool for each thread.

    Args:
        client: has sent nothing yet.
        limits: what limits the requests of its threads.
    """
    # httpx has no argument for the backend of httpcore, and a transport of our own would not know the proxies.
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, httpx.HTTPTransport):
            pool: Any = transport._pool
            pool._network_backend = DeadlineBackend(limits)
            transport._pool = cast(Any, PerThreadPool(pool))
