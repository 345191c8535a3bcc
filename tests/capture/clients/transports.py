"""The transports below all clients: the same request through each of them, and the same reply from each."""

from __future__ import annotations

import asyncio
import http.client
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
import httpx
import httpx2
import requests
import urllib3


@dataclass(frozen=True)
class Received:
    """What a client makes of a reply.

    Args:
        status: the status.
        headers: names in lower case.
        content: the body, decoded.
    """

    status: int
    headers: list[tuple[str, str]]
    content: bytes

    @classmethod
    def of(cls, status: int, headers: Any, content: bytes) -> Received:
        return cls(status, [(name.lower(), value) for name, value in headers], content)

    def header(self, name: str) -> list[str]:
        return [value for each, value in self.headers if each == name]


@dataclass(frozen=True)
class Outgoing:
    """A request to send.

    Args:
        url, method, body, headers: what to send; the body as a function, since some can be read only once.
        redirects: whether the client follows redirects.
        timeout: in seconds.
    """

    url: str
    method: str = "POST"
    body: Callable[[], Any] = lambda: None
    headers: Mapping[str, str] = field(default_factory=dict)
    redirects: bool = True
    timeout: float = 30


Send = Callable[[Outgoing], Received]


def _httpx(module: Any) -> Send:
    def send(request: Outgoing) -> Received:
        with module.Client(follow_redirects=request.redirects, timeout=request.timeout) as client:
            response = client.request(
                request.method, request.url, content=request.body(), headers=dict(request.headers)
            )
            return Received.of(response.status_code, response.headers.multi_items(), response.content)

    return send


def _httpx_async(module: Any) -> Send:
    def send(request: Outgoing) -> Received:
        async def run() -> Received:
            async with module.AsyncClient(follow_redirects=request.redirects, timeout=request.timeout) as client:
                body = _async_body(request.body())
                response = await client.request(
                    request.method, request.url, content=body, headers=dict(request.headers)
                )
                return Received.of(response.status_code, response.headers.multi_items(), response.content)

        return asyncio.run(run())

    return send


def _async_body(body: Any) -> Any:
    """An async generator in place of a generator."""
    if body is None or isinstance(body, bytes):
        return body

    async def parts() -> Any:
        for part in body:
            yield part

    return parts()


def _requests(request: Outgoing) -> Received:
    with requests.Session() as session:
        response = session.request(
            request.method,
            request.url,
            data=request.body(),
            headers=request.headers,
            allow_redirects=request.redirects,
            timeout=request.timeout,
        )
        return Received.of(response.status_code, response.raw.headers.items(), response.content)


def _urllib3(request: Outgoing) -> Received:
    with urllib3.PoolManager() as pool:
        response = pool.request(
            request.method,
            request.url,
            body=request.body(),
            headers=request.headers,
            redirect=request.redirects,
            timeout=request.timeout,
        )
        return Received.of(response.status, response.headers.items(), response.data)


def _http_client(request: Outgoing) -> Received:
    url = urlsplit(request.url)
    connection_class = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    connection = connection_class(url.netloc, timeout=request.timeout)
    target = f"{url.path}?{url.query}" if url.query else url.path
    try:
        connection.request(request.method, target, request.body(), dict(request.headers))
        with connection.getresponse() as response:
            return Received.of(response.status, response.getheaders(), response.read())
    finally:
        connection.close()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def _urllib(request: Outgoing) -> Received:
    sent = urllib.request.Request(request.url, request.body(), dict(request.headers), method=request.method)
    opener = urllib.request.build_opener() if request.redirects else urllib.request.build_opener(_NoRedirect)
    try:
        with opener.open(sent, timeout=request.timeout) as response:
            return Received.of(response.status, response.headers.items(), response.read())
    except urllib.error.HTTPError as error:
        with error:
            return Received.of(error.code, error.headers.items(), error.read())


def _aiohttp(request: Outgoing) -> Received:
    async def run() -> Received:
        timeout = aiohttp.ClientTimeout(request.timeout)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.request(
                request.method,
                request.url,
                data=_aiohttp_body(request.body()),
                headers=request.headers,
                allow_redirects=request.redirects,
            ) as response,
        ):
            return Received.of(response.status, response.headers.items(), await response.read())

    return asyncio.run(run())


def _aiohttp_body(body: Any) -> Any:
    return body if hasattr(body, "read") else _async_body(body)


# By the name that requests carry, and of the client in it.
TRANSPORTS: Final[Mapping[str, Send]] = {
    "httpx": _httpx(httpx),
    "httpx async": _httpx_async(httpx),
    "httpx2": _httpx(httpx2),
    "httpx2 async": _httpx_async(httpx2),
    "urllib3": _urllib3,
    "urllib3 requests": _requests,
    "http.client": _http_client,
    "http.client urllib.request": _urllib,
    "aiohttp": _aiohttp,
}
# These decode a body that is encoded; the others leave that to their users.
DECODING: Final = frozenset(
    {"httpx", "httpx async", "httpx2", "httpx2 async", "urllib3", "urllib3 requests", "aiohttp"}
)
