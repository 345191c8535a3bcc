"""Let a provider send a request, and capture what it really sends: offline, live, or with recorded replies."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import os
import re
import tempfile
import threading
import time
from collections.abc import Awaitable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import httpx

from pytest_chatprompt.apis.chat_provider import ChatProvider
from pytest_chatprompt.capture.eval_api import EvalAPI
from pytest_chatprompt.capture.guard import ConnectionAttempts, raise_if_blocked
from pytest_chatprompt.capture.live_capture import FirstRequest, LiveCaptureRouter
from pytest_chatprompt.capture.offline import offline
from pytest_chatprompt.capture.recording.model_answers import model_answers, with_usage
from pytest_chatprompt.capture.recording.open_recording import OpenRecording
from pytest_chatprompt.capture.reply_queue import QueuedReply
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.capture.sent_request import Exchange, SentRequest
from pytest_chatprompt.errors import APIConnectionError, BudgetError, CaptureError, ProviderError
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.agents.base import PLACEHOLDER_FOLDER, AgentProvider
from pytest_chatprompt.providers.context import SendContext, current_context, use_context
from pytest_chatprompt.providers.response import OFFLINE_TEXT, ProviderResponse, Sender
from pytest_chatprompt.text.json_data import with_scalars

# pytest shows no frame of this module.
__tracebackhide__ = True


def capture_offline(provider: Sender, request: ProviderRequest, api: EvalAPI) -> Exchange:
    """Let a provider send a request offline; `api` answers the requests of all clients meanwhile."""
    if isinstance(provider, AgentProvider):
        return _run_agent(provider, request, api.redactor, api)
    credentials = (provider.key_variable,) if isinstance(provider, ChatProvider) else ()
    context = SendContext(is_offline=True, is_priced=api.recording is not None)
    environment = offline(placeholders=api.placeholders, credentials=credentials)
    with api.intercept(), environment as attempts, use_context(context):
        return _let_send(provider, request, api, attempts)


def _let_send(provider: Sender, request: ProviderRequest, api: EvalAPI, attempts: ConnectionAttempts) -> Exchange:
    """Let a provider send to `api`; what went wrong is raised even if the provider swallows it."""
    start, errors = len(api.log), len(api.errors)
    try:
        response = call_provider(provider, request)
        base_url = getattr(provider, "base_url", None)
    finally:
        for error in api.errors[errors:]:
            raise error from None
        raise_if_blocked(attempts)
        if attempts.loopback and len(api.log) == start:
            raise CaptureError(
                f"the provider connected to {attempts.loopback[0]}, and none of its requests was captured; if that is "
                "a model, give the fixture eval_api a route for its URL, or send through a client that eval_api sees"
            ) from None
    sent = tuple(SentRequest.from_httpx(each.request, base_url, each.answered_by) for each in api.log[start:])
    return Exchange(request, response, sent, replies=tuple(api.reply_queue.taken))


def capture_live(  # noqa: PLR0913 - what a live run has for one send
    provider: Sender,
    request: ProviderRequest,
    router: LiveCaptureRouter,
    replies: Sequence[QueuedReply] = (),
    *,
    api: EvalAPI | None = None,
    recording: OpenRecording | None = None,
    first: FirstRequest | None = None,
) -> Exchange:
    """Let a provider send a request to the real API. Safe between threads.

    A response that does not say how long it took has the time that its requests took, else that of the provider.
    `replies` are given in place of the API's own; `api` forwards what child processes send to its server; `first` lets
    only the first request out, whose answer is the response if the provider wants to send more, or reads none.
    """
    # It sees what is sent, and what models reply.
    recording = recording or OpenRecording(sends=True, is_kept=False)
    recording.budget = current_context().budget
    if isinstance(provider, AgentProvider):
        if recording.budget is not None:
            raise BudgetError(
                "not sent, because a budget needs every price: the cost of an agent is not known; leave agents out"
            )
        started_at = time.monotonic()
        exchange = _run_agent(provider, request, router.redactor)
    else:
        with router.capture(api) as capture:
            capture.recording, capture.first = recording, first
            capture.reply_queue.waiting += replies
            started_at = time.monotonic()
            try:
                exchange = _let_send(provider, request, capture, ConnectionAttempts())
            except Exception:
                if first is None or not first.has_refused:
                    raise
                exchange = Exchange(request, ProviderResponse(text="", is_awaited=False), (first.sent,))
        if first is not None and (first.has_refused or not exchange.response.is_awaited):
            answer = next((each.response for each in model_answers(recording) if each.response), None)
            if answer is None:
                raise APIConnectionError("the first request, which alone is sent, got no answer that can be read")
            exchange = exchange._replace(response=answer)
    seconds = time.monotonic() - started_at
    return exchange._replace(response=with_usage(exchange.response, recording, seconds))


def capture_replayed(provider: Sender, request: ProviderRequest, api: EvalAPI, recording: OpenRecording) -> Exchange:
    """Let a provider send a request again, offline; replies that `api` has queued come before the recorded ones."""
    api.recording = recording
    started_at = time.monotonic()
    exchange = capture_offline(provider, request, api)
    return exchange._replace(response=with_usage(exchange.response, recording, time.monotonic() - started_at))


# --- providers of one's own


def call_provider(provider: object, request: ProviderRequest) -> ProviderResponse:
    """Let a provider send a request: an object with `send`, or a function. An async one is awaited."""
    if inspect.isclass(provider):
        raise ProviderError(
            f"the provider is the class {provider.__name__}; make an instance of it: {provider.__name__}(...)"
        )
    send = getattr(provider, "send", provider)
    if not callable(send):
        raise ProviderError(f"the provider is {type(provider).__name__} {provider!r}, which has no send(request)")
    response = send(request)
    if inspect.isawaitable(response):
        response = _wait_for(response)
    if isinstance(response, str):
        response = ProviderResponse(text=response)
    if isinstance(response, ProviderResponse):
        captured = None if isinstance(provider, ChatProvider) else request.captured
        lost = () if captured is None else (*captured.notes, *captured.lost)
        return response.model_copy(update={"adjustments": (*lost, *response.adjustments)}) if lost else response
    sender = f"{type(provider).__name__}.send" if hasattr(provider, "send") else "the provider"
    raise ProviderError(f"{sender} returned {type(response).__name__}, not a ProviderResponse or a str")


def _wait_for(awaitable: Awaitable[Any]) -> Any:
    """The result of an awaitable, from an event loop of its own."""

    async def wait() -> Any:
        return await awaitable

    running_loop = None
    with suppress(RuntimeError):
        running_loop = asyncio.get_running_loop()
    if running_loop is None:
        return asyncio.run(wait())
    # Asked for within an async test: its loop cannot run another one, but a thread can.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(contextvars.copy_context().run, asyncio.run, wait()).result()


# --- agents


def _run_agent(
    provider: AgentProvider, request: ProviderRequest, redactor: Redactor, api: EvalAPI | None = None
) -> Exchange:
    """Run an agent: offline, where `api` answers it, only with `capture`, since its command is known beforehand."""
    context = current_context() if api is None else SendContext(is_offline=True)
    redactor.add_agent_environment(provider.env)
    invocation = provider.build_invocation(request, PLACEHOLDER_FOLDER)
    if not provider.capture:
        response = ProviderResponse(text=OFFLINE_TEXT) if context.is_offline else provider.send(request)
        return Exchange(request, response, (), invocation)
    # No other run needs a server.
    from pytest_chatprompt.capture.server.capture_server import CaptureServer  # noqa: PLC0415
    from pytest_chatprompt.capture.server.table import seal_environ  # noqa: PLC0415

    requests: list[httpx.Request] = []
    refused = [] if api is None else api.errors
    start, lock = len(refused), threading.Lock()

    def handle(sent: httpx.Request) -> httpx.Response | None:
        # One at a time: a test's routes need not be safe between threads.
        with lock:
            if sent.method != "HEAD":
                # That is how Claude Code opens a connection where it has no proxy: a model is asked nothing.
                requests.append(sent)
            redactor.add_request(sent.headers, sent.url)
            return None if api is None else api.handle_of_child(sent, server.forward)

    volatile = VolatileValues(keep=invocation.prompt)
    server = CaptureServer(handle, is_live=not context.is_offline, environment={**os.environ, **provider.env})
    try:
        environ = seal_environ(server.environ, server.url) if context.is_offline else server.environ
        with use_context(context._replace(environ=environ)):
            response = provider.send(request)
    finally:
        server.close()
        for error in (*server.errors, *refused[start:]):
            # Even if the agent failed because of it, or swallowed it.
            raise CaptureError(str(error)) from error
    if not requests:
        raise CaptureError(
            f"{provider.executable} sent nothing to the server that captures what it sends: it may not read the "
            "variables that point it there (OPENAI_BASE_URL, ANTHROPIC_BASE_URL and others), or a setting of its own "
            "overrides them; set capture=False, or let its command pass the URL on"
        )
    sent = (
        replace(each, url="", body=volatile.replace(provider.stable_body(each.body)))
        for each in map(SentRequest.from_httpx, requests)
    )
    return Exchange(request, response, tuple(sent), invocation)


# --- what differs from run to run in what an agent sends

_UUID: Final = re.compile(r"(?<![0-9A-Fa-f])[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}(?![0-9A-Fa-f])")
# Seconds since 1970, or their thousandths.
_UNIX_TIME: Final = re.compile(r"(?<![\w.])(\d{10}(?:\.\d+)?|\d{13})(?![\w.]*\d)")
_ISO_TIME: Final = r"(?<!\d)(?:{dates})(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?(?!\d)"
_MILLISECONDS: Final = 1e11
# Clocks are rounded, and two of them may differ.
_TOLERANCE_SECONDS: Final = 2.0


class VolatileValues:
    """Placeholders for temporary folders, ids and times, but for those in the agent's task, which is to `keep`."""

    def __init__(self, *, keep: str) -> None:
        self._keep = keep
        self._started = time.time()
        self._ids: dict[str, str] = {}
        folders = "|".join(map(re.escape, {tempfile.gettempdir(), str(Path(tempfile.gettempdir()).resolve())}))
        # As `tempfile` names them, for `AgentProvider.send`.
        self._folder = re.compile(rf"(?:{folders})/chatprompt-[a-z0-9_]{{8}}")

    def replace(self, data: Any) -> Any:
        """Put the placeholders into JSON data; gives new data."""
        return with_scalars(data, self._replace_in_scalar)

    def _replace_in_scalar(self, scalar: Any) -> Any:
        if isinstance(scalar, str):
            # Of the task only its paths may hold what differs.
            parts = scalar.split(self._keep) if self._keep else [scalar]
            return self._folder.sub(str(PLACEHOLDER_FOLDER), self._keep.join(map(self._replace_in_text, parts)))
        is_number = isinstance(scalar, int | float) and not isinstance(scalar, bool)
        return "{time}" if is_number and self._is_now(scalar) else scalar

    def _replace_in_text(self, text: str) -> str:
        text = _UUID.sub(lambda match: self._ids.setdefault(match[0], f"{{id {len(self._ids) + 1}}}"), text)
        text = _UNIX_TIME.sub(lambda match: "{time}" if self._is_now(float(match[0])) else match[0], text)
        # The dates of the run, here and in UTC.
        moments = (datetime.fromtimestamp(at, zone) for at in (self._started, time.time()) for zone in (None, UTC))
        dates = {str(moment.date()) for moment in moments}
        pattern = _ISO_TIME.format(dates="|".join(dates))
        return re.sub(pattern, lambda match: "{date}" if match[0] in dates else "{time}", text)

    def _is_now(self, number: float) -> bool:
        seconds = number / 1000 if number > _MILLISECONDS else number
        return self._started - _TOLERANCE_SECONDS <= seconds <= time.time() + _TOLERANCE_SECONDS
