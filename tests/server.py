"""A test server on loopback: it replies as a test tells it to, also with faults, and keeps the requests it received."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

import pytest

CHAT_REPLY = {
    "choices": [{"message": {"content": "a real answer"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 3},
}
Fault = Literal["", "drop before", "drop inside", "drop after", "drip"]


@dataclass(frozen=True)
class Reply:
    """One HTTP reply.

    Args:
        data: the body, bytes or JSON data; by default a reply of chat completions.
        status: the HTTP status.
        headers: the headers beside `content-length`.
        delay_seconds: how long the server waits before it replies.
        fault: close the connection before, inside or after the reply, or send the reply byte by byte; `""` for none.
    """

    data: Any = field(default_factory=lambda: CHAT_REPLY)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay_seconds: float = 0
    fault: Fault = ""

    @property
    def body(self) -> bytes:
        return self.data if isinstance(self.data, bytes) else json.dumps(self.data).encode()


@dataclass
class Server:
    """A server on loopback.

    Args:
        url: its address.
        reply: the reply to every request.
        script: gives the reply to the n-th request (from 0) with this body, in place of `reply`.
        headers: headers of every reply, beside its own.
        stall: every reply waits for this event, one minute at most.
        requests: path, headers with lower-case names, and decoded body of each request, in order of arrival.
        times: when each request arrived, in seconds of the monotonic clock.
        in_flight: how many requests wait for their reply now.
        max_in_flight: the highest value that `in_flight` had.
        is_overdue: whether a reply came only because a minute was over, which fails the test at its end.
    """

    url: str = ""
    reply: Reply = field(default_factory=lambda: Reply({}))
    script: Callable[[int, Any], Reply] | None = None
    headers: dict[str, str] = field(default_factory=dict)
    stall: threading.Event | None = None
    requests: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    in_flight: int = 0
    max_in_flight: int = 0
    is_overdue: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def reply_with(self, data: Any, status: int = 200) -> None:
        """Reply to every request with this body."""
        self.reply = Reply(data, status)

    @property
    def last_contents(self) -> list[str]:
        """The content of the last message of each request, in order of arrival."""
        return [body["messages"][-1]["content"] for _, _, body in self.requests]

    def gather(self, count: int, after: int = 0) -> None:
        """Reply only when this many requests have been in flight together, or after a minute.

        Args:
            count: how many.
            after: as many requests as this get their reply at once.
        """

        def script(number: int, _: Any) -> Reply:
            deadline = time.monotonic() + 60
            while number >= after and self.max_in_flight < count and time.monotonic() < deadline:
                time.sleep(0.005)
            self.is_overdue |= time.monotonic() >= deadline
            return self.reply

        self.script = script

    def receive(self, path: str, headers: dict[str, str], body: Any) -> Reply:
        """Keep a request, and give the reply to it."""
        with self.lock:
            number = len(self.requests)
            self.requests.append((path, headers, body))
            self.times.append(time.monotonic())
            self.in_flight += 1
            self.max_in_flight = max(self.max_in_flight, self.in_flight)
        return self.reply if self.script is None else self.script(number, body)


class _HTTPServer(ThreadingHTTPServer):
    # The default of 5 would refuse connections that arrive together.
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that have closed their connection."""


class _Handler(BaseHTTPRequestHandler):
    # Not `server`: the base class has an attribute of that name.
    test_server: Server
    protocol_version = "HTTP/1.1"
    # Otherwise a small reply waits until its first half is acknowledged.
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        content = gzip.decompress(content) if headers.get("content-encoding") == "gzip" else content
        reply = self.test_server.receive(self.path, headers, json.loads(content))
        if self.test_server.stall is not None:
            self.test_server.is_overdue |= not self.test_server.stall.wait(60)
        time.sleep(reply.delay_seconds)
        # Whoever has the reply may send the next request before this thread goes on.
        with self.test_server.lock:
            self.test_server.in_flight -= 1
        self.send_reply(reply)

    def send_reply(self, reply: Reply) -> None:
        if reply.fault == "drop before":
            self.drop_connection()
            return
        self.send_response(reply.status)
        headers = {"content-length": str(len(reply.body)), **self.test_server.headers, **reply.headers}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.write_body(reply)

    def write_body(self, reply: Reply) -> None:
        match reply.fault:
            case "drop inside":
                self.wfile.write(reply.body[: len(reply.body) // 2])
                self.drop_connection()
            case "drip":
                for byte in reply.body:
                    self.wfile.write(bytes([byte]))
                    time.sleep(0.01)
            case fault:
                self.wfile.write(reply.body)
                if fault == "drop after":
                    self.drop_connection()

    def drop_connection(self) -> None:
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    """A server on loopback, for one test."""
    test_server = Server()
    httpd = _HTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"test_server": test_server}))
    test_server.url = f"http://127.0.0.1:{httpd.server_port}"
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield test_server
    if test_server.stall is not None:
        test_server.stall.set()
    httpd.shutdown()
    httpd.server_close()
    thread.join()
    assert not test_server.is_overdue, "the server replied only because it had waited for a minute"
