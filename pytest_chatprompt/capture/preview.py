"""What a provider is going to send, shown without sending it; providers of your own have to send."""

from __future__ import annotations

from contextlib import suppress

from pytest_chatprompt.apis.chat_provider import ChatProvider
from pytest_chatprompt.apis.table import is_built_in_class
from pytest_chatprompt.capture.eval_api import EvalAPI
from pytest_chatprompt.capture.guard import guard_network, raise_if_blocked
from pytest_chatprompt.capture.sent_request import Exchange, SentRequest
from pytest_chatprompt.errors import MissingSettingError
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.context import SendContext, use_context
from pytest_chatprompt.providers.http.client import parsed_url
from pytest_chatprompt.providers.response import OFFLINE_TEXT, ProviderResponse, Sender

# pytest shows no frame of this module.
__tracebackhide__ = True


def can_preview(provider: object) -> bool:
    """Whether a provider's requests can be shown without `send`, as those of the built-in ones can."""
    if isinstance(provider, ChatProvider):
        return provider.sends_what_it_prepares
    from pytest_chatprompt.providers.agents.base import AgentProvider  # noqa: PLC0415 - most runs have no agent

    return isinstance(provider, AgentProvider)


def capture_prepared(provider: object, request: ProviderRequest, api: EvalAPI) -> Exchange | None:
    """Capture what a built-in provider would send; `None` if it has to send, or a test may answer or read it."""
    if api.is_read or not (isinstance(provider, ChatProvider) and is_built_in_class(type(provider))):
        return None
    if not provider.sends_what_it_prepares:
        return None
    with guard_network() as attempts, use_context(SendContext(is_offline=True, is_priced=False)):
        try:
            api.redactor.add_request(provider.credentials(), parsed_url(provider.base_url))
            return preview_prepared(provider, request)
        finally:
            raise_if_blocked(attempts)


def preview(provider: Sender, request: ProviderRequest, api: EvalAPI) -> Exchange:
    """Show what a provider is going to send in a live run; one that cannot prepare it sends it offline."""
    if not isinstance(provider, ChatProvider) or not provider.sends_what_it_prepares:
        from pytest_chatprompt.capture.provider_capture import capture_offline  # noqa: PLC0415 - few have to send

        return capture_offline(provider, request, api)
    with suppress(MissingSettingError):
        # The request has no headers yet, and may hold the key elsewhere.
        api.redactor.add_headers(provider.credentials())
    return preview_prepared(provider, request)


def preview_prepared(provider: ChatProvider, request: ProviderRequest) -> Exchange:
    """`preview` for a provider that prepares its requests."""
    prepared = provider.prepare(request)
    sent = SentRequest.of_post(prepared.url, prepared.content, provider.base_url, provider.sent_headers(prepared))
    response = ProviderResponse(text=OFFLINE_TEXT, adjustments=prepared.adjustments, findings=prepared.findings)
    return Exchange(request, response, (sent,), prepared=prepared)
