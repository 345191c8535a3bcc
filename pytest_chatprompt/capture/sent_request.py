"""A sent request as a snapshot shows it: its endpoint and its decoded body.

An httpx request comes in, a `SentRequest` comes out. Pure functions; `recorder` calls them.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import dataclass
from typing import Any, Final, Self

import httpx

from pytest_chatprompt.capture.redaction import is_secret_name
from pytest_chatprompt.providers.http.client import parsed_url

_QUERY_PARAMETER: Final = re.compile(r"(?<=[?&])([^=&]*)=([^&]*)")


@dataclass(frozen=True, slots=True)
class SentRequest:
    """One HTTP request that was sent.

    Args:
        endpoint: method, path and query below the base URL, without the host: `POST /v1/messages`.
        body: decoded from the bytes sent: JSON data, else text, else `{"base64": ...}`; `None` for no body.
    """

    endpoint: str
    body: Any

    @classmethod
    def from_httpx(cls, request: httpx.Request, base_url: Any) -> Self:
        """Read an httpx request, whose body has been read.

        Args:
            request: the request.
            base_url: the provider's, a `str` or `httpx.URL`; a value of another type counts as none.
        """
        return cls(_endpoint(request, base_url), _body(request))


def _endpoint(request: httpx.Request, base_url: Any) -> str:
    """Method, path and query of a request, without base URL, and with the secrets in its query hidden."""
    target = _QUERY_PARAMETER.sub(_hide_secret, request.url.raw_path.decode("ascii"))
    if isinstance(base_url, str | httpx.URL):
        base = parsed_url(base_url) if isinstance(base_url, str) else base_url
        prefix = base.raw_path.decode("ascii").rstrip("/")
        if base.host == request.url.host and target.startswith((f"{prefix}/", f"{prefix}?")):
            target = target.removeprefix(prefix)
    return f"{request.method} {target}"


def _hide_secret(parameter: re.Match[str]) -> str:
    return f"{parameter[1]}=hidden" if is_secret_name(parameter[1]) else parameter[0]


def _body(request: httpx.Request) -> Any:
    content = request.content
    if "content-encoding" in request.headers:
        content = _decompress(content, request.headers["content-encoding"])
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


def _decompress(content: bytes, encoding: str) -> bytes:
    """Decompress a body: gzip's bytes hold a time and differ between versions; one that is not compressed is kept."""
    if encoding not in ("gzip", "deflate"):
        return content
    try:
        # 32: zlib detects whether the header is gzip's or its own.
        return zlib.decompress(content, zlib.MAX_WBITS | 32)
    except zlib.error:
        return content
