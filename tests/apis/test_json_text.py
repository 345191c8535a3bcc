"""JSON text of whatever was sent."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pytest_chatprompt.apis import json_body as module
from pytest_chatprompt.apis.json_body import json_text

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda items: st.lists(items, max_size=3) | st.dictionaries(st.text(max_size=3), items, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_it_is_what_json_writes_also_without_recursion(value: Any) -> None:
    written = json.dumps(value, ensure_ascii=False)
    assert json_text(value) == written
    assert module._written_in_steps(value) == written


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (MappingProxyType({"a": (1, 2)}), '{"a": [1, 2]}'),
        ({1: {2}}, '{"1": "{2}"}'),
        (float("nan"), "NaN"),
        ([16**5000], f'["0x1{"0" * 5000}"]'),
    ],
)
def test_what_is_no_json_is_written_too(value: Any, text: str) -> None:
    assert json_text(value) == text


def test_depth_does_not_matter() -> None:
    deep: Any = {"b": []}
    for _ in range(10_000):
        deep = {"a": [deep, 1]}
    assert json_text(deep) == '{"a": [' * 10_000 + '{"b": []}' + ", 1]}" * 10_000
