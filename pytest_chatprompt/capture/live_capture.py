"""Pass-through capture: see the requests of a live run, by the thread that sends them, while they go to the network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Literal

import httpx

from pytest_chatprompt.capture.eval_api import EvalAPI
from pytest_chatprompt.capture.reply_queue import QueuedReply
from pytest_chatprompt.capture.secrets.redaction import Redactor

if TYPE_CHECKING:
    from pytest_chatprompt.capture.recording.open_recording import OpenRecording


class _LiveCapture(EvalAPI):
    """What one provider sends, in whatever thread of the pool: no test is its owner."""

    def _claim(self, request: httpx.Request) -> None:
        pass

    def _passes(self, request: httpx.Request) -> bool:  # noqa: ARG002 - a server on this machine may be the model's
        return False


# The capture that the current thread has open; `None` if it has none, and `False` if its requests are nobody's.
_current: Final[ContextVar[_LiveCapture | Literal[False] | None]] = ContextVar("_current", default=None)


@contextmanager
def uncaptured() -> Iterator[None]:
    """Let the requests of the calling thread be nobody's, unless it opens a capture: neither logged nor recorded."""
    token = _current.set(False)
    try:
        yield
    finally:
        _current.reset(token)


class LiveCaptureRouter:
    """Notes which thread of a live run sends which request, and lets it go to the network."""

    def __init__(self, redactor: Redactor) -> None:
        self.redactor = redactor
        self._open: list[_LiveCapture] = []

    @contextmanager
    def capture(
        self,
        replies: Sequence[QueuedReply] = (),
        *,
        recording: OpenRecording | None = None,
        api: EvalAPI | None = None,
    ) -> Iterator[EvalAPI]:
        """Log the requests of the calling thread, bodies read, in the order in which they are sent.

        What child processes send to the server of `api` counts as sent by the calling thread.
        """
        # The built-in providers show what they send, so most runs capture nothing.
        from pytest_chatprompt.capture.clients.interception import intercept_clients  # noqa: PLC0415

        capture = _LiveCapture(self.redactor, is_live=True)
        capture.recording = recording
        capture.reply_queue.waiting += replies
        with ExitStack() as stack:
            if api is not None:
                stack.enter_context(api.children.forward(capture))
                capture.children = api.children
            self._open.append(capture)
            stack.callback(self._open.remove, capture)
            stack.enter_context(intercept_clients(self))
            stack.callback(_current.reset, _current.set(capture))
            yield capture

    def handle(self, request: httpx.Request) -> httpx.Response | None:
        """Log a request of a sync client; `None` lets it pass."""
        capture = self._find_capture()
        return capture.handle(request) if capture else None

    async def handle_async(self, request: httpx.Request) -> httpx.Response | None:
        """Log a request of an async client; `None` lets it pass."""
        capture = self._find_capture()
        return await capture.handle_async(request) if capture else None

    def _find_capture(self) -> _LiveCapture | Literal[False] | None:
        """The capture of the thread that sends a request, if it has one."""
        capture = _current.get()
        if capture is None and len(self._open) == 1:
            # Sent by a thread that the provider has started. With one capture open, it can belong to no other.
            return self._open[0]
        return capture
