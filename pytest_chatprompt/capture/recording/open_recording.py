"""`OpenRecording`: the recording of the test that runs, which gives the replies it holds and takes new ones.

What was recorded comes in; the reply to each request comes out, found by the hash of the request, in the recorded order
where requests are equal. New replies are kept in the order of their requests, also if they arrive in several threads.
`snapshots.recording_place` makes one for a test; `replaying` asks it for each request. Safe between threads.
"""

from __future__ import annotations

import copy
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any

import httpx

from pytest_chatprompt.capture.recording.metering import MeteredRequest
from pytest_chatprompt.capture.recording.recorded_exchange import (
    Mask,
    RecordedExchange,
    RecordedReply,
    RecordedRequest,
    recorded_request,
    rounded,
)
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.errors import BudgetError, ReplayError
from pytest_chatprompt.providers.context import Budget


def _unmasked(data: Any) -> Any:
    return data


def _describe(sent: SentRequest) -> str:
    return f"nothing is recorded for {sent.endpoint}"


class PendingReply:
    """The place of a reply in a recording, from when its request is sent until the reply is there.

    Args:
        request: the request.

    Attributes:
        exchange: the request with its reply; `None` until the reply is there.
        is_repeated: whether the reply is one after which the request is sent again, and which is not recorded.
    """

    def __init__(self, request: RecordedRequest) -> None:
        self._request = request
        self._metered: MeteredRequest | None = None
        self._started_at = time.monotonic()
        self.exchange: RecordedExchange | None = None
        self.is_repeated = False

    def meter(self, budget: Budget | None, request: httpx.Request) -> None:
        """Reserve a part of the budget of the run for the request, which is about to be sent.

        Args:
            budget: of the run; `None` for none.
            request: its body has been read.

        Raises:
            BudgetError: the budget does not allow it.
        """
        self._metered = MeteredRequest(budget, request)

    def fail(self, size: int = 0) -> None:
        """Note that no whole reply came.

        Args:
            size: how much of it was read, in bytes; 0 if it never began, so that it has cost nothing.
        """
        if self._metered is not None and size:
            self._metered.finish(None, size)
        elif self._metered is not None:
            self._metered.release()

    def finish(self, status: int, content_type: str, body: bytes, *, is_complete: bool = True) -> None:
        """Put the reply into its place in the recording.

        Args:
            status: the status code.
            content_type: as the API sent it.
            body: the part that was read.
            is_complete: whether that is all of it.
        """
        self.exchange = RecordedExchange(
            request=self._request,
            reply=RecordedReply.of(status, content_type, body, is_complete=is_complete),
            latency_seconds=rounded(time.monotonic() - self._started_at),
        )
        if self._metered is not None:
            self._metered.finish(self.exchange, len(body))


class OpenRecording:
    """The recording of one test, or of one answer of a repeated case.

    Args:
        recorded: what is recorded, in order; empty if nothing is to be replayed.
        sends: whether requests without a recorded reply are sent; else they are an error.
        mask: masks the body of a request, before it is hashed.
        base_url: the provider's, for the endpoints of requests; a value of another type counts as none.
        describe_missing: gives the error text for a request that nothing is recorded for.
        others: what is recorded for other answers of the case, and is never given.

    Attributes:
        others: see above.
        budget: of the run, for the requests of clients other than built-in providers; `None` for none.
        budget_errors: why requests were not sent, in order.
    """

    def __init__(  # noqa: PLR0913 - each is a fact of its own
        self,
        recorded: Iterable[RecordedExchange] = (),
        *,
        sends: bool,
        mask: Mask = _unmasked,
        base_url: Any = None,
        describe_missing: Callable[[SentRequest], str] = _describe,
        others: tuple[RecordedExchange, ...] = (),
    ) -> None:
        self.sends = sends
        self.others = others
        self.base_url = base_url
        self._mask = mask
        self._describe_missing = describe_missing
        self._waiting: dict[str, deque[tuple[RecordedExchange, RecordedReply]]] = defaultdict(deque)
        self.budget: Budget | None = None
        self.budget_errors: list[BudgetError] = []
        self._responses: dict[str, deque[RecordedExchange]] = defaultdict(deque)
        for exchange in recorded:
            if exchange.reply is not None:
                self._waiting[exchange.request.sha256].append((exchange, exchange.reply))
            else:
                self._responses[exchange.request.sha256].append(exchange)
        # What was replayed or sent, in the order of the requests.
        self._entries: list[RecordedExchange | PendingReply] = []
        self._parts: list[OpenRecording] = []
        self._lock = threading.RLock()

    def part(self, base_url: Any = None) -> OpenRecording:
        """A part of this recording: it gives the same replies, takes new ones, and counts what it gave and took alone.

        What parts gave and took comes after what this recording itself did, in the order in which the parts were made,
        whatever thread each is used in.

        Args:
            base_url: of the provider that sends, for the endpoints of its requests.
        """
        part = copy.copy(self)
        part.base_url, part._entries, part._parts, part.budget_errors = base_url, [], [], []
        with self._lock:
            self._parts.append(part)
        return part

    def read_request(self, request: httpx.Request) -> SentRequest:
        """A request as it is hashed and recorded."""
        return SentRequest.from_httpx(request, self.base_url)

    def take(self, sent: SentRequest) -> RecordedReply | PendingReply:
        """Take the recorded reply to a request, or else a place for the reply that is about to come.

        Raises:
            ReplayError: no reply is recorded, and nothing may be sent.
        """
        request = recorded_request(sent, self._mask)
        with self._lock:
            waiting = self._waiting.get(request.sha256)
            if waiting:
                exchange, reply = waiting.popleft()
                self._entries.append(exchange)
                return reply
            if self.sends:
                pending = PendingReply(request)
                self._entries.append(pending)
                return pending
        raise ReplayError(self._describe_missing(sent))

    def take_response(self, sha256: Callable[[], str]) -> RecordedExchange | None:
        """Take the recorded answer of what sends no HTTP requests of its own; `None` if there is none.

        Args:
            sha256: gives the hash of all that is sent; called if any such answer is recorded.
        """
        if not self._responses:
            return None
        with self._lock:
            waiting = self._responses.get(sha256())
            if not waiting:
                return None
            exchange = waiting.popleft()
            self._entries.append(exchange)
        return exchange

    def add_response(self, exchange: RecordedExchange) -> None:
        """Keep the new answer of what sends no HTTP requests of its own."""
        pending = PendingReply(exchange.request)
        pending.exchange = exchange
        with self._lock:
            self._entries.append(pending)

    def forget_new(self) -> None:
        """Do not record the replies that were taken so far."""
        with self._lock:
            for entry in self._entries:
                if isinstance(entry, PendingReply):
                    entry.exchange, entry.is_repeated = None, True

    def _all_entries(self) -> list[RecordedExchange | PendingReply]:
        with self._lock:
            return [*self._entries, *(entry for part in self._parts for entry in part._all_entries())]

    def exchanges(self) -> tuple[RecordedExchange, ...]:
        """What was replayed or sent and answered, in the order of the requests."""
        entries = [entry.exchange if isinstance(entry, PendingReply) else entry for entry in self._all_entries()]
        return tuple(entry for entry in entries if entry is not None)

    def unused(self) -> tuple[RecordedExchange, ...]:
        """The recorded exchanges that no request asked for."""
        with self._lock:
            replies = [exchange for waiting in self._waiting.values() for exchange, _ in waiting]
            return (*replies, *(exchange for waiting in self._responses.values() for exchange in waiting))

    @property
    def replayed(self) -> tuple[RecordedExchange, ...]:
        """The exchanges that were replayed."""
        return tuple(entry for entry in self._all_entries() if isinstance(entry, RecordedExchange))

    @property
    def unanswered_count(self) -> int:
        """How many requests were sent and got no whole reply, so that nothing is recorded for them."""
        pending = [entry for entry in self._all_entries() if isinstance(entry, PendingReply)]
        return sum(entry.exchange is None and not entry.is_repeated for entry in pending)

    @property
    def sent_count(self) -> int:
        """How many requests were sent, answered or not."""
        return sum(isinstance(entry, PendingReply) for entry in self._all_entries())
