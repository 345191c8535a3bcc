"""The request executor: concurrency, order, pauses and cancelling."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, wait

import pytest

from pytest_chatprompt.live.executor import RequestExecutor
from pytest_chatprompt.providers.context import current_context


def test_no_more_jobs_run_at_once_than_allowed() -> None:
    executor = RequestExecutor(3)
    running: list[int] = []

    def job() -> None:
        running.append(executor.in_flight)
        time.sleep(0.01)

    wait([executor.submit(number, job) for number in range(12)])
    assert max(running) == 3
    assert (executor.finished, len(running)) == (12, 12)
    executor.cancel()


def test_the_job_with_the_lowest_order_starts_first() -> None:
    executor = RequestExecutor(1)
    started_jobs: list[int] = []
    started, go = threading.Event(), threading.Event()

    def blocking() -> None:
        started.set()
        go.wait()

    blocked = executor.submit(0, blocking)
    started.wait()
    jobs = [executor.submit(order, lambda order=order: started_jobs.append(order)) for order in (5, 3, 9, -1)]  # type: ignore[misc]
    go.set()
    wait([blocked, *jobs])
    assert started_jobs == [-1, 3, 5, 9]
    executor.cancel()


def test_the_error_of_a_job_is_raised_by_its_future() -> None:
    executor = RequestExecutor(1)

    def job() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        executor.submit(0, job).result()
    assert executor.submit(0, lambda: 7).result() == 7
    executor.cancel()


def test_nothing_runs_while_it_is_paused() -> None:
    executor = RequestExecutor(2)
    started = threading.Event()

    def job() -> None:
        started.set()
        time.sleep(0.05)

    running = executor.submit(0, job)
    started.wait()
    with executor.pause():
        assert running.done()
        held = executor.submit(0, lambda: None)
        with executor.pause():
            pass
        time.sleep(0.05)
        assert not held.done()
        assert executor.in_flight == 0
    held.result(timeout=40)
    executor.cancel()


def test_a_cancelled_executor_starts_nothing_and_its_threads_end() -> None:
    executor = RequestExecutor(1)
    started, go = threading.Event(), threading.Event()

    def blocking() -> int:
        started.set()
        go.wait()
        return 1

    running = executor.submit(0, blocking)
    started.wait()
    waiting = executor.submit(1, lambda: 2)
    executor.cancel()
    late: Future[int] = executor.submit(2, lambda: 3)
    assert wait([waiting, late], timeout=40).not_done == set()
    assert waiting.cancelled()
    assert late.cancelled()
    go.set()
    assert running.result(timeout=40) == 1
    deadline = time.monotonic() + 40
    while any(thread.name.startswith("chatprompt-") for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_job_whose_future_is_cancelled_does_not_run() -> None:
    executor = RequestExecutor(1)
    started, go = threading.Event(), threading.Event()
    done: list[int] = []

    def blocking() -> None:
        started.set()
        go.wait()

    executor.submit(0, blocking)
    started.wait()
    dropped = executor.submit(1, lambda: done.append(1))
    dropped.cancel()
    go.set()
    executor.submit(2, lambda: done.append(2)).result(timeout=40)
    assert done == [2]
    executor.cancel()


def wait_for_cancellation(started: threading.Event) -> bool:
    """A job that runs until its requests are cancelled."""
    cancellation = current_context().cancellation
    assert cancellation is not None
    started.set()
    return cancellation.cancelled.wait(40)


@pytest.mark.parametrize("by", ["the executor", "its future"])
def test_the_requests_of_a_running_job_can_be_ended(by: str) -> None:
    executor = RequestExecutor(2)
    started = threading.Event()
    future = executor.submit(0, lambda: wait_for_cancellation(started))
    other = executor.submit(1, lambda: current_context().cancellation)
    started.wait()
    if by == "the executor":
        executor.cancel()
    else:
        future.abandon()
        cancellation = other.result(timeout=40)
        assert cancellation is not None
        assert not cancellation.cancelled.is_set()
    assert future.result(timeout=40)
    executor.cancel()


def test_an_abandoned_job_that_waits_does_not_run() -> None:
    executor = RequestExecutor(1)
    started, go = threading.Event(), threading.Event()

    def blocking() -> None:
        started.set()
        go.wait()

    executor.submit(0, blocking)
    started.wait()
    done: list[int] = []
    dropped = executor.submit(1, lambda: done.append(1))
    dropped.abandon()
    go.set()
    executor.submit(2, lambda: done.append(2)).result(timeout=40)
    assert done == [2]
    assert dropped.cancelled()
    executor.cancel()
