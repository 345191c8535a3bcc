"""JSON text of whatever was sent."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pytest_chatprompt.apis.conversation import json_text

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda items: st.lists(items, max_size=3) | st.dictionaries(st.text(max_size=3), items, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_it_is_what_json_writes(value: Any) -> None:
    assert json_text(value) == json.dumps(value, ensure_ascii=False)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (MappingProxyType({"a": (1, 2)}), '{"a": [1, 2]}'),
        ({1: {2}}, '{"1": "{2}"}'),
        (float("nan"), "NaN"),
        ([16**5000], '"(what JSON cannot hold)"'),
    ],
)
def test_what_is_no_json_is_written_too(value: Any, text: str) -> None:
    assert json_text(value) == text


def test_what_is_nested_deeper_than_python_s_stack_has_a_note_in_its_place() -> None:
    deep: Any = {"b": []}
    for _ in range(500_000):
        deep = {"a": [deep, 1]}
    assert json_text(deep) == '"(what JSON cannot hold)"'
