"""Preflight of messages and settings for OpenAI, Azure, Anthropic and Gemini, and what the findings say."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt import (
    AnthropicProvider,
    AzureProvider,
    ChatMessage,
    ChatProvider,
    GeminiProvider,
    ModelLimits,
    OpenAIProvider,
    ProviderRequest,
)
from tests.apis.built_in import chat_providers, preflight_of
from tests.apis.conversations import SYSTEM, TOOLS, USER, call
from tests.replies import plain_reply
from tests.server import Server

OPENAI = OpenAIProvider(model="m")
AZURE = AzureProvider()
ANTHROPIC = AnthropicProvider(model="m")
GEMINI = GeminiProvider(model="m")
ALL = [
    pytest.param(OPENAI, id="openai"),
    pytest.param(AZURE, id="azure"),
    pytest.param(ANTHROPIC, id="anthropic"),
    pytest.param(GEMINI, id="gemini"),
]


def message(role: Any, content: str | None, number: int, **more: Any) -> ChatMessage:
    return ChatMessage(role, content, number=number, **more)


def two_calls(number: int = 2) -> ChatMessage:
    return message("assistant", None, number, tool_calls=(call("c1", "weather"), call("c2", "now")))


def tool_result(call_id: str | None, number: int) -> ChatMessage:
    return message("tool", "x", number, tool_call_id=call_id)


def findings_of(provider: ChatProvider, *prompt: ChatMessage) -> list[tuple[str, int | None, str]]:
    findings = preflight_of(provider, ProviderRequest(chat_prompt=prompt, metadata={"systemPrompt": ""}))
    return [(finding.rule, finding.message_number, finding.text) for finding in findings]


HI = message("user", "hi", 1)


@pytest.mark.parametrize("provider", ALL)
def test_an_ordinary_conversation_breaks_no_rule(provider: ChatProvider) -> None:
    round_trip = (
        HI,
        two_calls(),
        tool_result("c1", 3),
        tool_result("c2", 4),
        message("assistant", "sunny", 5),
        message("user", "ok", 6),
    )
    assert findings_of(provider, SYSTEM, USER) == []
    assert findings_of(provider, SYSTEM, *round_trip) == []


@pytest.mark.parametrize("provider", chat_providers())
def test_a_default_model_with_default_settings_breaks_no_rule(provider: Any) -> None:
    assert findings_of(provider(), USER) == []


@pytest.mark.parametrize(
    ("provider", "prompt", "findings"),
    [
        pytest.param(
            OPENAI,
            (HI, tool_result(None, 2)),
            [
                (
                    "tool-call-id",
                    2,
                    "OpenAI refuses a tool message without 'tool_call_id'; name the call that it answers",
                )
            ],
            id="openai: a result without id",
        ),
        pytest.param(
            OPENAI,
            (
                HI,
                message("assistant", None, 2, tool_calls=(call("c1", "f"),)),
                message("tool", None, 3, tool_call_id="c1"),
            ),
            [
                (
                    "tool-result-content",
                    3,
                    "OpenAI refuses a tool message without content; write '' if the result is empty",
                )
            ],
            id="openai: a result without content",
        ),
        pytest.param(
            AZURE,
            (HI, tool_result("c9", 2)),
            [
                (
                    "tool-result-without-call",
                    2,
                    "Azure OpenAI refuses a tool result without its call, and no earlier message makes the call 'c9'; "
                    "put the assistant message that makes it before this one",
                )
            ],
            id="azure: a result without its call",
        ),
        *(
            pytest.param(
                provider,
                (HI, two_calls(), tool_result("c1", 3), message("user", "and?", 4)),
                [
                    (
                        "tool-call-without-result",
                        2,
                        f"{provider.vendor} expects the results of tool calls right after them, and these have none there: "
                        "'c2'; add a tool message for each right after this message",
                    ),
                ],
                id=f"{provider.vendor}: a call without result",
            )
            for provider in (OPENAI, ANTHROPIC, GEMINI)
        ),
        pytest.param(
            OPENAI,
            (HI, two_calls()),
            [
                (
                    "tool-call-without-result",
                    2,
                    "OpenAI expects the results of tool calls right after them, and these have none there: "
                    "'c1', 'c2'; add a tool message for each right after this message",
                )
            ],
            id="openai: calls at the end",
        ),
        *(
            pytest.param(
                provider,
                (HI, two_calls(), tool_result("c1", 3), message("assistant", "wait", 4), tool_result("c2", 5)),
                [
                    (
                        "tool-call-without-result",
                        2,
                        f"{provider.vendor} expects the results of tool calls right after them, and these have none there: "
                        "'c2'; add a tool message for each right after this message",
                    ),
                    (
                        "tool-result-order",
                        5,
                        f"{provider.vendor} wants tool results right after their calls, and this one answers the call 'c2' "
                        "of message 2; move it there",
                    ),
                ],
                id=f"{provider.vendor}: a result elsewhere",
            )
            for provider in (OPENAI, ANTHROPIC, GEMINI)
        ),
        pytest.param(
            OPENAI,
            (HI, message("assistant", "{", 2)),
            [
                (
                    "prefill",
                    2,
                    "OpenAI does not continue a final assistant message but answers after it; end with a user message",
                )
            ],
            id="openai: an assistant message last",
        ),
        pytest.param(
            GEMINI,
            (HI, message("assistant", "{", 2)),
            [
                (
                    "last-turn",
                    2,
                    "Gemini expects the last turn from the user or a tool; end with a user message",
                )
            ],
            id="gemini: an assistant message last",
        ),
        pytest.param(
            ANTHROPIC,
            (message("assistant", "a", 1), message("user", "b", 2)),
            [
                (
                    "first-turn",
                    1,
                    "Anthropic expects the user to speak first, and this is the assistant's message; put a user message before it",
                )
            ],
            id="anthropic: the assistant first",
        ),
        pytest.param(
            GEMINI,
            (
                message("assistant", "a", 1),
                message("assistant", None, 2, tool_calls=(call("c1", "f"),)),
                tool_result("c1", 3),
            ),
            [
                (
                    "tool-call-order",
                    2,
                    "Gemini takes tool calls only right after a user message or tool results; put one of these before this message",
                )
            ],
            id="gemini: calls after an answer",
        ),
        pytest.param(
            GEMINI,
            (message("assistant", None, 1, tool_calls=(call("c1", "f"),)), tool_result("c1", 2)),
            [
                (
                    "tool-call-order",
                    1,
                    "Gemini takes tool calls only right after a user message or tool results; put one of these before this message",
                )
            ],
            id="gemini: calls at the start",
        ),
        pytest.param(
            GeminiProvider(model="gemini-3.8-flash"),
            (
                HI,
                message("assistant", None, 2, tool_calls=(call("c1", "f"),)),
                tool_result("c1", 3),
                message("user", "and?", 4),
                message("assistant", None, 5, tool_calls=(call("c2", "f"),)),
                tool_result("c2", 6),
            ),
            [
                (
                    "thought-signature",
                    5,
                    "Gemini's gemini-3.8-flash refuses tool calls without their thought signatures; send those of its "
                    "reply, in an eval file as raw parts, end with a user message, or use an older model",
                )
            ],
            id="gemini: calls of the current turn, without thought signatures",
        ),
        pytest.param(
            AnthropicProvider(model="claude-opus-5-5"),
            (HI, message("assistant", "{", 2)),
            [
                (
                    "prefill",
                    2,
                    "Anthropic's claude-opus-5-5 refuses a final assistant message: it does not continue a prefilled "
                    "answer; end with a user message",
                )
            ],
            id="anthropic: prefill for a model that refuses it",
        ),
        pytest.param(
            AnthropicProvider(model="claude-haiku-4-5"),
            (HI, message("assistant", "{", 2)),
            [],
            id="anthropic: prefill for a model that accepts it",
        ),
        pytest.param(
            ANTHROPIC,
            (
                HI,
                message("user", "ho", 2),
                message("assistant", "a", 3),
                message("assistant", "b", 4),
                message("user", "c", 5),
            ),
            [
                (
                    "merged-turns",
                    2,
                    "Anthropic merges consecutive turns of the same role, so the model sees this and message 1 as one turn; "
                    "join them, or put an answer between them",
                ),
                (
                    "merged-turns",
                    4,
                    "Anthropic merges consecutive turns of the same role, so the model sees this and message 3 as one turn; "
                    "join them, or put an answer between them",
                ),
            ],
            id="anthropic: turns that are merged",
        ),
    ],
)
def test_messages_that_the_api_refuses_or_misreads_are_found(
    provider: ChatProvider, prompt: tuple[ChatMessage, ...], findings: list[tuple[str, int | None, str]]
) -> None:
    assert findings_of(provider, *prompt) == findings


@pytest.mark.parametrize(
    ("provider", "findings"),
    [
        pytest.param(
            AnthropicProvider(model="claude-sonnet-4-5", max_output_tokens=64_001),
            [
                (
                    "output-cap",
                    None,
                    "max_output_tokens is 64001, but Anthropic's claude-sonnet-4-5 supports at most 64000; lower it, or "
                    "set model_limits if this model supports more",
                )
            ],
            id="max_output_tokens above the limit",
        ),
        pytest.param(
            AnthropicProvider(model="claude-sonnet-4-5", max_output_tokens=64_000),
            [],
            id="max_output_tokens at the limit",
        ),
        pytest.param(
            AnthropicProvider(
                model="claude-sonnet-4-5",
                max_output_tokens=70_000,
                model_limits=ModelLimits(max_output_tokens=80_000),
            ),
            [],
            id="a limit that the user sets",
        ),
        pytest.param(
            AzureProvider(deployment="gpt-5.5", max_output_tokens=10_000_000),
            [],
            id="a deployment of an unknown model",
        ),
        pytest.param(
            AzureProvider(max_output_tokens=5000, model_limits=ModelLimits(max_output_tokens=4096)),
            [
                (
                    "output-cap",
                    None,
                    "max_output_tokens is 5000, but Azure OpenAI's gpt-5.5 supports at most 4096; lower it, or set "
                    "model_limits if this model supports more",
                )
            ],
            id="a deployment with a limit that the user sets",
        ),
        pytest.param(
            AnthropicProvider(model="claude-opus-5-5", temperature=0),
            [
                (
                    "temperature-fixed",
                    None,
                    "Anthropic's claude-opus-5-5 refuses a temperature other than 1; leave it out, or set model_limits "
                    "if this model accepts one",
                )
            ],
            id="a temperature that the model refuses",
        ),
        pytest.param(AnthropicProvider(model="claude-opus-5-5", temperature=1), [], id="the default temperature"),
        pytest.param(
            OpenAIProvider(model="o4-mini", temperature=0, max_output_tokens=100_001),
            [
                (
                    "output-cap",
                    None,
                    "max_output_tokens is 100001, but OpenAI's o4-mini supports at most 100000; lower it, or set "
                    "model_limits if this model supports more",
                ),
                (
                    "temperature-fixed",
                    None,
                    "OpenAI's o4-mini refuses a temperature other than 1; leave it out, or set model_limits if this "
                    "model accepts one",
                ),
            ],
            id="a reasoning model of OpenAI",
        ),
        pytest.param(
            AnthropicProvider(model="claude-3-5-haiku-20241022", temperature=0, max_output_tokens=9_000),
            [],
            id="an old model of Anthropic",
        ),
        pytest.param(
            OpenAIProvider(model="gpt-4o", temperature=0), [], id="a model of OpenAI that accepts a temperature"
        ),
        pytest.param(OpenAIProvider(model="gpt-5.1", temperature=0), [], id="a model for which this is not known"),
        pytest.param(
            AnthropicProvider(model="claude-opus-4-6", temperature=1.5),
            [("temperature", None, "temperature is 1.5, but Anthropic takes 0 to 1")],
            id="a temperature above 1 for Anthropic",
        ),
        pytest.param(
            AnthropicProvider(model="claude-opus-4-6", temperature=1, api_version="2026-10-21"),
            [
                (
                    "temperature-removed",
                    None,
                    "Anthropic refuses a temperature since the API version 2026-10-21; leave it out, or use an older version",
                )
            ],
            id="a temperature for an API version that has none",
        ),
        pytest.param(
            OpenAIProvider(model="m", temperature=2.5),
            [("temperature", None, "temperature is 2.5, but OpenAI takes 0 to 2")],
            id="a temperature above 2 for OpenAI",
        ),
        pytest.param(
            GeminiProvider(model="models/m", temperature=2.5),
            [("temperature", None, "temperature is 2.5, but Gemini takes 0 to 2")],
            id="a temperature above 2 for Gemini",
        ),
        pytest.param(
            AnthropicProvider(
                model="claude-opus-5-5",
                extra_body={"model": "claude-sonnet-4-5", "max_tokens": 64_001, "temperature": "x"},
            ),
            [
                (
                    "output-cap",
                    None,
                    "max_output_tokens is 64001, but Anthropic's claude-sonnet-4-5 supports at most 64000; lower it, or "
                    "set model_limits if this model supports more",
                )
            ],
            id="extra_body counts",
        ),
        pytest.param(
            GeminiProvider(model="m", extra_body={"generationConfig": 3}), [], id="an extra_body of unexpected types"
        ),
    ],
)
def test_settings_are_checked_as_they_are_in_the_body(
    provider: ChatProvider, findings: list[tuple[str, int | None, str]]
) -> None:
    assert findings_of(provider, USER) == findings


@pytest.mark.parametrize("provider", chat_providers())
def test_each_rule_has_a_unique_name_and_a_document_of_the_vendor(provider: type[ChatProvider]) -> None:
    names = [rule.name for rule in provider.rules]
    hosts = (
        "https://platform.openai.com/",
        "https://developers.openai.com/",
        "https://learn.microsoft.com/",
        "https://platform.claude.com/",
        "https://docs.claude.com/",
        "https://github.com/anthropics/",
        "https://ai.google.dev/",
        "https://github.com/googleapis/python-genai/",
        "https://docs.aws.amazon.com/bedrock/",
        "https://docs.ollama.com/",
        "https://github.com/ollama/ollama/",
        "https://openrouter.ai/docs/",
        "https://github.com/mistralai/mistral-common/",
    )
    assert len(set(names)) == len(names) > 0
    assert all(rule.source.startswith(hosts) for rule in provider.rules)


def test_findings_are_part_of_the_response(server: Server) -> None:
    server.reply_with(plain_reply("openai-chat"))
    provider = OpenAIProvider(base_url=server.url, api_key="k")
    (finding,) = provider.send(ProviderRequest(chat_prompt=(HI, tool_result(None, 2)))).findings
    provider.close()
    assert finding.rule == "tool-call-id"
    warning = finding.to_warning()
    assert (warning.rule, warning.message_number) == ("tool-call-id", 2)
    assert str(warning) == (
        "message 2: OpenAI refuses a tool message without 'tool_call_id'; name the call that it answers "
        "[tool-call-id, https://platform.openai.com/docs/api-reference/chat/create]"
    )


def test_the_conversation_with_tools_follows_the_rules_of_anthropic() -> None:
    assert [rule for rule, _, _ in findings_of(OPENAI, *TOOLS)] == ["tool-result-content"]
    assert findings_of(ANTHROPIC, *TOOLS) == []
