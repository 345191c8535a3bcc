"""`RequestFuture`: the future of a job that sends requests, which can be ended while the job runs.

`executor` makes one for each job. Whoever waits for the job may abandon it.
"""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, TypeVar, cast

from pytest_chatprompt.providers.context import Cancellation

T = TypeVar("T")


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


def cancel_future(future: Future[Any]) -> None:
    """Cancel a future that has not started, and wake those who wait for it, which `cancel` alone does not."""
    future.cancel()
    future.set_running_or_notify_cancel()
