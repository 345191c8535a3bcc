"""The request executor: up to N jobs at once, each in a thread, in the order of the run.

Jobs (callables that send a request and return the response) come in, futures come out. The executor can be paused, so
that no request is in flight for a while, and cancelled, so that no further job starts and the requests in flight end.
`live.prefetch` and `items` call it.

It is not a `ThreadPoolExecutor`, which joins its threads when the interpreter exits: one request that hangs would hold
up Ctrl-C until its timeout. These threads are daemons.
"""

from __future__ import annotations

import bisect
import itertools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from pytest_chatprompt.providers.cancellation import Cancellation
from pytest_chatprompt.providers.context import Budget, SendContext, use_context

T = TypeVar("T")
# How often a job that waits for a free place looks whether it was cancelled.
_POLL_SECONDS: Final = 0.05


class RequestFuture(Future[T]):
    """The future of a job that sends requests, which can be ended while the job runs."""

    def __init__(self) -> None:
        super().__init__()
        self.cancellation = Cancellation()

    def abandon(self) -> None:
        """Give up the result: a job that waits does not start, and the requests of one that runs end."""
        if not self.cancel():
            self.cancellation.cancel()


@dataclass(frozen=True, slots=True, order=True)
class _Job:
    order: int
    ticket: int
    run: Callable[[], Any] = field(compare=False)
    future: RequestFuture[Any] = field(compare=False)
    group: object = field(compare=False)


class RequestExecutor:
    """Runs jobs in threads.

    A job that waits for its turn, by the rate limit of its provider or by the budget, leaves its place to others. Until
    it goes on, no further job of its group starts.

    Args:
        concurrency: how many jobs may run at once, at least 1.
        budget: what the requests of all jobs may cost; `None` for no limit.

    Attributes:
        in_flight: how many jobs are running.
        finished: how many jobs have ended.
    """

    def __init__(self, concurrency: int, budget: Budget | None = None) -> None:
        self.in_flight = 0
        self.finished = 0
        self._concurrency = concurrency
        self._budget = budget
        self._queue: list[_Job] = []
        self._running: set[RequestFuture[Any]] = set()
        self._tickets = itertools.count()
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []
        # The groups of the jobs that wait for their turn.
        self._waiting: list[object] = []
        self._pauses = 0
        self._is_cancelled = False

    def submit(self, order: int, job: Callable[[], T], group: object = None) -> RequestFuture[T]:
        """Run a job as soon as a thread is free.

        Args:
            order: jobs with a lower number start first.
            job: what to run; what it raises becomes the future's exception.
            group: jobs of the same group wait for the same turn, such as those of a provider; `None` for none.

        Returns:
            The job's future, cancelled if the executor is.
        """
        future: RequestFuture[T] = RequestFuture()
        with self._changed:
            if self._is_cancelled:
                _cancel_future(future)
                return future
            bisect.insort(self._queue, _Job(order, next(self._tickets), job, future, group))
            self._start_threads()
            # Not one thread only: it may be one that may not take this job.
            self._changed.notify_all()
        return future

    def _start_threads(self) -> None:
        """Start the threads that are missing for the jobs that may run now."""
        busy = self.in_flight + len(self._waiting)
        while len(self._threads) < min(self._concurrency + len(self._waiting), busy + len(self._queue)):
            thread = threading.Thread(target=self._work, name=f"chatprompt-{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            thread.start()

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Wait for the jobs that are running, and start no other until the block ends."""
        with self._changed:
            self._pauses += 1
            self._changed.wait_for(lambda: self.in_flight == 0)
        try:
            yield
        finally:
            with self._changed:
                self._pauses -= 1
                self._changed.notify_all()

    def cancel(self) -> None:
        """Start no further job, cancel those that wait, and end the requests of those that run; waits for none."""
        with self._changed:
            self._is_cancelled = True
            for job in self._queue:
                _cancel_future(job.future)
            self._queue.clear()
            for future in self._running:
                future.abandon()
            self._changed.notify_all()

    def _take(self) -> _Job | None:
        """The next job that may start; `None` if there is none."""
        if self._pauses or self.in_flight >= self._concurrency:
            return None
        for position, job in enumerate(self._queue):
            if job.group is None or job.group not in self._waiting:
                return self._queue.pop(position)
        return None

    def _work(self) -> None:
        while True:
            with self._changed:
                job = None
                while not self._is_cancelled and (job := self._take()) is None:
                    self._changed.wait()
                if job is None:
                    return
                self.in_flight += 1
                self._running.add(job.future)
            try:
                if job.future.set_running_or_notify_cancel():
                    self._run(job)
            finally:
                with self._changed:
                    self._running.discard(job.future)
                    self.in_flight -= 1
                    self.finished += 1
                    self._changed.notify_all()

    def _run(self, job: _Job) -> None:
        context = SendContext(
            cancellation=job.future.cancellation,
            budget=self._budget,
            order=job.order,
            waiting=lambda: self._leave_place(job),
        )
        try:
            with use_context(context):
                result = job.run()
        except BaseException as error:
            job.future.set_exception(error)
        else:
            job.future.set_result(result)

    @contextmanager
    def _leave_place(self, job: _Job) -> Iterator[None]:
        """Leave the place of a job to others while it waits in this block, and then wait until one is free again."""
        with self._changed:
            self.in_flight -= 1
            self._waiting.append(job.group)
            self._start_threads()
            self._changed.notify_all()
        try:
            yield
        finally:
            cancelled = job.future.cancellation.cancelled
            with self._changed:
                while (self._pauses or self.in_flight >= self._concurrency) and not cancelled.is_set():
                    self._changed.wait(_POLL_SECONDS)
                self._waiting.remove(job.group)
                self.in_flight += 1
                self._changed.notify_all()


def _cancel_future(future: Future[Any]) -> None:
    """Cancel a future that has not started, and wake those who wait for it, which `cancel` alone does not."""
    future.cancel()
    future.set_running_or_notify_cancel()
