"""`RequestDeadline`: what limits the request that a thread sends at the moment.

`HTTPClient` applies the time limit and the cancellation of a request here, and the streams of `network_backend`, which
httpcore calls in the same thread, read them.
"""

from __future__ import annotations

import math
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from pytest_chatprompt.providers.cancellation import Cancellation


class RequestDeadline(threading.local):
    """What limits the request that the calling thread sends.

    Attributes:
        deadline: until when it may take, in seconds of the monotonic clock.
        cancellation: ends it; `None` between two requests.
    """

    deadline: float = math.inf
    cancellation: Cancellation | None = None

    @contextmanager
    def apply(self, timeout_seconds: float, cancellation: Cancellation) -> Iterator[None]:
        """Limit what the calling thread sends and reads in this block.

        Args:
            timeout_seconds: how long all of it may take, from now.
            cancellation: learns which connection is used.
        """
        self.deadline = time.monotonic() + timeout_seconds
        self.cancellation = cancellation
        try:
            yield
        finally:
            cancellation.use(None)
            self.deadline, self.cancellation = math.inf, None

    def seconds_left(self, timeout: float | None, error_class: type[Exception]) -> float | None:
        """How long the next step, which may wait for the network, may take; `None` for no limit.

        Args:
            timeout: the limit of this step alone, in seconds; `None` for none.
            error_class: what to raise if nothing is left.
        """
        if self.deadline == math.inf:
            return timeout
        seconds = self.deadline - time.monotonic()
        if seconds <= 0:
            raise error_class("the request took too long")
        return seconds if timeout is None else min(timeout, seconds)

    def use(self, connection: socket.socket) -> None:
        """Note that the request uses this connection."""
        if self.cancellation is not None:
            self.cancellation.use(connection)
