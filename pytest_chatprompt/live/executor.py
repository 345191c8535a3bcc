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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from pytest_chatprompt.live.compute_turn import ComputeTurn
from pytest_chatprompt.live.request_future import RequestFuture, cancel_future
from pytest_chatprompt.live.shared_job import SharedJob
from pytest_chatprompt.providers.context import Budget, SendContext, current_context, use_context

T = TypeVar("T")
# How often a job that waits for a free place looks whether it was cancelled.
_POLL_SECONDS: Final = 0.05


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
        concurrency: see above.
        in_flight: how many jobs are running.
        finished: how many jobs have ended.
        turn: lets one thread at a time compute, of those of the jobs and of the tests.
    """

    def __init__(self, concurrency: int, budget: Budget | None = None) -> None:
        self.in_flight = 0
        self.finished = 0
        self.turn = ComputeTurn()
        self.concurrency = concurrency
        self._budget = budget
        self._queue: list[_Job] = []
        self._running: set[RequestFuture[Any]] = set()
        self._tickets = itertools.count()
        self._lock = threading.RLock()
        # Threads wait here for a job. Each may take any job, so it is enough to wake one of them for each.
        self._job_is_ready = threading.Condition(self._lock)
        # Pauses wait here until no job runs, and jobs that have left their place until one is free.
        self._place_is_free = threading.Condition(self._lock)
        self._threads: list[threading.Thread] = []
        # The groups of the jobs that have left their place until it is their turn.
        self._away: list[object] = []
        self._pauses = 0
        # How many of the jobs that are running wait for others.
        self._waiting = 0
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
        with self._lock:
            if self._is_cancelled:
                cancel_future(future)
                return future
            bisect.insort(self._queue, _Job(order, next(self._tickets), job, future, group))
            self._start_threads()
            self._job_is_ready.notify()
        return future

    def _start_threads(self) -> None:
        """Start the threads that are missing for the jobs that may run now."""
        extra = self._waiting + len(self._away)
        most = min(self.concurrency + extra, self.in_flight + len(self._away) + len(self._queue))
        while len(self._threads) < most:
            thread = threading.Thread(target=self._work, name=f"chatprompt-{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def overlap(self, order: int, jobs: Sequence[Callable[[], T]]) -> list[T]:
        """Run jobs in this thread, and in those that are free meanwhile; wait for all of them.

        A job may call it: it does not wait for jobs that have not started, but runs them itself.

        Args:
            order: as for `submit`.
            jobs: what to run, in the context in which the calling thread sends.

        Returns:
            Their results, in the order of the jobs.

        Raises:
            BaseException: what the first job that failed has raised; the others have ended or been abandoned.
        """
        context = current_context()
        shared = [SharedJob(job, context) for job in jobs]
        helpers = [self.submit(order, job.run_once) for job in shared[1:]]
        try:
            for job in shared:
                job.run_once()
            with self._room_for_another():
                return [job.result() for job in shared]
        finally:
            for helper in helpers:
                helper.abandon()

    @contextmanager
    def _room_for_another(self) -> Iterator[None]:
        """Let another job run while this thread waits and sends nothing."""
        with self._lock:
            is_own = threading.current_thread() in self._threads
            self._waiting += is_own
            self._start_threads()
            self._job_is_ready.notify()
            self._place_is_free.notify_all()
        try:
            yield
        finally:
            with self._lock:
                self._waiting -= is_own

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Wait for the jobs that are running, and start no other until the block ends."""
        with self.turn.test_waits(), self._lock:
            self._pauses += 1
            self._place_is_free.wait_for(lambda: self.in_flight == 0)
        try:
            yield
        finally:
            with self._lock:
                self._pauses -= 1
                self._job_is_ready.notify_all()
                self._place_is_free.notify_all()

    def cancel(self) -> None:
        """Start no further job, cancel those that wait, and end the requests of those that run; waits for none."""
        with self._lock:
            self._is_cancelled = True
            for job in self._queue:
                cancel_future(job.future)
            self._queue.clear()
            for future in self._running:
                future.abandon()
            self._job_is_ready.notify_all()
            self._place_is_free.notify_all()

    def _has_room(self) -> bool:
        return self.in_flight - self._waiting < self.concurrency

    def _take(self) -> _Job | None:
        """The next job that may start; `None` if there is none."""
        if self._pauses or not self._has_room():
            return None
        for position, job in enumerate(self._queue):
            if job.group is None or job.group not in self._away:
                return self._queue.pop(position)
        return None

    def _work(self) -> None:
        while True:
            with self._lock:
                job = None
                while not self._is_cancelled and (job := self._take()) is None:
                    self._job_is_ready.wait()
                if job is None:
                    return
                self.in_flight += 1
                self._running.add(job.future)
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
            with use_context(context):
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
        """Whether a job that has left its place may not go on: no place is free, or the executor is paused.

        As long as other jobs are running a pause has not begun, and one of them may wait for this one.
        """
        return not self._has_room() or bool(self._pauses and not self.in_flight)
