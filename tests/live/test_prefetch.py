"""The prefetcher: what becomes of requests that were sent ahead and are not wanted."""

from __future__ import annotations

import threading
from typing import Any, cast

import pytest

from pytest_chatprompt import OpenAIProvider, Redactor
from pytest_chatprompt.live.executor import RequestExecutor
from pytest_chatprompt.live.prefetch import Prefetcher
from pytest_chatprompt.live.snapshot_matcher import UpcomingCase
from pytest_chatprompt.providers.context import current_context


class HangingMatcher:
    """Looks at a case until its request is cancelled."""

    redactor = Redactor({})

    def __init__(self) -> None:
        self.redactor = Redactor({})
        self.started, self.cancelled = threading.Event(), threading.Event()

    def match(self, *_: Any) -> None:
        """Wait."""
        cancellation = current_context().cancellation
        assert cancellation is not None
        self.started.set()
        if cancellation.cancelled.wait(40):
            self.cancelled.set()


class LockedMatcher:
    """Notes whether it looks at a case while no other thread computes."""

    redactor = Redactor({})
    is_alone: bool | None = None

    def __init__(self, turn: Any) -> None:
        self.turn = turn

    def match(self, *_: Any) -> None:
        other = threading.Thread(target=self.turn.acquire, daemon=True)
        other.start()
        other.join(0.1)
        self.is_alone = other.is_alive()


def test_one_case_at_a_time_is_compared_with_its_snapshot() -> None:
    executor = RequestExecutor(1)
    matcher = LockedMatcher(executor.turn)
    prefetcher = Prefetcher(executor, cast(Any, matcher), cast(Any, None))
    provider = OpenAIProvider()
    prefetcher.prefetch(UpcomingCase("a", 0, "openai", cast(Any, None), cast(Any, None)), provider)
    future = prefetcher.take("a", provider)
    assert future is not None
    assert future.result(timeout=60) is None
    assert matcher.is_alone
    executor.cancel()


@pytest.mark.parametrize("by", ["a case that is not sent", "a case with another provider"])
def test_a_request_that_nobody_waits_for_is_ended(by: str) -> None:
    executor, matcher = RequestExecutor(1), HangingMatcher()
    prefetcher = Prefetcher(executor, cast(Any, matcher), cast(Any, None))
    case = UpcomingCase("a", 0, "openai", cast(Any, None), cast(Any, None))
    prefetcher.prefetch(case, OpenAIProvider())
    assert matcher.started.wait(40)
    if by == "a case that is not sent":
        prefetcher.discard("a")
    else:
        assert prefetcher.take("a", OpenAIProvider()) is None
    assert matcher.cancelled.wait(40)
    assert prefetcher.take("a", OpenAIProvider()) is None
    assert prefetcher.arrived() == {}
    executor.cancel()
