"""Rows: how they are named, and what is wrong with those that cannot be used."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt.cases.origin import Row
from pytest_chatprompt.cases.rows import RawRow, make_rows
from pytest_chatprompt.text.yaml import Position


def rows_of(*values: Any) -> list[Row]:
    return make_rows((RawRow(Position(line, 1), value) for line, value in enumerate(values, start=1)), "d.jsonl")


def ids_of(*values: Any) -> list[str]:
    """The ids of the rows; those of invalid ones in brackets."""
    return [f"({row.id})" if row.problem else row.id for row in rows_of(*values)]


def test_a_row_has_its_place_and_its_values() -> None:
    (row,) = rows_of({"id": "a", "x": 1})
    assert row == Row("a", "d.jsonl", 1, 1, {"id": "a", "x": 1})
    assert row.place == "d.jsonl:1:1"


@pytest.mark.parametrize(
    ("values", "ids"),
    [
        pytest.param([{}, {"x": 1}], ["0", "1"], id="without an id its number from 0"),
        pytest.param([{"id": "a"}, {"x": 1}, {"id": 7}], ["a", "1", "7"], id="its id, a text or a whole number"),
        pytest.param([3, {"id": "a"}], ["(0)", "a"], id="an invalid row its number"),
        pytest.param([{"id": "a", "x y": 1}, {"id": "b"}], ["(a)", "b"], id="an invalid row its id if it has one"),
        pytest.param(
            [{"id": "a"}, {"id": "a"}, {"id": "a"}],
            ["a", "(row-a)", "(row-row-a)"],
            id="a repeated id a name made of it",
        ),
        pytest.param([{"id": "1"}, 3, {"id": "row-1"}], ["1", "(row-1)", "(row-row-1)"], id="a number that is an id"),
        pytest.param([{"id": "1"}, {}], ["1", "(row-1)"], id="a row without an id whose number is an id"),
    ],
)
def test_each_row_has_a_name_of_its_own(values: list[Any], ids: list[str]) -> None:
    assert ids_of(*values) == ids


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param([], "a row must be a mapping of variables to their values, but is a list", id="a list"),
        pytest.param(None, "a row must be a mapping of variables to their values, but is null", id="null"),
        pytest.param(
            {"id": " "},
            "the id of a row must be a string that is not blank, or a whole number, but is ' '",
            id="a blank id",
        ),
        pytest.param(
            {"id": True},
            "the id of a row must be a string that is not blank, or a whole number, but is the boolean true",
            id="a boolean as the id",
        ),
        pytest.param(
            {"a": float("inf")},
            "the value of 'a': JSON has neither infinity nor NaN; put it in quotes if you mean text",
            id="an infinite number",
        ),
    ],
)
def test_a_row_that_cannot_be_used_says_why(value: Any, text: str) -> None:
    assert rows_of({}, value)[1] == Row("1", "d.jsonl", 2, 1, value, text)


def test_a_repeated_id_names_both_rows() -> None:
    text = "the row id 'a' is used twice, first at d.jsonl:1:1; give each row an id of its own"
    assert rows_of({"id": "a"}, {"id": "a"})[1] == Row("row-a", "d.jsonl", 2, 1, {"id": "a"}, text)
    assert rows_of({"id": "a", "x y": 1}, {"id": "a"})[1] == Row("row-a", "d.jsonl", 2, 1, {"id": "a"}, text)


def test_what_a_reader_found_comes_before_what_is_wrong_with_the_values() -> None:
    raw = RawRow(Position(1, 5), {}, "too short")
    assert make_rows([raw], "d.csv") == [Row("0", "d.csv", 1, 5, {}, "too short")]
