"""What preflight finds in the body that a chat provider is about to send.

A provider, a request and its finished body come in; `Finding`s come out. Only `ChatProvider` calls it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_chatprompt.prompt.chat_prompt import ChatPrompt
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.chat.vendor_api import VendorAPI
from pytest_chatprompt.providers.preflight.finding import Finding
from pytest_chatprompt.providers.preflight.models import ModelLimits, find_limits
from pytest_chatprompt.providers.preflight.preflight_input import PreflightInput, number_or_none
from pytest_chatprompt.providers.preflight.rule import apply_rules


def findings_of(
    provider: VendorAPI,
    model_limits: ModelLimits,
    request: ProviderRequest,
    prompt: ChatPrompt,
    body: Mapping[str, Any],
) -> tuple[Finding, ...]:
    """Find what the API of a provider would refuse or misread in a finished body.

    Args:
        provider: with the settings of the request.
        model_limits: what the user knows about the model.
        request: the request that the body was built for.
        prompt: the messages in it.
        body: as it is sent.
    """
    parameters = provider.model_parameters(body)
    preflight_input = PreflightInput(
        vendor=provider.vendor,
        model=parameters.model,
        prompt=prompt,
        limits=find_limits(parameters.model, provider.known_models).updated_with(model_limits),
        api_version=provider.api_version,
        temperature=number_or_none(parameters.temperature),
        max_output_tokens=number_or_none(parameters.max_output_tokens),
        tools=request.tools,
        tool_choice=request.tool_choice,
        response_format=request.response_format,
        body=body,
    )
    return apply_rules(preflight_input, provider.rules)
