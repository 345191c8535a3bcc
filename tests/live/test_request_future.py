"""The future of a job: how it is given up."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from pytest_chatprompt.live.request_future import RequestFuture, cancel_future


def test_all_threads_see_the_same_cancellation() -> None:
    futures: list[RequestFuture[None]] = [RequestFuture() for _ in range(200)]
    with ThreadPoolExecutor(4) as threads:
        seen = list(threads.map(lambda _: [future.cancellation for future in futures], range(4)))
    assert all(each == [future.cancellation for future in futures] for each in seen)


def test_a_job_that_waits_does_not_start_once_it_is_given_up() -> None:
    future: RequestFuture[None] = RequestFuture()
    future.abandon()
    assert future.cancelled()


def test_the_requests_of_a_running_job_end_once_it_is_given_up() -> None:
    future: RequestFuture[None] = RequestFuture()
    future.set_running_or_notify_cancel()
    future.abandon()
    assert not future.cancelled()
    assert future.cancellation.cancelled.is_set()


def test_who_waits_for_a_future_is_woken_if_it_is_cancelled() -> None:
    future: RequestFuture[None] = RequestFuture()
    cancel_future(future)
    assert future.cancelled()
    assert future.done()
