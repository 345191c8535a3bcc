"""HTTP requests that left, as a snapshot has them: pure functions over httpx requests.

`recording` reads each request of a provider through this module.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import dataclass
from typing import Any, Final, Self

import httpx

from pytest_chatprompt.providers.channel import parsed_url
from pytest_chatprompt.secret_values import is_secret_name

_PARAMETER: Final = re.compile(r"(?<=[?&])([^=&]*)=([^&]*)")


@dataclass(frozen=True, slots=True)
class SentRequest:
    """One HTTP request that left.

    Args:
        endpoint: method, path and query below the base URL, without the host.
        body: decoded from the bytes sent; `None` for no body.
    """

    endpoint: str
    body: Any

    @classmethod
    def of(cls, request: httpx.Request, base_url: Any) -> Self:
        """Read a request that left.

        Args:
            request: the request.
            base_url: the provider's, an `str` or `httpx.URL`; anything else is none.
        """
        return cls(_endpoint(request, base_url), _body(request))


def _endpoint(request: httpx.Request, base_url: Any) -> str:
    """Method, path and query of a request below a base URL, without the host, and without keys in the query."""
    target = _PARAMETER.sub(_without_secret, request.url.raw_path.decode("ascii"))
    if isinstance(base_url, str | httpx.URL):
        base = parsed_url(base_url) if isinstance(base_url, str) else base_url
        prefix = base.raw_path.decode("ascii").rstrip("/")
        if base.host == request.url.host and target.startswith((f"{prefix}/", f"{prefix}?")):
            target = target.removeprefix(prefix)
    return f"{request.method} {target}"


def _without_secret(parameter: re.Match[str]) -> str:
    return f"{parameter[1]}=hidden" if is_secret_name(parameter[1]) else parameter[0]


def _body(request: httpx.Request) -> Any:
    """The body of a request as decoded from its bytes: JSON data, text, or else base64."""
    content = request.content
    if "content-encoding" in request.headers:
        content = _decompressed(content, request.headers["content-encoding"])
    if not content:
        return None
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode("ascii")}
    try:
        return json.loads(text)
    except ValueError:
        return text


def _decompressed(content: bytes, encoding: str) -> bytes:
    """A body without its compression, which holds the time and differs between versions."""
    if encoding not in ("gzip", "deflate"):
        return content
    try:
        # 32: zlib finds out by itself whether there is a header of gzip's or of its own.
        return zlib.decompress(content, zlib.MAX_WBITS | 32)
    except zlib.error:
        return content
