"""Changes: what was removed, added and moved, equal wherever it stands."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt.snapshots.diff import compare_snapshots
from pytest_chatprompt.snapshots.layout import dump
from pytest_chatprompt.snapshots.stored import Change


def contents(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """What changed, by place."""
    return {change.place: change.content for change in compare_snapshots(dump(before), dump(after)).changes}


def openai(system: str, user: str) -> dict[str, Any]:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    return {"question": user, "request": {"model": "m", "messages": messages}}


def anthropic(system: str, user: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": [{"type": "text", "text": user}]}]
    question = f"[System]:\n{system}\n[User]: {user}"
    return {"question": question, "request": {"system": system, "messages": messages, "max_tokens": 1}}


def gemini(system: str, user: str) -> dict[str, Any]:
    contents = [{"role": "user", "parts": [{"text": user}]}]
    return {"requests": [{"request": {"systemInstruction": {"parts": [{"text": system}]}, "contents": contents}}]}


@pytest.mark.parametrize("make", [openai, anthropic, gemini])
@pytest.mark.parametrize(
    ("before", "after", "content"),
    [
        pytest.param("a\nb\nc", "a\nB\nc", (("b",), ("B",), ()), id="a line"),
        pytest.param("a", "b", (("a",), ("b",), ()), id="a text of one line"),
        pytest.param("a", "a\nb", ((), ("b",), ()), id="a second line"),
        pytest.param("b", "a\nb", ((), ("a",), ()), id="a line before the only one"),
        pytest.param("a\nb", "a", (("b",), (), ()), id="all but one line removed"),
        pytest.param("a\nb", "a\nb ", (("b",), ("b ",), ()), id="a blank at the end of a line"),
        pytest.param("a\n\nb", "a\n\nx\n\nb", ((), ("x",), ()), id="a paragraph between others"),
        pytest.param("yes\nb", 'yes\n"b": 1', (("b",), ('"b": 1',), ()), id="what YAML has a meaning for"),
    ],
)
def test_a_change_of_a_text_is_the_same_in_each_api_and_in_the_question(
    make: Any, before: str, after: str, content: Any
) -> None:
    assert set(contents(make("s", before), make("s", after)).values()) == {content}
    assert set(contents(make(before, "u"), make(after, "u")).values()) == {content}


def test_changes_of_several_values_in_lines_that_follow_each_other_are_several() -> None:
    assert contents(openai("a", "b") | {"provider": 1}, openai("A", "B") | {"provider": 1}) == {
        "question": (("b",), ("B",), ()),
        "request.messages[0].content": (("a",), ("A",), ()),
        "request.messages[1].content": (("b",), ("B",), ()),
    }


def test_the_same_value_of_two_settings_is_not_the_same_change() -> None:
    before, after = {"request": {"x": "low", "y": "low"}}, {"request": {"x": "high", "y": "high"}}
    assert contents(before, after) == {
        "request.x": (("x: low",), ("x: high",), ()),
        "request.y": (("y: low",), ("y: high",), ()),
    }


def test_another_role_is_a_change_and_the_role_of_a_new_message_is_none() -> None:
    one, two = {"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}
    assert contents({"messages": [one]}, {"messages": [one | {"role": "assistant"}]}) == {
        "messages[0].role": (("role: user",), ("role: assistant",), ())
    }
    assert contents({"messages": [one]}, {"messages": [one, two]}) == {"messages[1].content": ((), ("two",), ())}
    assert contents({"messages": [one]}, {"messages": [one, {"role": "tool"}]}) == {
        "messages[1].role": ((), ("role: tool",), ())
    }


def test_a_line_break_at_the_end_of_a_text_is_a_change() -> None:
    assert contents({"system": "a\nb"}, {"system": "a\nb\n"}) == {"system": (("system: |-",), ("system: |",), ())}


def test_a_blank_line_is_a_change() -> None:
    assert contents({"system": "a\nb"}, {"system": "a\n\nb"}) == {"system": ((), ("",), ())}


def test_what_moved_is_a_change_of_its_own() -> None:
    one, two = {"role": "user", "content": "one"}, {"role": "assistant", "content": "two"}
    before = {"question": "[User]: one\n[Assistant]: two", "messages": [one, two]}
    after = {"question": "[Assistant]: two\n[User]: one", "messages": [two, one]}
    difference = compare_snapshots(dump(before), dump(after))
    assert difference.changes == (Change("question", moved=("one",)), Change("messages", moved=("one",)))
    assert [(hunk.place, hunk.lines, hunk.changes) for hunk in difference.hunks] == [
        ("question", ("> [0] moved to [1]: one",), (0,)),
        ("messages", ("> [0] moved to [1]: one",), (1,)),
    ]


def test_a_hunk_knows_its_changes() -> None:
    difference = compare_snapshots(dump({"a": 1, "b": 2, "c": [0] * 9, "d": 3}), dump({"a": 2, "b": 2, "c": [0] * 9}))
    assert [(hunk.place, hunk.changes) for hunk in difference.hunks] == [("a", (0,)), ("d", (1,))]
    assert [change.content for change in difference.changes] == [(("a: 1",), ("a: 2",), ()), (("d: 3",), (), ())]


def test_a_text_that_was_formatted_anew_differs_only_in_its_data() -> None:
    difference = compare_snapshots('{"a": 1,\n  "b": "x"}', dump({"a": 1, "b": "y"}))
    assert [hunk.lines for hunk in difference.hunks] == [("  a: 1", "- b: x", '+ b: "y"')]


@pytest.mark.parametrize(
    ("stored", "removed"),
    [
        pytest.param("a: 1\na: 1\n", ("a: 1",), id="a repeated key"),
        pytest.param("{broken", ("{broken", "(no line break at the end)"), id="no YAML"),
        pytest.param("a: 2026-11-22\n", ("a: 2026-11-22",), id="a value that no snapshot holds"),
    ],
)
def test_a_text_that_cannot_be_read_is_compared_as_it_is(stored: str, removed: tuple[str, ...]) -> None:
    (change,) = compare_snapshots(stored, "a: 1\n").changes
    assert (change.place, change.removed) == ("a", removed)


def test_equal_texts_do_not_differ() -> None:
    assert compare_snapshots("a: 1\n", "a: 1\n").changes == ()
