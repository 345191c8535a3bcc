"""What a request brings along besides its messages: settings, tools, a tool choice and a response format.

A provider and a request come in. A copy of the provider with the request's settings comes out, and a payload with its
tools and format in the shape of the API. What the API lacks is a `PayloadError`. `ChatProvider` calls it, and
`agentv_variant` for the settings of a target.
"""

from __future__ import annotations

import copy
from typing import TypeVar

from pytest_chatprompt.errors import PayloadError
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.chat.payload import Payload
from pytest_chatprompt.providers.chat.vendor_api import VendorAPI
from pytest_chatprompt.text.json_data import deep_merge

API = TypeVar("API", bound=VendorAPI)


def with_settings(provider: API, request: ProviderRequest) -> API:
    """A provider with the settings of a request over its own: a copy, or itself if the request has none.

    Args:
        provider: it is not changed; the copy shares its connections.
        request: its settings may have any name of `RequestSettings`.

    Raises:
        PayloadError: the API lacks one of them.
    """
    if not request.settings:
        return provider
    configured = copy.copy(provider)
    for name, value in request.settings.items():
        if name == "extra_body":
            configured.extra_body = {} if value is None else deep_merge(provider.extra_body, value)
        elif name == "model" and provider.model:
            configured.use_model(value)
            # It is that of the provider's own model.
            configured.price = provider.price if value == provider.model else None
        elif name in provider.setting_fields or value is None:
            setattr(configured, name, value)
        else:
            raise PayloadError(
                f"{provider.vendor} has no setting {name!r}; leave it out, or put it under the name of a provider that "
                "has it",
                location=("settings", name),
            )
    return configured


def add_options(provider: VendorAPI, request: ProviderRequest, payload: Payload) -> Payload:
    """A payload with the settings, the tools, the tool choice and the format of a request.

    Args:
        provider: with the settings of the request.
        request: the request that the payload was built for.
        payload: what `build_payload` made.

    Raises:
        PayloadError: the API lacks one of them.
    """
    # A subclass may build a body of its own; what the eval file says is in it all the same.
    for name, value in request.settings.items():
        if value is not None and name in provider.setting_fields:
            provider.setting_fields[name].put(value, payload.body)
    parts = []
    if request.tools:
        parts.append(provider.tools_payload(request.tools))
    if request.tool_choice is not None:
        parts.append(provider.tool_choice_payload(request.tool_choice))
    if request.response_format is not None:
        parts.append(provider.response_format_payload(request.response_format))
    for part in parts:
        payload = Payload(deep_merge(payload.body, part.body), (*payload.adjustments, *part.adjustments))
    return payload
