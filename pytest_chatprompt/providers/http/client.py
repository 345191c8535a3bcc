"""`HTTPClient`: the connections of one provider to its API.

A URL and the bytes of a body come in; the complete reply comes out, or an `APIConnectionError` that says how far the
request got. Each post has a time limit and can be cancelled from another thread. Safe between threads.
`ChatProvider` calls it; `capture` reads `parsed_url` and `PROVIDER_EXTENSION`.
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

from pytest_chatprompt.errors import APIConnectionError
from pytest_chatprompt.providers.context import Handler, current_context
from pytest_chatprompt.providers.http.retry import RateLimiter

_CONNECT_TIMEOUT_SECONDS: Final = 10.0
_JSON_HEADERS: Final = {"content-type": "application/json"}
# The extension of an httpx request that names the class of the provider that sends it.
PROVIDER_EXTENSION: Final = "chatprompt_provider"


@lru_cache(maxsize=256)
def parsed_url(url: str) -> httpx.URL:
    """Parse a URL, and remember it: a run has few, and parsing one takes a tenth of a request's time offline."""
    return httpx.URL(url)


class HTTPClient:
    """Posts the requests of one provider, and keeps its connections open between them.

    Args:
        vendor: the API's name, for errors.
        credentials: returns the headers that carry the key; called for each post.
        redact: removes the key from a text that came from the network.
        provider: the class of the provider; `eval_api` answers its requests as that class says.

    Attributes:
        rate_limiter: delays requests when the API asks for it.
    """

    def __init__(
        self,
        vendor: str,
        credentials: Callable[[], Mapping[str, str]],
        redact: Callable[[str], str],
        provider: type | None = None,
    ) -> None:
        self._provider = provider
        self.rate_limiter = RateLimiter()
        self._vendor = vendor
        self._auth = _Credentials(credentials)
        self._redact = redact
        self._client: httpx.Client | None = None
        # A client for the handler that answers in place of the network, and that handler.
        self._mock_client: tuple[Handler, httpx.Client] | None = None
        self._close_client: finalize[[], Any] | None = None
        self._sockets: WeakSet[socket.socket] = WeakSet()
        self._lock = threading.Lock()

    def post(self, url: str, content: bytes, timeout_seconds: float) -> httpx.Response:
        """Post a JSON body once, and read the whole reply.

        Args:
            url: the whole URL.
            content: the JSON body, encoded.
            timeout_seconds: the time limit of each step of the network, and of the whole reply.

        Returns:
            The reply, whatever its status.

        Raises:
            APIConnectionError: no complete reply came in time.
        """
        try:
            return self._post(url, content, timeout_seconds)
        except httpx.TimeoutException as error:
            raise APIConnectionError(
                f"{self._vendor} did not answer within {timeout_seconds:.3g} s ({type(error).__name__})"
            ) from error
        except httpx.RequestError as error:
            # The difference matters: a request that reached the API may have been answered, and paid for.
            problem = "cannot be reached" if isinstance(error, httpx.ConnectError) else "did not complete its reply"
            detail = self._redact(str(error)) or type(error).__name__
            raise APIConnectionError(f"{self._vendor} at {httpx.URL(url).host} {problem}: {detail}") from error

    def _post(self, url: str, content: bytes, timeout_seconds: float) -> httpx.Response:
        # httpx limits each step alone, so a reply that comes byte by byte would never end.
        deadline = time.monotonic() + timeout_seconds
        client = self._open_client()
        request = client.build_request(
            "POST",
            parsed_url(url),
            content=content,
            headers=_JSON_HEADERS,
            timeout=httpx.Timeout(timeout_seconds, connect=min(timeout_seconds, _CONNECT_TIMEOUT_SECONDS), pool=None),
            extensions={"trace": self._trace, PROVIDER_EXTENSION: self._provider},
        )
        reply = client.send(request, auth=self._auth, stream=True)
        received = bytearray()
        try:
            for chunk in reply.iter_bytes():
                received += chunk
                if time.monotonic() > deadline:
                    raise httpx.ReadTimeout("the reply took too long", request=request)
        finally:
            reply.close()
        # The bytes are decoded already: without this header httpx does not decode them again.
        headers = [(name, value) for name, value in reply.headers.items() if name != "content-encoding"]
        return httpx.Response(
            reply.status_code, headers=headers, content=bytes(received), extensions=reply.extensions, request=request
        )

    def _open_client(self) -> httpx.Client:
        """The client of the current context: the one for its handler, else the one for the network."""
        handler = current_context().handler
        if handler is not None:
            mock_client = self._mock_client
            if mock_client is None or mock_client[0] != handler:
                mock_client = self._mock_client = (handler, httpx.Client(transport=httpx.MockTransport(handler)))
            return mock_client[1]
        with self._lock:
            if self._client is None:
                # No limit here: the caller decides how many requests are in flight at once.
                limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
                self._client = httpx.Client(limits=limits)
                # Closes the connections of a provider that nobody closes.
                self._close_client = finalize(self, self._client.close)
            return self._client

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Remember each socket that httpx opens, so that `cancel` can shut it down."""
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            connection: socket.socket = info["return_value"].get_extra_info("socket")
            with self._lock:
                self._sockets.add(connection)
            if self.rate_limiter.cancelled.is_set():
                _shut_down(connection)

    def cancel(self) -> None:
        """End the requests in flight, in whatever thread, and refuse new ones until `close` is called."""
        self.rate_limiter.cancelled.set()
        with self._lock:
            connections = list(self._sockets)
        for connection in connections:
            _shut_down(connection)

    def close(self) -> None:
        """Close the connections; the next post opens new ones."""
        with self._lock:
            self._client = None
            if self._close_client is not None:
                self._close_client()
            if self.rate_limiter.cancelled.is_set():
                # A new one, not a reset: requests that still wait on the old one stay cancelled.
                self.rate_limiter = RateLimiter()


def _shut_down(connection: socket.socket) -> None:
    # A socket that is closed already raises, and nothing waits on it.
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


class _Credentials(httpx.Auth):
    """Adds the key to a request at the last moment, so that no local variable of a traceback contains it."""

    def __init__(self, credentials: Callable[[], Mapping[str, str]]) -> None:
        self._credentials = credentials

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers.update(self._credentials())
        yield request
