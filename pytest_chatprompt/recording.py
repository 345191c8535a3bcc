"""Recording: what really leaves while a provider sends a request.

A provider, a request and the stand-in of the APIs come in, in a live run the tap; a `Recording` comes out, with the
response and the requests that left, as `sent` reads them. `payload` makes the data of a snapshot of it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeGuard, cast

import httpx

from pytest_chatprompt.errors import ProviderError, RecordingError
from pytest_chatprompt.eval_api import EvalAPI, unanswered_text
from pytest_chatprompt.offline import PLACEHOLDERS, offline
from pytest_chatprompt.providers import CHAT_PROVIDERS
from pytest_chatprompt.providers.agent import NOMINAL_FOLDER, AgentProvider, Handover
from pytest_chatprompt.providers.chat import ChatProvider, Prepared
from pytest_chatprompt.providers.surroundings import Surroundings, surrounded
from pytest_chatprompt.requests import Provider, ProviderRequest, ProviderResponse
from pytest_chatprompt.sent import SentRequest
from pytest_chatprompt.sockets import Connections, guarded_sockets
from pytest_chatprompt.tap import Tap

_SEND: Final = ChatProvider.send


@dataclass(frozen=True, slots=True)
class Recording:
    """What a provider did with a request.

    Args:
        request: what it was given.
        response: what it gave back.
        sent: the HTTP requests that left, in order; empty if it made none.
        handover: what an agent was given.
        prepared: what is ready to be sent, of a provider that can make it ready without sending.
    """

    request: ProviderRequest
    response: ProviderResponse
    sent: tuple[SentRequest, ...]
    handover: Handover | None = None
    prepared: Prepared | None = None


def record(
    provider: Provider | Callable[[ProviderRequest], ProviderResponse],
    request: ProviderRequest,
    api: EvalAPI,
) -> Recording:
    """Send a request through a provider, offline, and record what leaves.

    Args:
        provider: an object with `send`, or a plain function.
        request: what to send.
        api: takes the requests of httpx clients.

    Raises:
        ProviderError: the provider is none, or gave back no response.
        RecordingError: nothing answers what it sent, or it reached for the network without httpx.
    """
    __tracebackhide__ = True
    if isinstance(provider, AgentProvider):
        # Offline no agent is started: what it would be given is known without.
        response = ProviderResponse(text="(offline)")
        return Recording(request, response, (), provider.handover(request, NOMINAL_FOLDER))
    if _is_built_in(provider) and not api.routes:
        return _record_built_in(provider, request, api)
    send = _sender(provider)
    with api.active(), offline() as connections, surrounded(Surroundings(is_patient=False)):
        try:
            response = send(request)
            base_url = getattr(provider, "base_url", None)
        finally:
            _check(api, connections)
    return Recording(request, _response(provider, response), _sent(api.sent, base_url))


def _record_built_in(provider: ChatProvider, request: ProviderRequest, api: EvalAPI) -> Recording:
    """`record` where no code runs but this package's, which looks for nothing but in its surroundings.

    So httpx and the environment of the process stay as they are, case after case. Sockets are guarded all the same.
    """
    __tracebackhide__ = True
    api.forget()
    with guarded_sockets() as connections, surrounded(Surroundings(PLACEHOLDERS, api.handler, is_patient=False)):
        try:
            response = provider.send(request)
            base_url = provider.base_url
        finally:
            _check(api, connections)
    return Recording(request, response, _sent(api.sent, base_url))


def record_live(
    provider: Provider | Callable[[ProviderRequest], ProviderResponse], request: ProviderRequest, tap: Tap
) -> Recording:
    """Send a request through a provider for real, and record what leaves. Safe between threads.

    Args:
        provider: an object with `send`, or a plain function.
        request: what to send.
        tap: keeps the requests of httpx clients.

    Raises:
        ProviderError: the provider is none, gave back no response, or its own.
    """
    __tracebackhide__ = True
    if isinstance(provider, AgentProvider):
        return Recording(request, provider.send(request), (), provider.handover(request, NOMINAL_FOLDER))
    send = _sender(provider)
    with tap.kept() as requests:
        response = _response(provider, send(request))
    return Recording(request, response, _sent(requests, getattr(provider, "base_url", None)))


def _sent(requests: Sequence[httpx.Request], base_url: Any) -> tuple[SentRequest, ...]:
    return tuple(SentRequest.of(one, base_url) for one in requests)


def _response(provider: Any, response: Any) -> ProviderResponse:
    if not isinstance(response, ProviderResponse):
        raise ProviderError(_not_a_response(provider, response))
    return response


def _is_built_in(provider: object) -> TypeGuard[ChatProvider]:
    """Whether a provider is one of the four classes, and nobody has put something in place of its `send`."""
    return type(provider) in CHAT_PROVIDERS and getattr(getattr(provider, "send", None), "__func__", None) is _SEND


def is_rehearsed_alone(provider: object) -> bool:
    """Whether what a provider sends is known without letting it send: a built-in one, or one that sends alike."""
    if isinstance(provider, ChatProvider):
        own, built_in = type(provider), ChatProvider
        return own.send is built_in.send and own.send_prepared is built_in.send_prepared
    return isinstance(provider, AgentProvider)


def rehearse(
    provider: Provider | Callable[[ProviderRequest], ProviderResponse], request: ProviderRequest, api: EvalAPI
) -> Recording:
    """What a provider is going to send, without sending it beyond this machine.

    Args:
        provider: an object with `send`, or a plain function.
        request: what to send.
        api: answers the requests of a provider that has to send to show what it sends.

    Raises:
        ProviderError, RecordingError: see `record`.
    """
    __tracebackhide__ = True
    if not isinstance(provider, ChatProvider) or not is_rehearsed_alone(provider):
        return record(provider, request, api)
    return prepared_recording(provider, request)


def prepared_recording(provider: ChatProvider, request: ProviderRequest) -> Recording:
    """`rehearse` for a provider that makes ready what it sends. Touches nothing but its arguments."""
    prepared = provider.prepare(request)
    post = httpx.Request("POST", prepared.url, content=prepared.content)
    sent = SentRequest.of(post, provider.base_url)
    response = ProviderResponse(text="(offline)", adjustments=prepared.adjustments, findings=prepared.findings)
    return Recording(request, response, (sent,), prepared=prepared)


def _sender(provider: Any) -> Callable[[ProviderRequest], Any]:
    if inspect.isclass(provider):
        raise ProviderError(f"the provider is the class {provider.__name__}; make one of it: {provider.__name__}(...)")
    send = getattr(provider, "send", provider)
    if not callable(send):
        raise ProviderError(f"the provider is {type(provider).__name__} {provider!r}, which has no send(request)")
    return cast(Callable[[ProviderRequest], Any], send)


def _not_a_response(provider: Any, response: Any) -> str:
    sender = f"{type(provider).__name__}.send" if hasattr(provider, "send") else "the provider"
    if inspect.iscoroutine(response):
        response.close()
        return f"{sender} is async; make it a plain function that waits for the answer, with asyncio.run for instance"
    return f"{sender} gave back {type(response).__name__}, which is no ProviderResponse"


def _check(api: EvalAPI, connections: Connections) -> None:
    """Say what stood in the way, whatever the provider made of it."""
    if api.unanswered:
        raise RecordingError(unanswered_text(api.unanswered[0])) from None
    if connections.blocked:
        raise RecordingError(_not_httpx(connections.blocked, "offline nothing may leave this machine")) from None
    if connections.local and not api.sent:
        raise RecordingError(_not_httpx(connections.local, "what it sent cannot be recorded")) from None


def _not_httpx(addresses: Sequence[str], consequence: str) -> str:
    return (
        f"the provider reached for {addresses[0]} with a client that is not httpx, and {consequence}; "
        "send through an httpx client, so that eval_api can answer it"
    )
