"""Interception: give the requests of every HTTP client of this process to an interceptor, for a while.

An `Interceptor` comes in, and is called for each request of each client, in all threads and event loops. `eval_api` and
`live_capture` call it. Not seen: requests that an in-memory transport or a mock answers above these seams, and what
sends through no HTTP library of the `table`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pytest_chatprompt.capture.clients.interceptor import (
    Interceptor,
    let_pass,
    push_interceptor,
    remove_interceptor,
)
from pytest_chatprompt.capture.clients.table import PATCHING

__all__ = ["Interceptor", "intercept_clients", "let_pass"]


@contextmanager
def intercept_clients(interceptor: Interceptor) -> Iterator[None]:
    """Give the requests of all clients of this process to an interceptor, also of clients that were made before.

    Nothing is imported, and nothing stays patched. If several are entered, the last one gets the requests; what it lets
    pass goes to the network.

    Args:
        interceptor: called in the thread or the event loop of the client, of several at once.
    """
    PATCHING.start()
    push_interceptor(interceptor)
    try:
        yield
    finally:
        remove_interceptor(interceptor)
        PATCHING.stop()
