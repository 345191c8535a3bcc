"""Provider capture: let a provider send a request, and capture what it really sends.

A provider and a request come in: offline with the stand-in of the APIs, in a live run with the pass-through router. An
`Exchange` comes out, with the response and the requests that were sent. Every later room may call it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from pytest_chatprompt.capture.agent_requests import capture_agent_live, capture_agent_offline
from pytest_chatprompt.capture.eval_api import EvalAPI
from pytest_chatprompt.capture.exchange import Exchange
from pytest_chatprompt.capture.guard import ConnectionAttempts, guard_network, raise_if_blocked
from pytest_chatprompt.capture.live_capture import LiveCaptureRouter
from pytest_chatprompt.capture.offline import offline
from pytest_chatprompt.capture.own_provider import SendFunction, call_provider
from pytest_chatprompt.capture.prepared_requests import can_prepare, is_built_in
from pytest_chatprompt.capture.recording.open_recording import OpenRecording
from pytest_chatprompt.capture.recording.replaying import replay_or_post, with_latency, with_recorded_latency
from pytest_chatprompt.capture.refusals import unanswered_message
from pytest_chatprompt.capture.request_log import LoggedRequest
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.errors import BudgetError, CaptureError
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.agents.base import PLACEHOLDER_FOLDER, AgentProvider
from pytest_chatprompt.providers.chat.base import ChatProvider
from pytest_chatprompt.providers.context import SendContext, current_context, use_context
from pytest_chatprompt.providers.response import OFFLINE_TEXT, Provider, ProviderResponse

if TYPE_CHECKING:
    from pytest_chatprompt.capture.apis.reply import Reply


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
    if is_built_in(provider) and not api.routes and api.recording is None:
        return _capture_built_in(provider, request, api)
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


def _capture_built_in(provider: ChatProvider, request: ProviderRequest, api: EvalAPI) -> Exchange:
    """`capture_offline` for built-in providers, whose code reads only the `SendContext`.

    So neither httpx nor the environment of the process is patched, which saves a tenth of a millisecond for each case.
    """
    __tracebackhide__ = True
    start, refused = len(api.log), len(api.unanswered)
    with guard_network() as attempts, use_context(SendContext(is_offline=True, handler=api.handler, is_priced=False)):
        try:
            response = provider.send(request)
            base_url = provider.base_url
        finally:
            _raise_if_not_captured(api.unanswered[refused:], attempts, is_silent=len(api.log) == start)
    return Exchange(request, response, _sent_requests(api.log.since(start), base_url))


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
    if isinstance(provider, ChatProvider) and can_prepare(provider):
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
