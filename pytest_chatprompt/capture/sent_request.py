"""A sent request as a snapshot shows it: its endpoint and its decoded body.

An httpx request comes in, a `SentRequest` comes out. Pure functions; `recorder` calls them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, Self
from urllib.parse import unquote

import httpx

from pytest_chatprompt.capture.body import decode_body
from pytest_chatprompt.capture.secret_names import is_secret_parameter
from pytest_chatprompt.providers.http.client import parsed_url

_QUERY_PARAMETER: Final = re.compile(r"(?<=[?&;])([^=&;]*)=([^&;]*)")


@dataclass(frozen=True, slots=True)
class SentRequest:
    """One HTTP request that was sent.

    Args:
        endpoint: method, path and query below the base URL, without the host: `POST /v1/messages`.
        body: decoded from the bytes sent, see `decode_body`; `None` for no body.
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
        return cls(_endpoint(request, base_url), decode_body(request.content, request.headers))


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
    return f"{parameter[1]}=hidden" if is_secret_parameter(unquote(parameter[1])) else parameter[0]
