"""Rate limits: what fits into a minute, the order of those that wait, and what ends a wait."""

from __future__ import annotations

import math
import threading
import time
from typing import Any

import pytest

from pytest_chatprompt.errors import APIConnectionError, RequestCancelledError
from pytest_chatprompt.providers.context import Cancellation
from pytest_chatprompt.providers.http.retry import MinuteLimits, StartedRequest


class Clock:
    """A clock that goes on only while something waits."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.waits: list[float] = []

    def __call__(self) -> float:
        return self.now

    def cancellation(self, cancelled_after: float = float("inf")) -> Cancellation:
        """A cancellation whose waits let the clock go on."""
        cancellation = Cancellation()
        clock = self

        class Event(threading.Event):
            def wait(self, timeout: float | None = None) -> bool:
                clock.waits.append(timeout or 0)
                clock.now += timeout or 0
                return clock.now >= cancelled_after

        cancellation.cancelled = Event()
        return cancellation


def try_start(limits: MinuteLimits, tokens: int) -> StartedRequest | None:
    """Start a request now; `None` if it has to wait."""
    try:
        return limits.wait_to_start(tokens, Cancellation(), deadline=-math.inf)
    except APIConnectionError:
        return None


def test_no_limit_holds_nothing_back() -> None:
    limits = MinuteLimits()
    assert limits.is_unlimited
    assert all(try_start(limits, 10**9) for _ in range(1000))


def test_each_limit_is_one() -> None:
    assert not MinuteLimits(requests_per_minute=1).is_unlimited
    assert not MinuteLimits(tokens_per_minute=1).is_unlimited


def test_so_many_requests_start_in_any_minute() -> None:
    clock = Clock()
    limits = MinuteLimits(requests_per_minute=3, clock=clock)
    started = []
    for _ in range(8):
        started.append(limits.wait_to_start(0, clock.cancellation()).started_at - 1000)
        clock.now += 1
    assert started == pytest.approx([0, 1, 2, 60, 61, 62, 120, 121], abs=0.05)
    assert max(clock.waits) <= 1


def test_so_many_tokens_start_in_any_minute() -> None:
    clock = Clock()
    limits = MinuteLimits(tokens_per_minute=100, clock=clock)
    assert try_start(limits, 60) is not None
    assert try_start(limits, 60) is None
    assert try_start(limits, 40) is not None
    assert try_start(limits, 1) is None
    assert limits.wait_to_start(60, clock.cancellation()).started_at == pytest.approx(1060, abs=0.05)


def test_both_limits_hold() -> None:
    clock = Clock()
    limits = MinuteLimits(requests_per_minute=2, tokens_per_minute=100, clock=clock)
    assert try_start(limits, 10) is not None
    clock.now += 30
    assert try_start(limits, 80) is not None
    # One request has to go for the number, both for the tokens.
    assert limits.wait_to_start(30, clock.cancellation()).started_at == pytest.approx(1090, abs=0.05)


def test_the_reply_corrects_the_estimate() -> None:
    clock = Clock()
    limits = MinuteLimits(tokens_per_minute=100, clock=clock)
    started = try_start(limits, 90)
    assert started is not None
    assert try_start(limits, 20) is None
    started.tokens = 10
    assert try_start(limits, 20) is not None


def test_a_request_that_is_too_large_goes_alone() -> None:
    clock = Clock()
    limits = MinuteLimits(tokens_per_minute=100, clock=clock)
    assert try_start(limits, 500) is not None
    assert limits.wait_to_start(500, clock.cancellation()).started_at == pytest.approx(1060, abs=0.05)


def test_nobody_overtakes_those_that_wait() -> None:
    limits = MinuteLimits(tokens_per_minute=100, clock=(clock := Clock()))
    first = try_start(limits, 90)
    assert first is not None
    large, small = Cancellation(), Cancellation()
    order: list[str] = []

    def wait(name: str, tokens: int, cancellation: Cancellation) -> None:
        limits.wait_to_start(tokens, cancellation)
        order.append(name)

    threads = [
        threading.Thread(target=wait, args=arguments) for arguments in (("large", 50, large), ("small", 5, small))
    ]
    threads[0].start()
    until(lambda: len(limits._waiting) == 1)
    assert try_start(limits, 1) is None
    threads[1].start()
    until(lambda: len(limits._waiting) == 2)
    clock.now += 60
    for thread in threads:
        thread.join(60)
    assert order == ["large", "small"]


def test_cancelling_ends_a_wait_at_once() -> None:
    limits = MinuteLimits(requests_per_minute=1)
    assert try_start(limits, 0) is not None
    cancellation = Cancellation()
    errors: list[BaseException] = []

    def wait() -> None:
        try:
            limits.wait_to_start(0, cancellation)
        except RequestCancelledError as error:
            errors.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    until(lambda: len(limits._waiting) == 1)
    cancellation.cancel()
    thread.join(30)
    assert [type(error) for error in errors] == [RequestCancelledError]
    # Nobody waits for it.
    assert not limits._waiting


def test_a_wait_beyond_the_deadline_is_an_error() -> None:
    clock = Clock()
    limits = MinuteLimits(requests_per_minute=1, clock=clock)
    assert try_start(limits, 0) is not None
    with pytest.raises(APIConnectionError) as raised:
        limits.wait_to_start(0, clock.cancellation(), deadline=1030)
    assert str(raised.value) == (
        "the provider's requests_per_minute or tokens_per_minute holds the request back for another 60 s, "
        "longer than total_timeout_seconds allows"
    )
    assert clock.waits == []


def until(condition: Any) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)
