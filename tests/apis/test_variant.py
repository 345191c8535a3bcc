"""A chat provider with another key, endpoint or settings."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt import AnthropicProvider, AzureProvider, GeminiProvider, OpenAIProvider
from pytest_chatprompt.apis.chat_provider import ChatProvider
from pytest_chatprompt.prompt.request import ProviderRequest

NOTHING: dict[str, Any] = {"api_key": None, "endpoint": None, "api_version": None}
HELLO = ProviderRequest(question="hello")


@pytest.mark.parametrize(
    ("provider", "changes", "url"),
    [
        pytest.param(
            AzureProvider(endpoint="https://a.example", deployment="d"),
            {},
            "https://a.example/openai/deployments/d/chat/completions?api-version=2024-10-21",
            id="nothing",
        ),
        pytest.param(
            AzureProvider(),
            {"endpoint": "mine", "api_version": "2025-01-01"},
            "https://mine.openai.azure.com/openai/deployments/gpt-5.5/chat/completions?api-version=2025-01-01",
            id="an Azure resource",
        ),
        pytest.param(
            AzureProvider(),
            {"endpoint": "https://a.example", "api_version": "v1"},
            "https://a.example/openai/v1/chat/completions",
            id="Azure's v1",
        ),
        pytest.param(
            OpenAIProvider(),
            {"endpoint": "http://localhost:1/v1", "api_version": "v9"},
            "http://localhost:1/v1/chat/completions",
            id="a server without versions",
        ),
        pytest.param(
            GeminiProvider(model="m"),
            {"api_version": "v1"},
            "https://generativelanguage.googleapis.com/v1/models/m:generateContent",
            id="a version of Gemini",
        ),
    ],
)
def test_a_variant_sends_elsewhere(provider: ChatProvider, changes: dict[str, Any], url: str) -> None:
    variant = provider.variant({}, **{**NOTHING, **changes})
    assert variant.prepare(HELLO).url == url


def test_a_variant_has_settings_and_a_key_of_its_own_and_the_provider_stays() -> None:
    provider = AnthropicProvider(api_key="first", temperature=1)
    variant = provider.variant({"model": "m", "temperature": 0}, **{**NOTHING, "api_key": "second"})
    assert (variant.model, variant.temperature, variant.known_keys()[0]) == ("m", 0, "second")
    assert variant.credentials()["x-api-key"] == "second"
    assert (provider.temperature, provider.credentials()["x-api-key"]) == (1, "first")
    assert variant._http is not provider._http


def test_an_endpoint_that_is_no_url_is_refused() -> None:
    with pytest.raises(ValueError, match="not an http or https URL"):
        OpenAIProvider().variant({}, **{**NOTHING, "endpoint": "mine"})
