"""A local server that answers as it is told, well or badly, and remembers what it was sent."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

import pytest

ANSWER = {
    "choices": [{"message": {"content": "a real answer"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 3},
}
Fault = Literal["", "drop before", "drop inside", "drop after", "drip"]


@dataclass(frozen=True)
class Answer:
    """One answer.

    Args:
        data: the body, bytes or JSON data.
        status: the status.
        headers: beside the length.
        delay_seconds: how long it takes.
        fault: the connection is closed before, inside or after the reply, or the reply drips in.
    """

    data: Any = field(default_factory=lambda: ANSWER)
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
        answer: what it answers.
        script: what it answers to the n-th request (from 0) with this body, in place of `answer`.
        headers: headers of its answers, beside the length and their own.
        stall: answers wait for it, ten seconds at most.
        requests: path, headers with lower-case names, and decoded body of what it got.
        times: when each of them came, in seconds of the monotonic clock.
        in_flight: how many it is answering.
        most_in_flight: how many it was answering at once, at most.
    """

    url: str = ""
    answer: Answer = field(default_factory=lambda: Answer({}))
    script: Callable[[int, Any], Answer] | None = None
    headers: dict[str, str] = field(default_factory=dict)
    stall: threading.Event | None = None
    requests: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answers(self, data: Any, status: int = 200) -> None:
        self.answer = Answer(data, status)

    @property
    def contents(self) -> list[str]:
        """The last message of each request, in order."""
        return [body["messages"][-1]["content"] for _, _, body in self.requests]

    def take(self, path: str, headers: dict[str, str], body: Any) -> Answer:
        with self.lock:
            number = len(self.requests)
            self.requests.append((path, headers, body))
            self.times.append(time.monotonic())
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
        return self.answer if self.script is None else self.script(number, body)


class _HTTPServer(ThreadingHTTPServer):
    # The default of 5 would refuse connections that come together.
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has gone is no error of the server's."""


class _Handler(BaseHTTPRequestHandler):
    told: Server
    protocol_version = "HTTP/1.1"
    # Small answers are not to wait for an acknowledgement of their first half.
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.told.take(self.path, headers, json.loads(content))
        try:
            self.reply(answer)
        finally:
            with self.told.lock:
                self.told.in_flight -= 1

    def reply(self, answer: Answer) -> None:
        if self.told.stall is not None:
            self.told.stall.wait(60)
        time.sleep(answer.delay_seconds)
        if answer.fault == "drop before":
            self.drop()
            return
        self.send_response(answer.status)
        named = {"content-length": str(len(answer.body)), **self.told.headers, **answer.headers}
        for name, value in named.items():
            self.send_header(name, value)
        self.end_headers()
        self.write(answer)

    def write(self, answer: Answer) -> None:
        match answer.fault:
            case "drop inside":
                self.wfile.write(answer.body[: len(answer.body) // 2])
                self.drop()
            case "drip":
                for byte in answer.body:
                    self.wfile.write(bytes([byte]))
                    time.sleep(0.01)
            case fault:
                self.wfile.write(answer.body)
                if fault == "drop after":
                    self.drop()

    def drop(self) -> None:
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    """A server on loopback, for one test."""
    told = Server()
    httpd = _HTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"told": told}))
    told.url = f"http://127.0.0.1:{httpd.server_port}"
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield told
    if told.stall is not None:
        told.stall.set()
    httpd.shutdown()
    httpd.server_close()
    thread.join()
