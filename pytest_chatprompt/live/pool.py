"""The pool of a live run: up to N requests in flight at once, each in a thread, in the order of the run.

It is not a `ThreadPoolExecutor`, which joins its threads when the interpreter exits: one request that hangs would hold
up Ctrl-C until its timeout. These threads are daemons. Where nothing is sent, or a test may not be over when it is
sent, `CallingThread` takes its place.
"""

from __future__ import annotations

import bisect
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from pytest_chatprompt.capture.live_capture import uncaptured
from pytest_chatprompt.errors import RequestCancelledError
from pytest_chatprompt.providers.context import Budget, Cancellation, SendContext, current_context, use_context

T = TypeVar("T")


class RequestFuture(Future[T]):
    """A job that sends requests, and its future; it can be ended while it runs.

    Args:
        order: jobs of a lower one start first.
    """

    def __init__(self, order: int, job: Callable[[], T]) -> None:
        super().__init__()
        self.order = order
        self.cancellation = Cancellation()
        self._job = job

    def run(self, context: SendContext) -> None:
        """Run the job in this thread, unless it is cancelled."""
        if not self.set_running_or_notify_cancel():
            return
        try:
            # A capture that another thread has open takes what threads without one send.
            with use_context(context), uncaptured():
                result = self._job()
        except BaseException as error:
            self.set_exception(error)
        else:
            self.set_result(result)
        finally:
            # Else this, the case and its other futures would hold each other until the garbage collector comes.
            del self._job

    def abandon(self) -> None:
        """Give up the result: a job that waits does not start, and the requests of one that runs end."""
        if not (self.done() or self.cancel()):
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


class RequestPool:
    """Runs jobs in threads, up to `concurrency` at once; `finished` is how many have ended."""

    def __init__(self, concurrency: int, budget: Budget | None = None) -> None:
        self.concurrency = concurrency
        self.finished = 0
        self._budget = budget
        self._queue: list[RequestFuture[Any]] = []
        # By their threads.
        self._running: dict[int, RequestFuture[Any]] = {}
        self._lock = threading.RLock()
        # Threads wait here for a job. Each may take any job, so it is enough to wake one of them for each.
        self._job_is_ready = threading.Condition(self._lock)
        # The other threads wait here.
        self._something_changed = threading.Condition(self._lock)
        self._threads: list[threading.Thread] = []
        self._is_paused = False
        self.is_cancelled = False

    def submit(self, order: int, job: Callable[[], T]) -> RequestFuture[T]:
        """Run a job as soon as a thread is free, those of a lower `order` first; a cancelled pool runs none."""
        future = RequestFuture(order, job)
        with self._lock:
            if self.is_cancelled:
                future.end_unsent()
                return future
            bisect.insort(self._queue, future, key=lambda each: each.order)
            if len(self._threads) < min(self.concurrency, self.in_flight + len(self._queue)):
                name = f"chatprompt-{len(self._threads)}"
                self._threads.append(threading.Thread(target=self._work, name=name, daemon=True))
                self._threads[-1].start()
            self._job_is_ready.notify()
        return future

    @property
    def in_flight(self) -> int:
        """How many jobs are running."""
        return len(self._running)

    @property
    def waiting(self) -> int:
        """How many jobs wait for a thread."""
        return len(self._queue)

    def wait_until(self, is_over: Callable[[], object], seconds: float) -> bool:
        """Wait for what only the start or the end of a job changes; gives whether it came in time."""
        with self._lock:
            return bool(self._something_changed.wait_for(is_over, seconds))

    def pause(self) -> None:
        """Wait for the jobs that are running, and start no other until `resume`."""
        with self._lock:
            if not self._is_paused:
                # Those that may start now: else each pause would find fewer in flight.
                self._something_changed.wait_for(lambda: self.in_flight >= self.concurrency or not self._queue)
            self._is_paused = True
            self._something_changed.wait_for(lambda: self.in_flight == 0)

    def resume(self) -> None:
        """Start jobs again after `pause`."""
        with self._lock:
            if self._is_paused:
                self._is_paused = False
                self._job_is_ready.notify_all()

    def cancel(self) -> None:
        """Start no further job, cancel those that wait, and end the requests of those that run; waits for none."""
        with self._lock:
            self.is_cancelled = True
            for future in self._queue:
                future.end_unsent()
            self._queue.clear()
            for future in self._running.values():
                future.abandon()
            self._job_is_ready.notify_all()
            self._something_changed.notify_all()

    def _work(self) -> None:
        while (future := self._next_job()) is not None:
            future.run(SendContext(cancellation=future.cancellation, budget=self._budget, order=future.order))
            # Its answer would be kept until the next job comes.
            del future

    def _next_job(self) -> RequestFuture[Any] | None:
        """The next job of this thread, whose job before has ended; `None` once the pool is cancelled."""
        thread = threading.get_ident()
        # The end of one job and the start of the next in one step, so that those who wait wake up once for both.
        with self._lock:
            if self._running.pop(thread, None) is not None:
                self.finished += 1
                self._something_changed.notify_all()
            self._job_is_ready.wait_for(lambda: self.is_cancelled or (self._queue and not self._is_paused))
            if self.is_cancelled:
                return None
            future = self._running[thread] = self._queue.pop(0)
            self._something_changed.notify_all()
            return future


class CallingThread:
    """Runs jobs one after the other, in the thread that waits for them.

    Args:
        context: in which they send; `None` for that of the thread.
    """

    concurrency = 1

    def __init__(self, context: SendContext | None = None) -> None:
        self._context = context
        self._queue: deque[RequestFuture[Any]] = deque()

    def submit(self, order: int, job: Callable[[], T]) -> RequestFuture[T]:
        """Run a job when somebody waits for it."""
        future = RequestFuture(order, job)
        self._queue.append(future)
        return future

    def wait_until(self, is_over: Callable[[], object]) -> None:
        """Run jobs until something is true."""
        while not is_over():
            future = self._queue.popleft()
            future.run(self._context or current_context())
            error = future.exception()
            if not isinstance(error, Exception | None):
                # It ends the test now.
                raise error
