"""The diff between a snapshot and what is sent now."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt.snapshots.diff import diff_snapshots
from pytest_chatprompt.snapshots.layout import dump


def diff_data(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return diff_snapshots(dump(before), dump(after)).splitlines()


def test_equal_texts_have_no_diff() -> None:
    assert diff_data({"a": 1}, {"a": 1}) == []


def test_a_changed_line_is_shown_under_its_path() -> None:
    before = {"request": {"messages": [{"role": "user", "content": "one\ntwo\nthree\nfour"}]}}
    after = {"request": {"messages": [{"role": "user", "content": "one\ntwo\nTHREE\nfour"}]}}
    assert diff_data(before, after) == [
        "@@ request.messages[0].content @@",
        "        two",
        "-       three",
        "+       THREE",
        "        four",
    ]


def test_distant_changes_are_separate_hunks() -> None:
    before = {"question": "a", "x": ["1", "2", "3", "4", "5", "6"], "last": "z"}
    after = {"question": "b", "x": ["1", "2", "3", "4", "5", "6"], "last": "y"}
    assert diff_data(before, after) == [
        "@@ question @@",
        "- question: a",
        "+ question: b",
        "  x:",
        "@@ last @@",
        '  - "6"',
        "- last: z",
        '+ last: "y"',
    ]


def test_added_and_removed_lines_are_marked() -> None:
    assert diff_data({"a": 1}, {"a": 1, "b": 2}) == ["@@ b @@", "  a: 1", "+ b: 2"]
    assert diff_data({"a": 1, "b": 2}, {"b": 2}) == ["@@ a @@", "- a: 1", "  b: 2"]


def test_a_snapshot_that_is_not_valid_yaml_is_compared_too() -> None:
    assert diff_snapshots("{broken", "a: 1\n").splitlines() == [
        "@@ a @@",
        "- {broken",
        "- (no line break at the end)",
        "+ a: 1",
    ]


def test_the_first_invisible_character_of_a_block_is_a_diff_of_one_line() -> None:
    lines = [f"line {number}" for number in range(100)]
    after = [*lines[:50], "line 50 ", *lines[51:]]
    assert diff_data({"a": "\n".join(lines)}, {"a": "\n".join(after)}) == [
        "@@ a @@",
        "    line 49\\n\\",
        "-   line 50\\n\\",
        "+   line 50 \\n\\",
        "    line 51\\n\\",
    ]


@pytest.mark.parametrize("stored", ["{broken", "- 1\n", ""])
def test_a_long_snapshot_is_compared_with_a_text_that_is_not_a_snapshot(stored: str) -> None:
    assert "+ j: 1" in diff_snapshots(stored, dump(dict.fromkeys("abcdefghij", 1))).splitlines()


def test_a_long_diff_is_cut_after_400_lines() -> None:
    before = {"a": [f"x{number}" for number in range(500)]}
    after = {"a": [f"y{number}" for number in range(500)]}
    assert len(diff_data(before, after)) == 401
    assert diff_data(before, after)[-1] == "... and 602 more lines"


def test_a_missing_last_line_break_is_shown() -> None:
    assert diff_snapshots("a: 1", "a: 1\n").splitlines() == ["@@ a @@", "  a: 1", "- (no line break at the end)"]
