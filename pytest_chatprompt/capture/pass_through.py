"""Pass-through capture: see the requests of a live run while they go on to the network.

A thread that lets a provider send opens `PassThroughRouter.capture()` and gets the requests that were sent meanwhile:
its own only, however many threads send at once. `recorder` calls it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import Final

import httpx

from pytest_chatprompt.capture.clients.interception import intercept_clients
from pytest_chatprompt.capture.redaction import Redactor
from pytest_chatprompt.capture.request_log import LoggedRequest
from pytest_chatprompt.capture.server.forwarding import FORWARDED_EXTENSION

# The requests of the capture that the current thread has open; `None` if it has none.
_captured: Final[ContextVar[list[LoggedRequest] | None]] = ContextVar("_captured", default=None)


class PassThroughRouter:
    """Answers nothing: it notes which thread of a live run sends which request, and lets it go to the network.

    Args:
        redactor: learns the credentials in the requests, and the variables that agents are started with.
    """

    def __init__(self, redactor: Redactor) -> None:
        self.redactor = redactor
        self._open_captures: list[list[LoggedRequest]] = []
        self._interception = ExitStack()
        self._lock = threading.Lock()

    @contextmanager
    def capture(self) -> Iterator[list[LoggedRequest]]:
        """Log the requests of the calling thread, bodies read, in the order in which they are sent."""
        requests: list[LoggedRequest] = []
        with self._lock:
            self._open_captures.append(requests)
            if len(self._open_captures) == 1:
                self._interception.enter_context(intercept_clients(self))
        token = _captured.set(requests)
        try:
            yield requests
        finally:
            _captured.reset(token)
            with self._lock:
                # Compared by identity, since two lists without requests are equal.
                self._open_captures = [opened for opened in self._open_captures if opened is not requests]
                if not self._open_captures:
                    self._interception.close()

    def handle(self, request: httpx.Request) -> None:
        """Log a request of a sync client, and let it pass."""
        requests = _captured.get()
        if requests is None and len(self._open_captures) == 1:
            # Sent by a thread that the provider has started. With one capture open, it can belong to no other.
            requests = self._open_captures[0]
        # What an agent sent was captured by the server that forwards it.
        if requests is not None and FORWARDED_EXTENSION not in request.extensions:
            self.redactor.add_request(request.headers, request.url)
            requests.append(LoggedRequest(request, "network"))

    async def handle_async(self, request: httpx.Request) -> None:
        """Log a request of an async client, and let it pass."""
        self.handle(request)
