"""httpcore and httpcore2: the seam is `handle_request` of their two pools, below httpx and httpx2."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final

import httpx

from pytest_chatprompt.capture.clients.interceptor import Patch, awaited, current_interceptor, run_now
from pytest_chatprompt.capture.clients.wire import RawReply, build_request, join_url

# httpcore 1.0 `_sync/connection_pool.py`: others are an `UnsupportedProtocol`.
_SCHEMES: Final = (b"http", b"https", b"ws", b"wss")


def patches(module: ModuleType) -> tuple[Patch, ...]:
    """The methods to replace."""

    async def answer(pool: Any, request: Any, body: bytes, ask: Callable[..., Any], send: Callable[..., Any]) -> Any:
        request.stream = _Body(body)
        with _own_errors(module):
            response = await awaited(ask(_read_request(module, request, body)))
        if response is None:
            return await awaited(send(pool, request))
        return _response(module, RawReply(response, request.method.decode("ascii")))

    def wrap_sync(original: Callable[..., Any]) -> Callable[..., Any]:
        def handle_request(self: Any, request: Any) -> Any:
            interceptor = current_interceptor()
            if interceptor is None or _is_local(self) or _is_refused(request):
                return original(self, request)
            return run_now(answer(self, request, b"".join(request.stream), interceptor.handle, original))

        return handle_request

    def wrap_async(original: Callable[..., Any]) -> Callable[..., Any]:
        async def handle_async_request(self: Any, request: Any) -> Any:
            interceptor = current_interceptor()
            if interceptor is None or _is_local(self) or _is_refused(request):
                return await original(self, request)
            body = b"".join([chunk async for chunk in request.stream])
            return await answer(self, request, body, interceptor.handle_async, original)

        return handle_async_request

    return (
        Patch(module.ConnectionPool, "handle_request", wrap_sync),
        Patch(module.AsyncConnectionPool, "handle_async_request", wrap_async),
    )


def _is_local(pool: Any) -> bool:
    """Whether a pool connects to a Unix socket, so that the hosts of URLs mean nothing."""
    return getattr(pool, "_uds", None) is not None


def _is_refused(request: Any) -> bool:
    """Whether a pool refuses a request for the scheme of its URL, or for want of one, before it sends anything."""
    return request.url.scheme not in _SCHEMES


def _read_request(module: ModuleType, request: Any, content: bytes) -> httpx.Request:
    url = request.url
    return build_request(
        # The packages are named after the clients that they belong to.
        module.__name__.replace("core", "x"),
        request.method.decode("ascii"),
        join_url(url.scheme.decode("ascii"), url.host.decode("ascii"), url.port, url.target.decode("ascii")),
        request.headers,
        content,
        request.extensions,
    )


def _response(module: ModuleType, reply: RawReply) -> Any:
    return module.Response(
        reply.status,
        headers=reply.headers,
        content=_Body(reply.body) if reply.body is not None else _Stream(module, reply),
        extensions={"http_version": b"HTTP/1.1", "reason_phrase": reply.reason},
    )


class _Body:
    """A body that can be read as often as needed, by sync and async clients."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def __iter__(self) -> Iterator[bytes]:
        yield self.content

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.content


class _Stream:
    """The body of a reply that is a stream."""

    def __init__(self, module: ModuleType, reply: RawReply) -> None:
        self._module = module
        self._reply = reply

    def __iter__(self) -> Iterator[bytes]:
        with _own_errors(self._module):
            yield from self._reply.chunks()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _own_errors(self._module):
            async for chunk in self._reply.async_chunks():
                yield chunk

    def close(self) -> None:
        self._reply.close()

    async def aclose(self) -> None:
        await self._reply.aclose()


@contextmanager
def _own_errors(module: ModuleType) -> Iterator[None]:
    """Convert httpx errors to the library's errors of the same name, which its clients recognise."""
    try:
        yield
    except httpx.TransportError as error:
        own: type[Exception] | None = getattr(module, type(error).__name__, None)
        if own is None:
            raise
        raise own(str(error)) from error
