"""A server on loopback, and clients that talk to it byte by byte."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from pytest_chatprompt.capture.server.capture_server import CaptureServer

Handle = Callable[[httpx.Request], httpx.Response | None]
StartServer = Callable[..., CaptureServer]
DEADLINE_SECONDS = 60


@pytest.fixture
def start_server() -> Iterator[StartServer]:
    """Starts servers, and closes them after the test."""
    servers: list[CaptureServer] = []

    def start(handle: Handle, **arguments: Any) -> CaptureServer:
        servers.append(CaptureServer(handle, **arguments))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def connect(server: CaptureServer) -> socket.socket:
    """A connection to a server."""
    return socket.create_connection(("127.0.0.1", httpx.URL(server.url).port or 0), timeout=DEADLINE_SECONDS)


def receive(client: socket.socket, end: bytes) -> bytes:
    """Receive until the bytes end so; all of them if the connection ends before."""
    received = b""
    while not received.endswith(end) and (chunk := client.recv(65536)):
        received += chunk
    return received


def receive_all(client: socket.socket) -> bytes:
    """Receive until the server closes the connection."""
    received = b""
    while chunk := client.recv(65536):
        received += chunk
    return received
