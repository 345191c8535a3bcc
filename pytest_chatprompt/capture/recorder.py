"""The recorder: let a provider send a request, and capture what it really sends.

A provider and a request come in: offline with the stand-in of the APIs, in a live run with the pass-through router. An
`Exchange` comes out, with the response and the requests that were sent. Every later room may call it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeGuard, cast

import httpx

from pytest_chatprompt.capture.agent_requests import capture_agent_live, capture_agent_offline
from pytest_chatprompt.capture.eval_api import EvalAPI, unanswered_message
from pytest_chatprompt.capture.exchange import Exchange
from pytest_chatprompt.capture.network_guard import ConnectionAttempts, guard_network
from pytest_chatprompt.capture.offline import offline
from pytest_chatprompt.capture.pass_through import PassThroughRouter
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.errors import CaptureError, ProviderError
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.agents.base import PLACEHOLDER_FOLDER, AgentProvider
from pytest_chatprompt.providers.chat.base import ChatProvider
from pytest_chatprompt.providers.context import SendContext, use_context
from pytest_chatprompt.providers.registry import CHAT_PROVIDERS
from pytest_chatprompt.providers.response import Provider, ProviderResponse

# The response's text where nothing answered: no agent is started offline, and a preview sends nothing.
OFFLINE_TEXT: Final = "(offline)"
_BUILT_IN_SEND: Final = ChatProvider.send


def capture_offline(
    provider: Provider | Callable[[ProviderRequest], ProviderResponse],
    request: ProviderRequest,
    api: EvalAPI,
) -> Exchange:
    """Let a provider send a request offline, and capture what it sends.

    Args:
        provider: an object with `send`, or a plain function.
        request: what to send.
        api: answers the requests of httpx clients.

    Raises:
        ProviderError: the provider is not one, or returned something other than a response.
        CaptureError: nothing answers what it sent, or it used a client other than httpx.
    """
    __tracebackhide__ = True
    if isinstance(provider, AgentProvider):
        api.redactor.add_agent_environment(provider.env)
        # Offline no agent is started without `capture`: its command and document are known beforehand.
        invocation = provider.build_invocation(request, PLACEHOLDER_FOLDER)
        if provider.capture:
            return capture_agent_offline(provider, request, invocation, api)
        return Exchange(request, ProviderResponse(text=OFFLINE_TEXT), (), invocation)
    if _is_built_in(provider) and not api.routes:
        return _capture_built_in(provider, request, api)
    send = _send_function(provider)
    placeholders = provider.placeholders() if isinstance(provider, ChatProvider) else {}
    with api.intercept(), offline(placeholders) as attempts, use_context(SendContext(is_offline=True)):
        try:
            response = send(request)
            base_url = getattr(provider, "base_url", None)
        finally:
            _raise_if_not_captured(api, attempts)
    return Exchange(request, _checked_response(provider, response), _sent_requests(api.sent, base_url))


def _capture_built_in(provider: ChatProvider, request: ProviderRequest, api: EvalAPI) -> Exchange:
    """`capture_offline` for built-in providers, whose code reads only the `SendContext`.

    So neither httpx nor the environment of the process is patched, which saves a tenth of a millisecond for each case.
    """
    __tracebackhide__ = True
    api.clear_sent()
    with guard_network() as attempts, use_context(SendContext(is_offline=True, handler=api.handler)):
        try:
            response = provider.send(request)
            base_url = provider.base_url
        finally:
            _raise_if_not_captured(api, attempts)
    return Exchange(request, response, _sent_requests(api.sent, base_url))


def capture_live(
    provider: Provider | Callable[[ProviderRequest], ProviderResponse],
    request: ProviderRequest,
    router: PassThroughRouter,
) -> Exchange:
    """Let a provider send a request to the real API, and capture what it sends. Safe between threads.

    Args:
        provider: an object with `send`, or a plain function.
        request: what to send.
        router: sees the requests of httpx clients.

    Raises:
        ProviderError: the provider is not one, returned something other than a response, or raised it itself.
    """
    __tracebackhide__ = True
    if isinstance(provider, AgentProvider):
        router.redactor.add_agent_environment(provider.env)
        invocation = provider.build_invocation(request, PLACEHOLDER_FOLDER)
        if provider.capture:
            return capture_agent_live(provider, request, invocation, router.redactor)
        return Exchange(request, provider.send(request), (), invocation)
    send = _send_function(provider)
    with router.capture() as requests:
        response = _checked_response(provider, send(request))
    return Exchange(request, response, _sent_requests(requests, getattr(provider, "base_url", None)))


def _is_built_in(provider: object) -> TypeGuard[ChatProvider]:
    """Whether a provider is exactly a built-in class, and nobody has replaced its `send`."""
    return type(provider) in CHAT_PROVIDERS and getattr(provider.send, "__func__", None) is _BUILT_IN_SEND  # type: ignore[attr-defined]


def _sent_requests(requests: Sequence[httpx.Request], base_url: Any) -> tuple[SentRequest, ...]:
    return tuple(SentRequest.from_httpx(request, base_url) for request in requests)


def _send_function(provider: Any) -> Callable[[ProviderRequest], Any]:
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
    return cast(Callable[[ProviderRequest], Any], send)


def _checked_response(provider: Any, response: Any) -> ProviderResponse:
    if isinstance(response, ProviderResponse):
        return response
    sender = f"{type(provider).__name__}.send" if hasattr(provider, "send") else "the provider"
    if inspect.iscoroutine(response):
        response.close()
        raise ProviderError(
            f"{sender} is async; make it a plain function that waits for the answer, with asyncio.run for instance"
        )
    raise ProviderError(f"{sender} returned {type(response).__name__}, not a ProviderResponse")


def _raise_if_not_captured(api: EvalAPI, attempts: ConnectionAttempts) -> None:
    """Raise the recorded error even if the provider swallowed it."""
    if api.unanswered:
        raise CaptureError(unanswered_message(api.unanswered[0])) from None
    if attempts.blocked:
        raise CaptureError(
            _other_client_message(attempts.blocked[0], "offline runs send nothing to the network")
        ) from None
    if attempts.programs:
        raise CaptureError(
            f"the provider tried to start {attempts.programs[0]}, and what another program sends cannot be captured; "
            "send through an httpx client, or start it in a live run only"
        ) from None
    if attempts.loopback and not api.sent:
        raise CaptureError(_other_client_message(attempts.loopback[0], "what it sent cannot be captured")) from None


def _other_client_message(address: str, consequence: str) -> str:
    return (
        f"the provider tried to connect to {address} with a client other than httpx, and {consequence}; "
        "send through an httpx client, so that eval_api can answer it"
    )
