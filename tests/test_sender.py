"""The sender: jobs at once, in order, held and cancelled."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, wait

import pytest

from pytest_chatprompt.sender import Sender


def test_there_are_never_more_at_once_than_may_be() -> None:
    sender = Sender(3)
    running: list[int] = []

    def job() -> None:
        running.append(sender.in_flight)
        time.sleep(0.01)

    wait([sender.submit(number, job) for number in range(12)])
    assert max(running) == 3
    assert (sender.finished, len(running)) == (12, 12)
    sender.cancel()


def test_what_comes_first_in_the_run_begins_first() -> None:
    sender = Sender(1)
    begun: list[int] = []
    started, go = threading.Event(), threading.Event()

    def blocking() -> None:
        started.set()
        go.wait()

    blocked = sender.submit(0, blocking)
    started.wait()
    jobs = [sender.submit(order, lambda order=order: begun.append(order)) for order in (5, 3, 9, -1)]  # type: ignore[misc]
    go.set()
    wait([blocked, *jobs])
    assert begun == [-1, 3, 5, 9]
    sender.cancel()


def test_what_a_job_raises_is_its_futures() -> None:
    sender = Sender(1)

    def job() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        sender.submit(0, job).result()
    assert sender.submit(0, lambda: 7).result() == 7
    sender.cancel()


def test_while_it_is_quiet_nothing_runs() -> None:
    sender = Sender(2)
    started = threading.Event()

    def job() -> None:
        started.set()
        time.sleep(0.05)

    running = sender.submit(0, job)
    started.wait()
    with sender.quiet():
        assert running.done()
        held = sender.submit(0, lambda: None)
        with sender.quiet():
            pass
        time.sleep(0.05)
        assert not held.done()
        assert sender.in_flight == 0
    held.result(timeout=5)
    sender.cancel()


def test_cancelled_it_begins_nothing_more_and_its_threads_end() -> None:
    sender = Sender(1)
    started, go = threading.Event(), threading.Event()

    def blocking() -> int:
        started.set()
        go.wait()
        return 1

    running = sender.submit(0, blocking)
    started.wait()
    waiting = sender.submit(1, lambda: 2)
    sender.cancel()
    late: Future[int] = sender.submit(2, lambda: 3)
    assert wait([waiting, late], timeout=5).not_done == set()
    assert waiting.cancelled()
    assert late.cancelled()
    go.set()
    assert running.result(timeout=5) == 1
    deadline = time.monotonic() + 5
    while any(thread.name.startswith("chatprompt-") for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_job_that_nobody_waits_for_any_more_is_left_out() -> None:
    sender = Sender(1)
    started, go = threading.Event(), threading.Event()
    done: list[int] = []

    def blocking() -> None:
        started.set()
        go.wait()

    sender.submit(0, blocking)
    started.wait()
    dropped = sender.submit(1, lambda: done.append(1))
    dropped.cancel()
    go.set()
    sender.submit(2, lambda: done.append(2)).result(timeout=5)
    assert done == [2]
    sender.cancel()
