"""The context in which providers send: offline or not, what answers their requests, and what ends them.

The default is the real network. `capture` enters another context while a case is sent offline, `live` for each request
of its threads, and `items.recordings` while it reads a recorded reply. Providers, their HTTP client and their retries
ask `current_context()` and look nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import httpx

from pytest_chatprompt.providers.cancellation import Cancellation

if TYPE_CHECKING:
    from pytest_chatprompt.providers.prices.billing import Billing


class Reservation(Protocol):
    """The part of a budget that is kept for a request in flight."""

    def settle(self, cost_usd: float) -> None:
        """Spend what the request has cost, in US dollars."""
        ...

    def release(self) -> None:
        """Spend nothing: the request has cost nothing."""
        ...


class Budget(Protocol):
    """What requests may cost together."""

    def reserve(self, billing: Billing | None, cancellation: Cancellation | None = None) -> Reservation:
        """Reserve the estimated cost of a request; wait while requests in flight may still use up the budget.

        Args:
            billing: who bills the request; `None` if that is not known.
            cancellation: ends the wait; a request without one does not wait.

        Raises:
            BudgetError: the budget does not suffice, or the price is not known.
            RequestCancelledError: the request was cancelled.
        """
        ...


Handler = Callable[[httpx.Request], httpx.Response]
Replay = Callable[[httpx.Request, Callable[[], httpx.Response]], httpx.Response]


class SendContext(NamedTuple):
    """Where the requests of the calling thread go, to the network or to a handler, and what cancels them.

    Args:
        is_offline: keys and endpoints are placeholders, also if the environment has real ones. Nothing is retried: an
            error is one that a test has asked for.
        handler: answers requests in place of the network; `None` for the network.
        cancellation: ends the requests; `None` if only `ChatProvider.cancel` does.
        replay: answers a request of a provider, or calls the function that sends it; `None` where nothing is replayed
            or recorded.
        environ: environment variables for agents, which lead them to the server that captures what they send; `None`
            where nothing captures it.
        budget: what all requests may cost together; `None` for no limit.
        order: those with lower numbers are paid for first where requests wait for the budget.
        waiting: entered while a request waits for its turn, so that others can go meanwhile.
        variables: environment variables of the provider as they were in its test, which may be over; those that it
            lacks, and all if it is `None`, are read from the environment of the process.
        is_priced: whether answers have a cost: those that are made up offline have none.
    """

    is_offline: bool = False
    handler: Handler | None = None
    cancellation: Cancellation | None = None
    replay: Replay | None = None
    environ: Mapping[str, str] | None = None
    budget: Budget | None = None
    order: int = 0
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext
    variables: Mapping[str, str] | None = None
    is_priced: bool = True


_LIVE: Final = SendContext()
_context: Final[ContextVar[SendContext]] = ContextVar("_context", default=_LIVE)


def current_context() -> SendContext:
    """The context of the calling thread."""
    return _context.get()


@contextmanager
def use_context(context: SendContext) -> Iterator[None]:
    """Let the providers that the calling thread calls send in another context."""
    before = _context.get()
    _context.set(context)
    try:
        yield
    finally:
        # No token: what a fixture enters in an async test is left in another context.
        _context.set(before)
