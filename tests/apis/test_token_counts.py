"""The counts of tokens: those of each API in the same words, cached and thinking ones included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_chatprompt.apis.anthropic import AnthropicProvider
from pytest_chatprompt.apis.bedrock import BedrockProvider
from pytest_chatprompt.apis.chat_provider import ChatProvider
from pytest_chatprompt.apis.gemini import GeminiProvider
from pytest_chatprompt.apis.openai import OpenAIProvider
from pytest_chatprompt.apis.openai_responses import OpenAIResponsesProvider
from pytest_chatprompt.providers.response import TokenUsage, read_usage

# By the names of the vendors' own SDKs: openai 3.54 (`CompletionUsage`, `ResponseUsage`), anthropic 2.12 (`Usage`),
# google-genai 3.4 (`GenerateContentResponseUsageMetadata`), botocore 1.44 (`TokenUsage` of bedrock-runtime).
ROWS: list[Any] = [
    pytest.param(
        OpenAIProvider(),
        lambda usage: {"choices": [{"message": {"content": "x"}}], "usage": usage},
        {
            "prompt_tokens": 100, "completion_tokens": 20,
            "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 7},
            "completion_tokens_details": {"reasoning_tokens": 8},
        },
        TokenUsage(
            input_tokens=100, output_tokens=20, cache_read_tokens=60, cache_write_tokens=7, reasoning_tokens=8
        ),
        id="openai",
    ),
    pytest.param(
        OpenAIResponsesProvider(),
        lambda usage: {"output": [], "usage": usage},
        {
            "input_tokens": 100, "output_tokens": 20,
            "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 7},
            "output_tokens_details": {"reasoning_tokens": 8},
        },
        TokenUsage(
            input_tokens=100, output_tokens=20, cache_read_tokens=60, cache_write_tokens=7, reasoning_tokens=8
        ),
        id="openai_responses",
    ),
    pytest.param(
        AnthropicProvider(),
        lambda usage: {"content": [], "usage": usage},
        {
            "input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 30,
            "cache_creation": {"ephemeral_5m_input_tokens": 25, "ephemeral_1h_input_tokens": 5},
            "output_tokens_details": {"thinking_tokens": 8},
        },
        TokenUsage(
            input_tokens=100, output_tokens=20, cache_read_tokens=60, cache_write_tokens=30, cache_write_1h_tokens=5,
            reasoning_tokens=8,
        ),
        id="anthropic counts cached input beside the other",
    ),
    pytest.param(
        AnthropicProvider(),
        lambda usage: {"content": [], "usage": usage},
        {"input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": None, "cache_creation": None},
        TokenUsage(input_tokens=10, output_tokens=20),
        id="anthropic without a cache",
    ),
    pytest.param(
        GeminiProvider(),
        lambda usage: {"candidates": [{}], "usageMetadata": usage},
        {
            "promptTokenCount": 90, "candidatesTokenCount": 12, "thoughtsTokenCount": 8, "cachedContentTokenCount": 60,
            "toolUsePromptTokenCount": 10,
        },
        TokenUsage(input_tokens=100, output_tokens=20, cache_read_tokens=60, reasoning_tokens=8),
        id="gemini counts thoughts beside the other output",
    ),
    pytest.param(
        BedrockProvider(),
        lambda usage: {"output": {"message": {"content": []}}, "usage": usage},
        {
            "inputTokens": 10, "outputTokens": 20, "cacheReadInputTokens": 60, "cacheWriteInputTokens": 30,
            "cacheDetails": [{"ttl": "1h", "inputTokens": 5}, {"ttl": "5m", "inputTokens": 25}],
        },
        TokenUsage(
            input_tokens=100, output_tokens=20, cache_read_tokens=60, cache_write_tokens=30, cache_write_1h_tokens=5
        ),
        id="bedrock counts cached input beside the other",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "reply", "usage", "expected"), ROWS)
def test_the_usage_of_a_reply(
    provider: ChatProvider, reply: Callable[[Any], Any], usage: dict[str, Any], expected: TokenUsage
) -> None:
    assert provider.read_reply(reply(usage)).usage == expected


@pytest.mark.parametrize(("provider", "reply"), [row.values[:2] for row in ROWS], ids=[row.id for row in ROWS])
@pytest.mark.parametrize("usage", [None, {}], ids=["null", "empty"])
def test_what_an_api_does_not_say_is_unknown(
    provider: ChatProvider, reply: Callable[[Any], Any], usage: dict[str, Any] | None
) -> None:
    assert provider.read_reply(reply(usage)).usage == TokenUsage()


@pytest.mark.parametrize(
    ("provider", "reply", "counts"), [row.values[:3] for row in ROWS], ids=[row.id for row in ROWS]
)
@pytest.mark.parametrize("odd", [-1, 2.5, "many", 2**53], ids=str)
def test_what_is_no_count_is_unknown_and_the_answer_is_read(
    provider: ChatProvider, reply: Callable[[Any], Any], counts: dict[str, Any], odd: Any
) -> None:
    usage = {key: odd for key, value in counts.items() if isinstance(value, int)}
    assert provider.read_reply(reply(usage)).usage == TokenUsage()


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"details": {"input_tokens": 3}}, 3),
        ({"input_tokens": 0}, 0),
        ({"input_tokens": -1}, None),
        ({"input_tokens": 2**53 - 1}, 2**53 - 1),
        ({"input_tokens": 2**53}, None),
        ({"input_tokens": True}, None),
        ({"input_tokens": 1.5}, None),
        ({"input_tokens": "3"}, None),
        ({"input_tokens": 3, "iterations": [{"input_tokens": 5}]}, 3),
        ({"cacheDetails": [{"ttl": "1h"}, 3], "inputTokens": 3}, 3),
        (3, None),
        ([], None),
        ([{"input_tokens": 1}, {"input_tokens": 2}], 2),
    ],
)
def test_only_a_count_is_read(usage: Any, expected: int | None) -> None:
    assert read_usage(usage).input_tokens == expected
