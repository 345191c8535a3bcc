"""The JSON Schema of a model: what each kind of annotation gives, and that it says what the validators say."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings, strategies as st
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Strict,
    ValidationError,
)

from pytest_chatprompt.cases.case import EvalCase
from pytest_chatprompt.cases.fields import NonEmptyString, StrictModel, TupleOf
from tests.eval_schema import schema_problems
from tests.eval_schema_generator import Keywords, KnownNames, OtherKeys, make_json_schema, path_pattern, pattern

HELLO = {"role": "user", "content": "hello"}


class Inner(StrictModel):
    """A mapping of ours.

    Attributes:
        kind: which of them
            it is, or `None`.
    """

    kind: Literal["inner"] = "inner"


class Other(StrictModel):
    """Another.

    Attributes:
        kind: which tuple.
    """

    kind: Literal["other"] = "other"


class Example(StrictModel):
    """A mapping whose docstring describes no key.

    Example:
        kind: inner
    """

    kind: str = ""


class Renamed(Inner):
    """A mapping with nothing but what another has."""


class Inherits(Inner):
    """A mapping with what another has.

    Attributes:
        kind: not read, since the base declares it.
        items: what may be in it.
    """

    model_config = ConfigDict(extra="allow")

    items: Any = Field(alias="parts")


def schema_of(annotation: Any) -> Any:
    """The schema of a field with a type."""
    model = type("Model", (BaseModel,), {"__annotations__": {"field": annotation}, "__doc__": "A model."})
    schema = make_json_schema(model, {"provider": ("a", "b")})
    return schema["properties"]["field"], schema["$defs"]


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        pytest.param(Any, {}, id="anything"),
        pytest.param(str | None, {"type": ["string", "null"]}, id="a union of plain types"),
        pytest.param(str | (int | float), {"type": ["string", "integer", "number"]}, id="numbers"),
        pytest.param(bool, {"type": "boolean"}, id="a boolean"),
        pytest.param(
            NonEmptyString | Annotated[TupleOf[str], Field(min_length=1)] | None,
            {
                "anyOf": [
                    {"type": "string", "minLength": 1},
                    {"type": "array", "items": {"type": "string"}, "minItems": 1},
                    {"type": "null"},
                ]
            },
            id="a text or a list",
        ),
        pytest.param(
            NonEmptyString | Annotated[str, pattern("x")] | Annotated[str, Field(min_length=2)],
            {
                "anyOf": [
                    {"type": "string", "minLength": 1},
                    {"type": "string", "pattern": "x"},
                    {"type": "string", "minLength": 2},
                ]
            },
            id="texts",
        ),
        pytest.param(
            int | Annotated[float, Field(ge=1)],
            {"anyOf": [{"type": "number", "minimum": 1}, {"type": "integer"}]},
            id="numbers with limits",
        ),
        pytest.param(Any | None, {"anyOf": [{}, {"type": "null"}]}, id="anything or null"),
        pytest.param(Literal["x"], {"const": "x"}, id="one word"),
        pytest.param(Literal["x", "y"], {"enum": ["x", "y"]}, id="several words"),
        pytest.param(NonEmptyString, {"type": "string", "minLength": 1}, id="a text that is not empty"),
        pytest.param(Annotated[float, Field(ge=0, le=1)], {"type": "number", "minimum": 0, "maximum": 1}, id="limits"),
        pytest.param(TupleOf[str], {"type": "array", "items": {"type": "string"}}, id="a list"),
        pytest.param(
            Annotated[list[Any], Field(min_length=2)], {"type": "array", "items": {}, "minItems": 2}, id="two items"
        ),
        pytest.param(Mapping[str, Any], {"type": "object"}, id="a mapping"),
        pytest.param(
            dict[Annotated[str, pattern("^a")], int],
            {"type": "object", "propertyNames": {"pattern": "^a"}, "additionalProperties": {"type": "integer"}},
            id="a mapping of names to numbers",
        ),
        pytest.param(
            dict[Annotated[str, KnownNames("provider")], int],
            {
                "type": "object",
                "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                "additionalProperties": {"type": "integer"},
            },
            id="a mapping of known names",
        ),
        pytest.param(
            Annotated[str, KnownNames("provider")] | None,
            {"anyOf": [{"enum": ["a", "b"]}, {"type": ["string", "null"]}]},
            id="known names and others",
        ),
        pytest.param(
            Annotated[str, Field(min_length=1), BeforeValidator(str), Strict(), Keywords({"not": {}})],
            {"type": "string", "minLength": 1, "not": {}},
            id="validators say nothing, keywords do",
        ),
    ],
)
def test_a_type_has_its_schema(annotation: Any, schema: dict[str, Any]) -> None:
    assert schema_of(annotation) == (schema, {})


INNER = {
    "description": "A mapping of ours.",
    "type": "object",
    "properties": {"kind": {"description": "Which of them it is, or `null`.", "const": "inner"}},
    "patternProperties": {"^x-": {}},
    "additionalProperties": False,
}
OTHER = INNER | {
    "description": "Another.",
    "properties": {"kind": {"description": "Which list.", "const": "other"}},
}


def test_a_model_is_a_definition_with_the_texts_of_its_docstring() -> None:
    assert schema_of(TupleOf[Inner]) == ({"type": "array", "items": {"$ref": "#/$defs/Inner"}}, {"Inner": INNER})


def test_what_tells_the_members_of_a_union_apart_is_required() -> None:
    schema = {
        "type": "object",
        "properties": {"kind": {"enum": ["inner", "other"]}},
        "required": ["kind"],
        "allOf": [
            {
                "if": {"properties": {"kind": {"enum": ["inner"]}}, "required": ["kind"]},
                "then": {"$ref": "#/$defs/Inner"},
            },
            {
                "if": {"properties": {"kind": {"enum": ["other"]}}, "required": ["kind"]},
                "then": {"$ref": "#/$defs/Other"},
            },
        ],
    }
    definitions = {"Inner": INNER, "Other": OTHER}
    assert schema_of(Annotated[Inner | Other, Discriminator("kind")]) == (schema, definitions)
    assert schema_of(Annotated[Inner | Other, Field(discriminator="kind")]) == (schema, definitions)


def test_only_the_section_of_attributes_describes_the_keys_of_a_model() -> None:
    _, definitions = schema_of(Example)
    assert definitions["Example"]["properties"] == {"kind": {"type": "string"}}


def test_a_model_may_have_nothing_but_what_it_inherits() -> None:
    _, definitions = schema_of(Renamed)
    assert definitions["Renamed"]["properties"] == {"kind": {"$ref": "#/$defs/Inner.kind"}}


def test_what_a_model_inherits_is_one_definition() -> None:
    _, definitions = schema_of(Inherits)
    assert definitions == {
        "Inner.kind": INNER["properties"]["kind"],  # type: ignore[index]
        "Inherits": {
            "description": "A mapping with what another has.",
            "type": "object",
            "properties": {"kind": {"$ref": "#/$defs/Inner.kind"}, "parts": {"description": "What may be in it."}},
            "required": ["parts"],
            "patternProperties": {"^x-": {}},
        },
    }


def test_a_mapping_may_have_keys_beside_those_of_its_model() -> None:
    others = dict[Annotated[str, KnownNames("provider")], Inner]
    schema, definitions = schema_of(Annotated[Inner, OtherKeys(others)])
    ref = {"$ref": "#/$defs/Inner"}
    assert schema == INNER | {
        "properties": INNER["properties"] | {"a": ref, "b": ref},  # type: ignore[operator]
        "additionalProperties": ref,
    }
    assert definitions == {"Inner": INNER}


def test_the_keys_beside_those_of_a_model_may_be_any() -> None:
    schema, _ = schema_of(Annotated[Inner, OtherKeys(dict[str, int])])
    assert schema == INNER | {"additionalProperties": {"type": "integer"}}


def test_a_type_or_an_annotation_that_is_not_known_is_an_error() -> None:
    with pytest.raises(
        TypeError, match=r"the JSON Schema knows no type <class 'bytes'>; add it to tests.eval_schema_generator"
    ):
        schema_of(bytes)
    with pytest.raises(TypeError, match=r"the JSON Schema knows no annotation MultipleOf\(multiple_of=2\); add it to"):
        schema_of(Annotated[int, Field(multiple_of=2)])


@pytest.mark.parametrize(
    ("path", "matches"),
    [
        ("a.json", True),
        ("./b/c.YML", True),
        ("a.jsonl", False),
        ("json", False),
        ("a.json/b", False),
        ("axjson", False),
    ],
)
def test_a_path_ends_in_a_suffix_of_any_case(path: str, matches: bool) -> None:
    assert bool(re.search(path_pattern([".json", ".yml"]), path)) is matches


# --- the schema says what the validators say

ascii_text = st.text(string.printable.strip() + " ", min_size=1, max_size=4)
named = st.fixed_dictionaries(
    {"type": st.sampled_from(["function", "custom", "web_search", "", 3])},
    optional={
        "name": st.sampled_from(["a", "", 3]),
        "function": st.sampled_from([{"name": "a"}, {"name": ""}, {}, "a"]),
        "custom": st.sampled_from([{"name": "a"}, {"name": 3}, {}, "a"]),
    },
)
several = st.fixed_dictionaries(
    {}, optional={"mode": st.sampled_from(["auto", "none"]), "tools": st.lists(named, max_size=2) | st.just("a")}
)
choices: st.SearchStrategy[Any] = (
    named
    | several.map(lambda keys: {"type": "allowed_tools", **keys})
    | (several | st.just("a")).map(lambda keys: {"type": "allowed_tools", "allowed_tools": keys})
    | st.sampled_from(["auto", "none", "required", "any", None, 3, []])
)
raw_parts = st.fixed_dictionaries(
    {},
    optional={
        "type": st.just("raw"),
        "anthropic": st.sampled_from([{}, {"type": "a"}, "a"]),
        "value": st.just({}),
        "x-mine": st.just(1),
    },
)
tools = st.lists(
    raw_parts
    | st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["function", "custom", "web_search", "", 3]),
            "name": st.sampled_from(["a", "", 3]),
            "function": st.sampled_from([{"name": "a"}, {"name": "a", "strict": True}, {"nmae": "a"}, "a"]),
            "custom": st.sampled_from([{"name": "a"}, {}]),
            "parameters": st.sampled_from([{}, None, "a"]),
            "strict": st.sampled_from([True, None, 1]),
            "x-mine": st.just(1),
        },
    ),
    max_size=2,
)
messages = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "tool"])},
    optional={
        "content": st.sampled_from(["a", "", None, 3, [], [{"type": "text", "value": ""}], [{"value": ""}]])
        | st.lists(raw_parts, max_size=1),
        "tool_calls": st.sampled_from([[], [{"id": "a", "function": {"name": "a", "arguments": ""}}], [{}]]),
        "tool_call_id": st.sampled_from(["a", "", None]),
    },
)
KEYS: dict[str, st.SearchStrategy[Any]] = {
    "input_messages": st.lists(messages | raw_parts, max_size=2),
    "metadata": st.dictionaries(st.sampled_from(["systemPrompt", "a"]), st.sampled_from(["a", 3])),
    "parametrize": st.lists(st.dictionaries(st.sampled_from(["id", "a"]), st.sampled_from(["a", 3]))),
    "provider": st.sampled_from([None, "", "a", ["a"], [], ["a", "a"], ["a", "b"], [3], 3]),
    "settings": st.dictionaries(
        st.sampled_from(["temperature", "top_p", "stop", "seed", "model", "openai", "extra_body", "reasoning_effort"]),
        st.sampled_from([None, 0, 2, -1, 0.5, "", "a", "high", {}, {"seed": 1}, {"sed": 1}, [], ["a"], [""], True]),
        max_size=2,
    ),
    "tags": st.lists(ascii_text, max_size=2),
    "tool_choice": choices,
    "tools": tools,
    "vars": st.dictionaries(ascii_text | st.sampled_from(["in", "None", "self", "a"]), st.just(1), max_size=1),
}


@pytest.mark.parametrize("key", KEYS)
def test_the_schema_accepts_what_the_model_accepts(key: str) -> None:
    verdicts = set()

    @settings(max_examples=settings().max_examples * 2 // 5)
    @given(KEYS[key])
    def compare(value: Any) -> None:
        case = {"id": "a", "input_messages": [HELLO], key: value}
        verdict = is_valid(lambda: EvalCase.model_validate(case))
        problems = schema_problems({"evalcases": [case]})
        assert (problems == []) is verdict, problems
        verdicts.add(verdict)

    compare()
    assert verdicts == {True, False}


def is_valid(validate: Callable[[], Any]) -> bool:
    try:
        validate()
    except ValidationError:
        return False
    return True
