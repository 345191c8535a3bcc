"""Preview: what a provider is going to send, without sending it beyond this machine.

A provider and a request come in, an `Exchange` comes out. A live run compares it with the snapshot before anything is
sent. `items` and `live` call it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from pytest_chatprompt.apis.chat_provider import ChatProvider
from pytest_chatprompt.capture.eval_api import EvalAPI
from pytest_chatprompt.capture.exchange import Exchange
from pytest_chatprompt.capture.prepared_requests import can_prepare
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.errors import MissingSettingError
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.agents.base import AgentProvider
from pytest_chatprompt.providers.http.request_body import decode_body
from pytest_chatprompt.providers.response import OFFLINE_TEXT, Provider, ProviderResponse


def can_preview(provider: object) -> bool:
    """Whether a provider's requests can be shown without calling `send`.

    That holds for the built-in providers, and for subclasses that do not override how requests are sent.
    """
    return can_prepare(provider) if isinstance(provider, ChatProvider) else isinstance(provider, AgentProvider)


def preview(
    provider: Provider | Callable[[ProviderRequest], ProviderResponse],
    request: ProviderRequest,
    api: EvalAPI,
    known: Exchange | None = None,
) -> Exchange:
    """Show what a provider is going to send.

    Args:
        provider: an object with `send`, or a plain function.
        request: what to send.
        api: answers the requests of a provider that has to send in order to show what it sends; its redactor learns the
            provider's key.
        known: what the same provider was shown to send before; `None` if it was shown nothing.

    Raises:
        ProviderError, CaptureError: see `provider_capture.capture_offline`.
    """
    __tracebackhide__ = True
    if not isinstance(provider, ChatProvider) or not can_preview(provider):
        from pytest_chatprompt.capture.provider_capture import capture_offline  # noqa: PLC0415 - few have to send

        return capture_offline(provider, request, api)
    with suppress(MissingSettingError):
        # The request has no headers yet, and may hold the key elsewhere.
        api.redactor.add_headers(provider.credentials())
    return preview_prepared(provider, request, known)


def preview_prepared(provider: ChatProvider, request: ProviderRequest, known: Exchange | None = None) -> Exchange:
    """`preview` for a provider that prepares its requests. Safe between threads.

    Returns:
        What it is going to send; with `sent` and `prepared` of `known`, the same objects, if that is the same.
    """
    prepared = provider.prepare(request)
    headers = provider.model_headers(prepared)
    if known is not None and prepared == known.prepared:
        (sent,) = known.sent
        if SentRequest.from_post(prepared.url, sent.body, provider.base_url, headers) == sent:
            return known._replace(request=request)
    sent = SentRequest.from_post(prepared.url, decode_body(prepared.content, {}), provider.base_url, headers)
    response = ProviderResponse(text=OFFLINE_TEXT, adjustments=prepared.adjustments, findings=prepared.findings)
    return Exchange(request, response, (sent,), prepared=prepared)
