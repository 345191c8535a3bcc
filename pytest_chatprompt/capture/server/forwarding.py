"""Forwarding: send a request that the server got on to the real API, with the real key in place of the placeholder.

A request, its target and the variables of this process come in; the response comes out, its stream not read yet. Only
here is a key read for another process: it goes into the headers of the request to the API that it belongs to, and
not into the reply. `capture_server` calls it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

import httpx

from pytest_chatprompt.capture.clients.interceptor import FORWARDED_EXTENSION
from pytest_chatprompt.capture.sent_request import describe_request
from pytest_chatprompt.capture.server.real_urls import Target, find_real_url
from pytest_chatprompt.capture.server.table import REDIRECTED_APIS
from pytest_chatprompt.errors import CaptureError

# Agents wait long for an answer, and give up by themselves.
_TIMEOUT: Final = httpx.Timeout(600, connect=10)
_SIGV4: Final = "AWS4-HMAC-SHA256"


class Forwarder:
    """Sends requests on to the real APIs. Safe between threads.

    Args:
        placeholder: stands for the keys in what clients send.
        server_url: the URL of the server, which is never a real API's.
    """

    def __init__(self, placeholder: str, server_url: str) -> None:
        self._placeholder = placeholder
        self._server_url = server_url
        self._client = httpx.Client(timeout=_TIMEOUT, limits=httpx.Limits(max_connections=None), follow_redirects=False)

    def forward(self, request: httpx.Request, target: Target, environment: Mapping[str, str]) -> httpx.Response:
        """Send a request on, and give the response as it begins to come.

        Args:
            request: with its body, as it was captured.
            target: where it was meant to go.
            environment: the variables of this process, for the real key and URL.

        Raises:
            CaptureError: it cannot be sent, or the API cannot be reached.
        """
        try:
            return self._client.send(self._prepare(request, target, environment), stream=True)
        except httpx.HTTPError as error:
            raise CaptureError(
                f"{describe_request(request)} got no reply: {error!r}; check the network and the URL of the API"
            ) from error

    def close(self) -> None:
        """Close the connections to the APIs."""
        self._client.close()

    def _prepare(self, request: httpx.Request, target: Target, environment: Mapping[str, str]) -> httpx.Request:
        if target.api is None:
            names = ", ".join(api.name for api in REDIRECTED_APIS)
            raise CaptureError(
                f"{describe_request(request)} cannot be sent on, since its path names no API; "
                f"it must begin with the name of one: {names}"
            )
        url = find_real_url(target, environment, self._server_url)
        if url is None:
            raise CaptureError(
                f"{describe_request(request)} cannot be sent on: "
                f"set {next(iter(target.api.urls))} to the URL of your API"
            )
        if request.headers.get("authorization", "").startswith(_SIGV4):
            raise CaptureError(
                f"{describe_request(request)} is signed for this machine (SigV4) and cannot be sent on; "
                "let the client use a key of Bedrock, in AWS_BEARER_TOKEN_BEDROCK"
            )
        headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"host"]
        if self._holds_placeholder(url, headers):
            key = self._find_key(target.api.keys, environment)
            if key is None:
                raise CaptureError(
                    f"{describe_request(request)} cannot be sent on without a key: set {target.api.keys[0]}"
                )
            headers = [(name, value.replace(self._placeholder.encode(), key.encode())) for name, value in headers]
            query = url.query.replace(self._placeholder.encode(), quote(key, safe="").encode())
            url = url.copy_with(query=query) if query else url
        return httpx.Request(
            request.method,
            url,
            headers=headers,
            content=request.content,
            extensions={FORWARDED_EXTENSION: True, "timeout": _TIMEOUT.as_dict()},
        )

    def _holds_placeholder(self, url: httpx.URL, headers: list[tuple[bytes, bytes]]) -> bool:
        placeholder = self._placeholder.encode()
        return placeholder in url.query or any(placeholder in value for _, value in headers)

    def _find_key(self, variables: tuple[str, ...], environment: Mapping[str, str]) -> str | None:
        values = (environment.get(variable, "") for variable in variables)
        return next((value for value in values if value and value != self._placeholder), None)
