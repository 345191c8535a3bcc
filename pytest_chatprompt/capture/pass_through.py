"""Pass-through capture: see the requests of a live run while they go on to the network.

A thread that lets a provider send opens `PassThroughRouter.capture()` and gets the httpx requests that were sent
meanwhile: its own only, however many threads send at once. `recorder` calls it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, NoReturn

import httpx
import respx
from respx.models import PassThrough

from pytest_chatprompt.capture.redaction import Redactor
from pytest_chatprompt.capture.server.forwarding import FORWARDED_EXTENSION

# The requests of the capture that the current thread has open; `None` if it has none.
_captured: Final[ContextVar[list[httpx.Request] | None]] = ContextVar("_captured", default=None)


class PassThroughRouter(respx.MockRouter):
    """A respx router that passes every request on to the network, and logs it for the thread that sent it.

    Args:
        redactor: learns the credentials in the requests, and the variables that agents are started with.
    """

    def __init__(self, redactor: Redactor) -> None:
        super().__init__(assert_all_called=False, using="httpx")
        self.redactor = redactor
        self._open_captures: list[list[httpx.Request]] = []
        self._lock = threading.Lock()

    @contextmanager
    def capture(self) -> Iterator[list[httpx.Request]]:
        """Log the requests of the calling thread, bodies read, in the order in which they are sent."""
        requests: list[httpx.Request] = []
        with self._lock:
            self._open_captures.append(requests)
            if len(self._open_captures) == 1:
                self.start()
        token = _captured.set(requests)
        try:
            yield requests
        finally:
            _captured.reset(token)
            with self._lock:
                # Compared by identity, since two lists without requests are equal.
                self._open_captures = [opened for opened in self._open_captures if opened is not requests]
                if not self._open_captures:
                    self.stop(clear=False, reset=False, quiet=True)

    def handler(self, request: httpx.Request) -> httpx.Response:
        """Log a request of a sync client, and pass it on."""
        self._log_request(request)

    async def async_handler(self, request: httpx.Request) -> httpx.Response:
        """Log a request of an async client, and pass it on."""
        self._log_request(request)

    def _log_request(self, request: httpx.Request) -> NoReturn:
        requests = _captured.get()
        if requests is None and len(self._open_captures) == 1:
            # Sent by a thread that the provider has started. With one capture open, it can belong to no other.
            requests = self._open_captures[0]
        # What an agent sent was captured by the server that forwards it.
        if requests is not None and FORWARDED_EXTENSION not in request.extensions:
            self.redactor.add_request(request.headers, request.url)
            requests.append(request)
        raise PassThrough("live", request=request, origin=respx.Route())
