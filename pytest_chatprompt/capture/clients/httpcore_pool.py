"""httpcore and httpcore2: the seam is `handle_request` of their two pools, below httpx and httpx2."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any, Final

import httpx

from pytest_chatprompt.capture.clients.interceptor import Interceptor, Patch, awaited, current_interceptor, run_now
from pytest_chatprompt.capture.clients.wire import RawReply, build_request, converted_errors, join_url

# httpcore 1.0 `_sync/connection_pool.py`: others are an `UnsupportedProtocol`.
_SCHEMES: Final = (b"http", b"https", b"ws", b"wss")


def patches(module: ModuleType) -> tuple[Patch, ...]:
    """The methods to replace."""

    def convert(error: httpx.TransportError) -> Exception:
        # The library's errors have the same names.
        own: Exception = getattr(module, type(error).__name__, type(error))(str(error))
        return own

    async def answer(pool: Any, request: Any, body: bytes, ask: Callable[..., Any], send: Callable[..., Any]) -> Any:
        # It can be read again, by sync and async clients.
        request.stream = httpx.ByteStream(body)
        with converted_errors(convert):
            response = await ask(_read_request(request, body))
        if response is None:
            return await awaited(send(pool, request))
        reply = RawReply(response, request.method.decode("ascii"), convert)
        extensions = {"http_version": b"HTTP/1.1", "reason_phrase": reply.reason}
        return module.Response(reply.status, headers=reply.headers.raw, content=reply, extensions=extensions)

    def wrap_sync(original: Callable[..., Any]) -> Callable[..., Any]:
        def handle_request(self: Any, request: Any) -> Any:
            interceptor = _interceptor_of(self, request)
            if interceptor is None:
                return original(self, request)
            ask = partial(interceptor.handle, is_async=False)
            return run_now(answer(self, request, b"".join(request.stream), ask, original))

        return handle_request

    def wrap_async(original: Callable[..., Any]) -> Callable[..., Any]:
        async def handle_async_request(self: Any, request: Any) -> Any:
            interceptor = _interceptor_of(self, request)
            if interceptor is None:
                return await original(self, request)
            body = b"".join([chunk async for chunk in request.stream])
            return await answer(self, request, body, partial(interceptor.handle, is_async=True), original)

        return handle_async_request

    return (
        Patch(module.ConnectionPool, "handle_request", wrap_sync),
        Patch(module.AsyncConnectionPool, "handle_async_request", wrap_async),
    )


def _interceptor_of(pool: Any, request: Any) -> Interceptor | None:
    """Who gets a request: nobody if the pool connects to a Unix socket, or refuses the scheme before it sends."""
    is_local = getattr(pool, "_uds", None) is not None
    return None if is_local or request.url.scheme not in _SCHEMES else current_interceptor()


def _read_request(request: Any, content: bytes) -> httpx.Request:
    url = request.url
    target = join_url(url.scheme.decode("ascii"), url.host.decode("ascii"), url.port, url.target.decode("ascii"))
    own = build_request(request.method.decode("ascii"), target, request.headers, content)
    own.extensions |= request.extensions
    return own
