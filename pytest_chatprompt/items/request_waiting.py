"""Waiting for requests: what pytest's thread does until a request of the running item has ended.

The futures of requests come in; those that have ended come out. A test that ends while it waits ends its requests, and
a run that ends ends all of them. `live_run` makes the one `RequestWaiting` of a run; `repeated_answers` uses it too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import nullcontext
from typing import Any, Final, TypeVar, cast

import pytest

from pytest_chatprompt.errors import RequestCancelledError
from pytest_chatprompt.live.executor import RequestExecutor
from pytest_chatprompt.live.request_future import RequestFuture
from pytest_chatprompt.reports.terminal import write_line

PROGRESS_SECONDS: Final = 10.0

T = TypeVar("T")


class RequestWaiting:
    """Waits for the requests of the running item, and shows now and then that it does.

    Args:
        config: the run's configuration.
        executor: runs the requests.
        cancel: sends nothing more, and ends the requests in flight.
    """

    def __init__(self, config: pytest.Config, executor: RequestExecutor, cancel: Callable[[], None]) -> None:
        self._config = config
        self._executor = executor
        self._cancel = cancel
        # The requests that the running item waits for.
        self._current: Collection[RequestFuture[Any]] = ()
        self._progress_at = time.monotonic()

    def for_first(self, futures: Collection[RequestFuture[T]]) -> set[RequestFuture[T]]:
        """Wait until at least one request of the running item has ended; a test that ends now ends all of them.

        Args:
            futures: of its requests, at least one.

        Returns:
            Those that have ended.
        """
        # Requests of a repeated case go on while its judge is asked.
        others = self._current
        self._current = (*others, *futures)
        try:
            while True:
                done = {future for future in futures if future.done()}
                if not done:
                    seconds = max(self._progress_at + PROGRESS_SECONDS - time.monotonic(), 0)
                    with self._executor.turn.test_waits():
                        done = cast(set[RequestFuture[T]], wait(futures, seconds, FIRST_COMPLETED).done)
                if done:
                    break
                self._show_progress()
        except (KeyboardInterrupt, pytest.exit.Exception):
            # All at once: a thread whose request ends would begin with the next one.
            self._cancel()
            raise
        except BaseException:
            # Such as pytest-timeout.
            self.abandon()
            raise
        self._current = others if len(done) == len(futures) else futures
        return done

    def abandon(self) -> None:
        """End the requests that the running item waits for."""
        for future in self._current:
            future.abandon()
        self._current = ()

    def _show_progress(self) -> None:
        self._progress_at = time.monotonic()
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        capture = self._config.pluginmanager.get_plugin("capturemanager")
        if reporter is not None:
            with nullcontext() if capture is None else capture.global_and_fixture_disabled():
                reporter.ensure_newline()
                counts = f"{self._executor.in_flight} requests in flight, {self._executor.finished} answered"
                write_line(reporter, f"waiting: {counts}")


def result_of(future: Future[T]) -> T:
    """The result of a request that has ended.

    Raises:
        RequestCancelledError: it was not sent, or ended before its reply came.
    """
    __tracebackhide__ = True
    if future.cancelled():
        raise RequestCancelledError
    error = future.exception()
    if error is not None:
        # The traceback of an exception that `result` raises begins with two frames of the standard library.
        raise error
    return future.result()
