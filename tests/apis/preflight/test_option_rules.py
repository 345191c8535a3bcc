"""Preflight of settings, tools, tool choices and response formats: what each API refuses, and what the findings say."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt import (
    AnthropicProvider,
    AzureProvider,
    BedrockProvider,
    ChatMessage,
    ChatProvider,
    GeminiProvider,
    ModelLimits,
    OllamaProvider,
    OpenAIProvider,
    OpenAIResponsesProvider,
    PreflightInput,
    ProviderRequest,
)
from pytest_chatprompt.apis.option_rules import choices_without_tools
from pytest_chatprompt.prompt.chat_prompt import Media
from tests.apis.built_in import preflight_of
from tests.apis.conversations import call

OPENAI = OpenAIProvider(model="m")
RESPONSES = OpenAIResponsesProvider(model="m")
AZURE = AzureProvider()
ANTHROPIC = AnthropicProvider(model="m")
GEMINI = GeminiProvider(model="m")
BEDROCK = BedrockProvider(model="m")
HI = ChatMessage("user", "hi", number=1)
OBJECT: dict[str, Any] = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


def findings_of(provider: ChatProvider, *prompt: ChatMessage, **options: Any) -> list[tuple[Any, ...]]:
    request = ProviderRequest(chat_prompt=prompt or (HI,), metadata={"systemPrompt": ""}, **options)
    return [
        (finding.rule, finding.message_number or finding.location, finding.text)
        for finding in preflight_of(provider, request)
    ]


def tool(name: str, parameters: Any = None, **more: Any) -> dict[str, Any]:
    return {"type": "function", "name": name, **({} if parameters is None else {"parameters": parameters}), **more}


def strict(schema: Any) -> dict[str, Any]:
    return {"tools": [tool("a", schema, strict=True)]}


def schema_format(schema: Any, name: str = "n", **more: Any) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "name": name, "schema": schema, **more}}


@pytest.mark.parametrize("provider", [OPENAI, AZURE, ANTHROPIC, GEMINI], ids=lambda provider: provider.vendor)
def test_ordinary_options_break_no_rule(provider: ChatProvider) -> None:
    schema = {
        "type": "object",
        "properties": {
            "city": {"type": ["string", "null"], "pattern": "^[A-Z]"},
            "days": {"type": "array", "items": {"$ref": "#/$defs/day"}, "minItems": 1},
            "unit": {"anyOf": [{"const": "C"}, {"enum": ["F", "K"]}]},
        },
        "required": ["city", "days", "unit"],
        "additionalProperties": False,
        "$defs": {"day": OBJECT},
    }
    options = {"tools": [tool("a", schema, strict=True), tool("b")], "tool_choice": {"type": "function", "name": "b"}}
    assert findings_of(provider, **options, **schema_format(schema, strict=True)) == []
    assert findings_of(provider, tools=[tool("a")], tool_choice="required") == []


@pytest.mark.parametrize(
    ("schema", "rule", "text"),
    [
        pytest.param(
            {"type": "object", "properties": {}},
            "strict-additional-properties",
            "OpenAI's strict mode refuses the parameters of 'a' without 'additionalProperties: false'; "
            "add it, or leave out 'strict'",
            id="additionalProperties missing",
        ),
        pytest.param(
            OBJECT | {"additionalProperties": True},
            "strict-additional-properties",
            "OpenAI's strict mode refuses the parameters of 'a' without 'additionalProperties: false'; "
            "add it, or leave out 'strict'",
            id="additionalProperties true",
        ),
        pytest.param(
            OBJECT | {"$defs": {"d": {"type": ["object", "null"], "additionalProperties": {"type": "string"}}}},
            "strict-additional-properties",
            "OpenAI's strict mode refuses 'd' of the parameters of 'a' without 'additionalProperties: false'; "
            "add it, or leave out 'strict'",
            id="additionalProperties of an inner object",
        ),
        pytest.param(
            OBJECT | {"properties": {"x": {"type": "string"}, "y": {"type": "string"}}, "required": ["y"]},
            "strict-required",
            "OpenAI's strict mode wants every property in 'required', and the parameters of 'a' leaves out x; "
            "add them, with null among the types of what may be missing",
            id="a property that is not required",
        ),
        pytest.param(
            OBJECT | {"properties": {"x": {"anyOf": [OBJECT | {"properties": {"y": {}}}]}}, "required": ["x"]},
            "strict-required",
            "OpenAI's strict mode wants every property in 'required', and anyOf[0] of 'x' of the parameters of 'a' "
            "leaves out y; add them, with null among the types of what may be missing",
            id="a property of a union that is not required",
        ),
        pytest.param(
            {key: value for key, value in OBJECT.items() if key != "required"} | {"properties": {"x": True}},
            "strict-required",
            "OpenAI's strict mode wants every property in 'required', and the parameters of 'a' leaves out x; "
            "add them, with null among the types of what may be missing",
            id="no required at all",
        ),
        *(
            pytest.param(
                OBJECT | {keyword: value},
                "strict-keyword",
                f"OpenAI's strict mode refuses {keyword} in the parameters of 'a'; "
                "write anyOf where that will do, or leave out 'strict'",
                id=keyword,
            )
            for keyword, value in (
                ("allOf", [OBJECT]),
                ("oneOf", [OBJECT]),
                ("not", {"type": "string"}),
                ("if", True),
                ("dependentRequired", {"a": ["b"]}),
                ("dependentSchemas", {"a": OBJECT}),
            )
        ),
        pytest.param(
            OBJECT | {"properties": {"x": {"type": "array", "items": {"not": {}}}}, "required": ["x"]},
            "strict-keyword",
            "OpenAI's strict mode refuses not in items of 'x' of the parameters of 'a'; "
            "write anyOf where that will do, or leave out 'strict'",
            id="a keyword inside",
        ),
        pytest.param(
            {"anyOf": [OBJECT, OBJECT]},
            "strict-root",
            "OpenAI's strict mode wants an object as the root of the parameters of 'a'; "
            "put what is there now under a property of one",
            id="a union as root",
        ),
        pytest.param(
            {"type": "array", "items": OBJECT},
            "strict-root",
            "OpenAI's strict mode wants an object as the root of the parameters of 'a'; "
            "put what is there now under a property of one",
            id="a list as root",
        ),
    ],
)
def test_openais_strict_mode(schema: dict[str, Any], rule: str, text: str) -> None:
    assert findings_of(OPENAI, **strict(schema)) == [(rule, ("tools", 0), text)]
    in_format = findings_of(OPENAI, **schema_format(schema, strict=True))
    assert in_format == [(rule, ("response_format",), text.replace("the parameters of 'a'", "the schema 'n'"))]
    # Without `strict`, any schema of a format will do, and any object with properties of a tool; so it will for Gemini.
    loose = findings_of(OPENAI, tools=[tool("a", schema)], **schema_format(schema, strict=False))
    assert {rule for rule, *_ in loose} <= {"tool-schema"}
    assert findings_of(GEMINI, **strict(schema)) == []


@pytest.mark.parametrize(
    ("provider", "schema", "found"),
    [
        (OPENAI, OBJECT | {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, "anyOf"),
        (RESPONSES, {"allOf": [OBJECT], "not": {}}, "allOf, not"),
        (AZURE, {"type": "object", "enum": [{}]}, "enum"),
        (OPENAI, {"type": "array", "items": OBJECT}, "a type other than object"),
        (OPENAI, {"properties": {"a": {}}}, "a type other than object"),
        (ANTHROPIC, OBJECT | {"oneOf": [OBJECT]}, "oneOf"),
        (ANTHROPIC, OBJECT | {"enum": [{}]}, None),
        (ANTHROPIC, {"type": "string"}, "a type other than object"),
        (BEDROCK, {"oneOf": [OBJECT]}, "a type other than object"),
        (BEDROCK, OBJECT | {"oneOf": [OBJECT]}, None),
        (OPENAI, {"type": "object", "properties": {"a": {"anyOf": [{"enum": [1]}, {"not": {}}]}}}, None),
        (OPENAI, {}, None),
    ],
)
def test_the_root_of_the_parameters_of_a_tool(
    provider: ChatProvider, schema: dict[str, Any], found: str | None
) -> None:
    text = (
        f"{provider.vendor} refuses {found} at the root of the parameters of 'a'; "
        "write an object with properties there, and the rest into its description"
    )
    expected = [] if found is None else [("tool-schema", ("tools", 1), text)]
    assert findings_of(provider, tools=[tool("b"), tool("a", schema)]) == expected


def test_a_recursive_schema_is_walked_once() -> None:
    schema = {"$ref": "#/$defs/node", "$defs": {"node": OBJECT | {"properties": {"next": {"$ref": "#/$defs/node"}}}}}
    ((rule, _, text),) = findings_of(OPENAI, **strict(schema))
    assert (rule, "'node' of the parameters of 'a' leaves out next" in text) == ("strict-required", True)


@pytest.mark.parametrize(
    ("provider", "name", "allowed"),
    [
        (OPENAI, "a" * 65, "1 to 64 of a-z, A-Z, 0-9, _ and -"),
        (AZURE, "get weather", "1 to 64 of a-z, A-Z, 0-9, _ and -"),
        (ANTHROPIC, "a.b", "1 to 128 of a-z, A-Z, 0-9, _ and -"),
        (GEMINI, "1a", "a letter or _, then up to 127 of a-z, A-Z, 0-9, _ . : -"),
    ],
    ids=["openai", "azure", "anthropic", "gemini"],
)
def test_tool_names(provider: ChatProvider, name: str, allowed: str) -> None:
    assert findings_of(provider, tools=[tool("good_1"), tool(name)]) == [
        ("tool-name", ("tools", 1), f"{provider.vendor} refuses the tool name {name!r}; a name must be {allowed}")
    ]


@pytest.mark.parametrize("provider", [ANTHROPIC, BEDROCK, GEMINI], ids=lambda provider: provider.vendor)
def test_two_tools_of_one_name(provider: ChatProvider) -> None:
    assert findings_of(provider, tools=[tool("a"), tool("b"), tool("a")]) == [
        ("tool-name-twice", ("tools", 2), f"{provider.vendor} refuses a second tool 'a'; rename one of them")
    ]
    # OpenAI takes them.
    assert findings_of(OPENAI, tools=[tool("a"), tool("a")]) == []


def test_the_names_of_custom_tools_and_of_formats_count_too() -> None:
    options = {"tools": [{"type": "custom", "custom": {"name": "a b"}}], **schema_format({}, name="a b")}
    assert [(rule, location) for rule, location, _ in findings_of(OPENAI, **options)] == [
        ("tool-name", ("tools", 0)),
        ("schema-name", ("response_format",)),
    ]
    assert findings_of(OPENAI, **schema_format({}, name="a b"))[0][2] == (
        "OpenAI refuses the name 'a b' of a response format; a name must be 1 to 64 of a-z, A-Z, 0-9, _ and -"
    )


@pytest.mark.parametrize("provider", [OPENAI, RESPONSES, AZURE], ids=lambda provider: provider.vendor)
def test_json_without_the_word(provider: ChatProvider) -> None:
    options: dict[str, Any] = {"response_format": {"type": "json_object"}}
    assert findings_of(provider, **options) == [
        (
            "json-word",
            ("response_format",),
            f"{provider.vendor} refuses the format json_object if no message contains the word JSON; "
            "say in a message what the answer must be",
        )
    ]
    assert findings_of(provider, ChatMessage("system", "Answer in Json."), HI, **options) == []
    assert findings_of(provider, **schema_format(OBJECT)) == []


@pytest.mark.parametrize("provider", [OPENAI, ANTHROPIC, GEMINI], ids=lambda provider: provider.vendor)
@pytest.mark.parametrize(
    ("names", "choice", "text"),
    [
        (
            ["weather"],
            {"type": "function", "name": "wether"},
            "{} refuses a tool_choice that is not among the tools, and there is no 'wether'; did you mean 'weather'?",
        ),
        (
            [],
            {"type": "function", "name": "weather"},
            "{} refuses a tool_choice that is not among the tools, and there is no 'weather'; define it under 'tools'",
        ),
        ([], "auto", "{} refuses a tool_choice without tools; define them, or leave it out"),
    ],
)
def test_a_tool_choice_without_its_tool(provider: ChatProvider, names: list[str], choice: Any, text: str) -> None:
    assert findings_of(provider, tools=[tool(name) for name in names], tool_choice=choice) == [
        ("tool-choice", ("tool_choice",), text.format(provider.vendor))
    ]


def test_a_tool_without_a_name_has_none_to_check() -> None:
    request = PreflightInput("Any", "m", (HI,), tools=({"type": "web_search"},))
    assert list(choices_without_tools(request)) == []


def test_each_allowed_tool_has_to_be_defined() -> None:
    allowed = {"type": "allowed_tools", "mode": "required", "tools": [tool("a"), tool("zzz")]}
    ((rule, _, text),) = findings_of(OPENAI, tools=[tool("a")], tool_choice=allowed)
    assert (rule, "there is no 'zzz'" in text) == ("tool-choice", True)


@pytest.mark.parametrize("provider", [OPENAI, ANTHROPIC], ids=lambda provider: provider.vendor)
def test_a_call_id_that_is_used_twice(provider: ChatProvider) -> None:
    prompt = (
        HI,
        ChatMessage("assistant", None, tool_calls=(call("c1", "a"),), number=2),
        ChatMessage("tool", "x", tool_call_id="c1", number=3),
        ChatMessage("assistant", None, tool_calls=(call("c1", "a"),), number=4),
        ChatMessage("tool", "y", tool_call_id="c1", number=5),
    )
    assert findings_of(provider, *prompt) == [
        (
            "tool-call-id-twice",
            4,
            f"{provider.vendor} tells tool calls apart by their ids, and 'c1' is used for a call before; "
            "give each call an id of its own, and its result the same",
        )
    ]


@pytest.mark.parametrize(
    ("provider", "settings", "findings"),
    [
        pytest.param(
            OpenAIProvider(model="o4-mini"),
            {"temperature": 0, "top_p": 0.5},
            [
                (
                    "temperature-fixed",
                    ("settings", "temperature"),
                    "OpenAI's o4-mini refuses a temperature other than 1; leave it out, or set model_limits if this "
                    "model accepts one",
                ),
                (
                    "sampling-fixed",
                    ("settings", "top_p"),
                    "OpenAI's o4-mini refuses top_p; leave it out, or set model_limits if this model accepts a temperature",
                ),
            ],
            id="openai: sampling of a reasoning model",
        ),
        pytest.param(
            OPENAI,
            {"model": "gpt-5.5", "extra_body": {"presence_penalty": 1, "logprobs": True}},
            [
                (
                    "sampling-fixed",
                    ("settings", name),
                    f"OpenAI's gpt-5.5 refuses {name}; leave it out, or set model_limits if this model accepts a temperature",
                )
                for name in ("presence_penalty", "logprobs")
            ],
            id="openai: the model of the settings, and sampling in extra_body",
        ),
        pytest.param(
            OpenAIProvider(model="o3", model_limits=ModelLimits(temperature=True)),
            {"top_p": 0.5},
            [],
            id="model_limits",
        ),
        pytest.param(
            OpenAIProvider(model="gpt-4.1"), {"top_p": 0.5, "temperature": 0}, [], id="openai: no reasoning model"
        ),
        pytest.param(
            OpenAIProvider(model="o3", max_tokens_parameter="max_tokens"),
            {"max_output_tokens": 5},
            [
                (
                    "max-tokens",
                    ("settings", "max_output_tokens"),
                    "OpenAI's o3 refuses max_tokens; leave out max_tokens_parameter, so that max_completion_tokens is "
                    "sent, or set model_limits if this model accepts it",
                )
            ],
            id="openai: max_tokens of a reasoning model",
        ),
        pytest.param(OpenAIProvider(model="o3"), {"max_output_tokens": 5}, [], id="openai: max_completion_tokens"),
        pytest.param(
            OpenAIProvider(model="gpt-4.1", max_tokens_parameter="max_tokens"),
            {"max_output_tokens": 5},
            [],
            id="openai: an older model",
        ),
        pytest.param(
            AnthropicProvider(model="claude-opus-5"),
            {"top_p": 0.5},
            [
                (
                    "sampling-fixed",
                    ("settings", "top_p"),
                    "Anthropic's claude-opus-5 refuses top_p; leave it out, or set model_limits if this model accepts a "
                    "temperature",
                )
            ],
            id="anthropic: top_p of a model that takes none",
        ),
        pytest.param(
            AnthropicProvider(model="claude-sonnet-4-5", api_version="2026-10-21"),
            {"top_p": 0.5},
            [
                (
                    "sampling-removed",
                    ("settings", "top_p"),
                    "Anthropic refuses top_p since the API version 2026-10-21; leave it out, or use an older version",
                )
            ],
            id="anthropic: top_p of a version that has none",
        ),
        pytest.param(
            OPENAI,
            {"stop": ["a", "b", "c", "d", "e"]},
            [("stop-count", ("settings", "stop"), "OpenAI takes up to 4 texts under stop; leave some out")],
            id="openai: too many stops",
        ),
        pytest.param(OPENAI, {"stop": ["a", "b", "c", "d"]}, [], id="openai: four stops"),
        *(
            pytest.param(
                OpenAIProvider(model=model),
                {"stop": "END"},
                [
                    (
                        "stop-fixed",
                        ("settings", "stop"),
                        f"OpenAI's {model} refuses stop; leave it out, or set model_limits if this model accepts it",
                    )
                ],
                id=f"openai: a stop for {model}",
            )
            for model in ("o3", "o3-2025-04-16", "o4-mini")
        ),
        pytest.param(OpenAIProvider(model="o3-mini"), {"stop": "END"}, [], id="openai: a stop for o3-mini"),
        pytest.param(
            AZURE,
            {"stop": ["a", "b", "c", "d", "e"], "reasoning_effort": "low"},
            [
                ("stop-count", ("settings", "stop"), "Azure OpenAI takes up to 4 texts under stop; leave some out"),
                (
                    "api-version",
                    ("settings", "reasoning_effort"),
                    "Azure OpenAI's API version 2024-10-21 has no reasoning_effort; use 2024-12-01-preview or later, or "
                    "the v1 API (api_version=None)",
                ),
            ],
            id="azure: reasoning_effort at the default version",
        ),
        *(
            pytest.param(
                AzureProvider(api_version=version), {"reasoning_effort": "low"}, [], id=f"azure: effort at {version}"
            )
            for version in ("2024-12-01-preview", "2025-04-01-preview", "v1", None)
        ),
        pytest.param(
            OllamaProvider(),
            {"extra_body": {"options": {"num_ctx": 8192}}},
            [
                (
                    "option-ignored",
                    ("settings", "extra_body"),
                    "Ollama ignores num_ctx, keep_alive and options at /v1; set them on the server "
                    "(OLLAMA_CONTEXT_LENGTH, OLLAMA_KEEP_ALIVE, a Modelfile), or call /api/chat",
                )
            ],
            id="ollama: the length of the context",
        ),
        pytest.param(OllamaProvider(), {"extra_body": {"top_k": 4}}, [], id="ollama: another option"),
        pytest.param(
            GEMINI,
            {"temperature": 3},
            [("temperature", ("settings", "temperature"), "temperature is 3, but Gemini takes 0 to 2")],
            id="gemini: a temperature out of range",
        ),
    ],
)
def test_settings(provider: ChatProvider, settings: dict[str, Any], findings: list[tuple[Any, ...]]) -> None:
    assert findings_of(provider, settings=settings) == findings


CUSTOM: dict[str, Any] = {"type": "custom", "name": "run"}


def test_an_older_version_of_azure_has_no_audio_and_no_custom_tools() -> None:
    sound = ChatMessage("user", ("Listen", Media("audio", "a.mp3", "audio/mpeg", b"ID3")), number=1)
    found = [
        (
            "api-version",
            1,
            "Azure OpenAI's API version 2024-10-21 has no audio; use 2025-01-01-preview or later, or the v1 API "
            "(api_version=None)",
        ),
        (
            "api-version",
            ("tools", 0),
            "Azure OpenAI's API version 2024-10-21 has no custom tools; use the v1 API (api_version=None)",
        ),
    ]
    assert findings_of(AZURE, sound, tools=[CUSTOM]) == found
    (custom,) = findings_of(AzureProvider(api_version="2025-04-01-preview"), sound, tools=[CUSTOM])
    assert custom[1] == ("tools", 0)
    assert findings_of(AzureProvider(api_version=None), sound, tools=[CUSTOM]) == []


def test_ollama_reads_a_custom_tool_as_a_function() -> None:
    text = "Ollama takes a custom tool for a function without a name; write a function"
    assert findings_of(OllamaProvider(), tools=[tool("a"), CUSTOM]) == [("custom-tool", ("tools", 1), text)]


@pytest.mark.parametrize("provider", [ANTHROPIC, BedrockProvider()], ids=lambda provider: provider.vendor)
def test_schemas_that_allow_more_properties_are_refused_where_all_are_strict(provider: ChatProvider) -> None:
    inner = OBJECT | {"properties": {"x": {"type": "object", "properties": {}}}}
    options = {**strict(inner), **schema_format({"type": "object", "properties": {}})}
    assert findings_of(provider, **options) == [
        (
            "schema-additional-properties",
            location,
            f"{provider.vendor} refuses {place} without 'additionalProperties: false'; add it",
        )
        for location, place in (
            (("tools", 0), "'x' of the parameters of 'a'"),
            (("response_format",), "the schema 'n'"),
        )
    ]
    assert findings_of(provider, tools=[tool("a", {"type": "object"})], **schema_format(OBJECT)) == []
