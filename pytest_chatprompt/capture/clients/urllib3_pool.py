"""urllib3: the seam is `HTTPConnectionPool.urlopen`, below requests and botocore.

Retries and redirects happen within this method. So they are done here for replies, by urllib3's own rules.
"""

from __future__ import annotations

import http.client
import io
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, Final

import httpx

from pytest_chatprompt.capture.clients.interceptor import Patch, current_interceptor, is_mock, let_pass
from pytest_chatprompt.capture.clients.wire import RawReply, build_request, join_url, parse_url, read_reply

# The other parameters of `urlopen`, in their order.
_OPTIONS: Final = (
    "retries", "redirect", "assert_same_host", "timeout", "pool_timeout", "release_conn", "chunked", "body_pos",
    "preload_content", "decode_content",
)  # fmt: skip
# The options that are passed on to urllib3's response.
_RESPONSE_OPTIONS: Final = ("preload_content", "decode_content", "enforce_content_length")
# `urllib3.util.SKIP_HEADER`: do not send this header at all.
_SKIPPED_HEADER: Final = "@@@SKIP_HEADER@@@"
_FRAMING_HEADERS: Final = frozenset({b"content-length", b"transfer-encoding"})
# A redirect to GET has no body, and no headers that describe one (https://www.rfc-editor.org/rfc/rfc9110#section-15.4).
_BODY_HEADERS: Final = frozenset(
    {"content-encoding", "content-language", "content-length", "content-location", "content-type", "transfer-encoding"}
)


def patches(module: ModuleType) -> tuple[Patch, ...]:
    """The methods to replace."""

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def urlopen(
            self: Any, method: str, url: str, body: Any = None, headers: Any = None, *arguments: Any, **options: Any
        ) -> Any:
            interceptor = current_interceptor()
            if interceptor is None or is_mock(self.ConnectionCls):
                return original(self, method, url, body, headers, *arguments, **options)
            options.update(zip(_OPTIONS, arguments, strict=False))
            if options.get("assert_same_host", True) and not self.is_same_host(url):
                # Of another scheme or host than the pool's; urllib3 refuses it before it sends anything.
                return original(self, method, url, body, headers, **options)
            body, content = _read_body(body)
            call = _Call(module, self, method, url, body, headers, options)
            try:
                response = interceptor.handle(call.request(content))
            except httpx.TransportError as error:
                return call.retry_after(error)
            if response is None:
                # urllib3 sends through `http.client`, whose seam must not ask again.
                with let_pass():
                    return original(self, method, url, body, headers, **options)
            return call.follow(RawReply(response, method))

        return urlopen

    return (Patch(module.HTTPConnectionPool, "urlopen", wrap),)


@dataclass(frozen=True, slots=True)
class _Call:
    """A call of `urlopen`.

    Args:
        url: path and query, or the whole URL for a proxy.
        body: a body that can be sent several times.
        headers: `None` for the pool's own.
    """

    module: ModuleType
    pool: Any
    method: str
    url: str
    body: Any
    headers: Any
    options: Mapping[str, Any]

    @property
    def sent_headers(self) -> Mapping[Any, Any]:
        """The headers; names and values may be bytes."""
        headers: Mapping[Any, Any] = self.pool.headers if self.headers is None else self.headers
        return headers

    @property
    def retries(self) -> Any:
        """How often it may be repeated, a `urllib3.util.Retry`."""
        retries = self.options.get("retries")
        if isinstance(retries, self.module.Retry):
            return retries
        redirect = self.options.get("redirect", True)
        return self.module.Retry.from_int(retries, redirect=redirect, default=self.pool.retries)

    def request(self, content: bytes) -> httpx.Request:
        """The request that is sent."""
        url = join_url(self.pool.scheme, self.pool.host, self.pool.port, self.url)
        # The mapping of botocore looks each value up, so it is read once.
        all_headers = [(_bytes(name), value) for name, value in self.sent_headers.items()]
        given = {name.lower() for name, _ in all_headers}
        headers = [(name, _bytes(value)) for name, value in all_headers if value != _SKIPPED_HEADER]
        # What urllib3 adds when it sends.
        if b"host" not in given:
            headers.insert(0, (b"Host", parse_url(url).netloc))
        if self.body is not None and given.isdisjoint(_FRAMING_HEADERS):
            is_whole = isinstance(self.body, str | bytes | bytearray | memoryview)
            length = (b"Content-Length", b"%d" % len(content))
            headers.append(length if is_whole else (b"Transfer-Encoding", b"chunked"))
        return build_request("urllib3", self.method, url, headers, content)

    def follow(self, reply: RawReply) -> Any:
        """Redirect or retry, if the reply and the policy ask for it; else return urllib3's response."""
        retries = self.retries
        response = self._response(reply, retries)
        location = self.options.get("redirect", True) and response.get_redirect_location()
        if location:
            again, must_raise = self._redirected(location, response.status), retries.raise_on_redirect
        elif retries.is_retry(self.method, response.status, bool(response.headers.get("Retry-After"))):
            again, must_raise = self, retries.raise_on_status
        else:
            return response
        try:
            retries = retries.increment(self.method, self.url, response=response, _pool=self.pool)
        except self._exceptions.MaxRetryError:
            if must_raise:
                response.drain_conn()
                raise
            return response
        response.drain_conn()
        retries.sleep(response)
        return again.repeat(retries)

    def retry_after(self, error: httpx.TransportError) -> Any:
        """Repeat it, or raise urllib3's own error for one of httpx, so that its clients recognise it."""
        own = self._own_error(error)
        own.__cause__ = error
        retries = self.retries.increment(
            self.method, self.url, error=own, _pool=self.pool, _stacktrace=error.__traceback__
        )
        retries.sleep()
        return self.repeat(retries)

    def repeat(self, retries: Any) -> Any:
        """Call `urlopen` again."""
        options = {**self.options, "retries": retries}
        return self.pool.urlopen(self.method, self.url, self.body, self.headers, **options)

    def _redirected(self, location: str, status: int) -> _Call:
        dropped = frozenset() if self.pool.is_same_host(location) else self.retries.remove_headers_on_redirect
        call = replace(self, url=location)
        if status == http.client.SEE_OTHER:
            call, dropped = replace(call, method="GET", body=None), dropped | _BODY_HEADERS
        if not dropped:
            return call
        kept = {
            name: value for name, value in self.sent_headers.items() if _bytes(name).decode().lower() not in dropped
        }
        return replace(call, headers=kept)

    def _response(self, reply: RawReply, retries: Any) -> Any:
        received = read_reply(reply, self.method)
        response_class: Callable[..., Any] = sys.modules[f"{self._package}.response"].HTTPResponse
        return response_class(
            body=received,
            headers=received.getheaders(),
            status=received.status,
            version=received.version,
            reason=received.reason,
            original_response=received,
            request_method=self.method,
            request_url=self.url,
            retries=retries,
            **{name: self.options[name] for name in _RESPONSE_OPTIONS if name in self.options},
        )

    def _own_error(self, error: httpx.TransportError) -> Exception:
        own: Exception
        exceptions = self._exceptions
        if isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout):
            own = exceptions.ConnectTimeoutError(self.pool, str(error))
        elif isinstance(error, httpx.TimeoutException):
            own = exceptions.ReadTimeoutError(self.pool, self.url, str(error))
        elif isinstance(error, httpx.ConnectError):
            own = exceptions.NewConnectionError(self.pool, str(error))
        else:
            own = exceptions.ProtocolError("Connection aborted.", ConnectionResetError(str(error)))
        return own

    @property
    def _exceptions(self) -> Any:
        return sys.modules[f"{self._package}.exceptions"]

    @property
    def _package(self) -> str:
        return self.module.__name__.rpartition(".")[0]


def _read_body(body: Any) -> tuple[Any, bytes]:
    """A body that can be sent several times, and its bytes."""
    if body is None:
        return None, b""
    if isinstance(body, str | bytes | bytearray | memoryview):
        return body, _bytes(body)
    if hasattr(body, "read"):
        content = _bytes(body.read())
        return io.BytesIO(content), content
    chunks = [_bytes(chunk) for chunk in body]
    return chunks, b"".join(chunks)


def _bytes(data: Any) -> bytes:
    return data.encode() if isinstance(data, str) else bytes(data)
