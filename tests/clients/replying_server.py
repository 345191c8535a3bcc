"""A server on loopback that answers as the APIs do."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from pytest_chatprompt.apis.reply import Reply
from pytest_chatprompt.apis.table import find_api


class Server:
    """A server on loopback that answers as the APIs do, each request with the next reply, or the default one."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.host = "localhost"
        answer = self._answer

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers["content-length"]))
                request = httpx.Request("POST", f"http://localhost{self.path}", content=content)
                response = answer(request)
                self.send_response(response.status_code)
                for name, value in response.headers.items():
                    if name != "content-length":
                        self.send_header(name, value)
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                for chunk in response.stream:  # type: ignore[union-attr]
                    if chunk:
                        self.wfile.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
                self.wfile.write(b"0\r\n\r\n")

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def _answer(self, request: httpx.Request) -> httpx.Response:
        api = find_api("POST", request.url.path, self.host)
        assert api is not None, request.url.path
        return api.answer(request, self.replies.pop(0) if self.replies else None)

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    """A server that lives as long as the test."""
    started = Server()
    yield started
    started.close()


@pytest.fixture(autouse=True)
def collect_what_clients_leave() -> Iterator[None]:
    """Collect connections and event loops that clients do not close, while their tests ignore warnings about that."""
    yield
    gc.collect()
