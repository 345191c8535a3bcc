"""The request log: what was sent from all threads, in the order of arrival.

httpx requests come in, with their bodies read; `LoggedRequest`s come out. `eval_api` owns a log; `live_capture` makes
entries without one; `provider_capture` reads them.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace

import httpx

from pytest_chatprompt.capture.sent_request import AnsweredBy, SentRequest


@dataclass(slots=True, eq=False)
class LoggedRequest:
    """A request that was sent, and what answered it.

    Args:
        request: its body has been read.
        answered_by: see `SentRequest`.
        is_late: see `SentRequest`.
    """

    request: httpx.Request
    answered_by: AnsweredBy = "nothing"
    is_late: bool = False

    def as_sent(self) -> SentRequest:
        """The request as tests read it, its path whole."""
        sent = SentRequest.from_httpx(self.request, answered_by=self.answered_by)
        return replace(sent, is_late=True) if self.is_late else sent


@dataclass(eq=False, slots=True)
class RequestLog:
    """The requests so far. Safe between threads."""

    _entries: list[LoggedRequest] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, request: httpx.Request) -> LoggedRequest:
        """Log a request when it arrives."""
        entry = LoggedRequest(request)
        with self._lock:
            self._entries.append(entry)
        return entry

    def remove(self, entry: LoggedRequest) -> None:
        """Forget a request that is not for us."""
        with self._lock:
            self._entries.remove(entry)

    def clear(self) -> None:
        """Forget all requests."""
        with self._lock:
            self._entries.clear()

    def since(self, start: int) -> tuple[LoggedRequest, ...]:
        """The requests from a position on: the length of the log at an earlier moment."""
        with self._lock:
            return tuple(self._entries[start:])
