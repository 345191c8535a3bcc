"""`RepeatedSends`: the requests of one repeated case, several of them in flight together.

The numbers of the answers come in, and what sends for each of them; a future of each answer comes out. `prefetch` makes
one for a case that is sent ahead, `items` for one that runs, and ends them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial
from typing import Any, Generic, TypeVar

from pytest_chatprompt.capture.sent_request import Exchange
from pytest_chatprompt.live.executor import RequestExecutor
from pytest_chatprompt.live.request_future import RequestFuture

T = TypeVar("T")


class RepeatedSends(Generic[T]):
    """The requests of a repeated case: as many at once as the executor runs, each further one when it is asked for.

    So no answer that is already there has to be graded in vain: nothing is sent that its verdict makes needless.

    Args:
        executor: runs them.
        order: their place in the run; those of lower numbers are sent first.
        numbers: of the answers to send for, from 1, in the order in which they are sent.
        send: sends the request, and gives the answer of a number.
        compared: what was compared with the snapshot before it was sent.
        group: as for `RequestExecutor.submit`.
        is_recorded: whether the answers are recorded, so that they cost nothing.

    Attributes:
        compared: see above.
        is_recorded: see above.
        futures: the future of each answer that was asked for, by its number.
    """

    def __init__(  # noqa: PLR0913 - each is a fact of its own
        self,
        executor: RequestExecutor,
        order: int,
        numbers: Iterable[int],
        send: Callable[[int], T],
        *,
        compared: Exchange,
        group: object = None,
        is_recorded: bool = False,
    ) -> None:
        self.compared = compared
        self.is_recorded = is_recorded
        self.futures: dict[int, RequestFuture[T]] = {}
        self._executor = executor
        self._order = order
        self._send = send
        self._group = group
        self._left = deque(numbers)
        for _ in range(len(self._left) if is_recorded else executor.concurrency):
            self.send_next()

    def send_next(self) -> bool:
        """Request one more answer; `False` if all of them have been requested already."""
        if not self._left:
            return False
        number = self._left.popleft()
        self.futures[number] = self._executor.submit(self._order, partial(self._send, number), self._group)
        return True

    def stop(self) -> None:
        """Start none of the requests that wait; those in flight go on."""
        for future in self.futures.values():
            future.cancel()

    def abandon(self) -> None:
        """Send nothing more, and end the requests in flight."""
        for future in self.futures.values():
            abandon(future)


def abandon(future: RequestFuture[Any]) -> None:
    """Give up a request, and what comes of it, once that is known: repeated requests, or graders of the answer."""
    future.abandon()
    # At once if it has ended already; else its job submits them before it ends.
    future.add_done_callback(_abandon_result)


def _abandon_result(future: Future[Any]) -> None:
    if not future.cancelled() and future.exception() is None and hasattr(future.result(), "abandon"):
        future.result().abandon()
