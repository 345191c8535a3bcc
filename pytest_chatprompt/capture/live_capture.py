"""Pass-through capture: see the requests of a live run, by the thread that sends them, while they go to the network."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import httpx

from pytest_chatprompt.capture.clients.interceptor import FORWARDED_EXTENSION, run_now
from pytest_chatprompt.capture.eval_api import LoggedRequest, refuse
from pytest_chatprompt.capture.reply_queue import QueuedReply, ReplyQueue
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.errors import BudgetError

if TYPE_CHECKING:
    from pytest_chatprompt.capture.clients.interceptor import Send
    from pytest_chatprompt.capture.recording.open_recording import OpenRecording


@dataclass(slots=True, eq=False)
class _Capture:
    """The requests that one provider sends, and the replies queued for them."""

    replies: ReplyQueue
    passes: Callable[[httpx.URL], bool]
    recording: OpenRecording | None = None
    entries: list[LoggedRequest] = field(default_factory=list)


# The capture that the current thread has open; `None` if it has none.
_current: Final[ContextVar[_Capture | None]] = ContextVar("_current", default=None)


@contextmanager
def uncaptured() -> Iterator[None]:
    """Let the requests of the calling thread be nobody's, unless it opens a capture: neither logged nor recorded."""
    token = _current.set(_Capture(ReplyQueue(), passes=lambda _: True))
    try:
        yield
    finally:
        _current.reset(token)


class LiveCaptureRouter:
    """Notes which thread of a live run sends which request, and lets it go to the network."""

    def __init__(self, redactor: Redactor) -> None:
        self.redactor = redactor
        self._open: list[_Capture] = []
        self._interception = ExitStack()
        self._lock = threading.Lock()

    @contextmanager
    def capture(
        self,
        replies: Sequence[QueuedReply] = (),
        *,
        passes: Callable[[httpx.URL], bool] = lambda _: False,
        recording: OpenRecording | None = None,
    ) -> Iterator[list[LoggedRequest]]:
        """Log the requests of the calling thread, bodies read, in the order in which they are sent.

        A URL that `passes` is left alone: a server gets and logs its requests.
        """
        # The built-in providers show what they send, so most runs capture nothing.
        from pytest_chatprompt.capture.clients.interception import intercept_clients  # noqa: PLC0415

        capture = _Capture(ReplyQueue(list(replies)), passes, recording)
        with self._lock:
            self._open.append(capture)
            if len(self._open) == 1:
                self._interception.enter_context(intercept_clients(self))
        token = _current.set(capture)
        try:
            yield capture.entries
        finally:
            _current.reset(token)
            with self._lock:
                self._open.remove(capture)
                if not self._open:
                    self._interception.close()

    def handle(self, request: httpx.Request) -> httpx.Response | None:
        """Log a request of a sync client; `None` lets it pass."""
        from pytest_chatprompt.capture.recording.open_recording import send  # noqa: PLC0415

        capture = self._find_capture(request)
        return None if capture is None else run_now(self._take(capture, send, request))

    async def handle_async(self, request: httpx.Request) -> httpx.Response | None:
        """Log a request of an async client; `None` lets it pass."""
        from pytest_chatprompt.capture.recording.open_recording import send_async  # noqa: PLC0415

        capture = self._find_capture(request)
        return None if capture is None else await self._take(capture, send_async, request)

    def handler(self, send: Send) -> Callable[[httpx.Request], httpx.Response | None]:
        """A function for the requests of child processes, which count as sent by the calling thread."""
        capture = _current.get()
        if capture is None:
            raise LookupError("no capture is open in this thread")
        return lambda request: run_now(self._take(capture, send, request))

    def _find_capture(self, request: httpx.Request) -> _Capture | None:
        """The capture of the thread that sends a request; `None` if the request is not for us."""
        capture = _current.get()
        if capture is None and len(self._open) == 1:
            # Sent by a thread that the provider has started. With one capture open, it can belong to no other.
            capture = self._open[0]
        # What an agent sent was captured by the server that forwards it.
        if capture is None or FORWARDED_EXTENSION in request.extensions or capture.passes(request.url):
            return None
        return capture

    async def _take(self, capture: _Capture, send: Send, request: httpx.Request) -> httpx.Response | None:
        from pytest_chatprompt.capture.offline_api import find_offline_api  # noqa: PLC0415
        from pytest_chatprompt.capture.recording.open_recording import replay_or_send  # noqa: PLC0415

        response = self._log(capture, request)
        if response is not None or capture.recording is None:
            return response
        if not capture.recording.is_kept and find_offline_api(request) is None:
            return None
        try:
            return await replay_or_send(capture.recording, request, send)
        except BudgetError as error:
            # The recording has noted it.
            return refuse(str(error))
        except (httpx.ConnectError, httpx.ConnectTimeout):
            if capture.recording.is_kept:
                raise
            # Nothing was sent, and its client may know the way: by a proxy, or by certificates of its own.
            return None

    def _log(self, capture: _Capture, request: httpx.Request) -> httpx.Response | None:
        """Log a request; gives the reply that the test has queued for it."""
        from pytest_chatprompt.capture.offline_api import find_offline_api  # noqa: PLC0415

        self.redactor.add_request(request.headers, request.url)
        entry = LoggedRequest(request, "network")
        capture.entries.append(entry)
        api = find_offline_api(request) if capture.replies.waiting else None
        reply = None if api is None else capture.replies.take(api.accepts, entry.as_sent)
        if api is None or reply is None:
            return None
        entry.answered_by = "reply"
        return api.answer(request, reply)
