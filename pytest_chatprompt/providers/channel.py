"""A provider's way to its API: one HTTP client, and a post whose time is bounded and that can be broken off.

A URL and the bytes of a body come in; the reply comes out, read whole, or an `UnreachableError` that says how far it
got. Safe between threads. `chat` calls it.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final
from weakref import WeakSet, finalize

import httpx

from pytest_chatprompt.errors import UnreachableError
from pytest_chatprompt.providers.patience import Pace
from pytest_chatprompt.providers.surroundings import Handler, surroundings

_CONNECT_TIMEOUT_SECONDS: Final = 10.0
_JSON: Final = {"content-type": "application/json"}


@lru_cache(maxsize=256)
def parsed_url(url: str) -> httpx.URL:
    """A URL taken apart: of the few that a run has each once, as it takes a tenth of a request's time."""
    return httpx.URL(url)


class Channel:
    """The connections of one provider.

    Args:
        vendor: the API's name, for messages.
        credentials: gives the headers that carry the key; asked at each post.
        shown: makes a text of the API's fit to be shown.

    Attributes:
        pace: how fast it may go.
    """

    def __init__(self, vendor: str, credentials: Callable[[], Mapping[str, str]], shown: Callable[[str], str]) -> None:
        self.pace = Pace()
        self._vendor = vendor
        self._auth = _Credentials(credentials)
        self._shown = shown
        self._client: httpx.Client | None = None
        # For surroundings that have a handler in place of the network: the last one, and its client.
        self._stand_in: tuple[Handler, httpx.Client] | None = None
        self._close: finalize[[], Any] | None = None
        self._sockets: WeakSet[socket.socket] = WeakSet()
        self._lock = threading.Lock()

    def post(self, url: str, content: bytes, timeout_seconds: float) -> httpx.Response:
        """Post a JSON body once, and read the reply whole.

        Args:
            url: where to.
            content: the bytes of the body.
            timeout_seconds: for each step of the network, and for all of them together.

        Raises:
            UnreachableError: no reply came, or not all of it, or not in time.
        """
        try:
            return self._reply(url, content, timeout_seconds)
        except httpx.TimeoutException as error:
            raise UnreachableError(
                f"{self._vendor} did not answer within {timeout_seconds:.3g} s ({type(error).__name__})"
            ) from error
        except httpx.RequestError as error:
            # What has no connection never got anywhere; what broke off may have been answered, and paid for.
            happened = "cannot be reached" if isinstance(error, httpx.ConnectError) else "broke off"
            told = self._shown(str(error)) or type(error).__name__
            raise UnreachableError(f"{self._vendor} at {httpx.URL(url).host} {happened}: {told}") from error

    def _reply(self, url: str, content: bytes, timeout_seconds: float) -> httpx.Response:
        # The network's own timeouts are for one step each, so a reply that drips in would never end.
        deadline = time.monotonic() + timeout_seconds
        client = self._opened()
        request = client.build_request(
            "POST",
            parsed_url(url),
            content=content,
            headers=_JSON,
            timeout=httpx.Timeout(timeout_seconds, connect=min(timeout_seconds, _CONNECT_TIMEOUT_SECONDS), pool=None),
            extensions={"trace": self._trace},
        )
        reply = client.send(request, auth=self._auth, stream=True)
        received = bytearray()
        try:
            for chunk in reply.iter_bytes():
                received += chunk
                if time.monotonic() > deadline:
                    raise httpx.ReadTimeout("the reply drips in", request=request)
        finally:
            reply.close()
        # Decoded already, so the header that says how it was encoded goes.
        headers = [(name, value) for name, value in reply.headers.items() if name != "content-encoding"]
        return httpx.Response(
            reply.status_code, headers=headers, content=bytes(received), extensions=reply.extensions, request=request
        )

    def _opened(self) -> httpx.Client:
        handler = surroundings().handler
        if handler is not None:
            stand_in = self._stand_in
            if stand_in is None or stand_in[0] != handler:
                stand_in = self._stand_in = (handler, httpx.Client(transport=httpx.MockTransport(handler)))
            return stand_in[1]
        with self._lock:
            if self._client is None:
                # How many requests there may be at once is for the caller to say.
                limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
                self._client = httpx.Client(limits=limits)
                # A provider that nobody closes is not to leave open connections behind.
                self._close = finalize(self, self._client.close)
            return self._client

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Take note of the sockets that are opened, so that `cancel` can end what waits on them."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            connection: socket.socket = info["return_value"].get_extra_info("socket")
            with self._lock:
                self._sockets.add(connection)
            if self.pace.cancelled.is_set():
                _end(connection)

    def cancel(self) -> None:
        """End what is on its way, in whatever thread, and let nothing more begin until it is closed."""
        self.pace.cancelled.set()
        with self._lock:
            connections = list(self._sockets)
        for connection in connections:
            _end(connection)

    def close(self) -> None:
        """Close the connections; the next post opens new ones."""
        with self._lock:
            self._client = None
            if self._close is not None:
                self._close()
            if self.pace.cancelled.is_set():
                # What was cancelled stays so, and what comes now is something new.
                self.pace = Pace()


def _end(connection: socket.socket) -> None:
    # One that is closed already has nothing waiting on it.
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


class _Credentials(httpx.Auth):
    """Puts the key into a request at the last moment, so that no local variable of a traceback holds it."""

    def __init__(self, credentials: Callable[[], Mapping[str, str]]) -> None:
        self._credentials = credentials

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers.update(self._credentials())
        yield request
