"""Filters: syrupy's `matcher`, `exclude` and `include`, with the paths that syrupy gives them."""

from __future__ import annotations

from typing import Any

import pytest
from syrupy.filters import paths, props
from syrupy.matchers import path_type

from pytest_chatprompt.snapshots.assertion import filtered

DATA = {"a": 1, "list": [{"id": 5, "at": "now"}, ("x", None)]}


def test_without_functions_the_data_is_the_same() -> None:
    assert filtered(DATA) == {"a": 1, "list": [{"id": 5, "at": "now"}, ["x", None]]}


def test_keys_are_left_out_at_any_depth() -> None:
    assert filtered(DATA, exclude=props("at", "a")) == {"list": [{"id": 5}, ["x", None]]}
    assert filtered(DATA, exclude=paths("list.0.at")) == {"a": 1, "list": [{"id": 5}, ["x", None]]}


def test_only_the_keys_that_are_included_are_shown() -> None:
    assert filtered(DATA, include=props("list", "id")) == {"list": [{"id": 5}, ["x", None]]}
    assert filtered(DATA, include=props("list", "id"), exclude=props("id")) == {"list": [{}, ["x", None]]}


def test_values_are_shown_as_the_matcher_says() -> None:
    matched = filtered(DATA, matcher=path_type({"list.0.id": (int,)}))
    assert matched == {"a": 1, "list": [{"id": "int", "at": "now"}, ["x", None]]}


@pytest.mark.parametrize(
    ("shown", "expected"),
    [(None, None), (5, 5), ({"b": (1,)}, {"b": [1]}), ([object], [object]), (object, "<class 'object'>"), (b"", "b''")],
)
def test_a_value_that_is_no_json_becomes_its_repr(shown: Any, expected: Any) -> None:
    def matcher(*, data: Any, path: Any) -> Any:
        return shown if path == (("a", int),) else data

    assert filtered({"a": 1}, matcher=matcher) == {"a": expected}


def test_a_path_has_each_key_and_index_with_the_type_of_its_value() -> None:
    seen = []

    def matcher(*, data: Any, path: Any) -> Any:
        seen.append(path)
        return data

    filtered({"a": [5]}, matcher=matcher)
    assert seen == [(), (("a", list),), (("a", list), (0, int))]
