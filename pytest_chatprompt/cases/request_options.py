"""The options of a request in an eval file: `settings`, `tools`, `tool_choice` and `response_format`.

Most eval files have none, so this module is imported when the first one is read.
Tools and formats have the shape of OpenAI's chat completions or Responses, and stay as their author wrote them.
Source: https://platform.openai.com/docs/guides/function-calling and /structured-outputs, and the package `openai`
(in `types/`: `chat/chat_completion_tool_union_param.py`, `shared_params/response_format_json_schema.py`,
`responses/function_tool_param.py`, `responses/response_format_text_json_schema_config_param.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, cast

from pydantic import BaseModel, Discriminator, Field, Tag, model_validator

from pytest_chatprompt.cases.fields import (
    NonEmptyString,
    ReasoningEffort,
    Seed,
    Stop,
    StrictModel,
    Temperature,
    TokenCount,
    TopP,
    TupleOf,
    check_data_path,
)
from pytest_chatprompt.cases.message import RawPart
from pytest_chatprompt.text.json_data import (
    FrozenDict,
    check_json,
    checked,
    deep_merge,
    error_at,
    freeze,
    invalid,
    parsed,
    require_json_mapping,
    unexpected,
    without_extensions,
)
from pytest_chatprompt.wording import did_you_mean


class RequestSettings(StrictModel):
    """The settings of a request; `None` leaves a setting out, even if the provider sets it.

    Attributes:
        model: the model's name; on Azure, the deployment's.
        temperature: 0 or more.
        top_p: from 0 to 1.
        stop: the texts before which the model stops.
        seed: makes answers repeatable, if the model supports it.
        max_output_tokens: the largest number of tokens in the answer.
        reasoning_effort: how long the model thinks before it answers.
        extra_body: merged into the JSON body: mappings key by key, any other value replaces what is there.
    """

    level = "settings"

    model: Annotated[str, checked("a text that is not empty", lambda text: isinstance(text, str) and text != "")] = ""
    temperature: Temperature | None = None
    top_p: TopP | None = None
    stop: Stop | None = None
    seed: Seed | None = None
    max_output_tokens: TokenCount | None = None
    reasoning_effort: ReasoningEffort | None = None
    extra_body: Annotated[Mapping[str, Any], parsed(require_json_mapping)] | None = None


SETTING_NAMES: Final = tuple(RequestSettings.model_fields)
# They stand beside the settings, so no provider of that name is meant.
_NO_PROVIDERS: Final = frozenset({*SETTING_NAMES, "tools", "tool_choice", "response_format"})


class _Levels(BaseModel, defer_build=True):
    """The settings for all providers, and those for one; error messages leave out the aliases."""

    own: RequestSettings = Field(alias="<settings>")
    by_provider: dict[str, RequestSettings] = Field(alias="<providers>")


def read_settings(data: Any) -> Any:
    """Check the settings of a file or a case: those for all providers, and mappings of them by provider."""
    if data is None:
        return None
    if not isinstance(data, Mapping):
        raise unexpected("a mapping")
    settings = without_extensions(data)
    by_provider = {name: without_extensions(settings[name]) for name in provider_names(settings)}
    own = {name: value for name, value in settings.items() if name not in by_provider}
    _Levels.model_validate({"<settings>": own, "<providers>": by_provider})
    return freeze({**own, **by_provider})


def read_request_settings(data: Any) -> Any:
    """Check the settings of a request, which is for one provider."""
    if not isinstance(data, Mapping):
        raise unexpected("a mapping")
    RequestSettings.model_validate(data)
    return freeze(data)


def provider_names(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the providers that have settings of their own in these."""
    return tuple(name for name, value in settings.items() if isinstance(value, Mapping) and name not in _NO_PROVIDERS)


def merge_settings(first: Mapping[str, Any], second: Mapping[str, Any]) -> FrozenDict:
    """Merge settings key by key, also within `extra_body` and the mapping of a provider; the second ones win."""
    return cast("FrozenDict", freeze(deep_merge(first, second)))


def merge_settings_of_case(file: Mapping[str, Any], case: Mapping[str, Any]) -> FrozenDict:
    """Merge the settings of a case into those of its file; also those for all providers win over the file's for one."""
    own = {name: value for name, value in case.items() if name not in provider_names(case)}
    by_provider = {name: _without(file[name], own) for name in provider_names(file)}
    return merge_settings({**file, **by_provider}, case)


def _without(settings: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Settings without those that others set, key by key within mappings."""
    kept = {}
    for name, value in settings.items():
        other = others.get(name)
        if isinstance(value, Mapping) and isinstance(other, Mapping):
            kept[name] = _without(value, other)
        elif name not in others:
            kept[name] = value
    return kept


def settings_for(provider_name: str | None, settings: Mapping[str, Any]) -> FrozenDict:
    """The settings for one provider: those under the name by which it was asked for win over those for all."""
    names = provider_names(settings)
    own = {name: value for name, value in settings.items() if name not in names}
    return merge_settings(own, settings[provider_name] if provider_name in names else {})


TOOL_CHOICES: Final = ("auto", "none", "required")
_NAMED_CHOICE: Final = "{type: function, name: NAME}"


class FunctionDefinition(StrictModel):
    """A function that the model may call.

    Attributes:
        name: its name; each API has rules for it, which preflight knows.
        description: what it does, for the model.
        parameters: the JSON Schema of its arguments, an object; `None` for a function without arguments.
        strict: whether the arguments always fit the schema.
    """

    name: NonEmptyString
    description: str | None = None
    parameters: Annotated[Mapping[str, Any], parsed(require_json_mapping)] | None = None
    strict: bool | None = None

    @model_validator(mode="before")
    @classmethod
    def _name_words_of_other_apis(cls, data: Any) -> Any:
        for word in ("input_schema", "parametersJsonSchema", "parameters_json_schema"):
            if isinstance(data, Mapping) and word in data:
                raise invalid(f"tools have OpenAI's shape for every API; write 'parameters' for {word!r}")
        return data


class ChatTool(StrictModel):
    """A function tool in the shape of chat completions.

    Attributes:
        type: always `function`.
        function: the function.
    """

    type: Literal["function"]
    function: FunctionDefinition


class FlatTool(FunctionDefinition):
    """A function tool in the shape of Responses.

    Attributes:
        type: always `function`.
    """

    type: Literal["function"]


class OtherTool(StrictModel, extra="allow"):
    """A tool of another type, which only some of OpenAI's APIs have: custom, or hosted by the vendor.

    Attributes:
        type: its type, such as `custom`.
    """

    type: NonEmptyString


def _tool_shape(tool: Any) -> str:
    """The tag of a tool's shape."""
    if not isinstance(tool, Mapping):
        return "<flat>"
    kind = tool.get("type", "function")
    if kind != "function":
        return "<raw>" if kind == "raw" else "<other>"
    return "<chat>" if "function" in tool else "<flat>"


class _Tools(BaseModel, defer_build=True):
    """A list of tools; error messages leave out its name, which the file does not have."""

    tools: TupleOf[
        Annotated[
            Annotated[ChatTool, Tag("<chat>")]
            | Annotated[FlatTool, Tag("<flat>")]
            | Annotated[OtherTool, Tag("<other>")]
            | Annotated[RawPart, Tag("<raw>")],
            Discriminator(_tool_shape),
        ]
    ] = Field(alias="<tools>")


def read_tools(data: Any) -> Any:
    """Check a list of tools."""
    if not isinstance(data, list | tuple):
        raise unexpected("a list of tools")
    _Tools.model_validate({"<tools>": data})
    check_json(data)
    for index, tool in enumerate(data):
        if tool["type"] == "custom" and not _has_name(tool.get("custom", tool)):
            raise error_at((index,), invalid("missing key 'name'; a custom tool has one"))
    return tuple(_own_keys(tool, "function") for tool in data)


def _own_keys(data: Mapping[str, Any], inner_key: str) -> FrozenDict:
    """A tool or a format without its `x-` keys, nor those of the mapping that chat completions nest in it."""
    own = without_extensions(data)
    inner = own.get(inner_key)
    frozen: FrozenDict = freeze(own | {inner_key: without_extensions(inner)} if isinstance(inner, Mapping) else own)
    return frozen


def read_tool_choice(data: Any) -> Any:
    """Check a `tool_choice`."""
    if data is None:
        return None
    if isinstance(data, str):
        if data in TOOL_CHOICES:
            return data
        hint = did_you_mean(data, TOOL_CHOICES) or f"write {', '.join(TOOL_CHOICES)} or {_NAMED_CHOICE}"
        raise invalid(f"unknown tool_choice: {data!r}; {hint}")
    if not isinstance(data, Mapping) or not _is_choice(check_json(data)):
        raise unexpected(f"{', '.join(TOOL_CHOICES)} or {_NAMED_CHOICE}")
    return freeze(without_extensions(data))


def _is_choice(choice: Mapping[str, Any]) -> bool:
    kind = choice.get("type")
    if kind in ("function", "custom"):
        return _has_name(choice.get(kind, choice))
    if kind == "allowed_tools":
        allowed = choice.get("allowed_tools", choice)
        return (
            isinstance(allowed, Mapping)
            and allowed.get("mode") in ("auto", "required")
            and isinstance(allowed.get("tools"), list | tuple)
            and all(isinstance(tool, Mapping) and _is_choice(tool) for tool in allowed["tools"])
        )
    return isinstance(kind, str) and bool(kind)


def _has_name(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("name"), str) and value["name"] != ""


FORMAT_TYPES: Final = ("text", "json_object", "json_schema")


class SchemaDefinition(StrictModel):
    """The schema of an answer.

    Attributes:
        name: its name, which OpenAI's APIs demand.
        description: what the answer is for, for the model.
        json_schema_: the JSON Schema.
        strict: whether the answer always fits the schema.
    """

    name: NonEmptyString
    description: str | None = None
    # `schema` is a method of pydantic's models.
    json_schema_: Annotated[Mapping[str, Any], parsed(require_json_mapping)] = Field(alias="schema")
    strict: bool | None = None


class ChatSchemaFormat(StrictModel):
    """A schema in the shape of chat completions.

    Attributes:
        type: always `json_schema`.
        json_schema: the schema, with its name.
    """

    type: Literal["json_schema"]
    json_schema: SchemaDefinition


class FlatSchemaFormat(SchemaDefinition):
    """A schema in the shape of Responses.

    Attributes:
        type: always `json_schema`.
    """

    type: Literal["json_schema"]


class PlainFormat(StrictModel):
    """Text, or any JSON.

    Attributes:
        type: `text` or `json_object`.
    """

    type: Literal["text", "json_object"]


def read_response_format(data: Any) -> Any:
    """Check a `response_format`."""
    if data is None:
        return None
    if not isinstance(data, Mapping):
        raise unexpected("a mapping with the key 'type'")
    if data.get("type", "text") not in FORMAT_TYPES:
        raise error_at(("type",), unexpected(f"one of {', '.join(FORMAT_TYPES)}"))
    schema_model = ChatSchemaFormat if "json_schema" in data else FlatSchemaFormat
    model = schema_model if data.get("type") == "json_schema" else PlainFormat
    model.model_validate(data)
    return _own_keys(data, "json_schema")


_TOOLS_OR_NAME: Final = "a list of tools, the name of a fixture: shop for shop_tools"


def read_tools_or_path(data: Any) -> Any:
    """Check the `tools` of a file or a case, which may be the path of a file, or a name: `shop` for `shop_tools`.

    `""` is none at all.
    """
    if isinstance(data, str):
        return data if data == "" or data.isidentifier() else check_data_path(data, _TOOLS_OR_NAME)
    return None if data is None else read_tools(data)


def read_format_or_path(data: Any) -> Any:
    """Check the `response_format` of a file or a case, which may be the path of a file with it."""
    return (
        check_data_path(data, "a mapping with the key 'type'") if isinstance(data, str) else read_response_format(data)
    )


class _ToolsFile(BaseModel, defer_build=True):
    tools: Annotated[tuple[Mapping[str, Any], ...], parsed(read_tools)]


class _FormatFile(BaseModel, defer_build=True):
    # An empty YAML file is null, which is not a format.
    response_format: Annotated[Mapping[str, Any], parsed(lambda data: read_response_format(data or ""))]


# The files that `tools` and `response_format` may name.
FILE_MODELS: Final[Mapping[str, type[BaseModel]]] = {"tools": _ToolsFile, "response_format": _FormatFile}
