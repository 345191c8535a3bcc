"""Calls a provider of your own: an object with `send`, or a plain function, sync or async.

A provider and a request come in; a `ProviderResponse` comes out, also if the provider returns a text or is async.
`provider_capture` and `items.code_case` call it.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

import httpx

from pytest_chatprompt.capture.eval_api import EvalAPI, LoggedRequest
from pytest_chatprompt.capture.live_capture import LiveCaptureRouter
from pytest_chatprompt.capture.network_guard import ConnectionAttempts, raise_if_blocked
from pytest_chatprompt.capture.offline import offline
from pytest_chatprompt.capture.recording.open_recording import OpenRecording
from pytest_chatprompt.capture.recording.replaying import replay_or_post, with_latency, with_recorded_latency
from pytest_chatprompt.capture.refusals import unanswered_message
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.capture.sent_request import Exchange, SentRequest
from pytest_chatprompt.capture.volatile_values import VolatileValues
from pytest_chatprompt.errors import BudgetError, CaptureError, ProviderError
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.agents.base import PLACEHOLDER_FOLDER, AgentInvocation, AgentProvider
from pytest_chatprompt.providers.chat.base import ChatProvider
from pytest_chatprompt.providers.context import SendContext, current_context, use_context
from pytest_chatprompt.providers.response import OFFLINE_TEXT, Provider, ProviderResponse

if TYPE_CHECKING:
    from pytest_chatprompt.capture.apis.reply import Reply

SendFunction = Callable[[ProviderRequest], Any]


def send_function(provider: object) -> SendFunction:
    """The function to call: the provider's `send`, or the provider itself.

    Raises:
        ProviderError: it has none.
    """
    if inspect.isclass(provider):
        raise ProviderError(
            f"the provider is the class {provider.__name__}; make an instance of it: {provider.__name__}(...)"
        )
    send = getattr(provider, "send", provider)
    if not callable(send):
        raise ProviderError(f"the provider is {type(provider).__name__} {provider!r}, which has no send(request)")
    return cast(SendFunction, send)


def call_provider(provider: object, request: ProviderRequest) -> ProviderResponse:
    """Let a provider send a request; an async one is awaited, and a text becomes a response.

    Args:
        provider: an object with `send`, or a plain function.
        request: what to send.

    Raises:
        ProviderError: it is not a provider, or returned something other than a response or a text.
    """
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


def _wait_for(awaitable: Awaitable[Any]) -> Any:
    """The result of an awaitable, from an event loop of its own."""
    __tracebackhide__ = True

    async def wait() -> Any:
        return await awaitable

    if not _is_in_event_loop():
        return asyncio.run(wait())
    # Asked for within an async test: its loop cannot run another one, but a thread can.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(contextvars.copy_context().run, asyncio.run, wait()).result()


def _is_in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


_NOTHING_SENT: Final = (
    "{agent} sent nothing to the server that captures what it sends: it may not read the variables that point it there "
    "(OPENAI_BASE_URL, ANTHROPIC_BASE_URL and others), or a setting of its own overrides them; "
    "set capture=False, or let its command pass the URL on"
)


def capture_agent_offline(
    provider: AgentProvider, request: ProviderRequest, invocation: AgentInvocation, api: EvalAPI
) -> Exchange:
    """Run an agent offline, and capture what it sends; `api` answers.

    Args:
        provider: the agent.
        request: what to give it.
        invocation: as the snapshot shows it.
        api: its routes and its default replies answer.

    Raises:
        AgentError: the agent failed.
        CaptureError: nothing answers what it sent, or it sent nothing.
    """
    __tracebackhide__ = True
    return _capture(provider, request, invocation, api.handler, SendContext(is_offline=True))


def capture_agent_live(
    provider: AgentProvider, request: ProviderRequest, invocation: AgentInvocation, redactor: Redactor
) -> Exchange:
    """Run an agent against its real API, and capture what it sends.

    Args:
        provider: the agent.
        request: what to give it.
        invocation: as the snapshot shows it.
        redactor: learns the credentials in the requests.

    Raises:
        AgentError: the agent failed.
        CaptureError: a request could not be forwarded, or it sent none.
    """
    __tracebackhide__ = True

    def forward(sent: httpx.Request) -> None:
        redactor.add_request(sent.headers, sent.url)

    return _capture(provider, request, invocation, forward, current_context())


def _capture(
    provider: AgentProvider,
    request: ProviderRequest,
    invocation: AgentInvocation,
    answer: Callable[[httpx.Request], httpx.Response | None],
    context: SendContext,
) -> Exchange:
    __tracebackhide__ = True
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

    specifics = VolatileValues(keep=invocation.prompt)
    environment = {**os.environ, **provider.env}
    server = CaptureServer(handle, is_live=not context.is_offline, environment=environment)
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
    sent = tuple(SentRequest.from_httpx(captured, None) for captured in requests)
    bodies = [specifics.replace(provider.stable_body(each.body)) for each in sent]
    stable = zip(sent, bodies, strict=True)
    sent = tuple(SentRequest(each.endpoint, body, headers=each.headers) for each, body in stable)
    return Exchange(request, response, sent, invocation)


def capture_offline(
    provider: Provider | SendFunction,
    request: ProviderRequest,
    api: EvalAPI,
) -> Exchange:
    """Let a provider send a request offline, and capture what it sends.

    Args:
        provider: an object with `send`, or a plain function; either may be async.
        request: what to send.
        api: answers the requests of all clients.

    Raises:
        ProviderError: the provider is not one, or returned something other than a response or a text.
        CaptureError: nothing answers what it sent, or it was sent in a way that nothing can answer.
        ReplayError: `api` replays, and nothing is recorded for a request.
    """
    __tracebackhide__ = True
    if isinstance(provider, AgentProvider):
        api.redactor.add_agent_environment(provider.env)
        # Offline no agent is started without `capture`: its command and document are known beforehand.
        invocation = provider.build_invocation(request, PLACEHOLDER_FOLDER)
        if provider.capture:
            return capture_agent_offline(provider, request, invocation, api)
        return Exchange(request, ProviderResponse(text=OFFLINE_TEXT), (), invocation)
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
            for error in api.replay_errors[not_replayed:]:
                raise error from None
            _raise_if_not_captured(api.unanswered[refused:], attempts, is_silent=len(api.log) == start)
            api.children.raise_error(failed)
    sent = _sent_requests(api.log.since(start), base_url)
    return Exchange(request, response, sent, replies=api.taken_replies)


def capture_live(  # noqa: PLR0913 - what a live run has for one send
    provider: Provider | SendFunction,
    request: ProviderRequest,
    router: LiveCaptureRouter,
    replies: Sequence[Reply] = (),
    *,
    api: EvalAPI | None = None,
    recording: OpenRecording | None = None,
) -> Exchange:
    """Let a provider send a request to the real API, and capture what it sends. Safe between threads.

    A response that does not say how long it took has the time that the provider took.

    Args:
        provider: an object with `send`, or a plain function; either may be async.
        request: what to send.
        router: sees the requests of all clients.
        replies: queued by the test; they are given in place of the API's own.
        api: forwards what child processes send to its server; `None` if there are none.
        recording: replays and records what the API replies; `None` for neither.

    Raises:
        ProviderError: the provider is not one, returned something other than a response, or raised it itself.
        BudgetError: the budget of the run does not allow it; the cost of an agent is not known.
        CaptureError: a request of a child process could not be forwarded.
    """
    __tracebackhide__ = True
    router.import_patches()
    started_at = time.monotonic()
    exchange = _capture_live(provider, request, router, replies, api, recording)
    response = with_latency(exchange.response, recording, time.monotonic() - started_at)
    return exchange._replace(response=response)


def _capture_live(  # noqa: PLR0913, PLR0917 - those of `capture_live`
    provider: Provider | SendFunction,
    request: ProviderRequest,
    router: LiveCaptureRouter,
    replies: Sequence[Reply],
    api: EvalAPI | None,
    recording: OpenRecording | None,
) -> Exchange:
    __tracebackhide__ = True
    if isinstance(provider, AgentProvider):
        router.redactor.add_agent_environment(provider.env)
        invocation = provider.build_invocation(request, PLACEHOLDER_FOLDER)
        if current_context().budget is not None:
            raise BudgetError(
                "not sent, because a budget needs every price: the cost of an agent is not known; leave agents out"
            )
        if provider.capture:
            return capture_agent_live(provider, request, invocation, router.redactor)
        return Exchange(request, provider.send(request), (), invocation)
    budget = current_context().budget
    if budget is not None:
        # It sees what is sent.
        recording = recording or OpenRecording(sends=True)
        recording.budget = budget
    try:
        if api is None:
            with router.capture(replies, recording=recording) as requests:
                response = call_provider(provider, request)
        else:
            capture = router.capture(replies, passes=api.children.is_own, recording=recording)
            with capture as requests, api.children.forward(router.handler(api.children.send)):
                response = call_provider(provider, request)
    finally:
        # Even if the provider swallowed it.
        for error in () if recording is None else recording.budget_errors:
            raise error from None
    return Exchange(request, response, _sent_requests(requests, getattr(provider, "base_url", None)))


def capture_replayed(
    provider: Provider | SendFunction, request: ProviderRequest, api: EvalAPI, recording: OpenRecording
) -> Exchange:
    """Let a provider send a request again, offline, and give it the recorded replies.

    Args:
        provider: an object with `send`, or a plain function; either may be async.
        request: what to send.
        api: gives queued replies; its recording is this one afterwards.
        recording: gives the other replies.

    Raises:
        ReplayError: nothing is recorded for what it sent.
        ProviderError, CaptureError: see `capture_offline`.
    """
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
    """Raise the recorded error even if the provider swallowed it.

    Args:
        unanswered: method and URL of the requests that nothing answered.
        attempts: what else was tried.
        is_silent: whether no request was captured.
    """
    if unanswered:
        raise CaptureError(unanswered_message(unanswered[0])) from None
    raise_if_blocked(attempts)
    if attempts.loopback and is_silent:
        raise CaptureError(
            f"the provider connected to {attempts.loopback[0]}, and none of its requests was captured; if that is a "
            "model, give the fixture eval_api a route for its URL, or send through a client that eval_api sees"
        ) from None
