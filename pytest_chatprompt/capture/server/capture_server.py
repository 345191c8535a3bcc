"""`CaptureServer`: a real HTTP server on loopback, for clients in other processes and languages.

Requests come in from each client that `environ` points here. Each goes, as an `httpx.Request` with the URL of the real
API, to the function that the maker passes in; the response that it gives goes back as it comes. `None` forwards the
request to the real API. `child_processes` makes one when the URL of an `EvalAPI` is asked for, `agent_requests` one for
each run of an agent.
"""

from __future__ import annotations

import os
import secrets
import selectors
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from time import monotonic
from typing import Final

import httpx

from pytest_chatprompt.capture.guard import allow_programs
from pytest_chatprompt.capture.sent_request import describe_request
from pytest_chatprompt.capture.server.connection import HOP_BY_HOP, ReceivedRequest, ServerConnection
from pytest_chatprompt.capture.server.environ import build_environ, url_variables
from pytest_chatprompt.capture.server.error_reply import error_reply
from pytest_chatprompt.capture.server.forwarding import Forwarder
from pytest_chatprompt.capture.server.real_urls import find_target
from pytest_chatprompt.errors import CaptureError

# More than any API takes.
MAX_BODY_BYTES: Final = 100 * 2**20
# The extension of a request that says where it was meant to go.
_TARGET: Final = "chatprompt_target"
# How long `close` waits for the functions that answer requests.
_CLOSING_SECONDS: Final = 10.0

Handle = Callable[[httpx.Request], httpx.Response | None]


class CaptureServer:
    """A server on loopback that hands each request to a function. It runs from when it is made until `close`.

    Args:
        handle: gets each request, with its body and the URL of the real API, in a thread of the client's connection.
            It gives the response, whose stream may be lazy, or `None` to forward the request. What it raises is kept
            in `errors`, and the client gets an error that no SDK retries.
        is_live: whether `None` forwards to the real API. If not, `None` is an error.
        environment: the variables of the child process otherwise, and those with the real keys and URLs; `None` for
            those of this process.
        max_body_bytes: a longer request is refused with status 413.

    Attributes:
        url: `http://127.0.0.1:PORT`.
        errors: what `handle` or a response's stream raised, and why requests were not forwarded, in order.
    """

    def __init__(
        self,
        handle: Handle,
        *,
        is_live: bool = False,
        environment: Mapping[str, str] | None = None,
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        self.errors: list[BaseException] = []
        self._handle = handle
        self._is_live = is_live
        self._max_body_bytes = max_body_bytes
        # In a live run this key spends the user's money, so only the child process gets it.
        self._placeholder = f"placeholder-{secrets.token_hex(16)}"
        self._environment = os.environ if environment is None else environment
        # The variables may lead here later, in a test that sets them for this process too.
        self._environment_before = dict(self._environment)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._forwarder: Forwarder | None = None
        self._lock = threading.Lock()
        self._connections: dict[threading.Thread, socket.socket] = {}
        self._is_closed = False
        self._waker, self._wakened = socket.socketpair()
        self._cleanup = ExitStack()
        self._cleanup.enter_context(allow_programs(url_variables(self.url)))
        self._thread = threading.Thread(target=self._accept, name="chatprompt-server", daemon=True)
        self._thread.start()

    @property
    def environ(self) -> Mapping[str, str]:
        """The variables that point the SDKs of a child process here; put them over those of this process."""
        return build_environ(self.url, self._placeholder, self._environment, is_live=self._is_live)

    def learn_environment(self) -> None:
        """Remember the values of variables that do not point to this server, to forward requests with them later."""
        self._environment_before |= {
            name: value for name, value in self._environment.items() if not self._is_own(value)
        }

    def forward(self, request: httpx.Request) -> httpx.Response:
        """Send a request on to the real API; the stream of the response is not read yet.

        Args:
            request: one that `handle` got.

        Raises:
            CaptureError: it cannot be sent on, or the API cannot be reached.
        """
        if not self._is_live:
            raise CaptureError(
                f"nothing answers {describe_request(request)} offline; "
                "add a route to eval_api, or run with --chatprompt-live"
            )
        target = request.extensions[_TARGET]
        with self._lock:
            if self._forwarder is None:
                self._forwarder = Forwarder(self._placeholder, self.url)
        return self._forwarder.forward(request, target, self._find_environment())

    def close(self) -> None:
        """Stop: close all connections, and wait for the threads. Closing again does nothing."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        self._waker.close()
        self._thread.join()
        # From here on no connection is added.
        with self._lock:
            connections = dict(self._connections)
        for client in connections.values():
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        deadline = monotonic() + _CLOSING_SECONDS
        for thread in connections:
            thread.join(max(deadline - monotonic(), 0))
        if self._forwarder is not None:
            self._forwarder.close()
        self._cleanup.close()

    # --- threads

    def _accept(self) -> None:
        """Start a thread for each connection, until the server is closed."""
        with self._listener, self._wakened, selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(self._wakened, selectors.EVENT_READ)
            while all(key.fileobj is self._listener for key, _ in selector.select()):
                with suppress(OSError):
                    # The client may be gone already.
                    self._start_connection(self._listener.accept()[0])

    def _start_connection(self, client: socket.socket) -> None:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        thread = threading.Thread(target=self._serve, args=(client,), name="chatprompt-server-connection", daemon=True)
        with self._lock:
            self._connections[thread] = client
        thread.start()

    def _serve(self, client: socket.socket) -> None:
        try:
            with client:
                ServerConnection(client, self._answer, self.errors.append, self._max_body_bytes).serve()
        finally:
            with self._lock:
                self._connections.pop(threading.current_thread(), None)

    # --- answers

    def _answer(self, received: ReceivedRequest) -> httpx.Response:
        try:
            request = self._to_httpx(received)
            response = self._handle(request)
            return self.forward(request) if response is None else response
        except BaseException as error:
            self.errors.append(error)
            # SDKs show a 404 at once; others they send again, some of them for minutes.
            return error_reply(404, str(error) or type(error).__name__)

    def _to_httpx(self, received: ReceivedRequest) -> httpx.Request:
        dropped = HOP_BY_HOP | {b"host", b"content-length", b"expect"}
        target = find_target(received.target, self.url)
        return httpx.Request(
            received.method,
            target.url,
            headers=[(name, value) for name, value in received.headers if name not in dropped],
            content=received.body,
            extensions={_TARGET: target},
        )

    def _find_environment(self) -> Mapping[str, str]:
        """The variables of this process; one that points to this server has its earlier value."""
        return {
            name: self._environment_before.get(name, "") if self._is_own(value) else value
            for name, value in self._environment.items()
        }

    def _is_own(self, value: str) -> bool:
        return value == self._placeholder or value.startswith(self.url)
