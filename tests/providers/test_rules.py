"""Preflight: what each API is known to refuse, or to read otherwise than it is written."""

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
from pytest_chatprompt.providers import CHAT_PROVIDERS
from tests.server import Server

from .conversations import SYSTEM, TOOLS, USER, call

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


def said(role: Any, content: str | None, number: int, **more: Any) -> ChatMessage:
    return ChatMessage(role, content, number=number, **more)


def asked(number: int = 2) -> ChatMessage:
    return said("assistant", None, number, tool_calls=(call("c1", "weather"), call("c2", "now")))


def result(call_id: str | None, number: int) -> ChatMessage:
    return said("tool", "x", number, tool_call_id=call_id)


def found(provider: ChatProvider, *prompt: ChatMessage) -> list[tuple[str, int | None, str]]:
    findings = provider.preflight(ProviderRequest(chat_prompt=prompt, metadata={"systemPrompt": ""}))
    return [(finding.rule, finding.message_number, finding.text) for finding in findings]


HI = said("user", "hi", 1)


@pytest.mark.parametrize("provider", ALL)
def test_an_ordinary_conversation_breaks_no_rule(provider: ChatProvider) -> None:
    round_trip = (HI, asked(), result("c1", 3), result("c2", 4), said("assistant", "sunny", 5), said("user", "ok", 6))
    assert found(provider, SYSTEM, USER) == []
    assert found(provider, SYSTEM, *round_trip) == []


@pytest.mark.parametrize("provider", CHAT_PROVIDERS)
def test_the_default_model_with_its_default_settings_breaks_no_rule(provider: Any) -> None:
    assert found(provider(), USER) == []


@pytest.mark.parametrize(
    ("provider", "prompt", "findings"),
    [
        pytest.param(
            OPENAI,
            (HI, result(None, 2)),
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
            (HI, said("assistant", None, 2, tool_calls=(call("c1", "f"),)), said("tool", None, 3, tool_call_id="c1")),
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
            (HI, result("c9", 2)),
            [
                (
                    "tool-result-without-call",
                    2,
                    "Azure OpenAI refuses a result without its call, and no message before makes the call 'c9'; "
                    "put the assistant message that makes it in front",
                )
            ],
            id="azure: a result without its call",
        ),
        *(
            pytest.param(
                provider,
                (HI, asked(), result("c1", 3), said("user", "and?", 4)),
                [
                    (
                        "tool-call-without-result",
                        2,
                        f"{provider.vendor} refuses calls without their results right behind them, and nothing there "
                        "answers 'c2'; put a tool message for each behind this one",
                    ),
                ],
                id=f"{provider.vendor}: a call without result",
            )
            for provider in (OPENAI, ANTHROPIC, GEMINI)
        ),
        pytest.param(
            OPENAI,
            (HI, asked()),
            [
                (
                    "tool-call-without-result",
                    2,
                    "OpenAI refuses calls without their results right behind them, and nothing there answers "
                    "'c1', 'c2'; put a tool message for each behind this one",
                )
            ],
            id="openai: calls at the end",
        ),
        *(
            pytest.param(
                provider,
                (HI, asked(), result("c1", 3), said("assistant", "wait", 4), result("c2", 5)),
                [
                    (
                        "tool-call-without-result",
                        2,
                        f"{provider.vendor} refuses calls without their results right behind them, and nothing there "
                        "answers 'c2'; put a tool message for each behind this one",
                    ),
                    (
                        "tool-result-order",
                        5,
                        f"{provider.vendor} takes results right behind their calls, and this one answers the call 'c2' "
                        "of message 2; move it there",
                    ),
                ],
                id=f"{provider.vendor}: a result elsewhere",
            )
            for provider in (OPENAI, ANTHROPIC, GEMINI)
        ),
        pytest.param(
            ANTHROPIC,
            (HI, asked(), result("c1", 3), result("c2", 4), result("c1", 5)),
            [("tool-result-twice", 5, "the call 'c1' has a result already; Anthropic takes one for each")],
            id="anthropic: two results of one call",
        ),
        pytest.param(
            OPENAI,
            (said("user", "hi", 1, name="Bob Dylan"), said("user", "ho", 2, name="bob-1.é")),
            [
                (
                    "speaker-name",
                    1,
                    "OpenAI refuses the name 'Bob Dylan'; it takes characters other than white space and < | \\ / >",
                )
            ],
            id="openai: a name with a blank",
        ),
        *(
            pytest.param(
                provider,
                (HI, said("assistant", None, 2, tool_calls=(call("c1", "get weather"),)), result("c1", 3)),
                [
                    (
                        "function-name",
                        2,
                        f"{provider.vendor} refuses the function name 'get weather'; it takes {allowed}",
                    )
                ],
                id=f"{provider.vendor}: a function's name with a blank",
            )
            for provider, allowed in (
                (OPENAI, "1 to 64 of a-z, A-Z, 0-9, _ and -"),
                (ANTHROPIC, "1 to 128 of a-z, A-Z, 0-9, _ and -"),
                (GEMINI, "a letter or _, then up to 127 of a-z, A-Z, 0-9, _ . : -"),
            )
        ),
        pytest.param(
            OPENAI,
            (HI, said("assistant", "{", 2)),
            [
                (
                    "prefill",
                    2,
                    "OpenAI does not go on from an assistant message that comes last, it answers anew after it; "
                    "end the case on a user message",
                )
            ],
            id="openai: an assistant message last",
        ),
        pytest.param(
            GEMINI,
            (HI, said("assistant", "{", 2)),
            [
                (
                    "last-turn",
                    2,
                    "Gemini wants the user or a tool to have the last turn; end the case on a user message",
                )
            ],
            id="gemini: an assistant message last",
        ),
        pytest.param(
            ANTHROPIC,
            (said("assistant", "a", 1), said("user", "b", 2)),
            [
                (
                    "first-turn",
                    1,
                    "Anthropic wants the user to speak first, and this is the assistant's message; put a user message in front",
                )
            ],
            id="anthropic: the assistant first",
        ),
        pytest.param(
            GEMINI,
            (said("assistant", "a", 1), said("assistant", None, 2, tool_calls=(call("c1", "f"),)), result("c1", 3)),
            [
                (
                    "tool-call-order",
                    2,
                    "Gemini takes calls right behind a user message or results; put one of them in front of this one",
                )
            ],
            id="gemini: calls behind an answer",
        ),
        pytest.param(
            GEMINI,
            (said("assistant", None, 1, tool_calls=(call("c1", "f"),)), result("c1", 2)),
            [
                (
                    "tool-call-order",
                    1,
                    "Gemini takes calls right behind a user message or results; put one of them in front of this one",
                )
            ],
            id="gemini: calls at the start",
        ),
        pytest.param(
            GeminiProvider(model="gemini-3.8-flash"),
            (
                HI,
                said("assistant", None, 2, tool_calls=(call("c1", "f"),)),
                result("c1", 3),
                said("user", "and?", 4),
                said("assistant", None, 5, tool_calls=(call("c2", "f"),)),
                result("c2", 6),
            ),
            [
                (
                    "thought-signature",
                    5,
                    "Gemini's gemini-3.8-flash refuses calls that come without the signature of its thoughts, which an "
                    "eval file cannot hold; end the case on a user message behind them, or take an older model",
                )
            ],
            id="gemini: calls of the turn that is going on, without thoughts",
        ),
        pytest.param(
            AnthropicProvider(model="claude-opus-5-5"),
            (HI, said("assistant", "{", 2)),
            [
                (
                    "prefill",
                    2,
                    "Anthropic's claude-opus-5-5 refuses an assistant message that comes last: it does not go on from "
                    "a prefilled answer; end the case on a user message",
                )
            ],
            id="anthropic: prefill on a model without",
        ),
        pytest.param(
            AnthropicProvider(model="claude-haiku-4-5"),
            (HI, said("assistant", "{", 2)),
            [],
            id="anthropic: prefill on a model with it",
        ),
        pytest.param(
            AnthropicProvider(model="claude-haiku-4-5"),
            (HI, said("assistant", "{ \n", 2)),
            [
                (
                    "prefill-blanks",
                    2,
                    "Anthropic refuses white space at the end of a final assistant message; take it away",
                )
            ],
            id="anthropic: blanks at the end of a prefill",
        ),
        pytest.param(
            ANTHROPIC, (HI, said("assistant", "{ ", 2), said("user", "and ", 3)), [], id="anthropic: blanks elsewhere"
        ),
        pytest.param(
            ANTHROPIC,
            (HI, said("user", "ho", 2), said("assistant", "a", 3), said("assistant", "b", 4), said("user", "c", 5)),
            [
                (
                    "merged-turns",
                    2,
                    "Anthropic merges consecutive turns of one role, so the model sees this as one turn with message 1; "
                    "join them in the case, or put an answer between them",
                ),
                (
                    "merged-turns",
                    4,
                    "Anthropic merges consecutive turns of one role, so the model sees this as one turn with message 3; "
                    "join them in the case, or put an answer between them",
                ),
            ],
            id="anthropic: turns that are merged",
        ),
    ],
)
def test_what_the_api_will_not_take_as_it_is_written_is_found(
    provider: ChatProvider, prompt: tuple[ChatMessage, ...], findings: list[tuple[str, int | None, str]]
) -> None:
    assert found(provider, *prompt) == findings


@pytest.mark.parametrize(
    ("provider", "findings"),
    [
        pytest.param(
            AnthropicProvider(model="claude-sonnet-4-5", max_output_tokens=64_001),
            [
                (
                    "output-cap",
                    None,
                    "max_output_tokens is 64001, and Anthropic's claude-sonnet-4-5 gives at most 64000; lower it, or "
                    "set model_limits if this model gives more",
                )
            ],
            id="a cap above the model's",
        ),
        pytest.param(
            AnthropicProvider(model="claude-sonnet-4-5", max_output_tokens=64_000), [], id="a cap at the model's"
        ),
        pytest.param(
            AnthropicProvider(
                model="claude-sonnet-4-5",
                max_output_tokens=70_000,
                model_limits=ModelLimits(max_output_tokens=80_000),
            ),
            [],
            id="a limit of the user's own",
        ),
        pytest.param(
            AzureProvider(deployment="gpt-5.5", max_output_tokens=10_000_000),
            [],
            id="a deployment, whose model is not known",
        ),
        pytest.param(
            AzureProvider(max_output_tokens=5000, model_limits=ModelLimits(max_output_tokens=4096)),
            [
                (
                    "output-cap",
                    None,
                    "max_output_tokens is 5000, and Azure OpenAI's gpt-5.5 gives at most 4096; lower it, or set "
                    "model_limits if this model gives more",
                )
            ],
            id="a deployment, whose model the user knows",
        ),
        pytest.param(
            AnthropicProvider(model="claude-opus-5-5", temperature=0),
            [
                (
                    "temperature-fixed",
                    None,
                    "Anthropic's claude-opus-5-5 refuses a temperature other than 1; leave it out, or set model_limits "
                    "if this model takes one",
                )
            ],
            id="a temperature that the model does not take",
        ),
        pytest.param(AnthropicProvider(model="claude-opus-5-5", temperature=1), [], id="the default temperature"),
        pytest.param(
            OpenAIProvider(model="o4-mini", temperature=0, max_output_tokens=100_001),
            [
                (
                    "output-cap",
                    None,
                    "max_output_tokens is 100001, and OpenAI's o4-mini gives at most 100000; lower it, or set "
                    "model_limits if this model gives more",
                ),
                (
                    "temperature-fixed",
                    None,
                    "OpenAI's o4-mini refuses a temperature other than 1; leave it out, or set model_limits if this "
                    "model takes one",
                ),
            ],
            id="a reasoning model of OpenAI's",
        ),
        pytest.param(
            AnthropicProvider(model="claude-3-5-haiku-20241022", temperature=0, max_output_tokens=9_000),
            [],
            id="an old model of Anthropic's",
        ),
        pytest.param(OpenAIProvider(model="gpt-4o", temperature=0), [], id="a model of OpenAI's that takes one"),
        pytest.param(OpenAIProvider(model="gpt-5.1", temperature=0), [], id="a model of which it is not known"),
        pytest.param(
            AnthropicProvider(model="claude-opus-4-6", temperature=1.5),
            [("temperature", None, "temperature is 1.5, and Anthropic takes 0 to 1")],
            id="a temperature above 1 for Anthropic",
        ),
        pytest.param(
            AnthropicProvider(model="claude-opus-4-6", temperature=1, api_version="2026-10-21"),
            [
                (
                    "temperature-removed",
                    None,
                    "Anthropic refuses a temperature since the API version 2026-10-21; leave it out, or pin an older version",
                )
            ],
            id="a temperature under the API version without",
        ),
        pytest.param(
            OpenAIProvider(model="m", temperature=2.5),
            [("temperature", None, "temperature is 2.5, and OpenAI takes 0 to 2")],
            id="a temperature above 2 for OpenAI",
        ),
        pytest.param(
            GeminiProvider(model="models/m", temperature=2.5),
            [("temperature", None, "temperature is 2.5, and Gemini takes 0 to 2")],
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
                    "max_output_tokens is 64001, and Anthropic's claude-sonnet-4-5 gives at most 64000; lower it, or "
                    "set model_limits if this model gives more",
                )
            ],
            id="what is laid over the body counts",
        ),
        pytest.param(GeminiProvider(model="m", extra_body={"generationConfig": 3}), [], id="a body of the user's own"),
    ],
)
def test_settings_are_looked_at_as_they_stand_in_the_body(
    provider: ChatProvider, findings: list[tuple[str, int | None, str]]
) -> None:
    assert found(provider, USER) == findings


@pytest.mark.parametrize("provider", ALL)
def test_each_rule_has_a_name_of_its_own_and_a_document_of_the_vendors(provider: ChatProvider) -> None:
    names = [rule.name for rule in provider.rules]
    hosts = (
        "https://platform.openai.com/",
        "https://platform.claude.com/",
        "https://docs.claude.com/",
        "https://github.com/anthropics/",
        "https://ai.google.dev/",
    )
    assert len(set(names)) == len(names) > 0
    assert all(rule.source.startswith(hosts) for rule in provider.rules)


def test_findings_come_with_the_answer(server: Server) -> None:
    server.answers(OpenAIProvider.offline_reply)
    provider = OpenAIProvider(base_url=server.url, api_key="k")
    (finding,) = provider.send(ProviderRequest(chat_prompt=(HI, result(None, 2)))).findings
    provider.close()
    assert finding.rule == "tool-call-id"
    warning = finding.as_warning()
    assert (warning.rule, warning.message_number) == ("tool-call-id", 2)
    assert str(warning) == (
        "message 2: OpenAI refuses a tool message without 'tool_call_id'; name the call that it answers "
        "[tool-call-id, https://platform.openai.com/docs/api-reference/chat/create]"
    )


def test_tools_of_the_tests_conversations_follow_the_rules() -> None:
    assert [rule for rule, _, _ in found(OPENAI, *TOOLS)] == ["tool-result-content"]
    assert found(ANTHROPIC, *TOOLS) == []
