"""The request of a client, as an `httpx.Request`.

What a seam knows of a request comes in; an `httpx.Request` comes out, body read, with the name of the library in its
extensions. Only seams call it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

import httpx

CLIENT_EXTENSION: Final = "client"

Headers = Iterable[tuple[bytes, bytes]]


def build_request(  # noqa: PLR0913, PLR0917 - what a request has
    client: str, method: str, url: str, headers: Headers, content: bytes, extensions: Mapping[str, Any] | None = None
) -> httpx.Request:
    """Build the request that the interceptor gets.

    Args:
        client: the name of the library.
        method: the method.
        url: scheme, host, port, path and query.
        headers: as sent; none is added.
        content: the whole body.
        extensions: those that the client has for the request; `None` for none.
    """
    stream = httpx.ByteStream(content)
    # With `content`, httpx would add headers of its own.
    all_extensions = {**(extensions or {}), CLIENT_EXTENSION: client}
    request = httpx.Request(method, parse_url(url), headers=list(headers), stream=stream, extensions=all_extensions)
    request.read()
    return request


# Parsing takes longer than all the rest, and a client sends to the same few URLs.
@lru_cache(maxsize=256)
def parse_url(url: str) -> httpx.URL:
    """Parse a URL."""
    return httpx.URL(url)


def join_url(scheme: str, host: str, port: int | None, target: str) -> str:
    """The URL of a request.

    Args:
        scheme: such as `https`.
        host: a name or an address, IPv6 without brackets.
        port: `None` for the scheme's own.
        target: path and query; or the whole URL, as clients send it to a proxy.
    """
    if not target.startswith("/") and "://" in target:
        return target
    authority = f"[{host}]" if ":" in host else host
    return f"{scheme}://{authority}{'' if port is None else f':{port}'}{target}"
