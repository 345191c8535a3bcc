"""The requests of a repeated case: how many are sent at once, and how they are given up."""

from __future__ import annotations

import threading
import time
from typing import Any, cast

import pytest

from pytest_chatprompt.live.early_grades import EarlyGrades
from pytest_chatprompt.live.executor import RequestExecutor
from pytest_chatprompt.live.prefetch import LiveResponse
from pytest_chatprompt.live.repeated_sends import RepeatedSends, abandon
from pytest_chatprompt.live.request_future import RequestFuture
from pytest_chatprompt.providers.context import current_context
from pytest_chatprompt.providers.response import ProviderResponse

COMPARED = cast(Any, None)


def test_as_many_are_sent_at_once_as_the_executor_runs_and_each_further_one_when_it_is_asked_for() -> None:
    executor = RequestExecutor(2)
    sends = RepeatedSends(executor, 0, range(1, 5), lambda number: number * 10, compared=COMPARED)
    assert list(sends.futures) == [1, 2]
    assert [sends.futures[number].result(timeout=40) for number in (1, 2)] == [10, 20]
    assert [sends.send_next(), sends.send_next(), sends.send_next()] == [True, True, False]
    assert [sends.futures[number].result(timeout=40) for number in (3, 4)] == [30, 40]
    executor.cancel()


def test_recorded_answers_are_given_all_at_once() -> None:
    executor = RequestExecutor(1)
    sends = RepeatedSends(executor, 0, [2, 5, 7], str, compared=COMPARED, is_recorded=True)
    assert {number: future.result(timeout=40) for number, future in sends.futures.items()} == {2: "2", 5: "5", 7: "7"}
    executor.cancel()


class Hanging:
    """Sends that last until they are ended."""

    def __init__(self, executor: RequestExecutor) -> None:
        self.started, self.go = threading.Event(), threading.Event()
        self.ended: list[int] = []
        self.sends = RepeatedSends(executor, 0, (1, 2), self.send, compared=COMPARED)

    def send(self, number: int) -> int:
        """Wait."""
        cancellation = current_context().cancellation
        assert cancellation is not None
        self.started.set()
        while not self.go.wait(0.01):
            if cancellation.cancelled.is_set():
                self.ended.append(number)
                break
        return number


def test_a_stop_lets_requests_in_flight_go_on() -> None:
    executor = RequestExecutor(1)
    hanging = Hanging(executor)
    assert hanging.started.wait(40)
    # The second one waits for the only thread.
    hanging.sends.send_next()
    waiting = executor.submit(0, lambda: 3)
    hanging.sends.futures[2] = waiting
    hanging.sends.stop()
    assert waiting.cancelled()
    hanging.go.set()
    assert hanging.sends.futures[1].result(timeout=40) == 1
    assert hanging.ended == []
    executor.cancel()


def test_requests_that_are_given_up_end() -> None:
    executor = RequestExecutor(2)
    hanging = Hanging(executor)
    assert hanging.started.wait(40)
    hanging.sends.abandon()
    assert {future.result(timeout=40) for future in hanging.sends.futures.values() if not future.cancelled()} <= {1, 2}
    assert 1 in hanging.ended or hanging.sends.futures[1].cancelled()
    executor.cancel()


@pytest.mark.parametrize("when", ["before they are known", "after"])
def test_repeated_requests_of_a_case_that_does_not_run_end(when: str) -> None:
    executor = RequestExecutor(3)
    made: list[Hanging] = []
    reached, go = threading.Event(), threading.Event()

    def job() -> Any:
        reached.set()
        go.wait(40)
        made.append(Hanging(executor))
        return made[0].sends

    future: RequestFuture[Any] = executor.submit(0, job)
    assert reached.wait(40)
    if when == "after":
        go.set()
        future.result(timeout=40)
    abandon(future)
    go.set()
    future.result(timeout=40)
    # Nobody else ends them.
    deadline = time.monotonic() + 40
    while not all(each.done() for each in made[0].sends.futures.values()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    executor.cancel()


def test_a_case_without_repeats_or_with_an_error_is_given_up_as_ever() -> None:
    executor = RequestExecutor(1)

    def failing() -> None:
        raise ValueError

    for job in (failing, lambda: "an answer"):
        future: RequestFuture[Any] = executor.submit(0, job)
        future.exception(timeout=40)
        abandon(future)
    executor.cancel()
    late: RequestFuture[Any] = executor.submit(0, failing)
    abandon(late)
    assert late.cancelled()


@pytest.mark.parametrize("is_graded", [False, True])
def test_graders_of_an_answer_that_is_given_up_do_not_begin(is_graded: bool) -> None:
    executor = RequestExecutor(1)
    answered, busy = RequestFuture[LiveResponse](), threading.Event()
    blocking = executor.submit(0, lambda: busy.wait(60))
    grades: RequestFuture[EarlyGrades | None] | None = None
    if is_graded:
        grades = executor.submit(1, lambda: None)
    answered.set_result(LiveResponse(COMPARED, ProviderResponse(text="a"), None, grades=grades))
    abandon(answered)
    busy.set()
    blocking.result(timeout=60)
    assert grades is None or grades.cancelled()
    executor.cancel()
