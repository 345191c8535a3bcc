"""Let a provider send a request, and capture what it really sends: offline, live, or with recorded replies."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

import httpx

from pytest_chatprompt.apis.chat_provider import ChatProvider
from pytest_chatprompt.capture.eval_api import EvalAPI, LoggedRequest
from pytest_chatprompt.capture.guard import ConnectionAttempts, raise_if_blocked
from pytest_chatprompt.capture.live_capture import LiveCaptureRouter
from pytest_chatprompt.capture.offline import offline
from pytest_chatprompt.capture.recording.open_recording import (
    OpenRecording,
    replay_or_post,
    with_latency,
    with_recorded_latency,
)
from pytest_chatprompt.capture.refusals import unanswered_message
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.capture.sent_request import Exchange, SentRequest
from pytest_chatprompt.capture.volatile_values import VolatileValues
from pytest_chatprompt.errors import BudgetError, CaptureError, ProviderError
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.agents.base import PLACEHOLDER_FOLDER, AgentProvider
from pytest_chatprompt.providers.context import SendContext, current_context, use_context
from pytest_chatprompt.providers.response import OFFLINE_TEXT, Provider, ProviderResponse

if TYPE_CHECKING:
    from pytest_chatprompt.apis.reply import Reply

SendFunction = Callable[[ProviderRequest], Any]

_NOTHING_SENT: Final = (
    "{agent} sent nothing to the server that captures what it sends: it may not read the variables that point it there "
    "(OPENAI_BASE_URL, ANTHROPIC_BASE_URL and others), or a setting of its own overrides them; "
    "set capture=False, or let its command pass the URL on"
)


def capture_offline(provider: Provider | SendFunction, request: ProviderRequest, api: EvalAPI) -> Exchange:
    """Let a provider send a request offline; `api` answers the requests of all clients meanwhile."""
    __tracebackhide__ = True
    if isinstance(provider, AgentProvider):
        return _run_agent(provider, request, api.redactor, api.handler, SendContext(is_offline=True))
    credentials = (provider.key_variable,) if isinstance(provider, ChatProvider) else ()
    start, refused, failed = len(api.log), len(api.unanswered), len(api.children.errors)
    not_replayed = len(api.replay_errors)
    context = SendContext(is_offline=True, is_priced=api.recording is not None)
    environment = offline(placeholders=api.placeholders, credentials=credentials)
    with api.intercept(), environment as attempts, use_context(context):
        try:
            response = call_provider(provider, request)
            base_url = getattr(provider, "base_url", None)
        finally:
            # Even if the provider swallowed it.
            for error in api.replay_errors[not_replayed:]:
                raise error from None
            _raise_if_not_captured(api.unanswered[refused:], attempts, is_silent=len(api.log) == start)
            api.children.raise_error(failed)
    return Exchange(request, response, _sent_requests(api.log[start:], base_url), replies=api.taken_replies)


def capture_live(  # noqa: PLR0913 - what a live run has for one send
    provider: Provider | SendFunction,
    request: ProviderRequest,
    router: LiveCaptureRouter,
    replies: Sequence[Reply] = (),
    *,
    api: EvalAPI | None = None,
    recording: OpenRecording | None = None,
) -> Exchange:
    """Let a provider send a request to the real API. Safe between threads.

    A response that does not say how long it took has the time that the provider took. `replies` are given in place of
    the API's own; `api` forwards what child processes send to its server.
    """
    __tracebackhide__ = True
    router.import_patches()
    started_at = time.monotonic()
    budget = current_context().budget
    if isinstance(provider, AgentProvider):
        if budget is not None:
            raise BudgetError(
                "not sent, because a budget needs every price: the cost of an agent is not known; leave agents out"
            )
        learn = partial(_learn_secrets, router.redactor)
        exchange = _run_agent(provider, request, router.redactor, learn, current_context())
    else:
        if budget is not None:
            # It sees what is sent.
            recording = recording or OpenRecording(sends=True)
            recording.budget = budget
        try:
            with ExitStack() as stack:
                passes = (lambda _: False) if api is None else api.children.is_own
                requests = stack.enter_context(router.capture(replies, passes=passes, recording=recording))
                if api is not None:
                    stack.enter_context(api.children.forward(router.handler(api.children.send)))
                response = call_provider(provider, request)
        finally:
            # Even if the provider swallowed it.
            for error in () if recording is None else recording.budget_errors:
                raise error from None
        exchange = Exchange(request, response, _sent_requests(requests, getattr(provider, "base_url", None)))
    response = with_latency(exchange.response, recording, time.monotonic() - started_at)
    return exchange._replace(response=response)


def capture_replayed(
    provider: Provider | SendFunction, request: ProviderRequest, api: EvalAPI, recording: OpenRecording
) -> Exchange:
    """Let a provider send a request again, offline; replies that `api` has queued come before the recorded ones."""
    __tracebackhide__ = True
    if isinstance(provider, ChatProvider) and provider.sends_what_it_prepares:
        replay = partial(replay_or_post, recording)
        with use_context(SendContext(is_offline=True, replay=replay)):
            return Exchange(request, with_recorded_latency(provider.send(request), recording), ())
    api.recording = recording
    exchange = capture_offline(provider, request, api)
    return exchange._replace(response=with_latency(exchange.response, recording))


def _sent_requests(entries: Iterable[LoggedRequest], base_url: Any) -> tuple[SentRequest, ...]:
    return tuple(SentRequest.from_httpx(entry.request, base_url, entry.answered_by) for entry in entries)


def _raise_if_not_captured(unanswered: Sequence[str], attempts: ConnectionAttempts, *, is_silent: bool) -> None:
    """Raise the error of a request that nothing answered, or of another attempt to reach the network."""
    if unanswered:
        raise CaptureError(unanswered_message(unanswered[0])) from None
    raise_if_blocked(attempts)
    if attempts.loopback and is_silent:
        raise CaptureError(
            f"the provider connected to {attempts.loopback[0]}, and none of its requests was captured; if that is a "
            "model, give the fixture eval_api a route for its URL, or send through a client that eval_api sees"
        ) from None


# --- providers of one's own


def call_provider(provider: object, request: ProviderRequest) -> ProviderResponse:
    """Let a provider send a request: an object with `send`, or a function. An async one is awaited."""
    __tracebackhide__ = True
    response = send_function(provider)(request)
    if inspect.isawaitable(response):
        response = _wait_for(response)
    if isinstance(response, ProviderResponse):
        return response
    if isinstance(response, str):
        return ProviderResponse(text=response)
    sender = f"{type(provider).__name__}.send" if hasattr(provider, "send") else "the provider"
    raise ProviderError(f"{sender} returned {type(response).__name__}, not a ProviderResponse or a str")


def send_function(provider: object) -> SendFunction:
    """The function to call: the provider's `send`, or the provider itself."""
    if inspect.isclass(provider):
        raise ProviderError(
            f"the provider is the class {provider.__name__}; make an instance of it: {provider.__name__}(...)"
        )
    send = getattr(provider, "send", provider)
    if not callable(send):
        raise ProviderError(f"the provider is {type(provider).__name__} {provider!r}, which has no send(request)")
    return cast(SendFunction, send)


def _wait_for(awaitable: Awaitable[Any]) -> Any:
    """The result of an awaitable, from an event loop of its own."""
    __tracebackhide__ = True

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
    provider: AgentProvider,
    request: ProviderRequest,
    redactor: Redactor,
    answer: Callable[[httpx.Request], httpx.Response | None],
    context: SendContext,
) -> Exchange:
    """Run an agent: offline only with `capture`, since its command and its document are known beforehand.

    What it sends is given to `answer`, and forwarded to the real API where that returns `None`.
    """
    __tracebackhide__ = True
    redactor.add_agent_environment(provider.env)
    invocation = provider.build_invocation(request, PLACEHOLDER_FOLDER)
    if not provider.capture:
        response = ProviderResponse(text=OFFLINE_TEXT) if context.is_offline else provider.send(request)
        return Exchange(request, response, (), invocation)
    # It imports h11, which no other run needs.
    from pytest_chatprompt.capture.server.capture_server import CaptureServer  # noqa: PLC0415
    from pytest_chatprompt.capture.server.table import seal_environ  # noqa: PLC0415

    requests: list[httpx.Request] = []
    lock = threading.Lock()

    def handle(sent: httpx.Request) -> httpx.Response | None:
        # One at a time: a test's routes need not be safe between threads.
        with lock:
            requests.append(sent)
            return answer(sent)

    volatile = VolatileValues(keep=invocation.prompt)
    server = CaptureServer(handle, is_live=not context.is_offline, environment={**os.environ, **provider.env})
    try:
        environ = seal_environ(server.environ, server.url) if context.is_offline else server.environ
        with use_context(context._replace(environ=environ)):
            response = provider.send(request)
    finally:
        server.close()
        if server.errors:
            # Even if the agent failed because of it, or swallowed it.
            raise CaptureError(str(server.errors[0])) from server.errors[0]
    if not requests:
        raise CaptureError(_NOTHING_SENT.format(agent=provider.executable))
    sent = []
    for each in map(SentRequest.from_httpx, requests):
        body = volatile.replace(provider.stable_body(each.body))
        sent.append(SentRequest(each.endpoint, body, headers=each.headers))
    return Exchange(request, response, tuple(sent), invocation)


def _learn_secrets(redactor: Redactor, request: httpx.Request) -> None:
    redactor.add_request(request.headers, request.url)
