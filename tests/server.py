"""A local server that answers as it is told, and remembers what it was sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


@dataclass
class Server:
    """A server on loopback.

    Args:
        url: its address.
        status: the status of its answers.
        body: the bytes of its answers.
        headers: headers of its answers, beside the length.
        stall: answers wait for it, ten seconds at most.
        requests: path, headers with lower-case names, and decoded body of what it got.
    """

    url: str = ""
    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    stall: threading.Event | None = None
    requests: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)

    def answers(self, data: Any, status: int = 200) -> None:
        self.status = status
        self.body = data if isinstance(data, bytes) else json.dumps(data).encode()


@pytest.fixture
def server() -> Iterator[Server]:
    """A server on loopback, for one test."""
    told = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            told.requests.append((self.path, headers, json.loads(content)))
            if told.stall is not None:
                told.stall.wait(10)
            self.send_response(told.status)
            if "content-length" not in told.headers:
                self.send_header("content-length", str(len(told.body)))
            for name, value in told.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(told.body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told.url = f"http://127.0.0.1:{httpd.server_port}"
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield told
    if told.stall is not None:
        told.stall.set()
    httpd.shutdown()
    httpd.server_close()
    thread.join()
