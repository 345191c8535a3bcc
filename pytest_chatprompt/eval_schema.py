"""The JSON Schema of eval files: what editors complete and check, made of the models."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import annotated_types
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Discriminator,
    PlainValidator,
    Strict,
    Tag,
    WrapValidator,
)
from pydantic.fields import FieldInfo

from pytest_chatprompt.apis.table import PROVIDERS
from pytest_chatprompt.cases.fields import KnownNames, NameKind, OtherKeys, SchemaKeywords, StrictModel, WrittenAs
from pytest_chatprompt.cases.loader import EvalFileKeys
from pytest_chatprompt.grading.parsing import CHECKS
from pytest_chatprompt.options import SCHEMA_NAME

SCHEMA_FILE: Final = Path(__file__).with_name(SCHEMA_NAME)


def make_schema_text() -> str:
    """The text of the shipped file, as the code is now."""
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:pytest-chatprompt:eval-file",
        "title": "Eval file of pytest-chatprompt",
    }
    schema = make_json_schema(
        EvalFileKeys, {"provider": tuple(PROVIDERS), "check": (*CHECKS, *(f"not_{name}" for name in CHECKS))}
    )
    return json.dumps(head | schema, indent=2) + "\n"


def write_schema(file: Path = SCHEMA_FILE) -> None:
    """Write the text into a file, the same on every platform."""
    file.write_bytes(make_schema_text().encode())


Schema = dict[str, Any]

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
    SchemaKeywords: lambda keywords, _: keywords.make_keywords(),
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
    KnownNames,
    OtherKeys,
    PlainValidator,
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
        for index, each in reversed(list(enumerate(annotations))):
            if isinstance(each, WrittenAs):
                return self.of_type(each.make_type(), annotations[index + 1 :])
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
        extra = model.model_config.get("json_schema_extra")
        return schema | (extra if isinstance(extra, dict) else {})

    def _of_field(self, model: type[BaseModel], name: str, text: str) -> Schema:
        """The schema of a field; what several models inherit is a definition."""
        schema = self._of_value(model.model_fields[name])
        if text:
            schema = {"description": text} | {**schema, "description": text}
        owner = next(each for each in model.__mro__ if name in inspect.get_annotations(each))
        if owner is model:
            return schema
        self.definitions[f"{owner.__name__}.{name}"] = schema
        return {"$ref": f"#/$defs/{owner.__name__}.{name}"}

    def _of_value(self, field: FieldInfo) -> Schema:
        discriminator = [Discriminator(field.discriminator)] if isinstance(field.discriminator, str) else []
        schema = self.of_type(field.annotation, [*field.metadata, *discriminator])
        return schema | ({"examples": list(field.examples)} if field.examples else {})


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
