"""Keyword arguments of providers: a mistake is an error when the provider is made, before anything is sent."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from pytest_chatprompt import (
    AnthropicProvider,
    AzureProvider,
    ClaudeProvider,
    CLIProvider,
    CodexProvider,
    GeminiProvider,
    OpenAIProvider,
    VSCodeProvider,
)


@pytest.mark.parametrize(
    ("provider", "settings", "text"),
    [
        (
            OpenAIProvider,
            {"modle": "x"},
            "OpenAIProvider has no setting 'modle' (did you mean 'model'?); its settings are api_key, base_url, extra_body, max_output_tokens, max_retries, max_tokens_parameter, model, model_limits, price, reasoning_effort, requests_per_minute, seed, stop, temperature, timeout_seconds, tokens_per_minute, top_p, total_timeout_seconds",
        ),
        (
            OpenAIProvider,
            {"temprature": 0},
            "OpenAIProvider has no setting 'temprature' (did you mean 'temperature'?); its settings are api_key, base_url, extra_body, max_output_tokens, max_retries, max_tokens_parameter, model, model_limits, price, reasoning_effort, requests_per_minute, seed, stop, temperature, timeout_seconds, tokens_per_minute, top_p, total_timeout_seconds",
        ),
        (
            OpenAIProvider,
            {"api_version": "v1"},
            "OpenAIProvider has no setting 'api_version'; its settings are api_key, base_url, extra_body, max_output_tokens, max_retries, max_tokens_parameter, model, model_limits, price, reasoning_effort, requests_per_minute, seed, stop, temperature, timeout_seconds, tokens_per_minute, top_p, total_timeout_seconds",
        ),
        (
            AnthropicProvider,
            {"max_tokens": 5},
            "AnthropicProvider has no setting 'max_tokens' (did you mean 'max_output_tokens'?); its settings are api_key, api_version, base_url, extra_body, max_output_tokens, max_retries, model, model_limits, price, reasoning_effort, requests_per_minute, stop, temperature, timeout_seconds, tokens_per_minute, top_p, total_timeout_seconds",
        ),
        (
            GeminiProvider,
            {"max_tokens_parameter": "max_tokens"},
            "GeminiProvider has no setting 'max_tokens_parameter'; its settings are api_key, api_version, base_url, extra_body, max_output_tokens, max_retries, model, model_limits, price, reasoning_effort, requests_per_minute, seed, stop, temperature, timeout_seconds, tokens_per_minute, top_p, total_timeout_seconds",
        ),
        (AzureProvider, {"model": "x"}, "AzureProvider takes deployment and endpoint instead of model and base_url"),
        (
            AzureProvider,
            {"base_url": "https://x"},
            "AzureProvider takes deployment and endpoint instead of model and base_url",
        ),
        (
            CodexProvider,
            {"timeout": 5},
            "CodexProvider has no setting 'timeout' (did you mean 'timeout_seconds'?); its settings are capture, config, cwd, env, executable, extra_args, model, sandbox, timeout_seconds",
        ),
        (
            CLIProvider,
            {"executable": "x"},
            "CLIProvider has no setting 'executable'; its settings are capture, command, cwd, env, healthcheck, timeout_seconds",
        ),
    ],
)
def test_an_unknown_setting_is_refused(provider: Callable[..., object], settings: dict[str, Any], text: str) -> None:
    with pytest.raises(TypeError) as caught:
        provider(**settings)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("provider", "settings", "text"),
    [
        (OpenAIProvider, {"temperature": "hot"}, "OpenAIProvider: temperature must be a valid number, but is 'hot'"),
        (
            OpenAIProvider,
            {"temperature": Decimal("0.5")},
            "OpenAIProvider: temperature must be a valid number, but is Decimal('0.5')",
        ),
        (
            OpenAIProvider,
            {"temperature": float("nan")},
            "OpenAIProvider: temperature must be greater than or equal to 0, but is nan",
        ),
        (OpenAIProvider, {"temperature": True}, "OpenAIProvider: temperature must be a valid number, but is True"),
        (
            OpenAIProvider,
            {"max_output_tokens": -1},
            "OpenAIProvider: max_output_tokens must be greater than or equal to 0, but is -1",
        ),
        (
            OpenAIProvider,
            {"max_output_tokens": 1.5},
            "OpenAIProvider: max_output_tokens must be a valid integer, but is 1.5",
        ),
        (
            GeminiProvider,
            {"timeout_seconds": "5"},
            "GeminiProvider: timeout_seconds must be a valid number, but is '5'",
        ),
        (GeminiProvider, {"extra_body": [1]}, "GeminiProvider: extra_body must be an instance of Mapping, but is [1]"),
        (AnthropicProvider, {"model": ""}, "AnthropicProvider: model must have at least 1 character, but is ''"),
        (
            AzureProvider,
            {"deployment": None},
            "AzureProvider: deployment must be a valid string, but is None",
        ),
        (
            OpenAIProvider,
            {"max_tokens_parameter": "foo"},
            "OpenAIProvider: max_tokens_parameter must be 'max_completion_tokens' or 'max_tokens', but is 'foo'",
        ),
        (
            OpenAIProvider,
            {"base_url": "https://x.example/v1?a=b"},
            "OpenAIProvider: 'https://x.example/v1?a=b' is not an http or https URL with a host and without a query",
        ),
        (
            OpenAIProvider,
            {"base_url": "https://"},
            "OpenAIProvider: 'https://' is not an http or https URL with a host and without a query",
        ),
        (
            OpenAIProvider,
            {"base_url": "https://h:port"},
            "OpenAIProvider: 'https://h:port' is not a valid URL: Invalid port: 'port'",
        ),
        (
            OpenAIProvider,
            {"timeout_seconds": None},
            "OpenAIProvider: timeout_seconds must be a valid number, but is None",
        ),
        (OpenAIProvider, {"model": None}, "OpenAIProvider: model must be a valid string, but is None"),
        (
            AnthropicProvider,
            {"api_version": None},
            "AnthropicProvider: api_version must be a valid string, but is None",
        ),
        (
            OpenAIProvider,
            {"model_limits": {"prefill": True}},
            "OpenAIProvider: model_limits must be an instance of ModelLimits, but is {'prefill': True}",
        ),
        (OpenAIProvider, {"api_key": b"sk-1"}, "OpenAIProvider: api_key must be a valid string, but is of type bytes"),
        (CodexProvider, {"env": {"PORT": 80}}, "CodexProvider: env['PORT'] must be a valid string, but is of type int"),
        (CodexProvider, {"cwd": 5}, "CodexProvider: cwd must be a valid string, but is 5"),
        (CodexProvider, {"executable": ""}, "CodexProvider: executable must have at least 1 character, but is ''"),
        (CodexProvider, {"model": ""}, "CodexProvider: model must have at least 1 character, but is ''"),
        (CodexProvider, {"model": ["gpt-5"]}, "CodexProvider: model must be a valid string, but is ['gpt-5']"),
        (CodexProvider, {"sandbox": ""}, "CodexProvider: sandbox must have at least 1 character, but is ''"),
        (CodexProvider, {"config": ["a=1"]}, "CodexProvider: config must be a valid dictionary, but is ['a=1']"),
        (CodexProvider, {"extra_args": ("-c", 5)}, "CodexProvider: extra_args must be a valid string, but is 5"),
        (ClaudeProvider, {"model": ""}, "ClaudeProvider: model must have at least 1 character, but is ''"),
        (ClaudeProvider, {"timeout_seconds": 0}, "ClaudeProvider: timeout_seconds must be greater than 0, but is 0"),
        (ClaudeProvider, {"timeout_seconds": True}, "ClaudeProvider: timeout_seconds must be a valid number, but is True"),
        (OpenAIProvider, {"timeout_seconds": 0}, "OpenAIProvider: timeout_seconds must be greater than 0, but is 0"),
        (OpenAIProvider, {"total_timeout_seconds": 0}, "OpenAIProvider: total_timeout_seconds must be greater than 0, but is 0"),
        (VSCodeProvider, {"mode": ""}, "VSCodeProvider: mode must have at least 1 character, but is ''"),
        (VSCodeProvider, {"profile": 5}, "VSCodeProvider: profile must be a valid string, but is 5"),
        (VSCodeProvider, {"wait": "no"}, "VSCodeProvider: wait must be a valid boolean, but is 'no'"),
        (CLIProvider, {"command": 5}, "CLIProvider: command must be a list of the executable and its arguments"),
        (CLIProvider, {"command": ["agent", 5]}, "CLIProvider: command must be a valid string, but is 5"),
        (CLIProvider, {"command": [["agent", 5]]}, "CLIProvider: command must be a valid string, but is 5"),
        (CLIProvider, {"command": [[]]}, "CLIProvider: command must be a list of the executable and its arguments"),
        (CLIProvider, {"command": ["agent"], "healthcheck": "agent --version"}, "CLIProvider: healthcheck must be a valid list, but is 'agent --version'"),
    ],
)  # fmt: skip
def test_an_invalid_value_is_refused(provider: Callable[..., object], settings: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        provider(**settings)


def test_values_are_not_converted() -> None:
    provider = OpenAIProvider(temperature=0, timeout_seconds=5, extra_body={"a": 1})
    assert [type(value) for value in (provider.temperature, provider.timeout_seconds)] == [int, int]
    assert provider.extra_body == {"a": 1}


class LocalProvider(AzureProvider):
    """A subclass with a setting of its own, which passes the others on."""

    def __init__(self, *, persona: str = "", **settings: Any) -> None:
        super().__init__(**settings)
        self.persona = persona


def test_a_subclass_takes_the_settings_that_it_passes_on() -> None:
    provider = LocalProvider(persona="Ada", deployment="d", temperature=0)
    assert (provider.persona, provider.deployment, provider.temperature) == ("Ada", "d", 0)
