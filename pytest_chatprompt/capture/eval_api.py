"""`EvalAPI`: the offline stand-in of the APIs, a respx router that answers them by itself.

A route of the test comes first, then a reply that the test queued, then the smallest valid reply to the request. What
goes to this machine or to an allowed host passes, unless it is a request to a known API. Any other is an error.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import httpx
import respx
from respx.models import AllMockedAssertionError, PassThrough

from pytest_chatprompt.capture.audit_events import is_loopback
from pytest_chatprompt.capture.clients.interceptor import awaited, run_now
from pytest_chatprompt.capture.guard import find_late_owner, note_sender
from pytest_chatprompt.capture.reply_queue import ReplyQueue, When
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.capture.sent_request import AnsweredBy, SentRequest, describe_request
from pytest_chatprompt.errors import BudgetError, CaptureError, ReplayError

if TYPE_CHECKING:
    from pytest_chatprompt.apis.model_api import ModelAPI
    from pytest_chatprompt.capture.clients.interceptor import Send
    from pytest_chatprompt.capture.offline_api import DeclaredReply
    from pytest_chatprompt.capture.offline_resources import OfflineResources, ResourceCall
    from pytest_chatprompt.capture.recording.open_recording import OpenRecording
    from pytest_chatprompt.capture.server.capture_server import CaptureServer


@dataclass(eq=False)
class LoggedRequest:
    """A request that was sent, its body read, and what answered it; see `SentRequest`."""

    request: httpx.Request
    answered_by: AnsweredBy
    is_late: bool

    def as_sent(self) -> SentRequest:
        """The request as tests read it, its path whole."""
        return replace(SentRequest.from_httpx(self.request, None, self.answered_by), is_late=self.is_late)


class ChildProcessCapture:
    """The server of an `EvalAPI` for child processes, started on first use; a live one may forward requests."""

    def __init__(self, api: EvalAPI, *, is_live: bool) -> None:
        self._api = api
        self._is_live = is_live
        self._lock = threading.Lock()
        self.server: CaptureServer | None = None

    def open(self) -> CaptureServer:
        """The server, which runs from now on."""
        # Most runs need no server.
        from pytest_chatprompt.capture.server.capture_server import CaptureServer  # noqa: PLC0415

        self._api.was_used = True
        with self._lock:
            if self.server is None:
                server = CaptureServer(
                    lambda request: self._api.handle_of_child(request, server.forward),
                    is_live=self._is_live,
                    on_error=self._note_error,
                )
                self.server = server
            return self.server

    def is_own(self, url: httpx.URL) -> bool:
        """Whether a URL is one of the server, which then gets the request by itself."""
        return self.server is not None and str(url).startswith(f"{self.server.url}/")

    @contextmanager
    def forward(self, api: EvalAPI) -> Iterator[None]:
        """Let requests go on to the real APIs where `api`, which sees each, does not answer."""
        offline = self._api
        if self.server is not None:
            # It may have been started offline, with placeholders for keys.
            self.server.learn_environment()
        self._api = api
        try:
            yield
        finally:
            self._api = offline

    def close(self) -> None:
        """End the server, if there is one."""
        with self._lock:
            if self.server is not None:
                self.server.close()
                self.server = None

    def _note_error(self, error: BaseException) -> None:
        self._api.errors.append(CaptureError(f"a request of a child process failed: {error}"))


class EvalAPI(respx.MockRouter):
    """A respx router that answers the APIs of models by itself.

    Args:
        redactor: learns the credentials in the requests.
        allowed_hosts: names of hosts that requests may reach.
        placeholders: the environment variables that are set offline, see `offline`.
        is_live: whether requests go on to the real APIs. Routes answer none of these then; queued replies do.
        goes_live: whether those of child processes do later, within `children.forward`.

    Attributes:
        log: the requests from all threads, in the order of arrival.
        children: gets what child processes send.
        recording: replays and records what the real APIs reply; `None` for neither.
        reply_queue: the replies that the test has queued.
        errors: why requests were neither answered nor sent, in order; those of child processes too.
        was_used: whether it has captured or queued anything; if so, no other test may use it.
        is_read: whether anybody may read what was sent, here or in respx's `calls`; else built-in providers only
            prepare what they would send.
    """

    def __init__(
        self,
        redactor: Redactor | None = None,
        *,
        allowed_hosts: Collection[str] = (),
        placeholders: Collection[str] | None = None,
        is_live: bool = False,
        goes_live: bool = False,
    ) -> None:
        # Requests come from `intercept_clients`: respx patches nothing.
        super().__init__(assert_all_called=False, using=None)
        self.redactor = redactor or Redactor({})
        self.allowed_hosts = frozenset(allowed_hosts)
        self.placeholders = placeholders
        self.is_live = is_live
        self.recording: OpenRecording | None = None
        self.errors: list[BudgetError | CaptureError | ReplayError] = []
        self.was_used = False
        self.is_read = True
        self.log: list[LoggedRequest] = []
        self.reply_queue = ReplyQueue()
        self.children = ChildProcessCapture(self, is_live=is_live or goes_live)
        self._process_id = os.getpid()
        self._resources: OfflineResources | None = None
        # Whether a request got a reply that may differ from run to run.
        self._has_real_reply = False

    @property
    def sent(self) -> tuple[SentRequest, ...]:
        """What was sent so far, in the order of arrival."""
        return tuple(entry.as_sent() for entry in tuple(self.log))

    def reply(  # noqa: PLR0913 - what a model may reply
        self,
        text: str | None = None,
        *,
        tool_calls: Sequence[Mapping[str, Any]] = (),
        json: Any = None,
        usage: Mapping[str, int] | None = None,
        finish_reason: str | None = None,
        error: int | None = None,
        when: When | None = None,
    ) -> None:
        """Queue a reply for the next request to any API: in that API's shape, streamed if the request asks for it.

        Args:
            text: the text.
            tool_calls: mappings with `name`, `arguments` (a mapping, empty by default) and `id` (made up by default).
            json: JSON data as the text; as the arguments of the tool, if the request forces one.
            usage: a mapping with `input_tokens` and `output_tokens`; 0 by default.
            finish_reason: `stop`, `length`, `tool_calls`, `content_filter`, or the API's word; by default what fits.
            error: the status of an error, such as 429, in place of all of these.
            when: keeps the reply for the first request that fits: one that holds this text in its endpoint or in a text
                of its body, or one for which this function of the `SentRequest` returns something true. It comes
                before replies for any request.

        Raises:
            ValueError, TypeError: an argument is invalid, or two of them exclude each other.
        """
        __tracebackhide__ = True
        from pytest_chatprompt.apis.reply import Reply  # noqa: PLC0415

        self.was_used = True
        self.reply_queue.add(Reply(text, tool_calls, json, usage, finish_reason, error), when)

    @property
    def url(self) -> str:
        """The URL of a server on this machine, for clients in other processes: the first call starts it."""
        return self.children.open().url

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment variables that point the SDKs of a child process to that server, with placeholders for keys.

        Pass them over those of this process: `env={**os.environ, **eval_api.environ}`.
        """
        return self.children.open().environ

    def clear_sent(self) -> None:
        """Forget the requests that were sent; respx's own `calls` and the routes stay."""
        self.log.clear()
        self.errors.clear()
        self.recording = None
        self._has_real_reply = False
        self._resources = None

    def intercept(self) -> AbstractContextManager[None]:
        """Take the requests of every client of this process."""
        # Offline runs of the built-in providers need none of it.
        from pytest_chatprompt.capture.clients.seams import intercept_clients  # noqa: PLC0415

        self.was_used = True
        return intercept_clients(self)

    async def handle(self, request: httpx.Request, *, is_async: bool) -> httpx.Response | None:
        """Answer a request of any client; `None` lets it go on to the network. Side effects of routes may be async."""
        from pytest_chatprompt.capture.recording.open_recording import send, send_async  # noqa: PLC0415

        if self.children.is_own(request.url):
            return None
        ways: tuple[Send, Send] = (send_async, super().async_handler) if is_async else (send, super().handler)
        return await self._handle(request, *ways)

    def handle_of_child(self, request: httpx.Request, forward: Send) -> httpx.Response | None:
        """Answer a request that came to the server; only a live run passes it on."""
        response = run_now(self._handle(request, forward, super().handler))
        return self._refuse(_refusal(request)) if response is None and not self.is_live else response

    async def _handle(self, request: httpx.Request, send: Send, ask_routes: Send) -> httpx.Response | None:
        """Answer a request; `send` sends it on where its reply is recorded."""
        # A forked process may send what nobody would capture in this process either.
        if os.getpid() != self._process_id and self._passes(request):
            return None
        if (stray := self._claim(request)) is not None:
            from pytest_chatprompt.capture.clients.wire import error_reply  # noqa: PLC0415 - most requests are answered

            return error_reply(f"{describe_request(request)} {stray}")
        self.redactor.add_request(request.headers, request.url)
        entry = LoggedRequest(request, "route", is_late=self._has_real_reply)
        self.log.append(entry)
        try:
            # A live or recorded test asks the real API in place of its routes.
            if self.routes and not ((self.is_live or self.recording is not None) and _find_offline_api(request)):
                with suppress(AllMockedAssertionError):
                    return await awaited(ask_routes(request))
            return self._answer(entry) or await self._send_on(entry, send)
        except PassThrough:
            self.log.remove(entry)
            return None
        except (BudgetError, ReplayError) as error:
            return self._refuse(error)

    async def _send_on(self, entry: LoggedRequest, send: Send) -> httpx.Response | None:
        """Replay or record the reply of the real API, or look at it because a model gives it."""
        recording, request = self.recording, entry.request
        passes = self._passes(request) or getattr(self._find_api(request), "kind", "") == "upkeep"
        if recording is None or passes or not (recording.is_kept or _find_offline_api(request)):
            return self._let_pass(entry)
        from pytest_chatprompt.capture.recording.open_recording import replay_or_send  # noqa: PLC0415
        from pytest_chatprompt.capture.recording.recorded_exchange import REPLAYED_EXTENSION  # noqa: PLC0415

        try:
            response = await replay_or_send(recording, request, send)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            if recording.is_kept:
                raise
            # Nothing was sent, and its client may know the way: by a proxy, or by certificates of its own.
            return self._let_pass(entry)
        entry.answered_by = "recording" if REPLAYED_EXTENSION in response.extensions else "network"
        self._has_real_reply = True
        return response

    def _let_pass(self, entry: LoggedRequest) -> httpx.Response | None:
        """Let a request go on to the network, if it may."""
        if self._passes(entry.request):
            self.log.remove(entry)
            return None
        if not self.is_live:
            return self._refuse(_refusal(entry.request))
        entry.answered_by = "network"
        # The reply is not seen here: what comes after the request may hold it.
        self._has_real_reply = True
        return None

    def _refuse(self, error: BudgetError | CaptureError | ReplayError) -> httpx.Response:
        from pytest_chatprompt.capture.clients.wire import error_reply  # noqa: PLC0415 - most requests are answered

        self.errors.append(error)
        return error_reply(str(error))

    def _claim(self, request: httpx.Request) -> str | None:
        """Count a request as sent by the test that runs; else, from a fork or a test that has ended, say why not."""
        owner = find_late_owner()
        if owner is not None:
            owner.tell(owner.name, f"send {describe_request(request)}")
            return f"is not sent: {owner.name} has started what sends it, and has ended"
        if os.getpid() != self._process_id:
            return (
                "is sent by a forked process, which cannot be captured; start the process anew ('spawn'), "
                "with the variables of eval_api.environ"
            )
        note_sender()
        return None

    def _answer(self, entry: LoggedRequest) -> httpx.Response | None:
        """Give a queued reply, else the default one of the API; `None` if the request is to no known API."""
        api = self._find_api(entry.request)
        # No route has answered.
        entry.answered_by = "nothing"
        if api is None:
            return None
        kind = getattr(api, "kind", "content")
        if kind != "content":
            self.log.remove(entry)
        try:
            reply = self.reply_queue.take(api.accepts, entry.as_sent)
        except CaptureError as error:
            return self._refuse(error)
        if reply is None and (self.is_live or (self.recording is not None and kind != "upkeep")):
            return None
        entry.answered_by = "default" if reply is None else "reply"
        response = api.answer(entry.request, reply)
        self.record(entry.request, response=response)
        return response

    def _passes(self, request: httpx.Request) -> bool:
        """Whether a request is sent on without being captured: its host is allowed, and it is for no known API."""
        is_near = is_loopback(request.url.host) or request.url.host in self.allowed_hosts
        return is_near and self._find_api(request) is None

    def _find_api(self, request: httpx.Request) -> ModelAPI | DeclaredReply | ResourceCall | None:
        """What answers a request: most runs send none that has to be answered, and load nothing of it."""
        from pytest_chatprompt.capture.offline_resources import OfflineResources  # noqa: PLC0415

        self._resources = self._resources or OfflineResources()
        return self._resources.find(request) or _find_offline_api(request)


def _refusal(request: httpx.Request) -> CaptureError:
    """The error for a request that nothing answers."""
    description = describe_request(request)
    method, _, url = description.partition(" ")
    return CaptureError(
        f"nothing answers {description} offline; give the fixture eval_api a route for it, as in\n"
        f"  eval_api.{method.lower()}({url!r}).respond(json={{...}})\n"
        "or run with --chatprompt-live"
    )


def _find_offline_api(request: httpx.Request) -> ModelAPI | DeclaredReply | None:
    """What answers a request, see `offline_api`: most runs send none that has to be answered, and load no API."""
    from pytest_chatprompt.capture import offline_api  # noqa: PLC0415

    return offline_api.find_offline_api(request)
