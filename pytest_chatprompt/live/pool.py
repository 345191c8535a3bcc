"""The pool of a live run: up to N requests in flight at once, each in a thread, in the order of the run.

It is not a `ThreadPoolExecutor`, which joins its threads when the interpreter exits: one request that hangs would hold
up Ctrl-C until its timeout. These threads are daemons.
"""

from __future__ import annotations

import bisect
import itertools
import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast

from pytest_chatprompt.capture.live_capture import uncaptured
from pytest_chatprompt.errors import RequestCancelledError
from pytest_chatprompt.providers.context import Budget, Cancellation, SendContext, use_context

T = TypeVar("T")
# How often a job that waits for a free place looks whether it was cancelled.
_POLL_SECONDS: Final = 0.05


class RequestFuture(Future[T]):
    """The future of a job that sends requests, which can be ended while the job runs."""

    _cancellation: Cancellation | None = None

    @property
    def cancellation(self) -> Cancellation:
        """What ends the requests of the job; made when it is first asked for, since thousands of futures may wait."""
        if self._cancellation is None:
            # In one step: the thread of the job and one that ends it may both be first.
            vars(self).setdefault("_cancellation", Cancellation())
        return cast(Cancellation, self._cancellation)

    def abandon(self) -> None:
        """Give up the result: a job that waits does not start, and the requests of one that runs end."""
        if not self.cancel():
            self.cancellation.cancel()

    def end_unsent(self) -> None:
        """Cancel a job that has not started, and wake those who wait for it, which `cancel` alone does not."""
        self.cancel()
        self.set_running_or_notify_cancel()


def result_of(future: Future[T]) -> T:
    """The result of a request that has ended."""
    __tracebackhide__ = True
    if future.cancelled():
        raise RequestCancelledError
    error = future.exception()
    if error is not None:
        # The traceback of an exception that `result` raises begins with two frames of the standard library.
        raise error
    return future.result()


@dataclass(frozen=True, slots=True, order=True)
class _Job:
    order: int
    ticket: int
    run: Callable[[], Any] = field(compare=False)
    future: RequestFuture[Any] = field(compare=False)
    group: object = field(compare=False)


class RequestPool:
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
        self.concurrency = concurrency
        self.in_flight = 0
        self.finished = 0
        self._budget = budget
        self._queue: list[_Job] = []
        self._running: set[RequestFuture[Any]] = set()
        self._tickets = itertools.count()
        self._lock = threading.RLock()
        # Threads wait here for a job. Each may take any job, so it is enough to wake one of them for each.
        self._job_is_ready = threading.Condition(self._lock)
        # `pause` waits here until no job runs, and jobs that have left their place until one is free.
        self._place_is_free = threading.Condition(self._lock)
        self._threads: list[threading.Thread] = []
        # The groups of the jobs that have left their place until it is their turn.
        self._away: list[object] = []
        self._is_paused = False
        self.is_cancelled = False

    def submit(self, order: int, job: Callable[[], T], group: object = None) -> RequestFuture[T]:
        """Run a job as soon as a thread is free.

        Args:
            order: jobs with a lower number start first.
            job: what to run; what it raises becomes the future's exception.
            group: jobs of the same group wait for the same turn, such as those of a provider; `None` for none.

        Returns:
            The job's future, cancelled if the pool is.
        """
        future: RequestFuture[T] = RequestFuture()
        with self._lock:
            if self.is_cancelled:
                future.end_unsent()
                return future
            bisect.insort(self._queue, _Job(order, next(self._tickets), job, future, group))
            self._start_threads()
            self._job_is_ready.notify()
        return future

    @property
    def waiting(self) -> int:
        """How many jobs wait for a thread, and not for the turn of their group."""
        with self._lock:
            return sum(job.group not in self._away for job in self._queue) if self._away else len(self._queue)

    def wait_for_end(self, seconds: float, futures: Collection[RequestFuture[Any]] = ()) -> None:
        """Wait until one of some futures has ended, or until a job starts or ends, or for some time."""
        if futures:
            wait(futures, seconds, FIRST_COMPLETED)
            return
        with self._lock:
            self._place_is_free.wait(min(seconds, _POLL_SECONDS))

    def _start_threads(self) -> None:
        """Start the threads that are missing for the jobs that may run now."""
        away = len(self._away)
        most = min(self.concurrency + away, self.in_flight + away + len(self._queue))
        while len(self._threads) < most:
            thread = threading.Thread(target=self._work, name=f"chatprompt-{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def pause(self) -> None:
        """Wait for the jobs that are running, and start no other until `resume`."""
        with self._lock:
            if not self._is_paused:
                # Those that may start now: else each pause would find fewer in flight.
                self._place_is_free.wait_for(lambda: self.in_flight >= self.concurrency or not self.waiting)
            self._is_paused = True
            self._place_is_free.wait_for(lambda: self.in_flight == 0)

    def resume(self) -> None:
        """Start jobs again after `pause`."""
        with self._lock:
            self._is_paused = False
            self._job_is_ready.notify_all()
            self._place_is_free.notify_all()

    def cancel(self) -> None:
        """Start no further job, cancel those that wait, and end the requests of those that run; waits for none."""
        with self._lock:
            self.is_cancelled = True
            for job in self._queue:
                job.future.end_unsent()
            self._queue.clear()
            for future in self._running:
                future.abandon()
            self._job_is_ready.notify_all()
            self._place_is_free.notify_all()

    def _take(self) -> _Job | None:
        """The next job that may start; `None` if there is none."""
        if self._is_paused or self.in_flight >= self.concurrency:
            return None
        for position, job in enumerate(self._queue):
            if job.group is None or job.group not in self._away:
                return self._queue.pop(position)
        return None

    def _work(self) -> None:
        while True:
            with self._lock:
                job = None
                while not self.is_cancelled and (job := self._take()) is None:
                    self._job_is_ready.wait()
                if job is None:
                    return
                self.in_flight += 1
                self._running.add(job.future)
                self._place_is_free.notify_all()
            try:
                if job.future.set_running_or_notify_cancel():
                    self._run(job)
            finally:
                with self._lock:
                    self._running.discard(job.future)
                    self.in_flight -= 1
                    self.finished += 1
                    # This thread takes the next job itself.
                    self._place_is_free.notify_all()

    def _run(self, job: _Job) -> None:
        context = SendContext(
            cancellation=job.future.cancellation,
            budget=self._budget,
            order=job.order,
            waiting=lambda: self._leave_place(job),
        )
        try:
            # A capture that another thread has open takes what threads without one send.
            with use_context(context), uncaptured():
                result = job.run()
        except BaseException as error:
            job.future.set_exception(error)
        else:
            job.future.set_result(result)

    @contextmanager
    def _leave_place(self, job: _Job) -> Iterator[None]:
        """Leave the place of a job to others while it waits in this block, and then wait until one is free again."""
        with self._lock:
            self.in_flight -= 1
            self._away.append(job.group)
            self._start_threads()
            self._job_is_ready.notify()
            self._place_is_free.notify_all()
        try:
            yield
        finally:
            cancelled = job.future.cancellation.cancelled
            with self._lock:
                while self._keeps_away() and not cancelled.is_set():
                    self._place_is_free.wait(_POLL_SECONDS)
                self._away.remove(job.group)
                self.in_flight += 1
                # Jobs of this group may start again.
                self._job_is_ready.notify_all()

    def _keeps_away(self) -> bool:
        """Whether a job that has left its place may not go on: no place is free, or the pool is paused.

        As long as other jobs are running a pause has not begun, and one of them may wait for this one.
        """
        return self.in_flight >= self.concurrency or (self._is_paused and not self.in_flight)
