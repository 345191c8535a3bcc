"""`Cancellation`: ends one request from another thread.

Code that sends a request in a thread of its own, as `live` does, puts a `Cancellation` into that thread's
`SendContext`.
`http` says which connection the request uses, and asks it before each wait and each try.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Cancellation:
    """Ends one request, with all its tries and the waits between them. Safe between threads.

    Attributes:
        cancelled: set once the request is cancelled; `http` waits on it.
    """

    def __init__(self) -> None:
        self.cancelled = threading.Event()
        self._connection: socket.socket | None = None
        self._parts: set[Cancellation] = set()
        self._lock = threading.Lock()

    def cancel(self) -> None:
        """End the request at any step. A request that has its reply already keeps it."""
        with self._lock:
            self.cancelled.set()
            self._shut_down()
            parts = tuple(self._parts)
        for part in parts:
            part.cancel()

    @contextmanager
    def part(self) -> Iterator[Cancellation]:
        """The cancellation of one of several requests that run at once; this one ends all of them."""
        part = Cancellation()
        with self._lock:
            self._parts.add(part)
            is_cancelled = self.cancelled.is_set()
        if is_cancelled:
            part.cancel()
        try:
            yield part
        finally:
            with self._lock:
                self._parts.discard(part)

    def use(self, connection: socket.socket | None) -> None:
        """Note which connection the request uses from now on.

        Args:
            connection: the socket; `None` as soon as another request may use the connection.
        """
        with self._lock:
            self._connection = connection
            if self.cancelled.is_set():
                self._shut_down()

    def _shut_down(self) -> None:
        if self._connection is not None:
            # A socket that is closed already raises, and nothing waits on it.
            with suppress(OSError):
                self._connection.shutdown(socket.SHUT_RDWR)
