"""`CaptureServer`: a real HTTP server on loopback, for clients in other processes and languages."""

from __future__ import annotations

import os
import secrets
import socket
import socketserver
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from http.server import BaseHTTPRequestHandler
from time import monotonic
from typing import Any, Final
from urllib.parse import quote

import httpx

from pytest_chatprompt.capture.clients.wire import RawReply, error_reply, unchunked, written_target
from pytest_chatprompt.capture.guard import allow_programs
from pytest_chatprompt.capture.recording.open_recording import send
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
HOP_BY_HOP: Final = frozenset(b"connection keep-alive proxy-connection te trailer transfer-encoding upgrade".split())


class _Listener(socketserver.ThreadingTCPServer):
    """Serves each connection in a thread of its own. It looks up no name, as `http.server.HTTPServer` does."""

    request_queue_size = 128

    def __init__(self, owner: CaptureServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.owner = owner
        self._connections: dict[threading.Thread, socket.socket] = {}

    def process_request(self, request: Any, client_address: Any) -> None:
        """Start the thread of a connection."""
        thread = threading.Thread(target=self.process_request_thread, args=(request, client_address), daemon=True)
        self._connections = {each: client for each, client in self._connections.items() if each.is_alive()}
        self._connections[thread] = request
        thread.start()

    def handle_error(self, *_: Any) -> None:
        """Say nothing of a client that has gone, or that speaks no HTTP."""

    def close(self) -> None:
        """End the listener and its connections, and wait for the functions that answer requests."""
        self.shutdown()
        self.server_close()
        for client in self._connections.values():
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        deadline = monotonic() + _CLOSING_SECONDS
        for thread in self._connections:
            thread.join(max(deadline - monotonic(), 0))


class _Handler(BaseHTTPRequestHandler):
    """A connection that a client has opened."""

    server: _Listener
    protocol_version = "HTTP/1.1"
    # What is no HTTP/1.1 gets an error with a head.
    default_request_version = "HTTP/1.0"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        """Answer a request."""
        if self.headers.get("Upgrade", "").lower() == "websocket":
            self.send_error(426, "WebSockets cannot be captured: send plain HTTP requests")
            return
        is_chunked = self.headers.get("Transfer-Encoding", "").lower() == "chunked"
        length = int(self.headers.get("Content-Length", 0))
        body = b"".join(unchunked(self.rfile)) if is_chunked else self.rfile.read(length)
        if len(body) < length:
            # The client has gone.
            self.close_connection = True
            return
        response = self.server.owner.answer(self, body)
        reply = RawReply(response, self.command, lambda error: CaptureError(str(error)))
        for name in HOP_BY_HOP:
            reply.headers.pop(name.decode(), None)
        try:
            for part in reply.framed():
                self.wfile.write(part)
        except Exception as error:
            # The stream has broken off, and the client must not take it for whole; or the client has gone.
            self.close_connection = True
            if not isinstance(error, ConnectionError):
                self.server.owner.on_error(error)
        finally:
            response.close()

    do_GET = do_HEAD = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_POST  # noqa: N815

    def do_CONNECT(self) -> None:
        """Refuse to be a proxy."""
        self.send_error(403, "only requests to the APIs of models are captured: this is no proxy for other hosts")

    def log_message(self, *_: Any) -> None:
        """Say nothing: the test sees the requests."""


# The extension of a request that says where it was meant to go.
_TARGET: Final = "chatprompt_target"
# How often the listener looks whether it has to end.
_POLL_SECONDS: Final = 0.05
# How long `close` waits for the functions that answer requests.
_CLOSING_SECONDS: Final = 10.0


class CaptureServer:
    """A server on loopback that hands each request to a function. It runs from when it is made until `close`.

    Args:
        handle: gets each request, with its body and the URL of the real API, in a thread of the client's connection.
            It gives the response, or `None` to forward the request; for what it raises the client gets an error too.
        is_live: whether `None` forwards to the real API. If not, `None` is an error.
        environment: the variables of the child process otherwise, and those with the real keys and URLs; `None` for
            those of this process.
        on_error: called with each error, in place of adding it to `errors`.

    Attributes:
        errors: what `handle` or a response's stream raised, and why requests were not forwarded, in order.
    """

    def __init__(
        self,
        handle: Callable[[httpx.Request], httpx.Response | None],
        *,
        is_live: bool = False,
        environment: Mapping[str, str] | None = None,
        on_error: Callable[[BaseException], None] | None = None,
    ) -> None:
        self.errors: list[BaseException] = []
        self.on_error = on_error or self.errors.append
        self._handle = handle
        self._is_live = is_live
        # In a live run this key spends the user's money, so only the child process gets it.
        self._placeholder = f"placeholder-{secrets.token_hex(16)}"
        self._environment = os.environ if environment is None else environment
        # The variables may lead here later, in a test that sets them for this process too.
        self._environment_before = dict(self._environment)
        self._listener = _Listener(self)
        self.url = f"http://127.0.0.1:{self._listener.server_address[1]}"
        self._cleanup = ExitStack()
        self._cleanup.enter_context(allow_programs(url_variables(self.url)))
        self._cleanup.callback(self._listener.close)
        threading.Thread(target=self._listener.serve_forever, args=(_POLL_SECONDS,), daemon=True).start()

    @property
    def environ(self) -> Mapping[str, str]:
        """The variables that point the SDKs of a child process here; put them over those of this process."""
        return build_environ(self.url, self._placeholder, self._environment, is_live=self._is_live)

    def learn_environment(self) -> None:
        """Remember the values of variables that do not point to this server, to forward requests with them later."""
        for name, value in self._environment.items():
            if value != self._placeholder and not value.startswith(self.url):
                self._environment_before[name] = value

    def forward(self, request: httpx.Request) -> httpx.Response:
        """Send a request on to the real API; the stream of the response is not read yet."""
        what = describe_request(request)
        if not self._is_live:
            raise CaptureError(
                f"nothing answers {what} offline; add a route to eval_api, or run with --chatprompt-live"
            )
        prepared = self._prepare(request, what, request.extensions[_TARGET])
        try:
            return send(prepared)
        except httpx.HTTPError as error:
            raise CaptureError(f"{what} got no reply: {error!r}; check the network and the URL of the API") from error

    def _prepare(self, request: httpx.Request, what: str, target: Target) -> httpx.Request:
        """The request as the real API gets it; `what` describes it in errors."""
        if target.api is None:
            names = ", ".join(api.name for api in REDIRECTED_APIS)
            raise CaptureError(
                f"{what} cannot be sent on, since its path names no API; it must begin with the name of one: {names}"
            )
        self.learn_environment()
        environment = self._environment_before
        url = find_real_url(target.api, target.path, environment)
        if url is None:
            raise CaptureError(f"{what} cannot be sent on: set {next(iter(target.api.urls))} to the URL of your API")
        if request.headers.get("authorization", "").startswith("AWS4-HMAC-SHA256"):
            raise CaptureError(
                f"{what} is signed for this machine (SigV4) and cannot be sent on; "
                "let the client use a key of Bedrock, in AWS_BEARER_TOKEN_BEDROCK"
            )
        headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"host"]
        placeholder = self._placeholder.encode()
        if placeholder in url.query or any(placeholder in value for _, value in headers):
            key = next(filter(None, map(environment.get, target.api.keys)), None)
            if key is None:
                raise CaptureError(f"{what} cannot be sent on without a key: set {target.api.keys[0]}")
            headers = [(name, value.replace(placeholder, key.encode())) for name, value in headers]
            query = url.query.replace(placeholder, quote(key, safe="").encode())
            url = url.copy_with(query=query) if query else url
        return httpx.Request(request.method, url, headers=headers, content=request.content)

    def close(self) -> None:
        """Stop: close all connections, and wait for the threads. Closing again does nothing."""
        self._cleanup.close()

    def answer(self, received: _Handler, body: bytes) -> httpx.Response:
        """Answer what a connection has received; what goes wrong is kept."""
        try:
            dropped = HOP_BY_HOP | {b"host", b"content-length", b"expect"}
            headers = httpx.Headers(received.headers.items(), encoding="latin-1").raw
            headers = [(name, value) for name, value in headers if name.lower() not in dropped]
            target = find_target(received.path, self.url)
            extensions = {_TARGET: target, "target": written_target(target.path)}
            request = httpx.Request(received.command, target.url, headers=headers, content=body, extensions=extensions)
            response = self._handle(request)
            return self.forward(request) if response is None else response
        except BaseException as error:
            self.on_error(error)
            return error_reply(str(error) or type(error).__name__)
