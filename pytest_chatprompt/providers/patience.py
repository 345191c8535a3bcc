"""Patience: whether a request is sent again, and how long to wait before that.

What an attempt raised comes in; the wait comes out, or the error if it is given up. The policy itself (backoff, jitter,
stopping) is tenacity's; here is what may pass, what the APIs ask for, and the pace that all requests of a provider
share. `chat` calls it; threads may.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeVar

import tenacity

from pytest_chatprompt.errors import ApiError, ProviderError, QuotaError, RateLimitError, UnreachableError
from pytest_chatprompt.providers.surroundings import surroundings

DEFAULT_MAX_RETRIES: Final = 5
# Beyond this the API says "not now", and an answer is not worth the wait (openai-python takes the same).
LONGEST_WAIT_SECONDS: Final = 120.0
_FIRST_WAIT_SECONDS: Final = 0.5
_LONGEST_BACKOFF_SECONDS: Final = 30.0
_PASSING_STATUSES: Final = frozenset({408, 409, 429})
_SERVER_ERRORS: Final = 500

T = TypeVar("T")


class CancelledSendError(UnreachableError):
    """The run was stopped while a request was on its way."""


@dataclass(eq=False)
class Pace:
    """How fast a provider may go: what its API asks of one request, all of them keep to. Safe between threads.

    Attributes:
        cancelled: set to let nothing more begin, and to end every wait.
    """

    cancelled: threading.Event = field(default_factory=threading.Event)
    _held_until: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def hold(self, seconds: float) -> None:
        """Let nothing begin for a while."""
        with self._lock:
            self._held_until = max(self._held_until, time.monotonic() + seconds)

    def keep(self, until: float = math.inf) -> None:
        """Wait until the next request may begin.

        Args:
            until: no wait goes beyond this, in seconds of the monotonic clock.

        Raises:
            CancelledSendError: the run was stopped.
            UnreachableError: it may not begin in time.
        """
        while (left := self._held_until - time.monotonic()) > 0:
            if self._held_until > until:
                raise UnreachableError(
                    f"the API asked for a pause, of which {left:.3g} s are left: more than total_timeout_seconds allows"
                )
            # A little apart, so that not all that waited begin at once.
            if self.cancelled.wait(left + random.uniform(0, min(left, 1.0)) / 4):  # noqa: S311 - no secret
                break
        if self.cancelled.is_set():
            raise CancelledSendError("the run was stopped")


def patiently(
    attempt: Callable[[], T], pace: Pace, *, max_retries: int, total_timeout_seconds: float | None
) -> tuple[T, int]:
    """Try until there is an answer, or no hope of one.

    Args:
        attempt: sends once; raises a `ProviderError`.
        pace: the provider's.
        max_retries: how many times more, at most; 0 for none.
        total_timeout_seconds: no wait goes beyond this; `None` for no bound.

    Returns:
        What the attempt gave, and how many times it was tried again.

    Raises:
        ProviderError: the last attempt's, with its `retries`.
    """

    def wait(state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome is not None else None
        asked = error.retry_after_seconds if isinstance(error, ApiError) else None
        backoff = tenacity.wait_random_exponential(multiplier=_FIRST_WAIT_SECONDS, max=_LONGEST_BACKOFF_SECONDS)
        seconds = backoff(state) if asked is None else asked
        if isinstance(error, RateLimitError):
            pace.hold(seconds)
        return seconds

    if not surroundings().is_patient:
        return attempt(), 0
    until = math.inf if total_timeout_seconds is None else time.monotonic() + total_timeout_seconds

    def once() -> T:
        pace.keep(until)
        return attempt()

    stop: tenacity.stop.stop_base = tenacity.stop_after_attempt(max_retries + 1)
    if total_timeout_seconds is not None:
        stop = stop | tenacity.stop_before_delay(total_timeout_seconds)
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception(may_pass),
        wait=wait,
        stop=stop | tenacity.stop_when_event_set(pace.cancelled),
        sleep=tenacity.sleep_using_event(pace.cancelled),
        reraise=True,
    )
    try:
        answer = retrying(once)
    except ProviderError as error:
        error.retries = retrying.statistics["attempt_number"] - 1
        raise
    return answer, retrying.statistics["attempt_number"] - 1


def may_pass(error: BaseException) -> bool:
    """Whether the same request may be answered a little later."""
    if isinstance(error, ApiError):
        is_passing = error.status in _PASSING_STATUSES or error.status >= _SERVER_ERRORS
        asked = error.retry_after_seconds or 0.0
        return is_passing and not isinstance(error, QuotaError) and asked <= LONGEST_WAIT_SECONDS
    return isinstance(error, UnreachableError) and not isinstance(error, CancelledSendError)
