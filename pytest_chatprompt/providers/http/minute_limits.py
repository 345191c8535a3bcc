"""`MinuteLimits`: how many requests, and how many tokens, a provider may send in any minute.

The limits that the user has set come in. A request waits here until it fits, in the order of arrival; its tokens are an
estimate at first, and what the reply says later. `chat.metered_try` calls it before each try. Waits that the API asks
for are the matter of `retry`. Safe between threads.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from pytest_chatprompt.errors import APIConnectionError, RequestCancelledError
from pytest_chatprompt.providers.cancellation import Cancellation

_MINUTE: Final = 60.0
# Replies correct the tokens of the requests before: look again after this long at most, in seconds.
_LONGEST_WAIT: Final = 1.0
_SHORTEST_WAIT: Final = 0.01


@dataclass(eq=False, slots=True)
class StartedRequest:
    """A request that counts for a minute.

    Attributes:
        started_at: in seconds of the monotonic clock.
        tokens: an estimate, until the reply says how many it had.
    """

    started_at: float
    tokens: int


@dataclass(eq=False)
class MinuteLimits:
    """Limits the requests of a provider, and their tokens, in any minute.

    Args:
        requests_per_minute: how many requests may start; `None` for no limit.
        tokens_per_minute: how many tokens they may have. A request that has more of them by itself goes when no other
            one counts. `None` for no limit.
        clock: gives the seconds of a monotonic clock.
    """

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    clock: Callable[[], float] = time.monotonic
    _started: deque[StartedRequest] = field(default_factory=deque)
    _waiting: deque[object] = field(default_factory=deque)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_unlimited(self) -> bool:
        """Whether there is no limit, so that nothing has to be estimated."""
        return self.requests_per_minute is None and self.tokens_per_minute is None

    def try_start(self, tokens: int) -> StartedRequest | None:
        """Start a request now, if it fits and no other one waits; `None` if it has to wait.

        Args:
            tokens: an estimate of its tokens.
        """
        with self._lock:
            if self._waiting or self._delay(tokens) > 0:
                return None
            return self._start(tokens)

    def wait_to_start(self, tokens: int, cancellation: Cancellation, deadline: float = math.inf) -> StartedRequest:
        """Start a request as soon as it fits, after those that wait already.

        Args:
            tokens: an estimate of its tokens.
            cancellation: ends the wait.
            deadline: when waiting is no longer worth it, in seconds of the clock; never by default.

        Raises:
            RequestCancelledError: the request was cancelled.
            APIConnectionError: it would fit after the deadline only.
        """
        ticket = object()
        with self._lock:
            self._waiting.append(ticket)
        try:
            while True:
                with self._lock:
                    delay = self._delay(tokens)
                    if delay <= 0 and self._waiting[0] is ticket:
                        return self._start(tokens)
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

    def restart(self, started: StartedRequest) -> None:
        """Count a request from now on: it has waited for something else since it could start."""
        with self._lock:
            if started in self._started:
                self._started.remove(started)
            started.started_at = self.clock()
            self._started.append(started)

    def _start(self, tokens: int) -> StartedRequest:
        started = StartedRequest(self.clock(), tokens)
        self._started.append(started)
        return started

    def _delay(self, tokens: int) -> float:
        """In how many seconds a request fits, if no other one starts before; 0 for now."""
        now = self.clock()
        while self._started and self._started[0].started_at + _MINUTE <= now:
            self._started.popleft()
        entries = list(self._started)
        gone = 0
        if self.requests_per_minute is not None:
            gone = max(len(entries) + 1 - self.requests_per_minute, 0)
        if self.tokens_per_minute is not None:
            while gone < len(entries) and sum(each.tokens for each in entries[gone:]) + tokens > self.tokens_per_minute:
                gone += 1
        return entries[gone - 1].started_at + _MINUTE - now if gone else 0.0
