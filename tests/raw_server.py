"""A server of raw bytes on loopback: a test function talks to each connection, also in ways that no HTTP server would."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import pytest

Talk = Callable[[socket.socket, int], None]
CHAT_BODY = b'{"choices":[{"message":{"content":"%s"},"finish_reason":"stop"}]}'


def chat_body(text: str) -> bytes:
    """The body of a reply of chat completions with this text."""
    return CHAT_BODY % text.encode()


def http_reply(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """A whole HTTP reply, with `content-length`."""
    lines = [f"HTTP/1.1 {status}", "content-type: application/json", f"content-length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def read_request(connection: socket.socket) -> bytes:
    """Read one HTTP request with `content-length`; `b""` if the client has closed the connection."""
    received = b""
    while b"\r\n\r\n" not in received:
        chunk = connection.recv(65536)
        if not chunk:
            return b""
        received += chunk
    head, _, body = received.partition(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
    )
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


@dataclass
class RawServer:
    """A server on loopback.

    Args:
        talk: called in a thread for each connection, with its socket and its number from 0; the socket is closed after.
        port: the port.
        connections: the sockets of all connections so far.
    """

    talk: Talk = lambda *_: None
    port: int = 0
    connections: list[socket.socket] = field(default_factory=list)

    @property
    def url(self) -> str:
        """The address."""
        return f"http://127.0.0.1:{self.port}"

    def serve(self, listener: socket.socket) -> None:
        """Accept connections until the listener is closed."""
        with suppress(OSError):
            while True:
                connection = listener.accept()[0]
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.connections.append(connection)
                number = len(self.connections) - 1
                threading.Thread(target=self._talk, args=(connection, number), daemon=True).start()

    def _talk(self, connection: socket.socket, number: int) -> None:
        # A client that gives up closes the connection, which a talk need not expect.
        with connection, suppress(OSError):
            self.talk(connection, number)


@pytest.fixture
def raw_server() -> Iterator[RawServer]:
    """A server of raw bytes, for one test."""
    server = RawServer()
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    server.port = listener.getsockname()[1]
    thread = threading.Thread(target=server.serve, args=(listener,), daemon=True)
    thread.start()
    yield server
    # `close` alone would not wake the thread that accepts.
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()
    for connection in server.connections:
        connection.close()
