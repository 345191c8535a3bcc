"""Rules that only some vendors have: OpenAI Responses, Bedrock, Ollama, OpenRouter, and Gemini's two versions."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt import (
    BedrockProvider,
    ChatMessage,
    ChatProvider,
    GeminiProvider,
    OllamaProvider,
    OpenAIResponsesProvider,
    OpenRouterProvider,
    ProviderRequest,
)
from tests.apis.built_in import preflight_of
from tests.apis.conversations import call

RESPONSES = OpenAIResponsesProvider(model="m")
BEDROCK = BedrockProvider(model="m", region="us-east-1")
OLLAMA = OllamaProvider(model="m")
OPENROUTER = OpenRouterProvider(model="m")
NOW = {"type": "function", "name": "now"}


def message(role: Any, content: str | None, number: int, **more: Any) -> ChatMessage:
    return ChatMessage(role, content, number=number, **more)


HI = message("user", "hi", 1)
CALLS = message("assistant", None, 2, tool_calls=(call("c1", "now"), call("c2", "now")))


def result(call_id: str, number: int, content: str | None = "x") -> ChatMessage:
    return message("tool", content, number, tool_call_id=call_id)


def findings_of(provider: ChatProvider, *prompt: ChatMessage, **options: Any) -> list[tuple[str, Any, str]]:
    request = ProviderRequest(chat_prompt=prompt or (HI,), metadata={"systemPrompt": ""}, **options)
    return [
        (found.rule, found.message_number or found.location, found.text) for found in preflight_of(provider, request)
    ]


@pytest.mark.parametrize("provider", [RESPONSES, BEDROCK, OLLAMA, OPENROUTER], ids=lambda provider: provider.vendor)
def test_an_ordinary_conversation_with_tools_breaks_no_rule(provider: ChatProvider) -> None:
    answer = message("assistant", "noon", 5)
    prompt = (HI, CALLS, result("c1", 3), result("c2", 4), answer, message("user", "ok", 6))
    assert findings_of(provider, *prompt, tools=[NOW], tool_choice="auto", settings={"max_output_tokens": 16}) == []


@pytest.mark.parametrize(
    ("provider", "prompt", "options", "findings"),
    [
        pytest.param(
            RESPONSES,
            (HI, CALLS, message("user", "wait", 3), result("c1", 4)),
            {"tools": [NOW]},
            [
                (
                    "tool-call-without-result",
                    2,
                    "OpenAI Responses refuses tool calls without their results, and nothing answers these: 'c2'; "
                    "add a tool message for each after this message",
                )
            ],
            id="responses: a call that nothing answers",
        ),
        pytest.param(
            RESPONSES,
            (HI,),
            {"settings": {"max_output_tokens": 15}},
            [
                (
                    "output-minimum",
                    ("settings", "max_output_tokens"),
                    "max_output_tokens is 15, but OpenAI Responses takes 16 or more; raise it, or leave it out",
                )
            ],
            id="responses: too small a limit",
        ),
        pytest.param(
            OpenAIResponsesProvider(model="o4-mini"),
            (HI, message("assistant", "{", 2)),
            {"settings": {"temperature": 0}, "tools": [{**NOW, "name": "a b"}]},
            [
                (
                    "tool-name",
                    ("tools", 0),
                    "OpenAI Responses refuses the tool name 'a b'; a name must be 1 to 64 of a-z, A-Z, 0-9, _ and -",
                ),
                (
                    "prefill",
                    2,
                    "OpenAI Responses does not continue a final assistant message but answers after it; "
                    "end with a user message",
                ),
                (
                    "temperature-fixed",
                    ("settings", "temperature"),
                    "OpenAI Responses's o4-mini refuses a temperature other than 1; "
                    "leave it out, or set model_limits if this model accepts one",
                ),
            ],
            id="responses: what chat completions refuses too",
        ),
        pytest.param(
            BEDROCK,
            (HI, CALLS, result("c1", 3), result("c2", 4, " ")),
            {},
            [
                (
                    "tool-result-blank",
                    4,
                    "Amazon Bedrock refuses a tool result without text; write what it gave, such as '(nothing)'",
                ),
                (
                    "tools-missing",
                    2,
                    "Amazon Bedrock refuses tool calls in a request without tools; "
                    "define those that the messages call under 'tools'",
                ),
            ],
            id="bedrock: a blank result, and calls without tools",
        ),
        pytest.param(
            BEDROCK,
            (HI, message("assistant", None, 2, tool_calls=(call("c 1", "now"),)), result("c 1", 3)),
            {"tools": [NOW]},
            [
                (
                    "call-id",
                    2,
                    "Amazon Bedrock refuses the id 'c 1' of a call; "
                    "an id must be 1 to 64 of a-z, A-Z, 0-9, _ . : and -",
                )
            ],
            id="bedrock: the id of a call",
        ),
        pytest.param(
            BEDROCK,
            (message("assistant", "Hello.", 1), HI, message("user", "and", 2)),
            {},
            [
                (
                    "first-turn",
                    1,
                    "Amazon Bedrock expects the user to speak first, and this is the assistant's message; "
                    "put a user message before it",
                ),
                (
                    "alternating-turns",
                    2,
                    "Amazon Bedrock refuses consecutive turns of the same role, and message 1 is the user's turn too; "
                    "join them, or put an answer between them",
                ),
            ],
            id="bedrock: the order of turns",
        ),
        pytest.param(
            BEDROCK,
            (HI, CALLS, result("c1", 3), result("c2", 4), message("user", "ok", 5), message("user", "and", 6)),
            {"tools": [NOW]},
            [
                (
                    "alternating-turns",
                    6,
                    "Amazon Bedrock refuses consecutive turns of the same role, and message 5 is the user's turn too; "
                    "join them, or put an answer between them",
                )
            ],
            id="bedrock: two user messages after tool results",
        ),
        pytest.param(
            BEDROCK,
            (HI, message("assistant", "a", 2), message("assistant", "b", 3), message("user", "c", 4)),
            {},
            [
                (
                    "alternating-turns",
                    3,
                    "Amazon Bedrock refuses consecutive turns of the same role, and message 2 is the assistant's turn "
                    "too; join them, or put a user message between them",
                )
            ],
            id="bedrock: two answers",
        ),
        pytest.param(
            BedrockProvider(model="eu.anthropic.claude-opus-4-7", region="us-east-1"),
            (HI, message("assistant", "{", 2)),
            {"settings": {"temperature": 0.5, "top_p": 0.9, "max_output_tokens": 200_000}},
            [
                (
                    "prefill",
                    2,
                    "Amazon Bedrock's eu.anthropic.claude-opus-4-7 refuses a final assistant message: it does not "
                    "continue a prefilled answer; end with a user message",
                ),
                (
                    "output-cap",
                    ("settings", "max_output_tokens"),
                    "max_output_tokens is 200000, but Amazon Bedrock's eu.anthropic.claude-opus-4-7 supports at most "
                    "128000; lower it, or set model_limits if this model supports more",
                ),
                (
                    "temperature-fixed",
                    ("settings", "temperature"),
                    "Amazon Bedrock's eu.anthropic.claude-opus-4-7 refuses a temperature other than 1; "
                    "leave it out, or set model_limits if this model accepts one",
                ),
                (
                    "sampling-fixed",
                    ("settings", "top_p"),
                    "Amazon Bedrock's eu.anthropic.claude-opus-4-7 refuses topP; "
                    "leave it out, or set model_limits if this model accepts a temperature",
                ),
            ],
            id="bedrock: what Anthropic's models refuse there too",
        ),
        pytest.param(
            BEDROCK,
            (HI,),
            {"settings": {"temperature": 1.5}},
            [
                (
                    "temperature",
                    ("settings", "temperature"),
                    "temperature is 1.5, but Amazon Bedrock takes 0 to 1",
                )
            ],
            id="bedrock: a temperature",
        ),
        pytest.param(
            OLLAMA,
            (HI,),
            {"tools": [NOW], "tool_choice": "required"},
            [
                (
                    "tool-choice-ignored",
                    ("tool_choice",),
                    "Ollama ignores tool_choice, so the model may call any tool or none; leave it out",
                )
            ],
            id="ollama: a tool choice",
        ),
        pytest.param(
            OLLAMA,
            (HI, CALLS, result("c1", 3, None), result("c2", 4)),
            {},
            [
                (
                    "tool-result-content",
                    3,
                    "Ollama refuses a tool message without content; write '' if the result is empty",
                )
            ],
            id="ollama: a result without content",
        ),
        pytest.param(
            OPENROUTER,
            (HI,),
            {"settings": {"temperature": 2.5}},
            [("temperature", ("settings", "temperature"), "temperature is 2.5, but OpenRouter takes 0 to 2")],
            id="openrouter: a temperature",
        ),
        pytest.param(
            GeminiProvider(model="gemini-flash-latest"),
            (HI,),
            {},
            [
                (
                    "model-alias",
                    ("settings", "model"),
                    "Gemini knows gemini-flash-latest in its API version v1beta only; "
                    "name a model with its version, or set api_version",
                )
            ],
            id="gemini: an alias",
        ),
        pytest.param(
            GeminiProvider(model="gemini-flash-latest", api_version="v1beta"), (HI,), {}, [], id="gemini: v1beta"
        ),
    ],
)
def test_what_a_vendor_refuses_is_found(
    provider: ChatProvider, prompt: tuple[ChatMessage, ...], options: Any, findings: list[tuple[str, Any, str]]
) -> None:
    assert findings_of(provider, *prompt, **options) == findings


def test_bedrocks_tools_may_be_in_the_body_that_is_merged() -> None:
    own = {"toolConfig": {"tools": [{"systemTool": {"name": "nova_grounding"}}]}}
    prompt = (HI, CALLS, result("c1", 3), result("c2", 4))
    assert findings_of(BEDROCK, *prompt, settings={"extra_body": own}) == []


def test_what_is_merged_in_place_of_bedrocks_parameters_breaks_no_rule() -> None:
    provider = BedrockProvider(model="eu.anthropic.claude-opus-4-7", extra_body={"inferenceConfig": 1})
    assert findings_of(provider) == []
