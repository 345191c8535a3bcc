"""The pool: concurrency, order, pauses and cancelling."""

from __future__ import annotations

import socket
import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial

import pytest

from pytest_chatprompt import ChatMessage, OpenAIProvider, ProviderRequest
from pytest_chatprompt.errors import RequestCancelledError
from pytest_chatprompt.live.budget import RunBudget
from pytest_chatprompt.live.pool import RequestPool, result_of
from pytest_chatprompt.providers.context import current_context
from tests.raw_server import RawServer, chat_body, http_reply, read_request


@contextmanager
def paused(pool: RequestPool) -> Iterator[None]:
    pool.pause()
    try:
        yield
    finally:
        pool.resume()


def test_no_more_jobs_run_at_once_than_allowed() -> None:
    pool = RequestPool(3)
    running: list[int] = []

    def job() -> None:
        running.append(pool.in_flight)
        time.sleep(0.01)

    wait([pool.submit(number, job) for number in range(12)])
    assert max(running) == 3
    assert (pool.finished, len(running)) == (12, 12)
    pool.cancel()


def test_the_job_with_the_lowest_order_starts_first() -> None:
    pool = RequestPool(1)
    started_jobs: list[int] = []
    started, go = threading.Event(), threading.Event()

    def blocking() -> None:
        started.set()
        go.wait(40)

    blocked = pool.submit(0, blocking)
    assert started.wait(40)
    jobs = [pool.submit(order, lambda order=order: started_jobs.append(order)) for order in (5, 3, 9, -1)]  # type: ignore[misc]
    go.set()
    wait([blocked, *jobs])
    assert started_jobs == [-1, 3, 5, 9]
    pool.cancel()


def test_the_error_of_a_job_is_raised_by_its_future() -> None:
    pool = RequestPool(1)

    def job() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        pool.submit(0, job).result()
    assert pool.submit(0, lambda: 7).result() == 7
    pool.cancel()


def test_nothing_runs_while_it_is_paused() -> None:
    pool = RequestPool(2)
    started = threading.Event()

    def job() -> None:
        started.set()
        time.sleep(0.05)

    running = pool.submit(0, job)
    assert started.wait(40)
    with paused(pool):
        assert running.done()
        held = pool.submit(0, lambda: None)
        time.sleep(0.05)
        assert not held.done()
        assert pool.in_flight == 0
    held.result(timeout=40)
    pool.cancel()


def test_a_cancelled_pool_starts_nothing_and_its_threads_end() -> None:
    pool = RequestPool(1)
    started, go = threading.Event(), threading.Event()

    def blocking() -> int:
        started.set()
        go.wait(40)
        return 1

    running = pool.submit(0, blocking)
    assert started.wait(40)
    waiting = pool.submit(1, lambda: 2)
    pool.cancel()
    late: Future[int] = pool.submit(2, lambda: 3)
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
    pool = RequestPool(1)
    started, go = threading.Event(), threading.Event()
    done: list[int] = []

    def blocking() -> None:
        started.set()
        go.wait(40)

    pool.submit(0, blocking)
    assert started.wait(40)
    dropped = pool.submit(1, lambda: done.append(1))
    dropped.cancel()
    go.set()
    pool.submit(2, lambda: done.append(2)).result(timeout=40)
    assert done == [2]
    pool.cancel()


def wait_for_cancellation(started: threading.Event) -> bool:
    """A job that runs until its requests are cancelled."""
    cancellation = current_context().cancellation
    assert cancellation is not None
    started.set()
    return cancellation.cancelled.wait(40)


@pytest.mark.parametrize("by", ["the pool", "its future"])
def test_the_requests_of_a_running_job_can_be_ended(by: str) -> None:
    pool = RequestPool(2)
    started = threading.Event()
    future = pool.submit(0, lambda: wait_for_cancellation(started))
    other = pool.submit(1, lambda: current_context().cancellation)
    assert started.wait(40)
    if by == "the pool":
        pool.cancel()
    else:
        future.abandon()
        cancellation = other.result(timeout=40)
        assert cancellation is not None
        assert not cancellation.cancelled.is_set()
    assert future.result(timeout=40)
    pool.cancel()


def test_an_abandoned_job_that_waits_does_not_run() -> None:
    pool = RequestPool(1)
    started, go = threading.Event(), threading.Event()

    def blocking() -> None:
        started.set()
        go.wait(40)

    pool.submit(0, blocking)
    assert started.wait(40)
    done: list[int] = []
    dropped = pool.submit(1, lambda: done.append(1))
    dropped.abandon()
    go.set()
    pool.submit(2, lambda: done.append(2)).result(timeout=40)
    assert done == [2]
    assert dropped.cancelled()
    pool.cancel()


def test_no_job_is_left_behind_when_many_are_submitted_between_pauses() -> None:
    pool = RequestPool(4)
    done: list[int] = []

    def submit_some(first: int) -> list[Future[None]]:
        return [pool.submit(number, partial(done.append, number)) for number in range(first, first + 50)]

    with ThreadPoolExecutor(4) as threads:
        submitted = [threads.submit(submit_some, first) for first in range(0, 400, 50)]
        for _ in range(20):
            with paused(pool):
                assert pool.in_flight == 0
        futures = [future for each in submitted for future in each.result(timeout=60)]
    assert wait(futures, timeout=60).not_done == set()
    assert sorted(done) == list(range(400))
    pool.cancel()


def test_the_threads_that_wait_are_not_all_woken_for_one_job(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = RequestPool(8)
    barrier = threading.Barrier(8, timeout=60)
    wait([pool.submit(0, barrier.wait) for _ in range(8)])
    deadline = time.monotonic() + 60
    while pool.in_flight:
        assert time.monotonic() < deadline
    woken = 0
    notify = threading.Condition.notify

    def count(condition: threading.Condition, n: int = 1) -> None:
        nonlocal woken
        if condition is pool._job_is_ready:
            woken += min(n, len(condition._waiters))  # type: ignore[attr-defined]
        notify(condition, n)

    monkeypatch.setattr(threading.Condition, "notify", count)
    for number in range(5):
        pool.submit(number, lambda: None).result(timeout=60)
    assert woken <= 5
    pool.cancel()


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
    pool = RequestPool(4)
    send = partial(provider.send, ProviderRequest(chat_prompt=(ChatMessage("user", "hi"),)))
    futures = [pool.submit(number, send) for number in range(4)]
    deadline = time.monotonic() + 60
    while sum(future.done() for future in futures) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    ended.set()
    assert [future.result(timeout=60).text for future in futures] == ["ho"] * 4
    pool.cancel()


def test_jobs_run_with_the_budget_of_the_run() -> None:
    for budget in (RunBudget(1), None):
        pool = RequestPool(1, budget)
        assert pool.submit(0, lambda: current_context().budget).result(timeout=60) is budget
        pool.cancel()


def test_what_was_not_sent_was_cancelled() -> None:
    pool = RequestPool(1)
    pool.cancel()
    with pytest.raises(RequestCancelledError):
        result_of(pool.submit(0, lambda: 1))


def test_who_waits_goes_on_as_soon_as_it_is_over() -> None:
    pool = RequestPool(1)
    pool.submit(0, lambda: time.sleep(0.05))
    pool.submit(1, lambda: None)
    started_at = time.monotonic()
    pool.wait_until(lambda: not (pool.waiting or pool.in_flight), 60)
    assert time.monotonic() - started_at < 50
    assert pool.finished == 2
    pool.cancel()


def test_a_job_that_has_run_is_not_kept_by_its_future() -> None:
    pool = RequestPool(1)
    futures: list[Future[int]] = []

    class Case:
        def answer(self) -> int:
            return len(futures)

    case = Case()
    kept = weakref.ref(case)
    futures.append(pool.submit(0, case.answer))
    wait(futures)
    pool.wait_until(lambda: not pool.in_flight, 60)
    del case
    # Without a visit of the garbage collector, which a case and its futures that know each other would wait for.
    assert kept() is None
    pool.cancel()
