"""`ComputeTurn`: one thread at a time computes, the thread that runs the tests or one that sends.

Python runs one thread at a time, and hands over at every call of the operating system: two threads that compute would
take turns dozens of times for each case. The threads of the `executor` use the turn as a lock. The thread of the tests
has it in `test_runs`, and gives it up while it waits. Neither relies on the other: a test that sleeps keeps no request
waiting, and a request that never ends keeps no test waiting.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal

# How long a test may have the turn while others wait for it. Most tests take less.
_MOST_SECONDS_OF_TEST: Final = 0.01
# How long a test waits for its turn. As many replies as are in flight may have come at once.
_MOST_SECONDS_BEFORE_TEST: Final = 0.1


class ComputeTurn:
    """One thread at a time computes: those that send in the order in which they ask, a test when none of them waits."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holder: Literal["sender", "test"] | None = None
        # A lock for each thread that waits. To release it is to give its thread the turn.
        self._senders: deque[threading.Lock] = deque()
        self._test: threading.Lock | None = None
        # When others may take the turn from a test, in seconds of the monotonic clock.
        self._test_until = 0.0

    def acquire(self) -> None:
        """Wait for the turn; for a thread that sends."""
        with self._lock:
            if self._holder is None:
                self._holder = "sender"
                return
            test_until = self._test_until if self._holder == "test" else None
            granted = _locked()
            self._senders.append(granted)
        # No test gets the turn while a sender waits: only one that has it already may have it for too long.
        if test_until is None or not (
            granted.acquire(timeout=max(test_until - time.monotonic(), 0)) or self._take_from_test(granted)
        ):
            granted.acquire()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def _take_from_test(self, granted: threading.Lock) -> bool:
        """Take the turn from a test that has had it for too long; gives whether one still had it."""
        with self._lock:
            if self._holder != "test":
                return False
            self._senders.remove(granted)
            self._holder = "sender"
            return True

    def release(self) -> None:
        """Give up the turn; for a thread that sends."""
        with self._lock:
            self._pass_on()

    @contextmanager
    def test_runs(self) -> Iterator[None]:
        """Have the turn while a test runs in this block, if it comes soon, and for as long as it may last."""
        try:
            self._begin_test()
            yield
        finally:
            self._end_test()

    @contextmanager
    def test_waits(self) -> Iterator[None]:
        """Give up the turn of a test while it waits in this block; it has it again if it goes on."""
        had_turn = self._end_test()
        yield
        if had_turn:
            self._begin_test()

    def _begin_test(self) -> None:
        with self._lock:
            if self._holder is None:
                self._give_to_test()
            if self._holder == "test":
                return
            granted = self._test = _locked()
        granted.acquire(timeout=_MOST_SECONDS_BEFORE_TEST)
        with self._lock:
            # If the turn has not come, the test runs beside the thread that has it.
            self._test = None

    def _end_test(self) -> bool:
        """Give up the turn; gives whether the test had it."""
        with self._lock:
            had_turn = self._holder == "test"
            if had_turn:
                self._pass_on()
            return had_turn

    def _pass_on(self) -> None:
        if self._senders:
            self._holder = "sender"
            self._senders.popleft().release()
        elif self._test is not None:
            self._give_to_test()
            self._test.release()
            self._test = None
        else:
            self._holder = None

    def _give_to_test(self) -> None:
        self._holder = "test"
        self._test_until = time.monotonic() + _MOST_SECONDS_OF_TEST


def _locked() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock
