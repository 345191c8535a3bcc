"""The built-in providers that speak an API, in the order of the table."""

from __future__ import annotations

from functools import cache

from pytest_chatprompt import Finding, ProviderRequest
from pytest_chatprompt.apis.chat_provider import ChatProvider
from pytest_chatprompt.apis.table import PROVIDERS, get_provider
from pytest_chatprompt.providers.context import SendContext, use_context


@cache
def chat_providers() -> tuple[type[ChatProvider], ...]:
    classes = map(get_provider, PROVIDERS)
    return tuple(each for each in classes if issubclass(each, ChatProvider))


def preflight_of(provider: ChatProvider, request: ProviderRequest) -> tuple[Finding, ...]:
    """What preflight finds in a request."""
    with use_context(SendContext(is_offline=True)):
        return provider.prepare(request).findings
