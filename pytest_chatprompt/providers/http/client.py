"""`HTTPClient`: posts the requests of one provider to its API.

A URL and the bytes of a body come in; the complete reply comes out, or an `APIConnectionError` that says how far the
request got. Each post has a limit in time and in bytes, and can be cancelled from another thread. Safe between threads.
`ChatProvider` calls it; `capture` reads `parsed_url` and `PROVIDER_EXTENSION`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from typing import Final

import httpx

from pytest_chatprompt.errors import APIConnectionError, UnreadableReplyError
from pytest_chatprompt.providers.cancellation import Cancellation
from pytest_chatprompt.providers.context import Handler, SendContext, current_context, use_context
from pytest_chatprompt.providers.http import reply_body
from pytest_chatprompt.providers.http.model_headers import model_headers
from pytest_chatprompt.providers.http.request_deadline import RequestDeadline
from pytest_chatprompt.providers.http.retry import SharedPause

_CONNECT_TIMEOUT_SECONDS: Final = 10.0
_HEADERS: Final = {"content-type": "application/json", "accept-encoding": reply_body.ACCEPT_ENCODING}
# Offline requests have no wait that could be cancelled.
_NEVER: Final = Cancellation()
# The extension of an httpx request that names the class of the provider that sends it.
PROVIDER_EXTENSION: Final = "chatprompt_provider"


@lru_cache(maxsize=256)
def parsed_url(url: str) -> httpx.URL:
    """Parse a URL, and remember it: a run has few, and parsing one takes a tenth of a request's time offline."""
    return httpx.URL(url)


class HTTPClient:
    """Posts the requests of one provider, each on a connection of its own.

    Args:
        vendor: the API's name, for errors.
        authorize: returns the headers that authorize a request, such as its key or its signature; called for each post.
        redact: removes the key from a text that came from the network.
        provider: the class of the provider; `eval_api` answers its requests as that class says.

    Attributes:
        shared_pause: delays requests when the API asks for it.
    """

    def __init__(
        self,
        vendor: str,
        authorize: Callable[[httpx.Request], Mapping[str, str]],
        redact: Callable[[str], str],
        provider: type | None = None,
    ) -> None:
        self._provider = provider
        self.shared_pause = SharedPause()
        self._vendor = vendor
        self._auth = _Credentials(authorize)
        self._redact = redact
        self._limits = RequestDeadline()
        # A client for the network.
        self._network_client: httpx.Client | None = None
        # A client for the handler that answers in place of the network, and that handler.
        self._mock_client: tuple[Handler, httpx.Client] | None = None
        self._in_flight: set[Cancellation] = set()
        self._is_cancelled = False
        self._lock = threading.Lock()

    def post(
        self,
        url: str,
        content: bytes,
        timeout_seconds: float,
        cancellation: Cancellation,
        before_sending: Callable[[], float] | None = None,
    ) -> httpx.Response:
        """Post a JSON body once, and read the whole reply.

        Args:
            url: the whole URL.
            content: the JSON body, encoded.
            timeout_seconds: how long it may take, from connecting to the last byte of the reply.
            cancellation: ends it from another thread.
            before_sending: called if the request goes to the network, just before; gives the seconds that it may take
                then. What it raises is raised.

        Returns:
            The reply, of any status.

        Raises:
            APIConnectionError: no complete reply came in time.
            UnreadableReplyError: the reply is too long.
        """

        def send() -> httpx.Response:
            return self._send(url, content, timeout_seconds, cancellation, before_sending)

        try:
            replay = current_context().replay
            if replay is None:
                return send()
            response = replay(self._replayable(url, content), send)
            response.read()
        except httpx.RequestError as error:
            # The difference matters: a request that reached the API may have been answered, and paid for.
            problem = "cannot be reached" if isinstance(error, httpx.ConnectError) else "did not complete its reply"
            detail = self._redact(str(error)) or type(error).__name__
            raise APIConnectionError(f"{self._vendor} at {httpx.URL(url).host} {problem}: {detail}") from error
        return response

    def _replayable(self, url: str, content: bytes) -> httpx.Request:
        """A request as a recording knows it, which needs no key."""
        headers = {**_HEADERS, **self.model_headers(url, content)}
        return httpx.Request("POST", parsed_url(url), content=content, headers=headers)

    def model_headers(self, url: str, content: bytes) -> dict[str, str]:
        """The headers that the provider adds to a request and that change what the model does; nothing is signed.

        Args:
            url: the whole URL.
            content: the body.
        """
        with use_context(SendContext(is_offline=True)):
            request = httpx.Request("POST", parsed_url(url), content=content)
            return model_headers(httpx.Headers(self._auth.authorize(request)).raw)

    def _send(
        self,
        url: str,
        content: bytes,
        timeout_seconds: float,
        cancellation: Cancellation,
        before_sending: Callable[[], float] | None,
    ) -> httpx.Response:
        context = current_context()
        if before_sending is not None and context.handler is None:
            timeout_seconds = before_sending()
        client = self._open_client(context.handler)
        request = client.build_request(
            "POST",
            parsed_url(url),
            content=content,
            timeout=httpx.Timeout(timeout_seconds, connect=min(timeout_seconds, _CONNECT_TIMEOUT_SECONDS), pool=None),
            extensions={PROVIDER_EXTENSION: self._provider},
        )
        # A mock answers at once.
        limits = nullcontext() if context.handler else self._limits.apply(timeout_seconds, cancellation)
        try:
            with limits:
                reply = client.send(request, auth=self._auth, stream=True)
                try:
                    body = self._read_body(reply)
                finally:
                    cancellation.use(None)
                    reply.close()
        except httpx.TimeoutException as error:
            raise APIConnectionError(
                f"{self._vendor} did not answer within {timeout_seconds:.3g} s ({type(error).__name__})"
            ) from error
        headers = reply.headers
        if "content-encoding" in headers:
            # The bytes are decoded already: without this header httpx does not decode them again.
            headers = headers.copy()
            del headers["content-encoding"]
        return httpx.Response(
            reply.status_code, headers=headers, content=body, extensions=reply.extensions, request=request
        )

    def _read_body(self, reply: httpx.Response) -> bytes:
        try:
            return reply_body.read_body(reply)
        except reply_body.ReplyTooLongError as error:
            raise UnreadableReplyError(
                f"{self._vendor} at {reply.request.url.host} answered with {error}, which is too long to be read; "
                "something other than the API may answer there",
                status=reply.status_code,
            ) from None

    def _open_client(self, handler: Handler | None) -> httpx.Client:
        """The client for a handler that answers in place of the network, else the one for the network."""
        if handler is not None:
            mock_client = self._mock_client
            if mock_client is None or mock_client[0] != handler:
                client = httpx.Client(transport=httpx.MockTransport(handler), headers=_HEADERS)
                mock_client = self._mock_client = (handler, client)
            return mock_client[1]
        with self._lock:
            if self._network_client is None:
                self._network_client = self._new_network_client()
            return self._network_client

    def _new_network_client(self) -> httpx.Client:
        # Offline runs need neither of them, nor httpcore.
        from pytest_chatprompt.providers.http.network_backend import limit_connections  # noqa: PLC0415
        from pytest_chatprompt.providers.http.reply_cookies import ReplyCookies  # noqa: PLC0415

        # The caller decides how many requests are in flight at once. No connection is used twice: bytes that come after
        # a reply would be taken for the next one, and an open connection would evade what refuses new ones.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        try:
            client = httpx.Client(limits=limits, headers=_HEADERS)
        except KeyError:
            # It looks through the environment, from which pytest removes a variable at the end of each test.
            client = httpx.Client(limits=limits, headers=_HEADERS)
        # As an argument, httpx would copy them into cookies of its own class.
        client._cookies = ReplyCookies()
        limit_connections(client, self._limits)
        return client

    def in_flight(self) -> AbstractContextManager[Cancellation]:
        """Have a request in flight in this block, with all its tries; gives what cancels it."""
        context = current_context()
        return nullcontext(_NEVER) if context.is_offline else self._begin(context.cancellation or Cancellation())

    @contextmanager
    def _begin(self, cancellation: Cancellation) -> Iterator[Cancellation]:
        with self._lock:
            self._in_flight.add(cancellation)
            if self._is_cancelled:
                cancellation.cancel()
        try:
            yield cancellation
        finally:
            with self._lock:
                self._in_flight.discard(cancellation)

    def cancel(self) -> None:
        """End the requests in flight in all threads, and refuse new ones until `close` is called."""
        with self._lock:
            self._is_cancelled = True
            for cancellation in self._in_flight:
                cancellation.cancel()

    def close(self) -> None:
        """Close the connections, once no request uses them, and accept requests again after `cancel`."""
        with self._lock:
            # Each connection is closed with its reply: the requests in flight go on.
            if self._network_client is not None and not self._in_flight:
                self._network_client.close()
            self._network_client = None
            self._is_cancelled = False


class _Credentials(httpx.Auth):
    """Adds the key to a request at the last moment, so that no local variable of a traceback contains it."""

    def __init__(self, authorize: Callable[[httpx.Request], Mapping[str, str]]) -> None:
        self.authorize = authorize

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers.update(self.authorize(request))
        yield request
