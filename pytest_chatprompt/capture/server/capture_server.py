"""`CaptureServer`: a real HTTP server on loopback, for clients in other processes and languages."""

from __future__ import annotations

import os
import secrets
import selectors
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from time import monotonic
from typing import Final
from urllib.parse import quote

import h11
import httpx

from pytest_chatprompt.capture.clients.interceptor import FORWARDED_EXTENSION
from pytest_chatprompt.capture.clients.wire import RawReply, error_reply
from pytest_chatprompt.capture.guard import allow_programs
from pytest_chatprompt.capture.sent_request import describe_request
from pytest_chatprompt.capture.server.table import (
    REDIRECTED_APIS,
    Target,
    build_environ,
    find_real_url,
    find_target,
    url_variables,
)
from pytest_chatprompt.errors import CaptureError

# Headers that are about one connection (https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1).
HOP_BY_HOP: Final = frozenset(
    (b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade")
)
_MAX_HEADER_BYTES: Final = 256 * 1024
_READ_BYTES: Final = 256 * 1024
# How long a refused body is read on, so that its client sees the reply and no reset of the connection.
_DRAIN_SECONDS: Final = 5.0


class _RefusedRequestError(Exception):
    """A request that is answered without being read to its end."""

    def __init__(self, status: int, text: str) -> None:
        self.status = status
        super().__init__(text)


class _HungUpError(Exception):
    """The client closed the connection during a response."""


class ServerConnection:
    """A connection that a client has opened."""

    def __init__(
        self,
        client: socket.socket,
        answer: Callable[[h11.Request, bytes], httpx.Response],
        on_error: Callable[[Exception], None],
        max_body_bytes: int,
    ) -> None:
        self._client = client
        self._answer = answer
        self._on_error = on_error
        self._max_body_bytes = max_body_bytes
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_MAX_HEADER_BYTES)

    def serve(self) -> None:
        """Answer requests until the client or the server closes the connection."""
        with suppress(OSError, _HungUpError):
            while self._serve_request():
                pass

    def _serve_request(self) -> bool:
        """Answer one request; return whether the connection stays open."""
        try:
            request = self._read_request()
        except _RefusedRequestError as error:
            return self._refuse(error.status, str(error))
        except h11.RemoteProtocolError as error:
            return self._refuse(error.error_status_hint, f"this is not HTTP/1.1: {error}")
        if request is None:
            return False
        response = self._answer(*request)
        try:
            self._write(RawReply(response, request[0].method.decode("ascii")))
        except _HungUpError:
            return False
        except Exception as error:
            self._on_error(error)
            return False
        finally:
            response.close()
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    # --- reading

    def _read_request(self) -> tuple[h11.Request, bytes] | None:
        """The next request with its body; `None` if the client sends no more."""
        head = self._next_event()
        if not isinstance(head, h11.Request):
            return None
        headers = list(head.headers)
        # The first of them, as a dict would keep the last: h11 has refused two that differ.
        length = next((int(value) for name, value in headers if name == b"content-length"), 0)
        if length > self._max_body_bytes:
            raise self._too_long()
        if head.http_version not in (b"1.0", b"1.1"):
            # The first bytes of HTTP/2 look like a request (https://www.rfc-editor.org/rfc/rfc9113#section-3.4).
            raise _RefusedRequestError(505, "HTTP/2 cannot be captured: let the client send HTTP/1.1")
        if head.method == b"CONNECT":
            raise _RefusedRequestError(
                403, "only requests to the APIs of models are captured: this server is not a proxy for other hosts"
            )
        if any(name == b"upgrade" and value.lower() == b"websocket" for name, value in headers):
            raise _RefusedRequestError(426, "WebSockets cannot be captured: send plain HTTP requests")
        chunks: list[bytes] = []
        size = 0
        while isinstance(event := self._next_event(), h11.Data):
            chunks.append(bytes(event.data))
            size += len(event.data)
            if size > self._max_body_bytes:
                raise self._too_long()
        return head, b"".join(chunks)

    def _next_event(self) -> object:
        while True:
            event = self._http.next_event()
            if event is not h11.NEED_DATA:
                return event
            if self._http.they_are_waiting_for_100_continue:
                self._send(h11.InformationalResponse(status_code=100, headers=[]))
            self._http.receive_data(self._client.recv(_READ_BYTES))

    def _too_long(self) -> _RefusedRequestError:
        return _RefusedRequestError(
            413, f"the body of a captured request may have at most {self._max_body_bytes:,} bytes; send a shorter one"
        )

    # --- writing

    def _write(self, reply: RawReply, *, closes: bool = False) -> None:
        headers = [each for each in reply.headers if each[0].lower() not in HOP_BY_HOP]
        headers += [(b"Connection", b"close")] if closes else []
        self._send(h11.Response(status_code=reply.status, headers=headers, reason=reply.reason))
        for chunk in reply.chunks() if reply.body is None else (reply.body,):
            if chunk:
                self._send(h11.Data(data=chunk))
        self._send(h11.EndOfMessage())

    def _send(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data:
            try:
                self._client.sendall(data)
            except OSError as error:
                raise _HungUpError from error

    def _refuse(self, status: int, text: str) -> bool:
        """Answer a request that was not read to its end, and close the connection."""
        with suppress(h11.LocalProtocolError):
            # Nothing can be answered where the reply has begun already.
            self._write(RawReply(error_reply(status, text), ""), closes=True)
        self._client.shutdown(socket.SHUT_WR)
        deadline = time.monotonic() + _DRAIN_SECONDS
        self._client.settimeout(_DRAIN_SECONDS)
        while time.monotonic() < deadline and self._client.recv(_READ_BYTES):
            pass
        return False


# Agents wait long for an answer, and give up by themselves.
_TIMEOUT: Final = httpx.Timeout(600, connect=10)
_SIGV4: Final = "AWS4-HMAC-SHA256"
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
        # Made for the first request that is forwarded.
        self._client: httpx.Client | None = None
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
        """Send a request on to the real API; the stream of the response is not read yet."""
        if not self._is_live:
            raise CaptureError(
                f"nothing answers {describe_request(request)} offline; "
                "add a route to eval_api, or run with --chatprompt-live"
            )
        prepared = self._prepare(request, request.extensions[_TARGET])
        with self._lock:
            if self._client is None:
                limits = httpx.Limits(max_connections=None)
                self._client = httpx.Client(timeout=_TIMEOUT, limits=limits, follow_redirects=False)
        try:
            return self._client.send(prepared, stream=True)
        except httpx.HTTPError as error:
            raise CaptureError(
                f"{describe_request(request)} got no reply: {error!r}; check the network and the URL of the API"
            ) from error

    def _prepare(self, request: httpx.Request, target: Target) -> httpx.Request:
        """The request as the real API gets it."""
        if target.api is None:
            names = ", ".join(api.name for api in REDIRECTED_APIS)
            raise CaptureError(
                f"{describe_request(request)} cannot be sent on, since its path names no API; "
                f"it must begin with the name of one: {names}"
            )
        environment = self._find_environment()
        url = find_real_url(target, environment, self.url)
        if url is None:
            raise CaptureError(
                f"{describe_request(request)} cannot be sent on: "
                f"set {next(iter(target.api.urls))} to the URL of your API"
            )
        if request.headers.get("authorization", "").startswith(_SIGV4):
            raise CaptureError(
                f"{describe_request(request)} is signed for this machine (SigV4) and cannot be sent on; "
                "let the client use a key of Bedrock, in AWS_BEARER_TOKEN_BEDROCK"
            )
        headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"host"]
        placeholder = self._placeholder.encode()
        if placeholder in url.query or any(placeholder in value for _, value in headers):
            keys = (environment.get(variable, "") for variable in target.api.keys)
            key = next((key for key in keys if key and key != self._placeholder), None)
            if key is None:
                raise CaptureError(
                    f"{describe_request(request)} cannot be sent on without a key: set {target.api.keys[0]}"
                )
            headers = [(name, value.replace(placeholder, key.encode())) for name, value in headers]
            query = url.query.replace(placeholder, quote(key, safe="").encode())
            url = url.copy_with(query=query) if query else url
        return httpx.Request(
            request.method,
            url,
            headers=headers,
            content=request.content,
            extensions={FORWARDED_EXTENSION: True, "timeout": _TIMEOUT.as_dict()},
        )

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
        if self._client is not None:
            self._client.close()
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

    def _answer(self, head: h11.Request, body: bytes) -> httpx.Response:
        try:
            request = self._to_httpx(head, body)
            response = self._handle(request)
            return self.forward(request) if response is None else response
        except BaseException as error:
            self.errors.append(error)
            # SDKs show a 404 at once; others they send again, some of them for minutes.
            return error_reply(404, str(error) or type(error).__name__)

    def _to_httpx(self, head: h11.Request, body: bytes) -> httpx.Request:
        dropped = HOP_BY_HOP | {b"host", b"content-length", b"expect"}
        target = find_target(head.target.decode("ascii"), self.url)
        return httpx.Request(
            head.method.decode("ascii"),
            target.url,
            headers=[(name, value) for name, value in head.headers if name not in dropped],
            content=body,
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
