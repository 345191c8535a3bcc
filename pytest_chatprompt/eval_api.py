"""`EvalAPI`: the offline stand-in of the APIs, a respx router with an answer for each of them.

While it is active every httpx client's request comes here instead of to its transport. A test's own routes
come first; then the four APIs' routes are answered, on whatever host, with the least reply that is valid;
anything else is an error. It keeps what was sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import respx
from respx.models import AllMockedAssertionError

from pytest_chatprompt.errors import RecordingError
from pytest_chatprompt.providers import CHAT_PROVIDERS
from pytest_chatprompt.secret_values import SecretValues


class EvalAPI(respx.MockRouter):
    """A respx router that answers the four chat APIs by itself.

    Args:
        secrets: learns the credentials in the headers of what is sent.

    Attributes:
        sent: the requests of httpx clients while it was active, bodies read, in order.
        unanswered: `METHOD URL` of those that nothing answered.
        was_active: whether it ever took the requests of all clients; respx keeps something of each time.
    """

    def __init__(self, secrets: SecretValues | None = None) -> None:
        # "httpx": at the client, before its transport, so that no client goes around it.
        super().__init__(assert_all_called=False, using="httpx")
        self.secrets = secrets or SecretValues({})
        self.sent: list[httpx.Request] = []
        self.unanswered: list[str] = []
        self.was_active = False

    def forget(self) -> None:
        """Begin anew with what was sent; respx's own `calls` and the routes stay."""
        self.sent.clear()
        self.unanswered.clear()

    @contextmanager
    def active(self) -> Iterator[None]:
        """Take the requests of every httpx client for as long as this lasts; what was sent before is forgotten."""
        self.forget()
        self.was_active = True
        self.start()
        try:
            yield
        finally:
            self.stop(clear=False, reset=False, quiet=True)

    def handler(self, request: httpx.Request) -> httpx.Response:
        """Answer a request of a sync client."""
        self._take(request)
        if not self.routes:
            return self._answer(request)
        try:
            return super().handler(request)
        except AllMockedAssertionError:
            return self._answer(request)

    async def async_handler(self, request: httpx.Request) -> httpx.Response:
        """Answer a request of an async client."""
        self._take(request)
        try:
            return await super().async_handler(request)
        except AllMockedAssertionError:
            return self._answer(request)

    def _take(self, request: httpx.Request) -> None:
        self.sent.append(request)
        self.secrets.add_headers(request.headers)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            for provider in CHAT_PROVIDERS:
                if re.search(provider.offline_path, request.url.path):
                    response = httpx.Response(200, json=provider.offline_reply, request=request)
                    self.record(request, response=response)
                    return response
        shown = f"{request.method} {request.url.copy_with(query=None, userinfo=b'')}"
        self.unanswered.append(shown)
        raise RecordingError(unanswered_text(shown))


def unanswered_text(shown: str) -> str:
    """What to say of a request that nothing answers.

    Args:
        shown: its method and URL.
    """
    url = shown.partition(" ")[2]
    method = shown.partition(" ")[0].lower()
    return (
        f"nothing answers {shown} offline; give the fixture eval_api a route for it, as in\n"
        f"  eval_api.{method}({url!r}).respond(json={{...}})\n"
        "or run with --chatprompt-live"
    )
