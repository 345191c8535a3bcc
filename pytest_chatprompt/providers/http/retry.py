"""Retries and rate limits: how often a request is sent again, the pauses that an API asks for, limits per minute."""

from __future__ import annotations

import math
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final, TypeVar

from pytest_chatprompt.errors import (
    APIConnectionError,
    APIStatusError,
    ProviderError,
    QuotaError,
    RateLimitError,
    RequestCancelledError,
    UnreadableReplyError,
)
from pytest_chatprompt.providers.context import Cancellation, current_context

DEFAULT_MAX_RETRIES: Final = 5
# An API that asks for more than this says "not now", and an answer is not worth the wait (openai-python agrees).
MAX_WAIT_SECONDS: Final = 120.0
_FIRST_WAIT_SECONDS: Final = 0.5
_MAX_BACKOFF_SECONDS: Final = 30.0

T = TypeVar("T")


class SharedPause:
    """Holds back all requests of a provider while the API asks one of them to wait; sets no rate of its own."""

    def __init__(self) -> None:
        # In seconds of the monotonic clock.
        self._paused_until = 0.0
        self._lock = threading.Lock()

    def pause_for(self, seconds: float) -> None:
        """Start no request for this long; a longer pause that has begun stays."""
        with self._lock:
            self._paused_until = max(self._paused_until, time.monotonic() + seconds)

    def wait(self, cancellation: Cancellation, deadline: float = math.inf) -> None:
        """Wait until the next request may start, unless that is later than the deadline on the monotonic clock."""
        while (remaining := self._paused_until - time.monotonic()) > 0:
            if self._paused_until > deadline:
                raise APIConnectionError(
                    f"the API asked for a pause that lasts another {remaining:.3g} s, "
                    "longer than total_timeout_seconds allows"
                )
            # Jitter, so that the requests that waited do not all start at once.
            if cancellation.cancelled.wait(remaining + random.uniform(0, min(remaining, 1.0)) / 4):  # noqa: S311 - no secret
                break
        if cancellation.cancelled.is_set():
            raise RequestCancelledError


def send_with_retries(
    send_once: Callable[[], T], shared_pause: SharedPause, cancellation: Cancellation, max_retries: int, deadline: float
) -> tuple[T, int]:
    """Send a request, and again after each error that may pass; gives the result and how often it was sent again."""
    if current_context().is_offline:
        return send_once(), 0
    retries = 0
    while True:
        shared_pause.wait(cancellation, deadline)
        try:
            return send_once(), retries
        except ProviderError as error:
            if cancellation.cancelled.is_set():
                # This run broke off the reply, not the API.
                raise RequestCancelledError from error
            error.retries = retries
            if not is_retryable(error):
                raise
            seconds = _wait_seconds(error, retries)
            if isinstance(error, RateLimitError):
                shared_pause.pause_for(seconds)
            if retries == max_retries or time.monotonic() + seconds >= deadline:
                raise
        cancellation.cancelled.wait(seconds)
        retries += 1


def _wait_seconds(error: ProviderError, retries: int) -> float:
    """How long to wait until a request is sent again: as the API asks for, else longer from try to try."""
    if isinstance(error, APIStatusError) and error.retry_after_seconds is not None:
        return error.retry_after_seconds
    return random.uniform(0, min(_FIRST_WAIT_SECONDS * 2**retries, _MAX_BACKOFF_SECONDS))  # noqa: S311 - no secret


def is_retryable(error: BaseException) -> bool:
    """Whether the same request may succeed if it is sent again a little later."""
    if isinstance(error, APIStatusError):
        may_pass = is_retryable_status(error.status) and not isinstance(error, QuotaError | UnreadableReplyError)
        return may_pass and (error.retry_after_seconds or 0.0) <= MAX_WAIT_SECONDS
    return isinstance(error, APIConnectionError) and not isinstance(error, RequestCancelledError)


def is_retryable_status(status: int) -> bool:
    """Whether a status is one after which the same request may succeed a little later."""
    return status in (408, 409, 429) or status >= HTTPStatus.INTERNAL_SERVER_ERROR


_MINUTE: Final = 60.0
# Replies correct the tokens of the requests before: look again after this long at most, in seconds.
_LONGEST_WAIT: Final = 1.0
_SHORTEST_WAIT: Final = 0.01


@dataclass(eq=False)
class StartedRequest:
    """A request that counts for a minute."""

    # In seconds of the monotonic clock.
    started_at: float
    # An estimate, until the reply says how many it had.
    tokens: int


@dataclass(eq=False)
class MinuteLimits:
    """Limits the requests of a provider, and their tokens, in any minute; `None` is no limit.

    Requests wait in the order of arrival. One that alone has more tokens than the limit goes when no other counts.
    """

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    clock: Callable[[], float] = time.monotonic
    _started: deque[StartedRequest] = field(init=False, default_factory=deque)
    _waiting: deque[object] = field(init=False, default_factory=deque)
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)

    @property
    def is_unlimited(self) -> bool:
        """Whether there is no limit, so that nothing has to be estimated."""
        return self.requests_per_minute is None and self.tokens_per_minute is None

    def wait_to_start(self, tokens: int, cancellation: Cancellation, deadline: float = math.inf) -> StartedRequest:
        """Start a request as soon as it fits, after those that wait already; at once if none does."""
        ticket = object()
        with self._lock:
            self._waiting.append(ticket)
        try:
            while True:
                with self._lock:
                    delay = self._delay(tokens)
                    if delay <= 0 and self._waiting[0] is ticket:
                        started = StartedRequest(self.clock(), tokens)
                        self._started.append(started)
                        return started
                if self.clock() + delay > deadline:
                    raise APIConnectionError(
                        f"the provider's requests_per_minute or tokens_per_minute holds the request back for another "
                        f"{delay:.3g} s, longer than total_timeout_seconds allows"
                    )
                if cancellation.cancelled.wait(min(max(delay, _SHORTEST_WAIT), _LONGEST_WAIT)):
                    raise RequestCancelledError
        finally:
            with self._lock:
                self._waiting.remove(ticket)

    def _delay(self, tokens: int) -> float:
        """In how many seconds a request fits, if no other one starts before; 0 for now."""
        now = self.clock()
        while self._started and self._started[0].started_at + _MINUTE <= now:
            self._started.popleft()
        entries, free_at = list(self._started), now
        requests, most_tokens = self.requests_per_minute or math.inf, self.tokens_per_minute or math.inf
        while entries and (len(entries) >= requests or sum(each.tokens for each in entries) + tokens > most_tokens):
            free_at = entries.pop(0).started_at + _MINUTE
        return free_at - now
