"""Unions in the JSON Schema: members share a schema only where that says the same."""

from __future__ import annotations

import jsonschema
import pytest
from hypothesis import given, strategies as st

from tests.eval_schema_generator import Schema, any_of

TEXT: Schema = {"type": "string", "minLength": 1}
LIST: Schema = {"type": "array", "items": {"type": "integer"}, "minItems": 1}
NULL: Schema = {"type": "null"}


@pytest.mark.parametrize(
    ("members", "schema"),
    [
        pytest.param([TEXT], TEXT, id="one member"),
        pytest.param([TEXT, LIST, NULL], {"anyOf": [TEXT, LIST, NULL]}, id="several"),
        pytest.param([{"type": "string"}, NULL], {"type": ["string", "null"]}, id="plain types"),
        pytest.param([{"anyOf": [TEXT, LIST]}, NULL], {"anyOf": [TEXT, LIST, NULL]}, id="a union within"),
    ],
)
def test_a_union_is_one_schema(members: list[Schema], schema: Schema) -> None:
    assert any_of(members) == schema


schemas = st.lists(
    st.sampled_from(
        [
            TEXT,
            LIST,
            NULL,
            {"type": "string"},
            {"type": "string", "pattern": "^b"},
            {"type": "integer", "minimum": 2},
            {"type": "number"},
            {"type": "number", "maximum": 1},
            {"type": ["boolean", "null"]},
            {"enum": ["a"]},
            {"const": 3},
            {"type": "object", "required": ["a"]},
            {"type": "array"},
        ]
    ),
    min_size=1,
    max_size=4,
)
values = st.sampled_from([None, "", "a", "b", 0, 1, 2, 3, 1.5, 2.5, True, [], [1], ["a"], {}, {"a": 1}])


@given(schemas, values)
def test_the_one_schema_accepts_what_some_member_accepts(members: list[Schema], value: object) -> None:
    accepted = any(jsonschema.Draft202012Validator(member).is_valid(value) for member in members)
    assert jsonschema.Draft202012Validator(any_of(members)).is_valid(value) is accepted
