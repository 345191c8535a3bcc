"""Variables: which names and values a template can use."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from pytest_chatprompt.cases.rows import find_problem
from pytest_chatprompt.text.json_data import MAX_DEPTH, describe_data


def test_every_value_of_json_is_a_value() -> None:
    values = {"a": "ä", "b": 1, "c": 1.5, "d": True, "e": None, "f": [1, {"x": ("y",)}], "_g": {}, "größe": ""}
    assert find_problem(values) is None


@pytest.mark.parametrize(
    ("variables", "problem"),
    [
        pytest.param(
            {"a b": ""},
            ("a b", "'a b' cannot name a variable; use letters, digits and _, and do not begin with a digit"),
            id="a name with a blank",
        ),
        pytest.param(
            {"not": ""},
            ("not", "'not' cannot name a variable, because templates read it as something else; rename it"),
            id="a word of Jinja",
        ),
        pytest.param(
            {"a": float("nan")},
            ("a", "the value of 'a': JSON has neither infinity nor NaN; put it in quotes if you mean text"),
            id="not a number",
        ),
        pytest.param(
            {"a": [{"b": date(2024, 1, 2)}]},
            ("a", "the value of 'a': JSON has no date; put 2024-01-02 in quotes"),
            id="a date, deep inside",
        ),
        pytest.param(
            {"a": {"x": "\ud800"}},
            ("a", "the value of 'a': half of a character (U+D800), which is not valid Unicode"),
            id="half of a character",
        ),
    ],
)
def test_the_first_problem_is_found(variables: dict[Any, Any], problem: tuple[str, str]) -> None:
    assert find_problem({"fine": 1, **variables}) == problem


def test_a_value_is_nested_a_hundred_levels_at_most() -> None:
    value: Any = "x"
    for _ in range(99):
        value = [value]
    assert find_problem({"a": value}) is None
    assert find_problem({"a": [value]}) == ("a", "the value of 'a': nested more than 100 levels deep")


@pytest.mark.parametrize(
    ("value", "description"),
    [
        (None, "null"),
        (True, "the boolean true"),
        (1, "the number 1"),
        (1.5, "the number 1.5"),
        ("a", "'a'"),
        ({}, "a mapping"),
        ([], "a list"),
        (date(2024, 1, 2), "the date 2024-01-02"),
    ],
)
def test_data_is_described(value: Any, description: str) -> None:
    assert describe_data(value) == description


@pytest.mark.parametrize("kind", ["a list", "a mapping"])
def test_a_value_may_be_nested_up_to_the_limit(kind: str) -> None:
    def nested(levels: int) -> Any:
        value: Any = 1
        for _ in range(levels):
            value = [value] if kind == "a list" else {"k": value}
        return value

    assert find_problem({"x": nested(MAX_DEPTH - 1)}) is None
    problem = find_problem({"x": nested(MAX_DEPTH)})
    assert problem is not None
    assert problem[1] == f"the value of 'x': nested more than {MAX_DEPTH} levels deep"
