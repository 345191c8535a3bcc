"""`http.client` and urllib3: the seam is the socket of their connections, which collects a request and gives the reply.

`urllib.request`, requests and botocore are above them. Retries and redirects are theirs.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Generator
from http.client import HTTPConnection, HTTPSConnection
from types import ModuleType
from typing import Any, Final

import httpx

from pytest_chatprompt.capture.clients.interceptor import Patch, current_interceptor, let_pass, run_now
from pytest_chatprompt.capture.clients.wire import RawReply, build_request, converted_errors, join_url, parse_request

_READ_SIZE: Final = 2**16


def patches(_: ModuleType) -> tuple[Patch, ...]:
    """The methods of `http.client` to replace."""
    return (
        Patch(HTTPConnection, "connect", _wrap_connect),
        Patch(HTTPSConnection, "connect", _wrap_connect),
        Patch(HTTPConnection, "putrequest", _wrap_putrequest),
    )


def urllib3_patches(module: ModuleType) -> tuple[Patch, ...]:
    """The methods of urllib3 to replace, where it is not urllib3-future, which takes its name."""
    owners = (module.HTTPConnection, module.HTTPSConnection)
    return tuple(Patch(owner, "connect", _wrap_connect) for owner in owners if issubclass(owner, HTTPConnection))


def _wrap_connect(original: Callable[..., Any]) -> Callable[..., Any]:
    def connect(self: Any) -> None:
        if current_interceptor() is None:
            original(self)
        else:
            self.sock = _CollectingSocket(self)
            # For urllib3, which warns otherwise.
            self.is_verified = True

    return connect


def _wrap_putrequest(original: Callable[..., Any]) -> Callable[..., Any]:
    def putrequest(self: Any, *arguments: Any, **options: Any) -> None:
        original(self, *arguments, **options)
        is_kept = self.sock is not None and not isinstance(self.sock, _CollectingSocket)
        # Replaced, or inherited from a class where it is.
        connects_as_usual = hasattr(type(self).connect, "__wrapped__")
        if is_kept and connects_as_usual and current_interceptor() is not None:
            self.sock = _CollectingSocket(self, self.sock)

    return putrequest


class _CollectingSocket:
    """Collects what a connection sends; asks the interceptor as soon as the connection wants to read."""

    def __init__(self, connection: HTTPConnection, kept: Any = None) -> None:
        self._connection = connection
        self._kept = kept
        self._sent = bytearray()

    def sendall(self, data: Any) -> None:
        self._sent += data

    def makefile(self, *_: Any, **__: Any) -> io.BufferedReader:
        """Open the file that `HTTPResponse` reads.

        The interceptor is asked when it reads: without a file, a response of Python 3.13 fails once more when it ends.
        """
        data = bytes(self._sent)
        self._sent.clear()
        return io.BufferedReader(_PartsFile(self._receive(data)))

    def _receive(self, data: bytes) -> Generator[bytes, None, None]:
        """The bytes of the reply, or of the one from the network."""
        request = self._request(data)
        interceptor = current_interceptor()
        with converted_errors(_own_error):
            response = None if interceptor is None else run_now(interceptor.handle(request, is_async=False))
        if response is None:
            real = self._connect()
            real.sendall(data)
            # The file keeps the socket open where the connection lets go of it.
            with real.makefile("rb", buffering=0) as file:
                yield from iter(lambda: file.read(_READ_SIZE), b"")
        else:
            reply = RawReply(response, request.method, _own_error)
            # Another interceptor may have to get the next request.
            reply.headers["Connection"] = "close"
            try:
                yield from reply.framed()
            finally:
                reply.close()

    def close(self) -> None:
        """Close the kept socket too: the connection will make a new one."""
        if self._kept is not None:
            self._kept.close()

    def settimeout(self, _: Any) -> None:
        """Ignore the timeout: a reply needs none."""

    def setsockopt(self, *_: Any) -> None:
        """Ignore socket options: a reply needs none."""

    def _request(self, data: bytes) -> httpx.Request:
        connection: Any = self._connection
        method, target, headers, content = parse_request(data)
        # Of the class: urllib3's for TLS is no subclass of that of `http.client`.
        scheme = "https" if connection.default_port == HTTPSConnection.default_port else "http"
        # `set_tunnel` keeps the real host here, and the proxy's in `host`.
        tunnel = getattr(connection, "_tunnel_host", None)
        host, port = (tunnel, connection._tunnel_port) if tunnel else (connection.host, connection.port)
        url = join_url(scheme, host, port, target)
        return build_request(method, url, headers, content)

    def _connect(self) -> Any:
        connection = self._connection
        connection.sock = self._kept
        if self._kept is None:
            with let_pass():
                connection.connect()
        return connection.sock


class _PartsFile(io.RawIOBase):
    """A file that takes the next part of a reply when it is read, and not earlier."""

    def __init__(self, parts: Generator[bytes, None, None]) -> None:
        self._parts = parts
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            while not self._rest:
                self._rest = memoryview(next(self._parts))
        except StopIteration:
            return 0
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def close(self) -> None:
        if not self.closed:
            self._parts.close()
        super().close()


def _own_error(error: httpx.TransportError) -> OSError:
    """Convert an httpx transport error to the socket's `OSError`."""
    if isinstance(error, httpx.TimeoutException):
        return TimeoutError(str(error))
    if isinstance(error, httpx.ConnectError):
        return ConnectionRefusedError(str(error))
    return ConnectionResetError(str(error))
