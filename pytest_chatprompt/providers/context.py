"""The context in which providers send: offline or not, what answers their requests, and what ends them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    import httpx

    Replay = Callable[[httpx.Request, Callable[[], httpx.Response]], httpx.Response]
    from pytest_chatprompt.providers.prices import Billing

T = TypeVar("T")


class Cancellation:
    """Ends one request, with all its tries and the waits between them. Safe between threads."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()
        self._connection: socket.socket | None = None
        self._lock = threading.Lock()

    def cancel(self) -> None:
        """End the request at any step. A request that has its reply already keeps it."""
        self.cancelled.set()
        self.shut_down()

    def use(self, connection: socket.socket | None) -> None:
        """Note which connection the request uses from now on."""
        with self._lock:
            self._connection = connection
        if self.cancelled.is_set():
            self.shut_down()

    def shut_down(self) -> None:
        """End what the request waits for on its connection."""
        with self._lock:
            if self._connection is not None:
                # A socket that is closed already raises, and nothing waits on it.
                with suppress(OSError):
                    self._connection.shutdown(socket.SHUT_RDWR)


# Spends what a request has cost, in US dollars; `None` for one that counts as never sent. The first call counts.
Settle = Callable[[float | None], None]


class Budget(Protocol):
    """What requests may cost together."""

    def reserve(self, billing: Billing | None, cancellation: Cancellation | None = None) -> Settle:
        """Reserve the estimated cost of a request, until it is settled; wait while others may use up the budget."""


class SendContext(NamedTuple):
    """How the requests of the calling thread are sent, and what cancels them.

    Args:
        is_offline: keys and endpoints are placeholders, also if the environment has real ones. Nothing is retried: an
            error is one that a test has asked for.
        cancellation: ends the request; `None` for nothing.
        replay: answers a request of a provider, or calls the function that sends it; `None` where nothing is replayed
            or recorded.
        environ: environment variables for agents, which lead them to the server that captures what they send; `None`
            where nothing captures it.
        budget: what all requests may cost together; `None` for no limit.
        order: those with lower numbers are paid for first where requests wait for the budget.
        variables: environment variables of the provider as they were in its test, which may be over; those that it
            lacks, and all if it is `None`, are read from the environment of the process.
        is_priced: whether answers have a cost: those that are made up offline have none.
    """

    is_offline: bool = False
    cancellation: Cancellation | None = None
    replay: Replay | None = None
    environ: Mapping[str, str] | None = None
    budget: Budget | None = None
    order: int = 0
    variables: Mapping[str, str] | None = None
    is_priced: bool = True


_LIVE: Final = SendContext()
_context: Final[ContextVar[SendContext]] = ContextVar("_context", default=_LIVE)


def current_context() -> SendContext:
    """The context of the calling thread."""
    return _context.get()


@contextmanager
def holding(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Give a context variable another value for a while."""
    # No token: what a fixture enters in an async test is left in another context.
    before = variable.get()
    variable.set(value)
    try:
        yield
    finally:
        variable.set(before)


def use_context(context: SendContext) -> AbstractContextManager[None]:
    """Let the providers that the calling thread calls send in another context."""
    return holding(_context, context)
