"""`tools` and `tool_choice`: what the model may call, in the shape of OpenAI's chat completions or Responses.

Source: https://platform.openai.com/docs/guides/function-calling, and the package `openai`
(`types/chat/chat_completion_tool_union_param.py`, `types/responses/function_tool_param.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, PlainValidator, Tag, model_validator

from pytest_chatprompt.cases.fields import NonEmptyString, SchemaKeywords, StrictModel, TupleOf
from pytest_chatprompt.text.json_data import (
    FrozenDict,
    check_json,
    error_at,
    freeze,
    invalid,
    require_json_mapping,
    unexpected,
    without_extensions,
)
from pytest_chatprompt.wording import did_you_mean

TOOL_CHOICES: Final = ("auto", "none", "required")
_NAMED_CHOICE: Final = "{type: function, name: NAME}"


def _rule_of_type(kind: str, rule: dict[str, Any]) -> dict[str, Any]:
    """Make a JSON Schema rule for mappings of one type, whose content may be nested under the name of the type."""
    below = {"if": {"required": [kind]}, "then": {"properties": {kind: {"type": "object", **rule}}}, "else": rule}
    return {"if": {"properties": {"type": {"const": kind}}, "required": ["type"]}, "then": below}


_NAMED: Final = {"properties": {"name": {"type": "string", "minLength": 1}}, "required": ["name"]}
_CHOICE_OF_ONE: Final = {
    "type": "object",
    "properties": {"type": {"type": "string", "minLength": 1}},
    "required": ["type"],
    "allOf": [_rule_of_type("function", _NAMED), _rule_of_type("custom", _NAMED)],
}
_CHOICE_OF_SEVERAL: Final = {
    "properties": {"mode": {"enum": ["auto", "required"]}, "tools": {"type": "array", "items": _CHOICE_OF_ONE}},
    "required": ["mode", "tools"],
}


class FunctionDefinition(StrictModel):
    """A function that the model may call.

    Attributes:
        name: its name; each API has rules for it, which preflight knows.
        description: what it does, for the model.
        parameters: the JSON Schema of its arguments, an object; `None` for a function without arguments.
        strict: whether the arguments always fit the schema.
    """

    # Most eval files have no tools.
    model_config = ConfigDict(defer_build=True)

    name: NonEmptyString
    description: str | None = None
    parameters: Annotated[Mapping[str, Any], PlainValidator(require_json_mapping)] | None = None
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

    model_config = ConfigDict(defer_build=True)

    type: Literal["function"]
    function: FunctionDefinition


class FlatTool(FunctionDefinition):
    """A function tool in the shape of Responses.

    Attributes:
        type: always `function`.
    """

    type: Literal["function"]


class OtherTool(StrictModel):
    """A tool of another type, which only some of OpenAI's APIs have: custom, or hosted by the vendor.

    Attributes:
        type: its type, such as `custom`.
    """

    model_config = ConfigDict(
        extra="allow", defer_build=True, json_schema_extra={"allOf": [_rule_of_type("custom", _NAMED)]}
    )

    type: Annotated[NonEmptyString, SchemaKeywords(lambda: {"not": {"const": "function"}})]


Tool = ChatTool | FlatTool | OtherTool


def _tool_shape(tool: Any) -> str:
    """The tag of a tool's shape; in angle brackets, because error messages leave it out."""
    if not isinstance(tool, Mapping):
        return "<flat>"
    if tool.get("type", "function") != "function":
        return "<other>"
    return "<chat>" if "function" in tool else "<flat>"


class _Tools(BaseModel):
    """A list of tools; error messages leave out its name, which the file does not have."""

    model_config = ConfigDict(defer_build=True)

    tools: TupleOf[
        Annotated[
            Annotated[ChatTool, Tag("<chat>")]
            | Annotated[FlatTool, Tag("<flat>")]
            | Annotated[OtherTool, Tag("<other>")],
            Discriminator(_tool_shape),
        ]
    ] = Field(alias="<tools>")


def read_tools(data: Any) -> tuple[FrozenDict, ...]:
    """Check a list of tools.

    Args:
        data: a list of mappings; it may be empty.

    Raises:
        PydanticCustomError, ValidationError: what is wrong with them.
    """
    if not isinstance(data, list | tuple):
        raise unexpected("a list of tools")
    _Tools.model_validate({"<tools>": data})
    check_json(data)
    for index, tool in enumerate(data):
        if tool["type"] == "custom" and not _has_name(tool.get("custom", tool)):
            raise error_at((index,), invalid("missing key 'name'; a custom tool has one"))
    return tuple(freeze(_without_extensions(tool)) for tool in data)


def _without_extensions(tool: Mapping[str, Any]) -> dict[str, Any]:
    own = without_extensions(tool)
    return own | {"function": without_extensions(own["function"])} if _tool_shape(tool) == "<chat>" else own


def read_tool_choice(data: Any) -> str | FrozenDict | None:
    """Check a `tool_choice`.

    Args:
        data: `auto`, `none`, `required`, or a mapping that names one tool or several; `None` for none.

    Raises:
        PydanticCustomError: what is wrong with it.
    """
    if data is None:
        return None
    if isinstance(data, str):
        if data in TOOL_CHOICES:
            return data
        hint = did_you_mean(data, TOOL_CHOICES) or f"write {', '.join(TOOL_CHOICES)} or {_NAMED_CHOICE}"
        raise invalid(f"unknown tool_choice: {data!r}; {hint}")
    if not isinstance(data, Mapping) or not _is_choice(check_json(data)):
        raise unexpected(f"{', '.join(TOOL_CHOICES)} or {_NAMED_CHOICE}")
    frozen: FrozenDict = freeze(without_extensions(data))
    return frozen


ToolChoiceWord = Annotated[str, SchemaKeywords(lambda: {"enum": [*TOOL_CHOICES]})]
# The same rules as in `_is_choice`.
ToolChoice = Annotated[
    Mapping[str, Any],
    SchemaKeywords(lambda: {**_CHOICE_OF_ONE, **_rule_of_type("allowed_tools", _CHOICE_OF_SEVERAL)}),
]


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

    # Most eval files have none.
    model_config = ConfigDict(defer_build=True)

    name: NonEmptyString
    description: str | None = None
    # `schema` is a method of pydantic's models.
    json_schema_: Annotated[Mapping[str, Any], PlainValidator(require_json_mapping)] = Field(alias="schema")
    strict: bool | None = None


class ChatSchemaFormat(StrictModel):
    """A schema in the shape of chat completions.

    Attributes:
        type: always `json_schema`.
        json_schema: the schema, with its name.
    """

    model_config = ConfigDict(defer_build=True)

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

    model_config = ConfigDict(defer_build=True)

    type: Literal["text", "json_object"]


# The same models as in `format_model`.
ResponseFormat = PlainFormat | ChatSchemaFormat | FlatSchemaFormat


def format_model(data: Any) -> type[StrictModel]:
    """The model of a format with one of the known types; its keys are suggested for a mistyped one."""
    if not isinstance(data, Mapping) or data.get("type") != "json_schema":
        return PlainFormat
    return ChatSchemaFormat if "json_schema" in data else FlatSchemaFormat


def read_response_format(data: Any) -> FrozenDict | None:
    """Check a `response_format`.

    Args:
        data: a mapping; `None` for none.

    Raises:
        PydanticCustomError, ValidationError: what is wrong with it.
    """
    if data is None:
        return None
    if not isinstance(data, Mapping):
        raise unexpected("a mapping with the key 'type'")
    if data.get("type", "text") not in FORMAT_TYPES:
        raise error_at(("type",), unexpected(f"one of {', '.join(FORMAT_TYPES)}"))
    format_model(data).model_validate(data)
    own = without_extensions(data)
    if "json_schema" in own:
        own["json_schema"] = without_extensions(own["json_schema"])
    frozen: FrozenDict = freeze(own)
    return frozen


class _ToolsFile(BaseModel):
    model_config = ConfigDict(defer_build=True)

    tools: Annotated[tuple[Mapping[str, Any], ...], PlainValidator(read_tools)]


class _FormatFile(BaseModel):
    model_config = ConfigDict(defer_build=True)

    # An empty YAML file is null, which is not a format.
    response_format: Annotated[Mapping[str, Any], PlainValidator(lambda data: read_response_format(data or ""))]


# The files that `tools` and `response_format` may name.
FILE_MODELS: Final[Mapping[str, type[BaseModel]]] = {"tools": _ToolsFile, "response_format": _FormatFile}
