"""The difference between a snapshot and what is sent now."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt.difference import difference
from pytest_chatprompt.snapshot_yaml import dump


def told(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return difference(dump(before), dump(after)).splitlines()


def test_equal_texts_have_none() -> None:
    assert told({"a": 1}, {"a": 1}) == []


def test_a_changed_line_is_told_under_its_place() -> None:
    before = {"request": {"messages": [{"role": "user", "content": "one\ntwo\nthree\nfour"}]}}
    after = {"request": {"messages": [{"role": "user", "content": "one\ntwo\nTHREE\nfour"}]}}
    assert told(before, after) == [
        "@@ request.messages[0].content @@",
        "        two",
        "-       three",
        "+       THREE",
        "        four",
    ]


def test_changes_far_apart_are_told_apart() -> None:
    before = {"question": "a", "x": ["1", "2", "3", "4", "5", "6"], "last": "z"}
    after = {"question": "b", "x": ["1", "2", "3", "4", "5", "6"], "last": "y"}
    assert told(before, after) == [
        "@@ question @@",
        "- question: a",
        "+ question: b",
        "  x:",
        "@@ last @@",
        '  - "6"',
        "- last: z",
        '+ last: "y"',
    ]


def test_added_and_removed_lines() -> None:
    assert told({"a": 1}, {"a": 1, "b": 2}) == ["@@ b @@", "  a: 1", "+ b: 2"]
    assert told({"a": 1, "b": 2}, {"b": 2}) == ["@@ b @@", "- a: 1", "  b: 2"]


def test_a_snapshot_that_is_no_yaml_is_compared_all_the_same() -> None:
    assert difference("{broken", "a: 1\n").splitlines() == [
        "@@ a @@",
        "- {broken",
        "- (no line break at the end)",
        "+ a: 1",
    ]


def test_a_first_unseen_character_is_a_difference_of_one_line() -> None:
    lines = [f"line {number}" for number in range(100)]
    after = [*lines[:50], "line 50 ", *lines[51:]]
    assert told({"a": "\n".join(lines)}, {"a": "\n".join(after)}) == [
        "@@ a @@",
        "    line 49\\n\\",
        "-   line 50\\n\\",
        "+   line 50 \\n\\",
        "    line 51\\n\\",
    ]


@pytest.mark.parametrize("stored", ["{broken", "- 1\n", ""])
def test_a_long_snapshot_is_told_from_one_that_is_none(stored: str) -> None:
    assert "+ j: 1" in difference(stored, dump(dict.fromkeys("abcdefghij", 1))).splitlines()


def test_a_long_difference_is_cut() -> None:
    before = {"a": [f"x{number}" for number in range(500)]}
    after = {"a": [f"y{number}" for number in range(500)]}
    assert len(told(before, after)) == 401
    assert told(before, after)[-1] == "... and 602 more lines"


def test_a_line_break_that_an_editor_took_away_is_told() -> None:
    assert difference("a: 1", "a: 1\n").splitlines() == ["@@ a @@", "  a: 1", "- (no line break at the end)"]
