"""The network: send a request of any client on to where it was meant to go, through a client of our own.

An httpx request comes in; a response comes out, its stream not read yet. The request keeps its URL, headers and body,
and time limits that its client passed on. TLS settings and proxies of that client are not known here: proxies and
certificates are those of the environment. `eval_api` and `live_capture` send by it where replies are recorded.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import AsyncIterator
from functools import lru_cache
from typing import Any, Final

import httpx

from pytest_chatprompt.capture.clients.interceptor import let_pass

# SDKs wait that long by default.
_DEFAULT_TIMEOUT: Final = httpx.Timeout(600, connect=10)
# What httpx decodes without further packages.
_ACCEPT_ENCODING: Final = (b"accept-encoding", b"gzip, deflate")
_CERTIFICATE_VARIABLES: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_CONNECTION_HEADERS: Final = frozenset({b"accept-encoding", b"connection", b"transfer-encoding", b"content-length"})


def send(request: httpx.Request) -> httpx.Response:
    """Send a request of a sync client.

    Raises:
        httpx.TransportError: there is no reply.
    """
    client = httpx.Client(verify=_ssl_context(), timeout=_DEFAULT_TIMEOUT, follow_redirects=False)
    try:
        with let_pass():
            response = client.send(_copy(request), stream=True)
    except BaseException:
        client.close()
        raise
    response.stream = _ClosingStream(response.stream, client)
    return response


async def send_async(request: httpx.Request) -> httpx.Response:
    """Send a request of an async client, in its event loop.

    Raises:
        httpx.TransportError: there is no reply.
    """
    client = httpx.AsyncClient(verify=_ssl_context(), timeout=_DEFAULT_TIMEOUT, follow_redirects=False)
    try:
        with let_pass():
            response = await client.send(_copy(request), stream=True)
    except BaseException:
        await client.aclose()
        raise
    response.stream = _AsyncClosingStream(response.stream, client)
    return response


def _ssl_context() -> ssl.SSLContext:
    """The certificates that httpx trusts by the environment; reading them takes longer than most requests."""
    return _read_ssl_context(*map(os.environ.get, _CERTIFICATE_VARIABLES))


@lru_cache(maxsize=1)
def _read_ssl_context(*_: str | None) -> ssl.SSLContext:
    return httpx.create_ssl_context()


def _copy(request: httpx.Request) -> httpx.Request:
    headers = [(name, value) for name, value in request.headers.raw if name.lower() not in _CONNECTION_HEADERS]
    timeout = request.extensions.get("timeout", _DEFAULT_TIMEOUT.as_dict())
    return httpx.Request(
        request.method,
        request.url,
        headers=[*headers, _ACCEPT_ENCODING],
        content=request.content,
        extensions={"timeout": timeout},
    )


class _ClosingStream(httpx.SyncByteStream):
    """A stream that closes its client too."""

    def __init__(self, stream: Any, client: httpx.Client) -> None:
        self._stream = stream
        self._client = client

    def __iter__(self) -> Any:
        yield from self._stream

    def close(self) -> None:
        self._stream.close()
        self._client.close()


class _AsyncClosingStream(httpx.AsyncByteStream):
    """`_ClosingStream` for an async client."""

    def __init__(self, stream: Any, client: httpx.AsyncClient) -> None:
        self._stream = stream
        self._client = client

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
        await self._client.aclose()
