"""Pass-through capture: see the requests of a live run, by the thread that sends them, while they go to the network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import httpx

from pytest_chatprompt.capture.clients.wire import build_request, error_reply
from pytest_chatprompt.capture.eval_api import EvalAPI
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.providers.context import holding
from pytest_chatprompt.providers.http.request_body import encode_body

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
        path, mark, query = request.url.raw_path.decode("ascii").partition("?")
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
        headers = [(name, value) for name, value in request.headers.raw if name.lower() not in FRAMING]
        return build_request(request.method, str(url), [*headers, (b"Content-Length", b"%d" % len(content))], content)


# Of the bytes that are replaced.
FRAMING: Final = frozenset({b"content-length", b"content-encoding", b"transfer-encoding"})


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
        from pytest_chatprompt.capture.clients.interception import intercept_clients  # noqa: PLC0415

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
