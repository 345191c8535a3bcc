"""The JSON Schema of eval files, made of their models: `make schema` writes it into the package."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import annotated_types
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Discriminator,
    Field,
    GetPydanticSchema,
    Strict,
    Tag,
    WrapValidator,
)
from pydantic.fields import FieldInfo

import pytest_chatprompt
from pytest_chatprompt.apis.table import PROVIDERS
from pytest_chatprompt.cases.case import EvalCase, Execution, SharedKeys
from pytest_chatprompt.cases.fields import DATA_SUFFIXES, REASONING_EFFORTS, NonEmptyString, StrictModel, TupleOf
from pytest_chatprompt.cases.loader import EvalFileKeys
from pytest_chatprompt.cases.message import ROLES, EvalMessage, RawPart, TextPart
from pytest_chatprompt.cases.request_options import (
    TOOL_CHOICES,
    ChatSchemaFormat,
    ChatTool,
    FlatSchemaFormat,
    FlatTool,
    OtherTool,
    PlainFormat,
    RequestSettings,
)
from pytest_chatprompt.cases.rows import READERS, RESERVED_NAMES
from pytest_chatprompt.grading.table import CHECKS
from pytest_chatprompt.options import SCHEMA_NAME

SCHEMA_FILE: Final = Path(pytest_chatprompt.__file__).with_name(SCHEMA_NAME)
NameKind = Literal["provider", "check"]
Schema = dict[str, Any]

# --- what is written in place of what validators make of it, and the rules that only they know


# By identity: a `dict` has no hash, which a union of types asks for.
@dataclass(frozen=True, eq=False)
class Keywords:
    """Keywords of JSON Schema for a rule that only a validator knows."""

    keywords: Schema


@dataclass(frozen=True)
class KnownNames:
    """A text for which editors propose the known names; any other text is valid too, since users add names."""

    kind: NameKind


@dataclass(frozen=True)
class OtherKeys:
    """The keys that a mapping may have beside those of its model, as the type of a mapping: `dict[str, int]`."""

    mapping: Any


def pattern(text: str) -> Keywords:
    """A pattern that a text has to match."""
    return Keywords({"pattern": text})


def path_pattern(suffixes: Iterable[str]) -> str:
    """A pattern of paths that end in one of several suffixes, in upper or lower case."""
    return rf"\.({'|'.join(map(_in_any_case, (suffix.removeprefix('.') for suffix in suffixes)))})$"


def _in_any_case(word: str) -> str:
    return "".join(f"[{letter.upper()}{letter}]" for letter in word)


def _where_type(kind: str, rule: Schema) -> Schema:
    """A rule for mappings of one type, whose content may be nested under the name of the type."""
    below = {"if": {"required": [kind]}, "then": {"properties": {kind: {"type": "object", **rule}}}, "else": rule}
    return {"if": {"properties": {"type": {"const": kind}}, "required": ["type"]}, "then": below}


def _unless_role(role: str, rule: Schema) -> Schema:
    return {"if": {"properties": {"role": {"const": role}}}, "else": {"properties": rule}}


def _where(key: str, rule: Schema) -> Schema:
    return {"properties": {key: rule}, "required": [key]}


_NAMED: Final = {"properties": {"name": {"type": "string", "minLength": 1}}, "required": ["name"]}
_CHOICE_OF_ONE: Final = {
    "type": "object",
    "properties": {"type": {"type": "string", "minLength": 1}},
    "required": ["type"],
    "allOf": [_where_type("function", _NAMED), _where_type("custom", _NAMED)],
}
_CHOICE_OF_SEVERAL: Final = {
    "properties": {"mode": {"enum": ["auto", "required"]}, "tools": {"type": "array", "items": _CHOICE_OF_ONE}},
    "required": ["mode", "tools"],
}
# By model: the rules for several keys at once.
_RULES: Final[Mapping[type[BaseModel], Schema]] = {
    TextPart: {"oneOf": [{"required": ["value"]}, {"required": ["file"]}]},
    RawPart: {
        "required": ["type"],
        "additionalProperties": {"type": "object"},
        "not": {"anyOf": [{"required": ["value"]}, {"propertyNames": {"pattern": "^(type$|x-)"}}]},
    },
    OtherTool: {"allOf": [_where_type("custom", _NAMED)]},
    EvalMessage: {
        "allOf": [
            _unless_role("assistant", {"tool_calls": {"maxItems": 0}}),
            _unless_role("tool", {"tool_call_id": {"type": "null"}, "is_error": {"const": False}}),
            {
                "anyOf": [
                    _where("content", {"not": {"type": "null"}}),
                    _where("tool_calls", {"minItems": 1}),
                    _where("tool_call_id", {"type": "string"}),
                ]
            },
        ]
    },
    EvalCase: {
        "required": ["id"],
        "anyOf": [{"required": ["input_messages"]}, {"required": ["input"]}, {"required": ["request"]}],
    },
}


class WrittenCheck(BaseModel):
    """A check of the answer, or of what is sent: `{type: TYPE, value: ...}`; for the JSON Schema.

    Attributes:
        type: what it looks at; `not_` before it makes it the opposite.
    """

    type: Annotated[NonEmptyString, KnownNames("check")]


_Message = Annotated[
    Any,
    # Errors are about the one that is meant.
    Keywords(
        {
            "if": {"properties": {"type": {"const": "raw"}}, "required": ["type"]},
            "then": {"$ref": "#/$defs/RawPart"},
            "else": {"$ref": "#/$defs/EvalMessage"},
        }
    ),
]
_Messages = Annotated[TupleOf[_Message], Field(min_length=1)]
_ProviderName = Annotated[NonEmptyString, KnownNames("provider")]
_Target = Annotated[str, KnownNames("provider")] | None
# All characters but those of ASCII fit: editors know other letters than Python does.
_IDENTIFIER: Final = r"[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*$"
_VARIABLE_NAME: Final = rf"^(?!({'|'.join(sorted(RESERVED_NAMES))})$){_IDENTIFIER}"
_Variables = dict[Annotated[str, pattern(_VARIABLE_NAME)], Any]
_ROW_ID: Final = {"anyOf": [{"type": "string", "pattern": r"\S"}, {"type": "integer"}]}
_Row = Annotated[_Variables, Keywords({"properties": {"id": _ROW_ID}})]
_DataPath = Annotated[str, pattern(path_pattern(DATA_SUFFIXES))]
_ToolsName = Annotated[str, pattern(f"{path_pattern(DATA_SUFFIXES)}|^{_IDENTIFIER}")]
_Tool = ChatTool | FlatTool | OtherTool | RawPart
_ToolChoice = Annotated[
    Mapping[str, Any], Keywords({**_CHOICE_OF_ONE, **_where_type("allowed_tools", _CHOICE_OF_SEVERAL)})
]
# By model and field, where they differ from the field's own type.
_AS_WRITTEN: Final[Mapping[tuple[type[BaseModel], str], Any]] = {
    (EvalFileKeys, "evalcases"): Annotated[TupleOf[EvalCase], Field(min_length=1)],
    (EvalCase, "id"): Annotated[NonEmptyString, pattern(r"\S")],
    (EvalCase, "input_messages"): _Messages,
    (EvalCase, "input"): str | _Messages | EvalMessage | Mapping[str, Any],
    (EvalCase, "expected_messages"): TupleOf[EvalMessage] | Any,
    (EvalMessage, "role"): Annotated[Any, Keywords({"enum": list(ROLES)})],
    (OtherTool, "type"): Annotated[NonEmptyString, Keywords({"not": {"enum": ["function", "raw"]}})],
    (Execution, "target"): _Target,
    (SharedKeys, "target"): _Target,
    (SharedKeys, "provider"): _ProviderName
    | Annotated[TupleOf[_ProviderName], Field(min_length=1), Keywords({"uniqueItems": True})]
    | None,
    (SharedKeys, "metadata"): Annotated[
        Mapping[str, Any], Keywords({"properties": {"systemPrompt": {"type": ["string", "null"]}}})
    ],
    # As `is_valid_tag` says.
    (SharedKeys, "tags"): TupleOf[Annotated[str, pattern(r"^(?!_)[\w\-./+\u0080-\uffff]+$")]],
    (SharedKeys, "settings"): Annotated[RequestSettings, OtherKeys(dict[_ProviderName, RequestSettings])] | None,
    (SharedKeys, "tools"): _ToolsName | TupleOf[_Tool] | None,
    (SharedKeys, "tool_choice"): Annotated[str, Keywords({"enum": [*TOOL_CHOICES]})] | _ToolChoice | None,
    (SharedKeys, "response_format"): _DataPath | PlainFormat | ChatSchemaFormat | FlatSchemaFormat | None,
    (SharedKeys, "checks"): TupleOf[WrittenCheck],
    (SharedKeys, "repeat"): Annotated[int, Field(ge=1)] | None,
    (SharedKeys, "pass_rate"): Annotated[float, Keywords({"exclusiveMinimum": 0, "maximum": 1})] | None,
    (SharedKeys, "vars"): _Variables | None,
    (SharedKeys, "parametrize"): Annotated[NonEmptyString, pattern(path_pattern(READERS))]
    | Annotated[TupleOf[_Row], Field(min_length=1)]
    | None,
    (RequestSettings, "model"): NonEmptyString,
    (RequestSettings, "temperature"): Annotated[float, Field(ge=0)] | None,
    (RequestSettings, "top_p"): Annotated[float, Field(ge=0, le=1)] | None,
    (RequestSettings, "stop"): NonEmptyString | Annotated[TupleOf[NonEmptyString], Field(min_length=1)] | None,
    (RequestSettings, "max_output_tokens"): Annotated[int, Field(ge=1)] | None,
    (RequestSettings, "reasoning_effort"): Annotated[str, Keywords({"enum": [*REASONING_EFFORTS]})] | None,
}
_EXAMPLES: Final[Mapping[tuple[type[BaseModel], str], Sequence[Any]]] = {
    (SharedKeys, "provider"): ["openai", ["openai", "anthropic"]],
    (SharedKeys, "metadata"): [{"systemPrompt": "You review code."}],
    (SharedKeys, "guideline_patterns"): [["**/*.instructions.md"]],
    (SharedKeys, "tags"): [["smoke"]],
    (SharedKeys, "settings"): [{"temperature": 0, "openai": {"seed": 7}}],
    (SharedKeys, "tools"): [
        "./tools.json",
        "shop",
        [{"type": "function", "name": "get_weather", "parameters": {"type": "object"}}],
    ],
    (SharedKeys, "tool_choice"): ["required", {"type": "function", "name": "get_weather"}],
    (SharedKeys, "response_format"): [{"type": "json_schema", "name": "answer", "schema": {"type": "object"}}],
    (SharedKeys, "checks"): [[{"type": "icontains", "value": "off-by-one"}]],
    (SharedKeys, "repeat"): [5],
    (SharedKeys, "pass_rate"): [0.8],
    (SharedKeys, "vars"): [{"city": "Paris"}],
    (SharedKeys, "parametrize"): ["./cities.csv", [{"id": "paris", "city": "Paris"}]],
}

# --- the schema of a model


def make_schema_text() -> str:
    """The text of the shipped file, as the code is now."""
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:pytest-chatprompt:eval-file",
        "title": "Eval file of pytest-chatprompt",
    }
    names: dict[NameKind, Sequence[str]] = {
        "provider": tuple(PROVIDERS),
        "check": (*CHECKS, *(f"not_{name}" for name in CHECKS)),
    }
    schema = make_json_schema(EvalFileKeys, names)
    return json.dumps(head | schema, indent=2) + "\n"


def write_schema(file: Path = SCHEMA_FILE) -> None:
    """Write the text into a file, the same on every platform."""
    file.write_bytes(make_schema_text().encode())


_TYPES: Final[Mapping[Any, Schema]] = {
    Any: {},
    NoneType: {"type": "null"},
    None: {"type": "null"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
}
_CONSTRAINTS: Final[Mapping[type, Callable[[Any, Schema], Schema]]] = {
    Keywords: lambda keywords, _: keywords.keywords,
    annotated_types.Ge: lambda constraint, _: {"minimum": constraint.ge},
    annotated_types.Le: lambda constraint, _: {"maximum": constraint.le},
    annotated_types.MinLen: lambda constraint, schema: {
        "minItems" if schema["type"] == "array" else "minLength": constraint.min_length
    },
}
# What they check is in no schema, or stands beside them in one of the above.
_NOT_IN_A_SCHEMA: Final = (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    GetPydanticSchema,
    KnownNames,
    OtherKeys,
    Strict,
    Tag,
    WrapValidator,
)


def make_json_schema(model: type[BaseModel], names: Mapping[NameKind, Sequence[str]]) -> Schema:
    """Make the JSON Schema of a model."""
    generator = _Generator(names)
    schema = generator.of_model(model)
    return schema | {"$defs": dict(sorted(generator.definitions.items()))}


class _Generator:
    """Makes the schemas of types; those of models are definitions."""

    def __init__(self, names: Mapping[NameKind, Sequence[str]]) -> None:
        self.names = names
        self.definitions: dict[str, Schema] = {}

    def of_type(self, annotation: Any, metadata: Iterable[Any] = ()) -> Schema:
        """The schema of a type."""
        if get_origin(annotation) is Annotated:
            return self.of_type(annotation.__origin__, (*annotation.__metadata__, *metadata))
        annotations = list(_flat(metadata))
        schema = self._bare(annotation, annotations)
        for each in annotations:
            if type(each) in _CONSTRAINTS:
                schema = schema | _CONSTRAINTS[type(each)](each, schema)
            elif not isinstance(each, _NOT_IN_A_SCHEMA):
                raise TypeError(f"the JSON Schema knows no annotation {each!r}; add it to {__name__}")
        known = _find(annotations, KnownNames)
        return schema if known is None else any_of([{"enum": list(self.names[known.kind])}, schema])

    def _bare(self, annotation: Any, annotations: Sequence[Any]) -> Schema:
        arguments = get_args(annotation)
        origin = get_origin(annotation)
        if origin in (Union, UnionType):
            discriminator = _find(annotations, Discriminator)
            if discriminator is not None and isinstance(discriminator.discriminator, str):
                return self._of_tagged_union(discriminator.discriminator, arguments)
            return any_of(map(self.of_type, arguments))
        if origin is Literal:
            return {"const": arguments[0]} if len(arguments) == 1 else {"enum": list(arguments)}
        if origin in (tuple, list):
            return {"type": "array", "items": self.of_type(arguments[0])}
        if origin is not None and issubclass(origin, Mapping):
            return self._of_mapping(*arguments)
        if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
            others = _find(annotations, OtherKeys)
            return self._reference(annotation) if others is None else self._with_others(annotation, others)
        if annotation in _TYPES:
            return dict(_TYPES[annotation])
        raise TypeError(f"the JSON Schema knows no type {annotation!r}; add it to {__name__}")

    def _of_tagged_union(self, key: str, models: Iterable[type[BaseModel]]) -> Schema:
        """The schema of a union of models by the key that tells them apart, which all of them then must have."""
        rules = []
        values: list[str] = []
        for model in models:
            own = get_args(model.model_fields[key].annotation)
            values += own
            has_own = {"properties": {key: {"enum": list(own)}}, "required": [key]}
            rules.append({"if": has_own, "then": self._reference(model)})
        return {"type": "object", "properties": {key: {"enum": values}}, "required": [key], "allOf": rules}

    def _of_mapping(self, key: Any, value: Any) -> Schema:
        schema: Schema = {"type": "object"}
        names = {name: value for name, value in self.of_type(key).items() if name != "type"}
        inner = self.of_type(value)
        proposed = names.pop("anyOf", ({},))[0].get("enum", ())
        if proposed:
            schema["properties"] = dict.fromkeys(proposed, inner)
        if names:
            schema["propertyNames"] = names
        return schema | ({"additionalProperties": inner} if inner else {})

    def _with_others(self, model: type[BaseModel], others: OtherKeys) -> Schema:
        own, other = self.of_model(model), self.of_type(others.mapping)
        return own | other | {"properties": own["properties"] | other.get("properties", {})}

    def _reference(self, model: type[BaseModel]) -> Schema:
        if model.__name__ not in self.definitions:
            # Before its fields, which may refer to it.
            self.definitions[model.__name__] = {}
            self.definitions[model.__name__].update(self.of_model(model))
        return {"$ref": f"#/$defs/{model.__name__}"}

    def of_model(self, model: type[BaseModel]) -> Schema:
        """The schema of a mapping with the keys of a model."""
        texts = _attribute_texts(model)
        properties = {
            field.alias or name: self._of_field(model, name, texts.get(name, ""))
            for name, field in model.model_fields.items()
        }
        required = sorted(field.alias or name for name, field in model.model_fields.items() if field.is_required())
        schema: Schema = {"description": _plain(inspect.getdoc(model) or "").splitlines()[0], "type": "object"}
        usage = getattr(model, "usage", None)
        if usage:
            schema["description"] = f"{usage}: {schema['description']}"
        schema["properties"] = properties
        if required:
            schema["required"] = required
        if issubclass(model, StrictModel):
            schema["patternProperties"] = {"^x-": {}}
        if model.model_config.get("extra") == "forbid":
            schema["additionalProperties"] = False
        return schema | _RULES.get(model, {})

    def _of_field(self, model: type[BaseModel], name: str, text: str) -> Schema:
        """The schema of a field; what several models inherit is a definition."""
        owner = next(each for each in model.__mro__ if name in inspect.get_annotations(each))
        schema = self._of_value(model.model_fields[name], (owner, name))
        if text:
            schema = {"description": text} | {**schema, "description": text}
        if owner is model:
            return schema
        self.definitions[f"{owner.__name__}.{name}"] = schema
        return {"$ref": f"#/$defs/{owner.__name__}.{name}"}

    def _of_value(self, field: FieldInfo, place: tuple[type[BaseModel], str]) -> Schema:
        if place in _AS_WRITTEN:
            schema = self.of_type(_AS_WRITTEN[place])
        else:
            discriminator = [Discriminator(field.discriminator)] if isinstance(field.discriminator, str) else []
            schema = self.of_type(field.annotation, [*field.metadata, *discriminator])
        return schema | ({"examples": _EXAMPLES[place]} if place in _EXAMPLES else {})


def _flat(metadata: Iterable[Any]) -> Iterable[Any]:
    """The annotations, with those that stand in a `Field()`."""
    for each in metadata:
        if isinstance(each, FieldInfo):
            yield from each.metadata
        else:
            yield each


def _find(annotations: Sequence[Any], kind: type) -> Any:
    return next((each for each in annotations if isinstance(each, kind)), None)


def _attribute_texts(model: type[BaseModel]) -> dict[str, str]:
    """What docstrings say about the fields of a model, by name; where a base declares a field, the base's says it."""
    texts: dict[str, str] = {}
    for each in model.__mro__:
        section = inspect.cleandoc(each.__doc__ or "").partition("\nAttributes:\n")[2]
        for name, text in re.findall(r"^    (\w+): ((?:.+\n?(?:     .*\n?)*))", section, re.MULTILINE):
            plain = _plain(" ".join(text.split()))
            texts[name] = plain[:1].upper() + plain[1:]
    return texts


def _plain(text: str) -> str:
    """A text for authors of eval files, in YAML's words."""
    return re.sub(r"\btuple\b", "list", text.replace("`None`", "`null`"))


def any_of(members: Iterable[Schema]) -> Schema:
    """The schema of a union; plain types are one list, which validators explain better."""
    flat = [inner for member in members for inner in (member["anyOf"] if member.keys() == {"anyOf"} else [member])]
    plain = [kind for member in flat if member.keys() == {"type"} for kind in _types(member)]
    unions = [member for member in flat if member.keys() != {"type"}]
    if plain:
        unions.append({"type": plain if len(plain) > 1 else plain[0]})
    return unions[0] if len(unions) == 1 else {"anyOf": unions}


def _types(schema: Schema) -> list[str]:
    types = schema["type"]
    return types if isinstance(types, list) else [types]
