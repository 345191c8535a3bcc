"""The least instance of a JSON Schema, checked by jsonschema, and by the pydantic models that schemas came from."""

from __future__ import annotations

import datetime
import decimal
import enum
import ipaddress
import json
import subprocess
import sys
import uuid
from contextlib import suppress
from typing import Annotated, Any, Literal, Optional

import jsonschema
import pydantic
import pytest
from hypothesis import given, settings, strategies as st
from pydantic import BaseModel, Field

from pytest_chatprompt.apis.schema_instance import NoInstanceError, least_instance

FORMATS = jsonschema.Draft202012Validator.FORMAT_CHECKER


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Node(BaseModel):
    name: str = Field(min_length=2, pattern=r"^[A-Z][a-z]+$")
    children: list[Node]
    parent: Node | None


class Literally(BaseModel):
    kind: Literal["literal"]
    value: int = Field(gt=3, lt=10, multiple_of=4)


class Sum(BaseModel):
    kind: Literal["sum"]
    left: Sum | Literally
    right: Sum | Literally


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    age: float = Field(gt=0, lt=1)


class Everything(BaseModel):
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]
    moment: datetime.datetime
    day: datetime.date
    hour: datetime.time
    span: datetime.timedelta
    id: uuid.UUID
    id4: pydantic.UUID4
    amount: decimal.Decimal
    exact: decimal.Decimal = Field(max_digits=5, decimal_places=2)
    color: Color
    colors: set[Color] = Field(min_length=1)
    triple: tuple[int, str, bool]
    counts: dict[str, int] = Field(min_length=2)
    by_letter: dict[Literal["a", "b"], int]
    url: pydantic.AnyUrl
    http: pydantic.HttpUrl
    address: ipaddress.IPv4Address
    any: Any
    raw: bytes
    numbers: frozenset[int] = Field(min_length=1)
    packed: pydantic.Json[int]
    words: pydantic.conlist(str, min_length=3)  # type: ignore[valid-type]
    maybe: Optional[int]  # noqa: UP045 - what many write
    code: str = Field(pattern=r"^[A-Z]{3}-\d{4}$")
    past: pydantic.PastDate
    size: pydantic.ByteSize
    chance: float = Field(ge=0.25, le=0.75)
    far: int = Field(le=-7)
    negative: float = Field(lt=0)
    optional: int = 5


class Forest(pydantic.RootModel[list[Node]]):
    pass


@pytest.mark.parametrize("model", [Node, Literally, Sum, Cat, Dog, Everything, Forest])
def test_models_of_pydantic_take_what_their_schemas_get(model: type[BaseModel]) -> None:
    schema = model.model_json_schema()
    instance = least_instance(schema)
    jsonschema.validate(instance, schema, format_checker=FORMATS)
    model.model_validate_json(json.dumps(instance))
    assert instance == least_instance(model.model_json_schema())


@pytest.mark.parametrize(
    ("schema", "instance"),
    [
        ({}, ""),
        (True, ""),
        ({"title": "A", "description": "B"}, ""),
        ({"type": "object", "properties": {"a": {}, "b": {"type": "integer"}}, "required": ["b"]}, {"b": 0}),
        ({"required": ["a"]}, {"a": ""}),
        ({"type": "string"}, ""),
        ({"type": ["string", "null"]}, ""),
        ({"type": ["null", "string"]}, None),
        ({"type": "STRING", "nullable": True}, ""),
        ({"type": "ARRAY", "minItems": "2", "items": {"type": "INTEGER"}}, [0, 0]),
        ({"enum": ["b", "a"]}, "b"),
        ({"enum": [1.0], "type": "number"}, 1.0),
        ({"enum": [None, 1], "type": "null"}, None),
        ({"pattern": "^x", "minLength": 3, "maxLength": 3}, "xxx"),
        ({"pattern": "^[a-z]+$", "minLength": 1000, "maxLength": 1000}, "a" * 1000),
        ({"format": "date", "pattern": "^x$"}, "x"),
        ({"type": "object", "required": ["key1"], "minProperties": 2}, {"key1": "", "key2": ""}),
        ({"const": None}, None),
        ({"type": "number", "minimum": 2.5}, 2.5),
        ({"type": "integer", "minimum": 2.5}, 3),
        ({"type": "integer", "exclusiveMinimum": 2}, 3),
        ({"type": "integer", "maximum": -2, "exclusiveMaximum": -3}, -4),
        ({"type": "integer", "minimum": 5, "multipleOf": 4}, 8),
        ({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0.5),
        ({"type": "number", "exclusiveMinimum": 0}, 1),
        ({"type": "number", "exclusiveMaximum": 0}, -1),
        ({"type": "number", "minimum": 0.25, "multipleOf": 0.5}, 0.5),
        ({"minLength": 3}, "aaa"),
        ({"format": "date"}, "2025-01-01"),
        ({"format": "uri", "minLength": 25}, "https://example.com/aaaaa"),
        ({"format": "unknown"}, ""),
        ({"prefixItems": [{"const": 1}, {"const": 2}], "minItems": 3, "items": {"const": 3}}, [1, 2, 3]),
        ({"items": [{"const": 1}, {"const": 2}], "minItems": 2}, [1, 2]),
        ({"type": "array", "items": {"type": "boolean"}, "minItems": 1, "uniqueItems": True}, [False]),
        ({"type": "integer", "minimum": 5, "maximum": 9, "multipleOf": 4}, 8),
        ({"type": "number", "minimum": 0.25, "maximum": 0.5}, 0.25),
        ({"type": "object", "minProperties": 1, "additionalProperties": {"type": "null"}}, {"key1": None}),
        ({"allOf": [{"$ref": "#/$defs/a"}, {"minimum": 2}], "$defs": {"a": {"type": "integer"}}}, 2),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, 0),
        ({"anyOf": [False, {"const": 2}]}, 2),
        ({"anyOf": [{"const": 1}, {"const": 2}], "oneOf": [{"const": 2}, {"const": 3}]}, 2),
        ({"properties": {"a": {"type": "string"}}, "anyOf": [{"required": ["a"]}]}, {"a": ""}),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"const": 1}}}, 1),
        ({"$ref": "#/$defs/a/1", "$defs": {"a": [{"const": 1}, {"const": 2}]}}, 2),
        ({"required": ["a"], "anyOf": [{"required": ["b"]}]}, {"a": "", "b": ""}),
        ({"contentMediaType": "application/json", "contentSchema": {"const": [1]}, "type": "string"}, "[1]"),
    ],
)
def test_an_instance_is_the_least_one(schema: Any, instance: Any) -> None:
    found = least_instance(schema)
    assert (found, type(found)) == (instance, type(instance))


@pytest.mark.parametrize(
    "schema",
    [
        False,
        {"type": "integer", "minimum": 2, "maximum": 1},
        {"type": "number", "exclusiveMinimum": 10**400, "exclusiveMaximum": 10**400 + 1},
        {"pattern": "^$", "minLength": 1},
        {"allOf": [{"type": "string"}, {"type": "integer"}]},
        {"allOf": [{"minimum": 3}, {"minimum": 5}]},
        {"anyOf": [False, False]},
        {"type": "array", "minItems": 10**9},
        {"type": "array", "minItems": 3, "uniqueItems": True, "items": {"type": "boolean"}},
        {"type": "object", "minProperties": 1, "additionalProperties": False},
        {"$ref": "#/$defs/a", "$defs": {"a": {"required": ["b"], "properties": {"b": {"$ref": "#/$defs/a"}}}}},
        {"type": ["string", "integer"], "pattern": "^$", "minLength": 1, "minimum": 2, "maximum": 1},
        # What SDKs rarely write.
        {"type": "array", "minItems": 2, "uniqueItems": True, "items": {"enum": ["a", "b"]}},
        {
            "type": "object",
            "minProperties": 1,
            "patternProperties": {"^x-": {"type": "null"}},
            "additionalProperties": False,
        },
        {"type": "object", "minProperties": 1, "propertyNames": {"pattern": "^[xy]$"}},
        {"if": {"const": 1}, "then": {"const": 2}},
        {"type": "array", "contains": {"const": 7}},
        {"required": ["a"], "dependentRequired": {"a": ["b"]}},
        {"$ref": "#"},
        {"$ref": "#anchor"},
        {"$ref": "#/nowhere"},
        {"$ref": "https://example.com/schema"},
        {"pattern": r"\p{Lu}"},
        {"pattern": "^(?=.{40}$)[ab]+c$"},
        {"pattern": "^(?>a)b$"},
        {"pattern": "[["},
        {"pattern": "^[a-z]+x$", "minLength": 3, "maxLength": 2},
    ],
)
def test_a_schema_without_an_instance_is_an_error(schema: Any) -> None:
    with pytest.raises(NoInstanceError):
        least_instance(schema)


def test_a_recursion_ends_as_early_as_it_can() -> None:
    tree = {
        "$defs": {
            "tree": {
                "anyOf": [
                    {
                        "type": "object",
                        "properties": {"l": {"$ref": "#/$defs/tree"}, "r": {"$ref": "#/$defs/tree"}},
                        "required": ["l", "r"],
                    },
                    {"type": "object", "properties": {"next": {"$ref": "#/$defs/leaf"}}, "required": ["next"]},
                ]
            },
            "leaf": {"const": 1},
        },
        "$ref": "#/$defs/tree",
    }
    assert least_instance(tree) == {"next": 1}


def test_a_recursion_without_an_end_takes_no_time() -> None:
    names = ["a", "b", "c"]
    branches = [{"$ref": f"#/$defs/{name}"} for name in names]
    endless = {
        "type": "object",
        "properties": {"l": {"anyOf": branches}, "r": {"oneOf": branches}},
        "required": ["l", "r"],
    }
    wide = {"type": "array", "minItems": 4999, "items": {"type": "array", "minItems": 4999}}
    for schema in ({"$ref": "#/$defs/a", "$defs": dict.fromkeys(names, endless)}, wide | {"items": wide}):
        with pytest.raises(NoInstanceError):
            least_instance(schema)


def test_a_very_deep_schema_has_no_instance() -> None:
    schema: Any = {"type": "string"}
    for _ in range(5000):
        schema = {"type": "array", "minItems": 1, "items": schema}
    with pytest.raises(NoInstanceError):
        least_instance(schema)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("", ""),
        (r"^\d{3}-\d{4}$", "000-0000"),
        ("^[a-f]+$", "a"),
        ("^[^a-z]+$", "0"),
        ("(foo|bar){2,}", "foofoo"),
        (r"^(a)(?:b)(?P<x>c)(?<y>d)\1(?P=x)$", "abcdac"),
        (r"^\S+@\S+\.\S+$", "a@a.a"),
        (r"^\w\W\s\S\D$", "a\t\taa"),
        (r"\A\bfoo\b\Z", "foo"),
        ("[\U0001f600-\U0001f64f]", "\U0001f600"),
        (".", "a"),
    ],
)
def test_a_pattern_has_its_simplest_text(pattern: str, text: Any) -> None:
    assert least_instance({"type": "string", "pattern": pattern}) == text


def test_texts_of_a_pattern_are_the_same_in_every_process() -> None:
    schema = {"type": "array", "minItems": 2, "items": {"pattern": r"^[^a-c]\W(x|\s){1,3}.$"}}
    script = f"from pytest_chatprompt.apis.schema_instance import least_instance; print(least_instance({schema}))"
    texts = {
        subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1
    assert eval(texts.pop()) == least_instance(schema) != {}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 12) | st.floats(allow_nan=False, width=16) | st.text(max_size=3),
    lambda items: st.lists(items, max_size=3) | st.dictionaries(st.text(max_size=3), items, max_size=3),
    max_leaves=8,
)
KEYWORDS = st.sampled_from(
    [
        *(
            "type",
            "enum",
            "const",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
            "minLength",
        ),
        *("maxLength", "pattern", "format", "items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"),
        *("properties", "required", "additionalProperties", "minProperties", "patternProperties", "propertyNames"),
        *("allOf", "anyOf", "oneOf", "if", "then", "else", "$ref", "$defs", "dependentRequired", "dependencies"),
        *("nullable", "default", "examples", "contentMediaType", "contentSchema", "minContains", "not"),
    ]
)
ANYTHING = st.recursive(
    JSON | st.sampled_from(["object", "array", "string", "integer", "#", "#/$defs/a", "^a+$", "date-time"]),
    lambda items: st.dictionaries(KEYWORDS, items, max_size=4) | st.lists(items, max_size=3),
    max_leaves=12,
)


@given(ANYTHING)
def test_whatever_a_request_demands_there_is_an_answer_or_none(schema: Any) -> None:
    with suppress(NoInstanceError):
        json.dumps(least_instance(schema))


def _bounded(low: str, high: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    pair = st.tuples(values, values).map(sorted)
    return st.one_of(
        st.just({}), pair.map(lambda pair: {low: pair[0], high: pair[1]}), values.map(lambda value: {low: value})
    )


def _objects(schemas: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    properties = st.dictionaries(st.sampled_from("abc"), schemas, max_size=3)
    return properties.flatmap(
        lambda found: st.fixed_dictionaries(
            {
                "type": st.just("object"),
                "properties": st.just(found),
                "required": st.lists(st.sampled_from(sorted(found)), unique=True) if found else st.just([]),
                "additionalProperties": st.just(False) | schemas,
            }
        )
    )


LEAVES = st.one_of(
    st.sampled_from([{"type": "null"}, {"type": "boolean"}, {"type": ["string", "null"]}]),
    st.lists(JSON, min_size=1, max_size=3).map(lambda values: {"enum": values}),
    JSON.map(lambda value: {"const": value}),
    _bounded("minimum", "maximum", st.integers(-20, 20)).map(lambda bounds: {"type": "integer", **bounds}),
    _bounded("minimum", "maximum", st.integers(-20, 20).map(lambda n: n / 4)).map(
        lambda bounds: {"type": "number", **bounds}
    ),
    _bounded("minLength", "maxLength", st.integers(0, 9)).map(lambda bounds: {"type": "string", **bounds}),
    st.sampled_from(["date", "email", "ipv4", "ipv6", "uuid", "regex"]).map(
        lambda name: {"type": "string", "format": name}
    ),
    st.sampled_from([r"^\d{3}$", "^(a|b)+c?$", "[A-Z]{2}", r"^[^\s@]+@[^\s@]+\.[a-z]{2,}$", "", "x|y"]).map(
        lambda pattern: {"type": "string", "pattern": pattern}
    ),
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda schemas: st.one_of(
        _objects(schemas),
        st.tuples(schemas, st.integers(0, 3)).map(
            lambda made: {"type": "array", "items": made[0], "minItems": made[1]}
        ),
        st.lists(schemas, min_size=1, max_size=3).map(
            lambda made: {"type": "array", "prefixItems": made, "minItems": len(made), "items": False}
        ),
        st.lists(schemas, min_size=1, max_size=3).map(lambda made: {"anyOf": made}),
        schemas.map(lambda made: {"$defs": {}, "allOf": [made]}),
    ),
    max_leaves=10,
)


@settings(max_examples=150)
@given(SCHEMAS)
def test_an_instance_is_valid_by_its_schema(schema: Any) -> None:
    # An integer between two quarters may not exist, nor a property that an empty range stands for.
    jsonschema.Draft202012Validator(schema, format_checker=FORMATS).validate(least_instance(schema))
