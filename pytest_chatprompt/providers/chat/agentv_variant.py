"""A chat provider with another key, endpoint or settings: what a target of AgentV says about its provider.

A provider comes in; a copy comes out, the provider stays as it is. `items.agentv_providers` calls it.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, TypeVar

from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.chat.azure import AzureProvider
from pytest_chatprompt.providers.chat.base import ChatProvider
from pytest_chatprompt.providers.chat.request_options import with_settings
from pytest_chatprompt.providers.chat.settings import check_base_url
from pytest_chatprompt.providers.http.client import HTTPClient

P = TypeVar("P", bound=ChatProvider)


def chat_variant(
    provider: P, settings: Mapping[str, Any], *, api_key: str | None, endpoint: str | None, api_version: str | None
) -> P:
    """Copy a provider, with another key, endpoint, API version or settings.

    Args:
        provider: it is not changed.
        settings: by the names of `RequestSettings`; those that its API lacks are an error.
        api_key: the key; `None` for that of the provider.
        endpoint: the base URL, or the name of a resource on Azure; `None` for that of the provider.
        api_version: the version of the API, `v1` on Azure for the path without one; `None` for that of the provider.

    Raises:
        PayloadError: its API lacks one of the settings.
        ValueError: the endpoint is not a URL.
    """
    variant = copy.copy(with_settings(provider, ProviderRequest(settings=settings)))
    is_azure = isinstance(provider, AzureProvider)
    if api_version is not None and (is_azure or provider.api_version is not None):
        variant.api_version = None if is_azure and api_version == "v1" else api_version
    if endpoint is not None:
        url = f"https://{endpoint}.openai.azure.com" if is_azure and "://" not in endpoint else endpoint
        check_base_url(type(provider).__name__, url)
        variant._base_url = url
    if api_key is not None:
        variant._api_key = api_key
    # Connections carry the key of the provider that made them.
    variant._http = HTTPClient(variant.vendor, variant.authorize, variant._redact, type(variant))
    return variant
