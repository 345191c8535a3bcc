"""The sender: up to N jobs at once, each in a thread of its own, the first in the run's order first.

Jobs (callables that send a request and give back the answer) come in, futures come out. It can be made quiet, so that
nothing is on its way for a while, and cancelled, so that nothing more begins. Knows nothing of pytest; `live` calls it.

A standard executor joins its threads when the interpreter ends, so that one request that hangs would hold up Ctrl-C
for as long as its timeout; these threads are daemons.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")


class Sender:
    """Runs jobs in threads.

    Args:
        concurrency: how many may run at once, at least 1.

    Attributes:
        in_flight: how many are running.
        finished: how many have ended.
    """

    def __init__(self, concurrency: int) -> None:
        self.in_flight = 0
        self.finished = 0
        self._concurrency = concurrency
        self._queue: list[tuple[int, int, Callable[[], Any], Future[Any]]] = []
        self._tickets = itertools.count()
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._holds = 0
        self._is_cancelled = False

    def submit(self, order: int, job: Callable[[], T]) -> Future[T]:
        """Let a job run as soon as there is room.

        Args:
            order: jobs of a lower number begin first.
            job: what to run; what it raises is the future's.
        """
        future: Future[T] = Future()
        with self._changed:
            if self._is_cancelled:
                _drop(future)
                return future
            heapq.heappush(self._queue, (order, next(self._tickets), job, future))
            if len(self._threads) < self._concurrency and len(self._threads) < self.in_flight + len(self._queue):
                thread = threading.Thread(target=self._work, name=f"chatprompt-{len(self._threads)}", daemon=True)
                self._threads.append(thread)
                thread.start()
            self._changed.notify()
        return future

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Let nothing run for as long as this lasts: wait for what is running, and hold what waits."""
        with self._changed:
            self._holds += 1
            self._changed.wait_for(lambda: self.in_flight == 0)
        try:
            yield
        finally:
            with self._changed:
                self._holds -= 1
                self._changed.notify_all()

    def cancel(self) -> None:
        """Let nothing more begin; what is running ends by itself, and is not waited for."""
        with self._changed:
            self._is_cancelled = True
            for _, _, _, future in self._queue:
                _drop(future)
            self._queue.clear()
            self._changed.notify_all()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_cancelled or (self._queue and not self._holds))
                if self._is_cancelled:
                    return
                _, _, job, future = heapq.heappop(self._queue)
                self.in_flight += 1
            try:
                if future.set_running_or_notify_cancel():
                    self._run(job, future)
            finally:
                with self._changed:
                    self.in_flight -= 1
                    self.finished += 1
                    self._changed.notify_all()

    @staticmethod
    def _run(job: Callable[[], Any], future: Future[Any]) -> None:
        try:
            result = job()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)


def _drop(future: Future[Any]) -> None:
    """Cancel a future that has not begun, and tell those who wait for it, which `cancel` alone does not."""
    future.cancel()
    future.set_running_or_notify_cancel()
