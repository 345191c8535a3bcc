"""JSON data: how deep it may be nested, and how it is written."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from pytest_chatprompt.text.json_data import check_json, encode_json, parse_json


def nested(levels: int) -> object:
    value: object = "text"
    for _ in range(levels):
        value = [value]
    return value


def test_data_may_be_nested_100_levels_deep() -> None:
    assert check_json(nested(100)) == nested(100)


def test_data_that_is_nested_deeper_is_an_error_at_the_first_value_too_deep() -> None:
    with pytest.raises(ValidationError) as caught:
        check_json(nested(103))
    (error,) = caught.value.errors()
    assert (error["msg"], error["loc"]) == ("nested more than 100 levels deep", (0,) * 101)


LONG_FILE = "=== a.txt ===\n" + 'a "line", and \\ é\x01\n' * 5_000


@pytest.mark.parametrize(
    "data",
    [
        pytest.param({"messages": [{"role": "user", "content": f"ask\n{LONG_FILE}"}, {}], "n": 0.1}, id="in messages"),
        pytest.param([(None, LONG_FILE), LONG_FILE], id="in lists"),
        pytest.param({1: f"{LONG_FILE}\n{LONG_FILE}\nend", "x": {}}, id="two files, under a number"),
        pytest.param({"image": "A" * 100_000}, id="media"),
    ],
)
def test_a_long_text_is_encoded_as_a_short_one(data: object) -> None:
    expected = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    assert encode_json(data).decode() == expected


def test_a_long_text_that_holds_too_many_levels_is_refused() -> None:
    assert parse_json(json.dumps({"a": "[" * 100_000})) == {"a": "[" * 100_000}
    with pytest.raises(ValueError, match="nested more than 100 levels deep"):
        parse_json(json.dumps([nested(100), "x" * 100_000]))
