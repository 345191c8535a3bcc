"""`ResentRequest`: what any client has sent to the stand-in, sent once more, to the real API."""

from __future__ import annotations

import math
from dataclasses import dataclass

import httpx

from pytest_chatprompt.apis.chat_provider import DEFAULT_TIMEOUT_SECONDS
from pytest_chatprompt.capture.live_capture import FRAMING
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.context import Cancellation, current_context
from pytest_chatprompt.providers.http.client import HTTPClient
from pytest_chatprompt.providers.http.error_replies import ErrorContext, error_from_reply
from pytest_chatprompt.providers.http.retry import DEFAULT_MAX_RETRIES, send_with_retries
from pytest_chatprompt.providers.response import ProviderResponse

# What the client that sends it decides.
_OF_CLIENT = {*(name.decode("ascii") for name in FRAMING), "host", "connection", "accept-encoding"}


@dataclass(eq=False)
class ResentRequest:
    """Sends one request as a provider would, and again after an error that may pass; it does not read the answer."""

    request: httpx.Request
    redactor: Redactor

    def __post_init__(self) -> None:
        headers = {name: value for name, value in self.request.headers.items() if name not in _OF_CLIENT}
        self._http = HTTPClient(self.request.url.host, lambda _: headers, self.redactor.redact)

    def send(self, _: ProviderRequest) -> ProviderResponse:
        """Send the request."""
        url, client, redact = self.request.url, self._http, self.redactor.redact
        cancellation = current_context().cancellation or Cancellation()

        def send_once() -> None:
            reply = client.post(str(url), self.request.content, lambda: DEFAULT_TIMEOUT_SECONDS, cancellation)
            if not reply.is_success:
                target = str(url.copy_with(query=None))
                raise error_from_reply(reply, ErrorContext(url.host, "that your code reads", target), redact)

        send_with_retries(send_once, client.shared_pause, cancellation, DEFAULT_MAX_RETRIES, math.inf)
        return ProviderResponse(text="", is_awaited=False)
