"""The request executor: up to N jobs at once, each in a thread, in the order of the run.

Jobs (callables that send a request and return the response) come in, futures come out. The executor can be paused, so
that no request is in flight for a while, and cancelled, so that no further job starts and the requests in flight end.
`live.prefetch` and `items` call it.

It is not a `ThreadPoolExecutor`, which joins its threads when the interpreter exits: one request that hangs would hold
up Ctrl-C until its timeout. These threads are daemons.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Generic, TypeVar

from pytest_chatprompt.providers.cancellation import Cancellation
from pytest_chatprompt.providers.context import SendContext, current_context, use_context

T = TypeVar("T")


class RequestFuture(Future[T]):
    """The future of a job that sends requests, which can be ended while the job runs."""

    def __init__(self) -> None:
        super().__init__()
        self.cancellation = Cancellation()

    def abandon(self) -> None:
        """Give up the result: a job that waits does not start, and the requests of one that runs end."""
        if not self.cancel():
            self.cancellation.cancel()


class RequestExecutor:
    """Runs jobs in threads.

    Args:
        concurrency: how many jobs may run at once, at least 1.

    Attributes:
        in_flight: how many jobs are running.
        finished: how many jobs have ended.
    """

    def __init__(self, concurrency: int) -> None:
        self.in_flight = 0
        self.finished = 0
        self._concurrency = concurrency
        self._queue: list[tuple[int, int, Callable[[], Any], RequestFuture[Any]]] = []
        self._running: set[RequestFuture[Any]] = set()
        self._tickets = itertools.count()
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._pauses = 0
        # How many of the jobs that are running wait for others.
        self._waiting = 0
        self._is_cancelled = False

    def submit(self, order: int, job: Callable[[], T]) -> RequestFuture[T]:
        """Run a job as soon as a thread is free.

        Args:
            order: jobs with a lower number start first.
            job: what to run; what it raises becomes the future's exception.

        Returns:
            The job's future, cancelled if the executor is.
        """
        future: RequestFuture[T] = RequestFuture()
        with self._changed:
            if self._is_cancelled:
                _cancel_future(future)
                return future
            heapq.heappush(self._queue, (order, next(self._tickets), job, future))
            self._start_thread()
            self._changed.notify()
        return future

    def _start_thread(self) -> None:
        """Start one more thread if a job has none, and may run."""
        most = min(self._concurrency + self._waiting, self.in_flight + len(self._queue))
        if len(self._threads) < most:
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
        shared = [_SharedJob(job, context) for job in jobs]
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
        with self._changed:
            is_own = threading.current_thread() in self._threads
            self._waiting += is_own
            self._start_thread()
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._waiting -= is_own

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
            for _, _, _, future in self._queue:
                _cancel_future(future)
            self._queue.clear()
            for future in self._running:
                future.abandon()
            self._changed.notify_all()

    def _may_run_another(self) -> bool:
        return bool(self._queue) and not self._pauses and self.in_flight - self._waiting < self._concurrency

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_cancelled or self._may_run_another())
                if self._is_cancelled:
                    return
                _, _, job, future = heapq.heappop(self._queue)
                self.in_flight += 1
                self._running.add(future)
            try:
                if future.set_running_or_notify_cancel():
                    self._run(job, future)
            finally:
                with self._changed:
                    self._running.discard(future)
                    self.in_flight -= 1
                    self.finished += 1
                    self._changed.notify_all()

    @staticmethod
    def _run(job: Callable[[], Any], future: RequestFuture[Any]) -> None:
        try:
            with use_context(SendContext(cancellation=future.cancellation)):
                result = job()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)


class _SharedJob(Generic[T]):
    """A job that the first thread runs which comes to it."""

    def __init__(self, job: Callable[[], T], context: SendContext) -> None:
        self._job = job
        self._context = context
        self._future: Future[T] = Future()
        self._lock = threading.Lock()
        self._is_taken = False

    def run_once(self) -> None:
        """Run the job if no thread has begun it; what it raises is in its result."""
        with self._lock:
            if self._is_taken:
                return
            self._is_taken = True
        try:
            result = self._run()
        except BaseException as error:
            self._future.set_exception(error)
        else:
            self._future.set_result(result)

    def _run(self) -> T:
        cancellation = self._context.cancellation
        if cancellation is None:
            # Only the executor can end it.
            return self._job()
        with cancellation.part() as part, use_context(replace(self._context, cancellation=part)):
            return self._job()

    def result(self) -> T:
        """The result, once the thread that has begun the job ends it."""
        return self._future.result()


def _cancel_future(future: Future[Any]) -> None:
    """Cancel a future that has not started, and wake those who wait for it, which `cancel` alone does not."""
    future.cancel()
    future.set_running_or_notify_cancel()
