"""The interceptor: who gets the requests of this process's clients at the moment.

`interception` says who; each seam asks `current_interceptor()` for every request. Seams and `recording.onward_client`
send past it with `let_pass`. The last one that was entered gets the requests of all threads and event loops.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Protocol

import httpx

# The extension of an httpx request that was captured before: interceptors have to let it pass.
FORWARDED_EXTENSION: Final = "chatprompt_forwarded"


class Interceptor(Protocol):
    """Decides what becomes of a request: it returns a response, or `None` to let the request go on to the network."""

    def handle(self, request: httpx.Request) -> httpx.Response | None:
        """Handle a request of a sync client.

        Args:
            request: what the client sends, body read. `extensions["client"]` names the library.
        """
        ...

    async def handle_async(self, request: httpx.Request) -> httpx.Response | None:
        """Handle a request of an async client, in its event loop."""
        ...


# The innermost last. A list of the process, since the clients of all threads and event loops belong to it.
_interceptors: Final[list[Interceptor]] = []
_lets_pass: Final[ContextVar[bool]] = ContextVar("_lets_pass", default=False)


def current_interceptor() -> Interceptor | None:
    """The interceptor of the calling thread or task; `None` if its requests go to the network."""
    if _lets_pass.get():
        return None
    try:
        return _interceptors[-1]
    except IndexError:
        return None


def push_interceptor(interceptor: Interceptor) -> None:
    """Give all requests from now on to an interceptor."""
    _interceptors.append(interceptor)


def remove_interceptor(interceptor: Interceptor) -> None:
    """Take an interceptor out, wherever it is in the stack."""
    # By identity: interceptors may define equality.
    index = next(index for index in reversed(range(len(_interceptors))) if _interceptors[index] is interceptor)
    del _interceptors[index]


@contextmanager
def let_pass() -> Iterator[None]:
    """Send the requests of the calling thread or task to the network, without an interceptor.

    For code that forwards what it has intercepted, and for a library that sends through another one.
    """
    token = _lets_pass.set(True)
    try:
        yield
    finally:
        _lets_pass.reset(token)
