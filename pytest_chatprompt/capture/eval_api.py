"""`EvalAPI`: the offline stand-in of the APIs, a respx router that answers them by itself.

While it intercepts, every httpx client's request comes here and not to its transport. A test's own routes come first.
Then the API that the request belongs to gives its default reply, on whatever host. Any other request is an error.
The router keeps what was sent; `recorder` reads it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import respx
from respx.models import AllMockedAssertionError

from pytest_chatprompt.capture.redaction import Redactor
from pytest_chatprompt.errors import CaptureError
from pytest_chatprompt.providers.chat.base import ChatProvider
from pytest_chatprompt.providers.http.client import PROVIDER_EXTENSION
from pytest_chatprompt.providers.registry import CHAT_PROVIDERS


class EvalAPI(respx.MockRouter):
    """A respx router that answers the chat APIs by itself.

    Args:
        redactor: learns the credentials in the requests.

    Attributes:
        sent: the httpx requests since `intercept` was entered, bodies read, in order.
        unanswered: `METHOD URL` of those that nothing answered.
        was_started: whether it ever intercepted; respx keeps some state of each time.
    """

    def __init__(self, redactor: Redactor | None = None) -> None:
        # "httpx": respx patches the client and not its transport, so that no client can go around it.
        super().__init__(assert_all_called=False, using="httpx")
        self.redactor = redactor or Redactor({})
        self.sent: list[httpx.Request] = []
        self.unanswered: list[str] = []
        self.was_started = False

    def clear_sent(self) -> None:
        """Forget the requests that were sent; respx's own `calls` and the routes stay."""
        self.sent.clear()
        self.unanswered.clear()

    @contextmanager
    def intercept(self) -> Iterator[None]:
        """Take the requests of every httpx client of this process; starts with no requests sent."""
        self.clear_sent()
        self.was_started = True
        self.start()
        try:
            yield
        finally:
            self.stop(clear=False, reset=False, quiet=True)

    def handler(self, request: httpx.Request) -> httpx.Response:
        """Answer a request of a sync client."""
        self._log_request(request)
        if not self.routes:
            return self._answer(request)
        try:
            return super().handler(request)
        except AllMockedAssertionError:
            return self._answer(request)

    async def async_handler(self, request: httpx.Request) -> httpx.Response:
        """Answer a request of an async client."""
        self._log_request(request)
        try:
            return await super().async_handler(request)
        except AllMockedAssertionError:
            return self._answer(request)

    def _log_request(self, request: httpx.Request) -> None:
        self.sent.append(request)
        self.redactor.add_request(request.headers, request.url)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        """Give the default reply of the API that a request belongs to."""
        if request.method == "POST":
            # The class of the provider that sends comes first: it may speak an API that is in no table.
            sender: type[ChatProvider] | None = request.extensions.get(PROVIDER_EXTENSION)
            for provider in CHAT_PROVIDERS if sender is None else (sender, *CHAT_PROVIDERS):
                if provider.offline_reply and re.search(provider.offline_path, request.url.path):
                    response = httpx.Response(200, json=provider.offline_reply, request=request)
                    self.record(request, response=response)
                    return response
        description = f"{request.method} {request.url.copy_with(query=None, userinfo=b'')}"
        self.unanswered.append(description)
        raise CaptureError(unanswered_message(description))


def unanswered_message(description: str) -> str:
    """The error text for a request that nothing answers.

    Args:
        description: its method and URL: `GET https://api.example/models`.
    """
    method, _, url = description.partition(" ")
    return (
        f"nothing answers {description} offline; give the fixture eval_api a route for it, as in\n"
        f"  eval_api.{method.lower()}({url!r}).respond(json={{...}})\n"
        "or run with --chatprompt-live"
    )
