"""`SharedJob`: a job that several threads may come to, and the first one runs.

`executor` makes them of the jobs that a thread overlaps.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from pytest_chatprompt.providers.context import SendContext, use_context

T = TypeVar("T")


class SharedJob(Generic[T]):
    """A job that several threads may pick up; the first one to do so runs it."""

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
        with cancellation.part() as part, use_context(self._context._replace(cancellation=part)):
            return self._job()

    def result(self) -> T:
        """The result, once the thread that has begun the job ends it."""
        return self._future.result()
