"""Keyword arguments of providers: a slip is told when the provider is made, not sent."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from pytest_chatprompt import (
    AnthropicProvider,
    AzureProvider,
    CLIProvider,
    CodexProvider,
    GeminiProvider,
    OpenAIProvider,
)


@pytest.mark.parametrize(
    ("provider", "settings", "told"),
    [
        (
            OpenAIProvider,
            {"modle": "x"},
            "OpenAIProvider has no setting 'modle'; there are api_key, extra_body, max_output_tokens, max_retries, model_limits, temperature, timeout_seconds, total_timeout_seconds",
        ),
        (OpenAIProvider, {"temprature": 0}, "OpenAIProvider has no setting 'temprature'; did you mean 'temperature'?"),
        (
            AnthropicProvider,
            {"max_tokens": 5},
            "AnthropicProvider has no setting 'max_tokens'; did you mean 'max_output_tokens'?",
        ),
        (
            GeminiProvider,
            {"max_tokens_parameter": "max_tokens"},
            "GeminiProvider has no setting 'max_tokens_parameter'; there are api_key, extra_body, max_output_tokens, max_retries, model_limits, temperature, timeout_seconds, total_timeout_seconds",
        ),
        (AzureProvider, {"model": "x"}, "AzureProvider takes deployment and endpoint in place of model and base_url"),
        (
            AzureProvider,
            {"base_url": "https://x"},
            "AzureProvider takes deployment and endpoint in place of model and base_url",
        ),
        (CodexProvider, {"timeout": 5}, "CodexProvider has no setting 'timeout'; did you mean 'timeout_seconds'?"),
        (
            CLIProvider,
            {"executable": "x"},
            "CLIProvider has no setting 'executable'; there are cwd, env, timeout_seconds",
        ),
    ],
)
def test_a_name_that_is_no_setting_is_refused(
    provider: Callable[..., object], settings: dict[str, Any], told: str
) -> None:
    with pytest.raises(TypeError) as caught:
        provider(**settings)
    assert str(caught.value) == told


@pytest.mark.parametrize(
    ("provider", "settings", "told"),
    [
        (OpenAIProvider, {"temperature": "hot"}, "OpenAIProvider: temperature must be a number from 0, but is 'hot'"),
        (
            OpenAIProvider,
            {"temperature": float("nan")},
            "OpenAIProvider: temperature must be a number from 0, but is nan",
        ),
        (OpenAIProvider, {"temperature": True}, "OpenAIProvider: temperature must be a number from 0, but is True"),
        (
            OpenAIProvider,
            {"max_output_tokens": -1},
            "OpenAIProvider: max_output_tokens must be a whole number from 0, but is -1",
        ),
        (
            OpenAIProvider,
            {"max_output_tokens": 1.5},
            "OpenAIProvider: max_output_tokens must be a whole number from 0, but is 1.5",
        ),
        (
            GeminiProvider,
            {"timeout_seconds": "5"},
            "GeminiProvider: timeout_seconds must be a number from 0, but is '5'",
        ),
        (GeminiProvider, {"extra_body": [1]}, "GeminiProvider: extra_body must be a mapping, but is [1]"),
        (AnthropicProvider, {"model": ""}, "AnthropicProvider: model must be a string that is not empty, but is ''"),
        (
            AzureProvider,
            {"deployment": None},
            "AzureProvider: deployment must be a string that is not empty, but is None",
        ),
        (
            OpenAIProvider,
            {"max_tokens_parameter": "foo"},
            "OpenAIProvider: max_tokens_parameter must be one of max_completion_tokens, max_tokens, but is 'foo'",
        ),
        (
            OpenAIProvider,
            {"base_url": "https://x.example/v1?a=b"},
            "OpenAIProvider: 'https://x.example/v1?a=b' is no http or https URL with a host and without a query",
        ),
        (
            OpenAIProvider,
            {"base_url": "https://"},
            "OpenAIProvider: 'https://' is no http or https URL with a host and without a query",
        ),
        (
            OpenAIProvider,
            {"base_url": "https://h:port"},
            "OpenAIProvider: 'https://h:port' is no URL: Invalid port: 'port'",
        ),
        (CodexProvider, {"executable": ""}, "CodexProvider: executable must be a string that is not empty, but is ''"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused(
    provider: Callable[..., object], settings: dict[str, Any], told: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(told)}$"):
        provider(**settings)
