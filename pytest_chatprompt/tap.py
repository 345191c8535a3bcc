"""The tap: what leaves in a live run, seen as it goes through httpx, and let through.

A thread that lets a provider send opens it and gets the requests that leave meanwhile, its own alone however many
threads send at once. `recording` reads them.
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

from pytest_chatprompt.secret_values import SecretValues

_kept: Final[ContextVar[list[httpx.Request] | None]] = ContextVar("_kept", default=None)


class Tap(respx.MockRouter):
    """A respx router that lets everything through, and keeps it for whoever sent it.

    Args:
        secrets: learns the credentials in the headers of what is sent.
    """

    def __init__(self, secrets: SecretValues) -> None:
        super().__init__(assert_all_called=False, using="httpx")
        self._secrets = secrets
        self._opened: list[list[httpx.Request]] = []
        self._lock = threading.Lock()

    @contextmanager
    def kept(self) -> Iterator[list[httpx.Request]]:
        """The requests that the calling thread sends while this lasts, bodies read, in order."""
        requests: list[httpx.Request] = []
        with self._lock:
            self._opened.append(requests)
            if len(self._opened) == 1:
                self.start()
        token = _kept.set(requests)
        try:
            yield requests
        finally:
            _kept.reset(token)
            with self._lock:
                # By identity: lists of no requests are equal.
                self._opened = [one for one in self._opened if one is not requests]
                if not self._opened:
                    self.stop(clear=False, reset=False, quiet=True)

    def handler(self, request: httpx.Request) -> httpx.Response:
        """Let a request of a sync client through."""
        self._keep(request)

    async def async_handler(self, request: httpx.Request) -> httpx.Response:
        """Let a request of an async client through."""
        self._keep(request)

    def _keep(self, request: httpx.Request) -> NoReturn:
        requests = _kept.get()
        if requests is None and len(self._opened) == 1:
            # A thread that the provider has started: it can only be the one that sends.
            requests = self._opened[0]
        if requests is not None:
            self._secrets.add_headers(request.headers)
            requests.append(request)
        raise PassThrough("live", request=request, origin=respx.Route())
