"""The request executor: concurrency, order, pauses and cancelling."""

from __future__ import annotations

import socket
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial

import pytest

from pytest_chatprompt import ChatMessage, OpenAIProvider, ProviderRequest
from pytest_chatprompt.live import compute_turn
from pytest_chatprompt.live.budget import RunBudget
from pytest_chatprompt.live.compute_turn import ComputeTurn
from pytest_chatprompt.live.executor import RequestExecutor
from pytest_chatprompt.providers.context import current_context
from tests.raw_server import RawServer, chat_body, http_reply, read_request


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
        go.wait(40)

    blocked = executor.submit(0, blocking)
    assert started.wait(40)
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
    assert started.wait(40)
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


def test_a_test_that_pauses_jobs_lets_them_compute_until_they_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compute_turn, "_MOST_SECONDS_OF_TEST", 5.0)
    monkeypatch.setattr(ComputeTurn, "_take_from_test", lambda *_: pytest.fail("the test kept the turn"))
    executor = RequestExecutor(1)
    started = threading.Event()

    def job() -> None:
        started.set()
        with executor.turn:
            pass

    with executor.turn.test_runs():
        running = executor.submit(0, job)
        assert started.wait(40)
        with executor.pause():
            running.result(timeout=0)
            assert executor.turn._holder == "test"
    executor.cancel()


def test_a_cancelled_executor_starts_nothing_and_its_threads_end() -> None:
    executor = RequestExecutor(1)
    started, go = threading.Event(), threading.Event()

    def blocking() -> int:
        started.set()
        go.wait(40)
        return 1

    running = executor.submit(0, blocking)
    assert started.wait(40)
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
        go.wait(40)

    executor.submit(0, blocking)
    assert started.wait(40)
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
    assert started.wait(40)
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
        go.wait(40)

    executor.submit(0, blocking)
    assert started.wait(40)
    done: list[int] = []
    dropped = executor.submit(1, lambda: done.append(1))
    dropped.abandon()
    go.set()
    executor.submit(2, lambda: done.append(2)).result(timeout=40)
    assert done == [2]
    assert dropped.cancelled()
    executor.cancel()


def test_no_job_is_left_behind_when_many_are_submitted_between_pauses() -> None:
    executor = RequestExecutor(4)
    done: list[int] = []

    def submit_some(first: int) -> list[Future[None]]:
        return [executor.submit(number, partial(done.append, number)) for number in range(first, first + 50)]

    with ThreadPoolExecutor(4) as threads:
        submitted = [threads.submit(submit_some, first) for first in range(0, 400, 50)]
        for _ in range(20):
            with executor.pause():
                assert executor.in_flight == 0
        futures = [future for each in submitted for future in each.result(timeout=60)]
    assert wait(futures, timeout=60).not_done == set()
    assert sorted(done) == list(range(400))
    executor.cancel()


def test_the_threads_that_wait_are_not_all_woken_for_one_job(monkeypatch: pytest.MonkeyPatch) -> None:
    executor = RequestExecutor(8)
    barrier = threading.Barrier(8, timeout=60)
    wait([executor.submit(0, barrier.wait) for _ in range(8)])
    deadline = time.monotonic() + 60
    while executor.in_flight:
        assert time.monotonic() < deadline
    woken = 0
    notify = threading.Condition.notify

    def count(condition: threading.Condition, n: int = 1) -> None:
        nonlocal woken
        if condition is executor._job_is_ready:
            woken += min(n, len(condition._waiters))  # type: ignore[attr-defined]
        notify(condition, n)

    monkeypatch.setattr(threading.Condition, "notify", count)
    for number in range(5):
        executor.submit(number, lambda: None).result(timeout=60)
    assert woken <= 5
    executor.cancel()


def test_a_reply_that_drips_does_not_hold_up_others(raw_server: RawServer) -> None:
    ended = threading.Event()

    def talk(connection: socket.socket, number: int) -> None:
        read_request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        if number == 0:
            ended.wait(60)
        connection.sendall(http_reply(chat_body("ho")).partition(b"\r\n")[2])

    raw_server.talk = talk
    provider = OpenAIProvider(base_url=raw_server.url, api_key="k", max_retries=0)
    executor = RequestExecutor(4)
    send = partial(provider.send, ProviderRequest(chat_prompt=(ChatMessage("user", "hi"),)))
    futures = [executor.submit(number, send) for number in range(4)]
    deadline = time.monotonic() + 60
    while sum(future.done() for future in futures) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    ended.set()
    assert [future.result(timeout=60).text for future in futures] == ["ho"] * 4
    executor.cancel()


# --- jobs that wait for their turn


def waiting_job(entered: threading.Event, go: threading.Event) -> str:
    """A job that leaves its place while it waits."""
    with current_context().waiting():
        entered.set()
        assert go.wait(60)
    return "gone on"


def test_a_job_that_waits_leaves_its_place_to_another_group() -> None:
    executor = RequestExecutor(1)
    entered, go = threading.Event(), threading.Event()
    waiting = executor.submit(0, lambda: waiting_job(entered, go), group="a")
    assert entered.wait(60)
    others = [executor.submit(number, lambda number=number: number, group="b") for number in range(3)]  # type: ignore[misc]
    assert [other.result(timeout=60) for other in others] == [0, 1, 2]
    assert not waiting.done()
    go.set()
    assert waiting.result(timeout=60) == "gone on"
    executor.cancel()


def test_no_further_job_of_its_group_starts_until_it_goes_on() -> None:
    executor = RequestExecutor(2)
    entered, go = threading.Event(), threading.Event()
    waiting = executor.submit(0, lambda: waiting_job(entered, go), group="a")
    assert entered.wait(60)
    same = executor.submit(1, lambda: "same", group="a")
    assert executor.submit(2, lambda: "none").result(timeout=60) == "none"
    assert not same.done()
    go.set()
    assert (waiting.result(timeout=60), same.result(timeout=60)) == ("gone on", "same")
    executor.cancel()


def test_no_more_run_at_once_when_a_job_goes_on() -> None:
    executor = RequestExecutor(1)
    entered, go, blocked, release = (threading.Event() for _ in range(4))

    def block() -> None:
        blocked.set()
        assert release.wait(60)

    waiting = executor.submit(0, lambda: waiting_job(entered, go), group="a")
    assert entered.wait(60)
    blocking = executor.submit(1, block, group="b")
    assert blocked.wait(60)
    go.set()
    time.sleep(0.1)
    assert (waiting.done(), executor.in_flight) == (False, 1)
    release.set()
    assert waiting.result(timeout=60) == "gone on"
    blocking.result(timeout=60)
    executor.cancel()


def test_no_job_goes_on_while_it_is_paused() -> None:
    executor = RequestExecutor(2)
    entered, go = threading.Event(), threading.Event()
    waiting = executor.submit(0, lambda: waiting_job(entered, go), group="a")
    assert entered.wait(60)
    with executor.pause():
        go.set()
        time.sleep(0.1)
        assert (waiting.done(), executor.in_flight) == (False, 0)
    assert waiting.result(timeout=60) == "gone on"
    executor.cancel()


def test_cancelling_ends_a_job_that_waits_for_a_place() -> None:
    executor = RequestExecutor(1)
    entered, go = threading.Event(), threading.Event()
    waiting = executor.submit(0, lambda: waiting_job(entered, go), group="a")
    assert entered.wait(60)
    with executor.pause():
        go.set()
        time.sleep(0.1)
        executor.cancel()
        # Its job goes on only to learn that.
        assert waiting.result(timeout=60) == "gone on"


def test_jobs_run_with_the_budget_of_the_run() -> None:
    for budget in (RunBudget(1), None):
        executor = RequestExecutor(1, budget)
        assert executor.submit(0, lambda: current_context().budget).result(timeout=60) is budget
        executor.cancel()


def test_overlapping_jobs_run_in_the_threads_that_are_free() -> None:
    executor = RequestExecutor(3)
    together = threading.Barrier(3)

    def job(number: int) -> int:
        together.wait(60)
        return number

    # This thread, and two of the executor.
    assert executor.overlap(0, [partial(job, number) for number in range(3)]) == [0, 1, 2]
    executor.cancel()


def test_a_job_that_overlaps_others_does_not_wait_for_a_thread() -> None:
    executor = RequestExecutor(1)
    results = executor.submit(0, lambda: executor.overlap(1, [lambda: "a", lambda: "b"])).result(60)
    assert results == ["a", "b"]
    executor.cancel()
    # Nothing of the executor starts now, but the thread that asks can do it.
    assert executor.overlap(0, [lambda: 1, lambda: 2]) == [1, 2]


def test_another_job_runs_while_one_waits_for_those_that_it_overlaps() -> None:
    executor = RequestExecutor(2)
    begun, third = threading.Event(), threading.Event()
    running: list[int] = []

    def first() -> bool:
        # It ends once the second one runs in the other thread.
        return begun.wait(60)

    def second() -> bool:
        begun.set()
        return third.wait(60)

    future = executor.submit(0, lambda: executor.overlap(0, [first, second]))
    begun.wait(60)
    other = executor.submit(1, third.set)
    assert future.result(60) == [True, True]
    other.result(60)
    # Nobody waits any more: two at once again.
    together = threading.Semaphore(0)

    def count() -> None:
        running.append(executor.in_flight)
        together.acquire(timeout=0.02)

    wait([executor.submit(number, count) for number in range(8)])
    assert max(running) <= 2
    executor.cancel()


def test_the_error_of_an_overlapping_job_is_raised() -> None:
    executor = RequestExecutor(1)

    def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        executor.overlap(0, [lambda: None, fail])
    executor.cancel()


def test_abandoning_a_job_ends_the_requests_of_all_that_it_overlaps() -> None:
    executor = RequestExecutor(3)
    started = threading.Barrier(4)

    def wait_for_end() -> bool:
        cancellation = current_context().cancellation
        assert cancellation is not None
        started.wait(60)
        return cancellation.cancelled.wait(60)

    future = executor.submit(0, lambda: executor.overlap(0, [wait_for_end] * 3))
    started.wait(60)
    future.abandon()
    assert future.result(60) == [True, True, True]
    executor.cancel()


def test_cancelling_ends_what_a_thread_of_nobody_overlaps_but_for_its_own_request() -> None:
    executor = RequestExecutor(1)
    started = threading.Barrier(2)

    def cancel() -> None:
        started.wait(60)
        executor.cancel()

    canceller = threading.Thread(target=cancel)

    def wait_for_end() -> bool:
        started.wait(60)
        cancellation = current_context().cancellation
        return cancellation is not None and cancellation.cancelled.wait(60)

    canceller.start()
    # The first job needs this thread until the second one runs in the executor.
    begun = threading.Event()

    def first() -> bool:
        return begun.wait(60)

    def second() -> bool:
        begun.set()
        return wait_for_end()

    assert executor.overlap(0, [first, second]) == [True, True]
    canceller.join(40)
