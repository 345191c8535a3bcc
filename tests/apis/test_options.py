"""What an eval file says besides messages: each API has it in its own place, or says that it has none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from pytest_chatprompt import (
    AnthropicProvider,
    AzureProvider,
    BedrockProvider,
    ChatMessage,
    ChatProvider,
    GeminiProvider,
    NotFoundError,
    OpenAIProvider,
    Payload,
    PayloadError,
    ProviderRequest,
    ProviderResponse,
    SettingField,
)
from tests.apis.built_in import chat_providers
from tests.server import Server

HI = ChatMessage("user", "hi")
OPENAI = OpenAIProvider(model="m")
AZURE = AzureProvider(deployment="d", endpoint="https://x.example")
ANTHROPIC = AnthropicProvider(model="m")
GEMINI = GeminiProvider(model="m")


def sent_by(provider: ChatProvider, **options: Any) -> dict[str, Any]:
    """The body for a request with these options, without the messages."""
    request = ProviderRequest(chat_prompt=(HI,), metadata={"systemPrompt": ""}, **options)
    body: dict[str, Any] = json.loads(provider.prepare(request).content)
    return {key: value for key, value in body.items() if key not in {"messages", "contents", "model"}}


def adjustments_of(provider: ChatProvider, **options: Any) -> tuple[str, ...]:
    request = ProviderRequest(chat_prompt=(HI,), metadata={"systemPrompt": ""}, **options)
    return provider.prepare(request).adjustments


SETTINGS: dict[str, Any] = {
    "temperature": 0,
    "top_p": 0.5,
    "stop": "END",
    "max_output_tokens": 7,
    "reasoning_effort": "high",
    "extra_body": {"top_k": 3},
}


@pytest.mark.parametrize(
    ("provider", "settings", "body"),
    [
        pytest.param(
            OPENAI,
            SETTINGS | {"seed": 1},
            {
                "temperature": 0,
                "max_completion_tokens": 7,
                "top_p": 0.5,
                "stop": "END",
                "seed": 1,
                "reasoning_effort": "high",
                "top_k": 3,
            },
            id="openai",
        ),
        pytest.param(
            OpenAIProvider(max_tokens_parameter="max_tokens"),
            {"max_output_tokens": 7},
            {"max_tokens": 7},
            id="older servers",
        ),
        pytest.param(AZURE, {"seed": 1, "stop": ["a", "b"]}, {"seed": 1, "stop": ["a", "b"]}, id="azure"),
        pytest.param(
            ANTHROPIC,
            SETTINGS,
            {
                "max_tokens": 7,
                "temperature": 0,
                "top_p": 0.5,
                "stop_sequences": ["END"],
                "output_config": {"effort": "high"},
                "top_k": 3,
            },
            id="anthropic",
        ),
        pytest.param(
            GEMINI,
            SETTINGS | {"seed": 1, "extra_body": {"generationConfig": {"topK": 3}}},
            {
                "generationConfig": {
                    "temperature": 0,
                    "maxOutputTokens": 7,
                    "topP": 0.5,
                    "stopSequences": ["END"],
                    "seed": 1,
                    "thinkingConfig": {"thinkingLevel": "HIGH"},
                    "topK": 3,
                }
            },
            id="gemini",
        ),
    ],
)
def test_each_setting_is_where_the_api_has_it(
    provider: ChatProvider, settings: dict[str, Any], body: dict[str, Any]
) -> None:
    assert sent_by(provider, settings=settings) == body
    # The same as keyword arguments.
    arguments: dict[str, Any] = dict(settings)
    if provider is AZURE:
        arguments["endpoint"] = "https://x.example"
    if isinstance(provider, OpenAIProvider):
        arguments["max_tokens_parameter"] = provider.max_tokens_parameter
    assert sent_by(type(provider)(**arguments)) == body


@pytest.mark.parametrize("provider", [OPENAI, ANTHROPIC, GEMINI], ids=lambda provider: provider.vendor)
def test_the_settings_of_a_request_win_over_the_providers_own(provider: ChatProvider) -> None:
    ours: Any = type(provider)
    configured = ours(temperature=1, max_output_tokens=9, stop="a", extra_body={"a": {"b": 1}})
    without = sent_by(configured)
    changed = sent_by(configured, settings={"temperature": 0, "stop": ["b"], "extra_body": {"a": {"c": 2}}})
    assert json.dumps(changed) == (
        json.dumps(without)
        .replace('"temperature": 1', '"temperature": 0')
        .replace('"stop": "a"', '"stop": ["b"]')
        .replace('["a"]', '["b"]')
        .replace('{"b": 1}', '{"b": 1, "c": 2}')
    )
    # The provider itself is as it was.
    assert sent_by(configured) == without


def test_null_leaves_out_what_the_provider_would_send() -> None:
    configured = AnthropicProvider(temperature=1, max_output_tokens=9, extra_body={"top_k": 1})
    nothing = {"temperature": None, "max_output_tokens": None, "extra_body": None, "seed": None}
    # The API demands a limit.
    assert sent_by(configured, settings=nothing) == {"max_tokens": 4096}


@pytest.mark.parametrize(
    ("provider", "path", "body_model"),
    [
        pytest.param(OPENAI, "/v1/chat/completions", "other", id="openai"),
        pytest.param(
            AZURE, "/openai/deployments/other/chat/completions?api-version=2024-10-21", None, id="azure: the deployment"
        ),
        pytest.param(ANTHROPIC, "/v1/messages", "other", id="anthropic"),
        pytest.param(GEMINI, "/v1/models/other:generateContent", None, id="gemini"),
    ],
)
def test_a_model_is_named_where_the_api_names_it(provider: ChatProvider, path: str, body_model: str | None) -> None:
    prepared = provider.prepare(ProviderRequest(chat_prompt=(HI,), settings={"model": "other"}))
    assert prepared.url.endswith(path)
    assert json.loads(prepared.content).get("model") == body_model
    assert "other" in str(prepared.target)
    assert "other" not in provider.target


def test_an_error_of_the_api_names_the_model_of_the_request(server: Server) -> None:
    server.reply_with({"error": {"message": "no such model"}}, status=404)
    provider = OpenAIProvider(model="mine", base_url=f"{server.url}/v1", api_key="k")
    with pytest.raises(NotFoundError, match="the model 'other'"):
        provider.send(ProviderRequest(chat_prompt=(HI,), settings={"model": "other"}))
    provider.close()


class Echo(ChatProvider):
    """An API of the user's own, with a temperature in a place of its own."""

    vendor = "Echo"

    def endpoint_path(self) -> str:
        return "/ask"

    def auth_headers(self, key: str) -> dict[str, str]:  # noqa: ARG002 - it needs none
        return {}

    def build_payload(self, prompt: Any) -> Payload:
        return Payload({"messages": [message.as_dict() for message in prompt]})

    def read_reply(self, data: Any) -> ProviderResponse:  # noqa: ARG002 - never called
        return ProviderResponse(text="")


ECHO = Echo(base_url="https://echo.example")


@pytest.mark.parametrize(
    ("provider", "options", "location", "reason"),
    [
        pytest.param(
            ANTHROPIC,
            {"settings": {"seed": 1}},
            ("settings", "seed"),
            "Anthropic has no setting 'seed'; leave it out, or put it under the name of a provider that has it",
            id="anthropic: seed",
        ),
        pytest.param(
            ANTHROPIC,
            {"settings": {"reasoning_effort": "none"}},
            ("settings", "reasoning_effort"),
            "Anthropic has no reasoning_effort 'none'; write one of low, medium, high, xhigh, max",
            id="anthropic: an effort that it has not",
        ),
        pytest.param(
            GEMINI,
            {"settings": {"reasoning_effort": "max"}},
            ("settings", "reasoning_effort"),
            "Gemini has no reasoning_effort 'max'; write one of minimal, low, medium, high, xhigh",
            id="gemini: an effort that it has not",
        ),
        pytest.param(
            ECHO,
            {"settings": {"temperature": 0}},
            ("settings", "temperature"),
            "Echo has no setting 'temperature'; leave it out, or put it under the name of a provider that has it",
            id="an API of the user's own",
        ),
        pytest.param(
            ECHO,
            {"settings": {"model": "m"}},
            ("settings", "model"),
            "Echo has no setting 'model'; leave it out, or put it under the name of a provider that has it",
            id="an API without models",
        ),
        pytest.param(
            ECHO,
            {"tools": [{"type": "function", "name": "a"}]},
            ("tools",),
            "Echo takes no tools; leave them out",
            id="an API without tools",
        ),
        pytest.param(
            ECHO,
            {"tool_choice": "auto"},
            ("tool_choice",),
            "Echo takes no tool_choice; leave it out",
            id="an API without tool choice",
        ),
        pytest.param(
            ECHO,
            {"response_format": {"type": "text"}},
            ("response_format",),
            "Echo takes no response_format; leave it out",
            id="an API without formats",
        ),
        pytest.param(
            OPENAI,
            {"tools": [{"type": "function", "name": "a"}, {"type": "web_search"}]},
            ("tools", 1),
            "OpenAI's chat completions have no tool of the type 'web_search'; the types are function and custom",
            id="openai: a tool of Responses",
        ),
        pytest.param(
            AZURE,
            {"tool_choice": {"type": "file_search"}},
            ("tool_choice",),
            "Azure OpenAI's chat completions cannot choose a tool of the type 'file_search'; choose a function",
            id="azure: a choice of Responses",
        ),
        *(
            pytest.param(
                provider,
                {"tools": [{"type": "custom", "name": "a"}]},
                ("tools", 0),
                f"{provider.vendor} has no tool of OpenAI's type 'custom'; "
                "write a function, or one of the API's own tools as {type: raw, PROVIDER: {...}}",
                id=f"{provider.vendor}: a custom tool",
            )
            for provider in (ANTHROPIC, GEMINI)
        ),
        *(
            pytest.param(
                provider,
                {"tool_choice": choice},
                ("tool_choice",),
                f"{provider.vendor} can only be made to call functions, and 'tool_choice' names another tool; "
                "choose a function",
                id=f"{provider.vendor}: {choice['type']}",
            )
            for provider in (ANTHROPIC, GEMINI)
            for choice in (
                {"type": "custom", "name": "a"},
                {"type": "allowed_tools", "mode": "required", "tools": [{"type": "custom", "name": "a"}]},
            )
        ),
        pytest.param(
            ANTHROPIC,
            {"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "a"}]}},
            ("tool_choice",),
            "Anthropic has no allowed_tools; write auto, none, required or the name of one function",
            id="anthropic: allowed tools",
        ),
        pytest.param(
            ANTHROPIC,
            {"response_format": {"type": "json_object"}},
            ("response_format",),
            "Anthropic has no JSON without a schema; write a json_schema, or ask for JSON in a message",
            id="anthropic: JSON without a schema",
        ),
    ],
)
def test_what_an_api_cannot_hold_is_an_error_with_its_place(
    provider: ChatProvider, options: dict[str, Any], location: tuple[str | int, ...], reason: str
) -> None:
    with pytest.raises(PayloadError) as caught:
        sent_by(provider, **options)
    assert (caught.value.location, caught.value.reason) == (location, reason)


def test_an_api_of_the_users_own_says_where_it_has_a_setting() -> None:
    class Tuned(Echo):
        setting_fields: Mapping[str, SettingField] = {"temperature": SettingField(("options", "heat"))}

        def build_payload(self, prompt: Any) -> Payload:
            body: dict[str, Any] = {"prompt": prompt[-1].content}
            self.settings_body(body)
            return Payload(body)

    tuned = Tuned(base_url="https://echo.example", temperature=1, model="m")
    assert sent_by(tuned) == {"prompt": "hi", "options": {"heat": 1}}
    assert sent_by(tuned, settings={"temperature": 0, "model": "n"}) == {"prompt": "hi", "options": {"heat": 0}}


def test_a_setting_is_not_lost_in_a_body_of_a_subclasss_own() -> None:
    class Forgetful(OpenAIProvider):
        def build_payload(self, prompt: Any) -> Payload:
            return Payload({"input": prompt[-1].content})

    assert sent_by(Forgetful(), settings={"temperature": 0}, tools=[{"type": "function", "name": "a"}]) == {
        "input": "hi",
        "temperature": 0,
        "tools": [{"type": "function", "function": {"name": "a"}}],
    }


CHAT_TOOL = {
    "type": "function",
    "function": {"name": "a", "description": "A", "parameters": {"type": "object"}, "strict": True},
}
FLAT_TOOL = {"type": "function", "name": "a", "description": "A", "parameters": {"type": "object"}, "strict": True}
CHAT_FORMAT = {
    "type": "json_schema",
    "json_schema": {"name": "n", "description": "d", "schema": {"type": "object"}, "strict": False},
}
FLAT_FORMAT = {"type": "json_schema", "name": "n", "description": "d", "schema": {"type": "object"}, "strict": False}
CHAT_CHOICE = {"type": "function", "function": {"name": "a"}}
FLAT_CHOICE = {"type": "function", "name": "a"}


@pytest.mark.parametrize(
    ("provider", "body", "adjustments"),
    [
        pytest.param(
            OPENAI,
            {"tools": [CHAT_TOOL], "tool_choice": CHAT_CHOICE, "response_format": CHAT_FORMAT},
            (),
            id="openai",
        ),
        pytest.param(
            ANTHROPIC,
            {
                "max_tokens": 4096,
                "tools": [{"name": "a", "description": "A", "strict": True, "input_schema": {"type": "object"}}],
                "tool_choice": {"type": "tool", "name": "a"},
                "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
            },
            ("response_format: name, description, strict left out, Anthropic has none",),
            id="anthropic",
        ),
        pytest.param(
            GEMINI,
            {
                "tools": [
                    {
                        "functionDeclarations": [
                            {"name": "a", "description": "A", "parametersJsonSchema": {"type": "object"}}
                        ]
                    }
                ],
                "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["a"]}},
                "generationConfig": {
                    "responseMimeType": "application/json",
                    "responseJsonSchema": {"type": "object"},
                },
            },
            (
                "tool a: strict left out, Gemini has none",
                "response_format: name, description, strict left out, Gemini has none",
            ),
            id="gemini",
        ),
    ],
)
def test_both_shapes_of_openai_are_the_same_for_each_api(
    provider: ChatProvider, body: dict[str, Any], adjustments: tuple[str, ...]
) -> None:
    chat: Any = {"tools": [CHAT_TOOL], "tool_choice": CHAT_CHOICE, "response_format": CHAT_FORMAT}
    flat: Any = {"tools": [FLAT_TOOL], "tool_choice": FLAT_CHOICE, "response_format": FLAT_FORMAT}
    assert sent_by(provider, **chat) == sent_by(provider, **flat) == body
    assert adjustments_of(provider, **chat) == adjustments_of(provider, **flat) == adjustments


def test_a_custom_tool_and_its_grammar_are_nested_for_chat_completions() -> None:
    grammar = {"definition": "start: /x/", "syntax": "lark"}
    nested = {"type": "custom", "custom": {"name": "c", "format": {"type": "grammar", "grammar": grammar}}}
    flat = {"type": "custom", "name": "c", "format": {"type": "grammar", **grammar}}
    text = {"type": "custom", "custom": {"name": "t", "format": {"type": "text"}}}
    allowed = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "custom", "name": "c"}, FLAT_CHOICE]}
    body = sent_by(OPENAI, tools=[nested, flat, text], tool_choice=allowed)
    assert body["tools"] == [nested, nested, text]
    assert body["tool_choice"] == {
        "type": "allowed_tools",
        "allowed_tools": {
            "mode": "auto",
            "tools": [{"type": "custom", "custom": {"name": "c"}}, CHAT_CHOICE],
        },
    }


@pytest.mark.parametrize("provider_class", chat_providers())
def test_an_empty_list_of_tools_is_not_sent(provider_class: Any) -> None:
    arguments = {AzureProvider: {"endpoint": "https://x.example"}, BedrockProvider: {"region": "us-east-1"}}
    provider = provider_class(**arguments.get(provider_class, {}))
    assert sent_by(provider, tools=[]) == sent_by(provider)


@pytest.mark.parametrize("provider", [ANTHROPIC, GEMINI], ids=lambda provider: provider.vendor)
def test_text_is_what_an_api_answers_with_anyway(provider: ChatProvider) -> None:
    assert sent_by(provider, response_format={"type": "text"}) == sent_by(provider)


@pytest.mark.parametrize("name", ["seed", "top_p", "stop", "reasoning_effort"])
def test_a_provider_takes_no_argument_that_its_api_lacks(name: str) -> None:
    arguments: Any = {name: {"seed": 1, "top_p": 0, "stop": "a", "reasoning_effort": "low"}[name]}
    with pytest.raises(TypeError, match=f"Echo has no setting '{name}'"):
        Echo(base_url="https://echo.example", **arguments)
    if name == "seed":
        with pytest.raises(TypeError, match="AnthropicProvider has no setting 'seed'"):
            AnthropicProvider(**arguments)
    else:
        AnthropicProvider(**arguments)
