"""aiohttp: the seam is `BaseConnector.connect`, which knows the whole request before anything is sent."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import httpx

from pytest_chatprompt.capture.clients.interceptor import Patch, current_interceptor
from pytest_chatprompt.capture.clients.wire import RawReply, build_request, converted_errors


def patches(module: ModuleType) -> tuple[Patch, ...]:
    """The methods to replace."""

    def convert(error: httpx.TransportError) -> Exception:
        is_slow = isinstance(error, httpx.TimeoutException)
        own: Exception = (module.ServerTimeoutError if is_slow else module.ClientConnectionError)(str(error))
        return own

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        async def connect(self: Any, req: Any, traces: Any, timeout: Any) -> Any:
            interceptor = current_interceptor()
            if interceptor is None or isinstance(self, module.UnixConnector | module.NamedPipeConnector):
                return await original(self, req, traces, timeout)
            request = await _read_request(req)
            with converted_errors(convert):
                response = await interceptor.handle(request, is_async=True)
            if response is None:
                return await original(self, req, traces, timeout)
            return _connection(module, self, req, RawReply(response, req.method, convert))

        return connect

    return (Patch(module.BaseConnector, "connect", wrap),)


async def _read_request(request: Any) -> httpx.Request:
    headers = [(name.encode(), value.encode()) for name, value in request.headers.items()]
    content: bytes = await request.body.as_bytes() if request.body else b""
    # aiohttp compresses while it sends.
    if request.compress == "gzip":
        content = gzip.compress(content, mtime=0)
    elif request.compress == "deflate":
        content = zlib.compress(content)
    return build_request(request.method, str(request.url), headers, content)


def _connection(module: ModuleType, connector: Any, request: Any, reply: RawReply) -> Any:
    """A connection that gives a reply as soon as the request has been written."""
    base: type[Any] = module.client_proto.ResponseHandler

    class ReplyHandler(base):  # type: ignore[misc]
        # aiohttp calls this when it has written the whole request.
        def start_timeout(self) -> None:
            super().start_timeout()
            self.transport.is_written.set()

    loop = asyncio.get_running_loop()
    protocol = ReplyHandler(loop)
    protocol.connection_made(_ReplyTransport(protocol, reply, request.headers.get("Expect")))
    # The connector closes it after the reply, and never keeps it for another request.
    protocol.force_close()
    return module.connector.Connection(connector, request.connection_key, protocol, loop)


class _ReplyTransport(asyncio.Transport):
    """A transport that forgets what is written to it, and gives a reply in its place, part by part."""

    def __init__(self, protocol: Any, reply: RawReply, expects: str | None) -> None:
        super().__init__()
        self._protocol = protocol
        self._reply = reply
        self._loop = asyncio.get_running_loop()
        # Set when the request has been written.
        self.is_written = asyncio.Event()
        self._task = self._loop.create_task(self._send_reply())
        self._is_closing = False
        if expects is not None and expects.lower() == "100-continue":
            self._loop.call_soon(protocol.data_received, b"HTTP/1.1 100 Continue\r\n\r\n")

    async def _send_reply(self) -> None:
        try:
            await self.is_written.wait()
            async for part in self._reply.async_framed():
                # The client may have had enough.
                await asyncio.sleep(0)
                self._protocol.data_received(part)
        except Exception as error:
            self._protocol.connection_lost(error)
        finally:
            await self._reply.aclose()

    def write(self, data: Any) -> None:
        """Forget some bytes of the request."""

    def is_closing(self) -> bool:
        """Whether the client has closed the connection."""
        return self._is_closing

    def close(self) -> None:
        """End the reply, read or not."""
        if self._is_closing:
            return
        self._is_closing = True
        self._task.cancel()
        self._loop.call_soon(self._protocol.connection_lost, None)

    abort = close
