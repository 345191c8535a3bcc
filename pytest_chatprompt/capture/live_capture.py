"""Pass-through capture: see the requests of a live run, by the thread that sends them, while they go to the network.

Where two versions are compared, the first request of a provider goes out alone, and what your own code sent once more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import httpx

from pytest_chatprompt.apis.chat_provider import DEFAULT_TIMEOUT_SECONDS
from pytest_chatprompt.capture.clients.wire import build_request, error_reply
from pytest_chatprompt.capture.eval_api import EvalAPI
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.capture.sent_request import SentRequest, sent_target
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.context import Cancellation, current_context, holding
from pytest_chatprompt.providers.http.client import HTTPClient
from pytest_chatprompt.providers.http.request_body import encode_body
from pytest_chatprompt.providers.http.retry import DEFAULT_MAX_RETRIES, send_with_retries
from pytest_chatprompt.providers.response import ProviderResponse

if TYPE_CHECKING:
    from pytest_chatprompt.capture.clients.interceptor import Send


@dataclass(eq=False)
class FirstRequest:
    """Lets the first request of a provider out, or what another version of it sends, and nothing after it.

    A request that equals the first one is another try of it.

    Args:
        shown: the first request, as the provider sends it.
        sent: what is sent in its place; the same object for nothing else.

    Attributes:
        has_refused: whether the provider has tried to send more.
    """

    shown: SentRequest
    sent: SentRequest
    has_refused: bool = False
    _first: tuple[httpx.URL, bytes] | None = None

    def take(self, request: httpx.Request) -> httpx.Request | None:
        """What is sent in place of a request; `None` for nothing."""
        # The query may hold a key, which is not shown.
        path, mark, query = sent_target(request).partition("?")
        shown, sent = (each.endpoint.partition(" ")[2].partition("?")[0] for each in (self.shown, self.sent))
        if self._first is None:
            if not path.endswith(shown):
                # It asks for no answer, as for the list of models.
                return request
            self._first = request.url, request.content
        if self._first != (request.url, request.content):
            self.has_refused = True
            return None
        if self.sent is self.shown:
            return request
        url = request.url.copy_with(raw_path=f"{path.removesuffix(shown)}{sent}{mark}{query}".encode("ascii"))
        content = encode_body(self.sent.body)
        headers = [(name, value) for name, value in request.headers.raw if name.lower() not in _FRAMING]
        return build_request(request.method, str(url), [*headers, (b"Content-Length", b"%d" % len(content))], content)


# Of the bytes that are replaced.
_FRAMING: Final = frozenset({b"content-length", b"content-encoding", b"transfer-encoding"})

# What the client that sends it decides.
_OF_CLIENT = {*(name.decode("ascii") for name in _FRAMING), "host", "connection", "accept-encoding"}


@dataclass(eq=False)
class ResentRequest:
    """Sends one request as a provider would, and again after an error that may pass; it does not read the answer."""

    request: httpx.Request
    redactor: Redactor

    def __post_init__(self) -> None:
        headers = {name: value for name, value in self.request.headers.items() if name not in _OF_CLIENT}
        self._http = HTTPClient(self.request.url.host, lambda _: headers, self.redactor.redact)

    def send(self, _: ProviderRequest) -> ProviderResponse:
        """Send the request."""
        # Few runs send one.
        from pytest_chatprompt.providers.http.error_replies import ErrorContext, error_from_reply  # noqa: PLC0415

        url, client, redact = self.request.url, self._http, self.redactor.redact
        cancellation = current_context().cancellation or Cancellation()

        def send_once() -> None:
            reply = client.post(str(url), self.request.content, lambda: DEFAULT_TIMEOUT_SECONDS, cancellation)
            if not reply.is_success:
                target = str(url.copy_with(query=None))
                raise error_from_reply(reply, ErrorContext(url.host, "that your code reads", target, redact))

        send_with_retries(send_once, client.shared_pause, cancellation, DEFAULT_MAX_RETRIES, math.inf)
        return ProviderResponse(text="", is_awaited=False)


class LiveCapture(EvalAPI):
    """What one provider sends, in whatever thread of the pool: no test is its owner.

    Attributes:
        first: what of it goes out; `None` for all.
    """

    first: FirstRequest | None = None

    async def _handle(self, request: httpx.Request, send: Send, ask_routes: Send) -> httpx.Response | None:
        taken = request if self.first is None else self.first.take(request)
        if taken is None:
            return error_reply("not sent: a run that compares two versions sends the first request of each")
        return await super()._handle(taken, send, ask_routes)

    def _claim(self, request: httpx.Request) -> None:
        pass

    def _passes(self, request: httpx.Request) -> bool:  # noqa: ARG002 - a server on this machine may be the model's
        return False


# The capture that the current thread has open; `None` if it has none, and `False` if its requests are nobody's.
_current: Final[ContextVar[LiveCapture | Literal[False] | None]] = ContextVar("_current", default=None)


def uncaptured() -> AbstractContextManager[None]:
    """Let the requests of the calling thread be nobody's, unless it opens a capture: neither logged nor recorded."""
    return holding(_current, False)


class LiveCaptureRouter:
    """Notes which thread of a live run sends which request, and lets it go to the network."""

    def __init__(self, redactor: Redactor) -> None:
        self.redactor = redactor
        self._open: list[LiveCapture] = []

    @contextmanager
    def capture(self, api: EvalAPI | None = None) -> Iterator[LiveCapture]:
        """Log the requests of the calling thread, bodies read, in the order in which they are sent.

        What child processes send to the server of `api` counts as sent by the calling thread.
        """
        # The built-in providers show what they send, so most runs capture nothing.
        from pytest_chatprompt.capture.clients.seams import intercept_clients  # noqa: PLC0415

        capture = LiveCapture(self.redactor, is_live=True)
        with ExitStack() as stack:
            if api is not None:
                stack.enter_context(api.children.forward(capture))
                capture.children = api.children
            self._open.append(capture)
            stack.callback(self._open.remove, capture)
            stack.enter_context(intercept_clients(self))
            stack.callback(_current.reset, _current.set(capture))
            yield capture

    async def handle(self, request: httpx.Request, *, is_async: bool) -> httpx.Response | None:
        """Log a request; `None` lets it pass."""
        capture = _current.get()
        if capture is None and len(self._open) == 1:
            # Sent by a thread that the provider has started. With one capture open, it can belong to no other.
            (capture,) = self._open
        return await capture.handle(request, is_async=is_async) if capture else None
