"""The diff of a snapshot: changes by place, and the lines that show them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from pytest_chatprompt.capture.prompt_size import count_characters
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.snapshots.diff import compare_snapshots, diff_text
from pytest_chatprompt.snapshots.layout import dump


def diff_data(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return diff_text(compare_snapshots(dump(before), dump(after))).splitlines()


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
    lines = ["1", "2", "3", "4", "5", "6"]
    before = {"question": "a", "system": "\n".join(["a", *lines, "b"]), "last": "z"}
    after = {"question": "b", "system": "\n".join(["A", *lines, "B"]), "last": "y"}
    assert diff_data(before, after) == [
        "@@ question @@",
        "- question: a",
        "+ question: b",
        "@@ system @@",
        "-   a",
        "+   A",
        "    1",
        "@@ system @@",
        "    6",
        "-   b",
        "+   B",
        "@@ last @@",
        "- last: z",
        '+ last: "y"',
    ]


def test_added_and_removed_lines_are_marked() -> None:
    assert diff_data({"a": 1}, {"a": 1, "b": 2}) == ["@@ b @@", "+ b: 2"]
    assert diff_data({"a": 1, "b": 2}, {"b": 2}) == ["@@ a @@", "- a: 1"]


def test_the_first_invisible_character_of_a_block_is_a_diff_of_one_line() -> None:
    lines = [f"line {number}" for number in range(100)]
    after = [*lines[:50], "line 50 ", *lines[51:]]
    assert diff_data({"a": "\n".join(lines)}, {"a": "\n".join(after)}) == [
        "@@ a @@",
        "    line 49",
        "-   line 50",
        '+   "line 50 "',
        "    line 51",
    ]


def test_a_long_diff_is_cut_after_400_lines() -> None:
    before = {"a": [f"x{number}" for number in range(500)]}
    after = {"a": [f"y{number}" for number in range(500)]}
    assert len(diff_data(before, after)) == 401
    assert diff_data(before, after)[-1] == "... and 1100 more lines"


@pytest.mark.parametrize(("last", "removed"), [(1, ["1"]), (69_998, [str(number) for number in range(1, 69_999)])])
def test_between_the_changes_of_a_huge_text_all_is_one_change(last: int, removed: list[str]) -> None:
    """Its lines are not compared with each other: each pair takes memory, and a run would be killed for it."""
    lines = [str(number) for number in range(70_000)]
    other = ["x" if number in (1, last) else line for number, line in enumerate(lines)]
    difference = compare_snapshots(dump({"question": "\n".join(lines)}), dump({"question": "\n".join(other)}))
    (change,) = difference.changes
    assert change.removed == tuple(removed)
    assert change.added == tuple(other[1 : last + 1])


TEXTS = st.text("ab\n \t\r:", max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(st.sampled_from(["question", "request", "messages"]), VALUES, min_size=1),
    st.dictionaries(st.sampled_from(["question", "request", "messages"]), VALUES, min_size=1),
)
@example({"question": []}, {"question": [None]})
def test_data_that_differs_has_changes(before: dict[str, Any], after: dict[str, Any]) -> None:
    difference = compare_snapshots(dump(before), dump(after))
    assert bool(difference.changes) is (json.dumps(before) != json.dumps(after))
    assert [number for hunk in difference.hunks for number in hunk.changes] == list(range(len(difference.changes)))


ONE, TWO, THREE = ({"role": "user", "content": text} for text in ("one", "two", "three"))


def test_what_moved_is_a_change_of_its_own_wherever_it_stood_and_stands() -> None:
    before = {"question": "[User]: one\n[Assistant]: two", "messages": [ONE, TWO]}
    after = {"question": "[Assistant]: two\n[User]: one", "messages": [TWO, ONE]}
    difference = compare_snapshots(dump(before), dump(after))
    assert [(change.place, change.content) for change in difference.changes] == [
        ("question", ((), (), ("two",))),
        ("question", ((), (), ("two",))),
        ("messages[0]", ((), (), ("two",))),
        ("messages[1]", ((), (), ("two",))),
    ]
    assert [hunk.lines for hunk in difference.hunks] == [
        ("+   [Assistant]: two",),
        ("-   [Assistant]: two",),
        ("+ - role: user", "+   content: two"),
        ("- - role: user", "-   content: two"),
    ]


def test_lines_that_were_replaced_have_not_moved() -> None:
    moving = {"role": "user", "content": "a\nb"}
    stored = {"system": "a\nc", "messages": [ONE, TWO, moving]}
    sent = {"system": "b\nc", "messages": [moving, ONE, TWO]}
    changes = compare_snapshots(dump(stored), dump(sent)).changes
    assert [change.content for change in changes] == [(("a",), ("b",), ()), *[((), (), ("a", "b"))] * 2]


def test_keys_in_another_order_are_a_change() -> None:
    stored, sent = {"b": 1, "gone": 0, "a": [{"x": 2, "z": 3}]}, {"a": [{"z": 4, "x": 2}], "b": 1, "new": 0}
    moved = [change.moved for change in compare_snapshots(dump(stored), dump(sent)).changes]
    assert moved == [("a",), (), ("z",), (), ()]
    assert diff_data(stored, sent) == [
        "@@ @@",
        "> keys in another order: b, a → a, b",
        "@@ gone @@",
        "- gone: 0",
        "@@ a[0] @@",
        "> keys in another order: x, z → z, x",
        "@@ a[0].z @@",
        "-   z: 3",
        "+   z: 4",
        "@@ new @@",
        "+ new: 0",
    ]


@pytest.mark.parametrize(
    ("before", "after", "places"),
    [
        pytest.param(["a\nb", "c"], ["x", "a\nB", "c"], ["messages[0]", "messages[1].content"], id="one was added"),
        pytest.param(["x", "a\nb", "c"], ["a\nB", "c"], ["messages[0]", "messages[1].content"], id="one was removed"),
        pytest.param(["a"], ["b", "x"], ["messages[0].content", "messages[1]"], id="nothing is shared"),
        pytest.param(["a", "b", "c"], ["a", "c"], ["messages[1]"], id="nothing else changed"),
    ],
)
def test_a_changed_item_is_compared_with_the_one_it_shares_lines_with(
    before: list[str], after: list[str], places: list[str]
) -> None:
    stored, sent = ({"messages": [{"role": "user", "content": text} for text in texts]} for texts in (before, after))
    assert [change.place for change in compare_snapshots(dump(stored), dump(sent)).changes] == places


def test_an_added_item_is_one_change_with_all_that_it_says() -> None:
    tool = {"type": "function", "function": {"name": "f", "description": "Finds.\nFast."}}
    assert contents({"request": {"tools": []}}, {"request": {"tools": [tool]}}) == {
        "request.tools[0]": ((), ("type: function", "name: f", "Finds.", "Fast."), ())
    }
    assert diff_data({"request": {"tools": []}}, {"request": {"tools": [tool]}}) == [
        "@@ request.tools[0] @@",
        "+   - type: function",
        "+     function:",
        "+       name: f",
        "+       description: |-",
        "+         Finds.",
        "+         Fast.",
    ]


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
        pytest.param("a\n\nb", "a\n\nx\n\nb", ((), ("x", ""), ()), id="a paragraph between others"),
        pytest.param("a", "a\n\nx", ((), ("x", ""), ()), id="the same paragraph at the end"),
        pytest.param("a\n\nx", "a", (("x", ""), (), ()), id="the last paragraph removed"),
        pytest.param("a\nb", "a\nx\nb", ((), ("x",), ()), id="a line between others"),
        pytest.param("a", "a\nx\n", (("a",), ("a", "x", ""), ()), id="a line and a line break at the end"),
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
    assert contents({"messages": [one]}, {"messages": [one, two]}) == {"messages[1]": ((), ("two",), ())}
    assert contents({"messages": [one]}, {"messages": [one, {"role": "tool"}]}) == {
        "messages[1]": ((), ("role: tool",), ())
    }


def test_a_line_break_at_the_end_of_a_text_is_a_change() -> None:
    assert contents({"system": "a\nb"}, {"system": "a\nb\n"}) == {"system": ((), ("",), ())}


def test_a_blank_line_is_a_change() -> None:
    assert contents({"system": "a\nb"}, {"system": "a\n\nb"}) == {"system": ((), ("",), ())}


def test_a_hunk_knows_its_changes() -> None:
    difference = compare_snapshots(dump({"a": 1, "b": 2, "c": [0] * 9, "d": 3}), dump({"a": 2, "b": 2, "c": [0] * 9}))
    assert [(hunk.place, hunk.changes) for hunk in difference.hunks] == [("a", (0,)), ("d", (1,))]
    assert [change.content for change in difference.changes] == [(("a: 1",), ("a: 2",), ()), (("d: 3",), (), ())]


def test_a_text_that_was_formatted_anew_differs_only_in_its_data() -> None:
    difference = compare_snapshots('{"a": 1,\n  "b": "x"}', dump({"a": 1, "b": "y"}))
    assert [hunk.lines for hunk in difference.hunks] == [("- b: x", '+ b: "y"')]


@pytest.mark.parametrize(
    ("stored", "removed"),
    [
        pytest.param("a: 2\na: 2\n", ("a: 2", "a: 2"), id="a repeated key"),
        pytest.param("{broken", ("{broken",), id="no YAML"),
        pytest.param("a: !!binary aGk=\n", ("a: !!binary aGk=",), id="a value that no snapshot holds"),
    ],
)
def test_a_text_that_cannot_be_read_is_compared_as_it_is(stored: str, removed: tuple[str, ...]) -> None:
    (change,) = compare_snapshots(stored, "a: 1\n").changes
    assert (change.place, change.removed, change.added[0]) == ("", removed, "a: 1")


@pytest.mark.parametrize("stored", ["{broken", "- 1\n", ""])
def test_a_long_snapshot_is_compared_with_a_text_that_is_not_a_snapshot(stored: str) -> None:
    assert "+ j: 1" in diff_text(compare_snapshots(stored, dump(dict.fromkeys("abcdefghij", 1)))).splitlines()


def test_another_role_in_the_question_alone_is_a_change() -> None:
    before, after = ({"question": f"[User]: a\n[{role}]: b\nc"} for role in ("User", "Assistant"))
    assert diff_data(before, after) == ["@@ question @@", "-   [User]: b", "+   [Assistant]: b", "    c"]


def test_equal_texts_do_not_differ() -> None:
    assert compare_snapshots("a: 1\n", "a: 1\n").changes == ()


KEYS = st.sampled_from(["messages", "content", "role", "type", "tools", "properties", "name", "cache_control", "input"])
BODIES = st.recursive(
    TEXTS | st.integers() | st.just("data:image/png;base64,AAAA") | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
ENDPOINTS = st.sampled_from(["POST /v1/messages", "POST /chat/completions", "POST /predict"])
REQUESTS = st.fixed_dictionaries({"endpoint": ENDPOINTS, "request": BODIES})


def characters(data: dict[str, Any]) -> int:
    requests = data.get("requests", [data])
    return sum(count_characters(SentRequest(each["endpoint"], each["request"])) for each in requests)


PROMPTS = st.lists(
    st.fixed_dictionaries({"content": TEXTS | st.lists(TEXTS, max_size=3), "n": st.integers()}), max_size=4
)


@given(PROMPTS, PROMPTS)
def test_the_changes_of_a_prompt_cost_together_what_it_got_longer(before: list[Any], after: list[Any]) -> None:
    stored, sent = ({"endpoint": "POST /v1/messages", "request": {"messages": each}} for each in (before, after))
    changes = compare_snapshots(dump(stored), dump(sent)).changes
    assert sum(change.characters for change in changes) == characters(sent) - characters(stored)


def test_each_change_costs_what_it_is_itself() -> None:
    before, after = anthropic("Be kind.\nBe brief.", "hello"), anthropic("Be kind now.\nBe brief.\nBye.", "hello")
    after["request"]["messages"].append({"role": "user", "content": [{"type": "text", "text": "more"}]})
    after["request"]["max_tokens"] = 10000
    endpoint = {"endpoint": "POST /v1/messages"}
    changes = compare_snapshots(dump(endpoint | before), dump(endpoint | after)).changes
    assert {(change.place, change.added): change.characters for change in changes} == {
        ("question", ("Be kind now.",)): 0,
        ("question", ("Bye.",)): 0,
        ("request.system", ("Be kind now.",)): 4,
        ("request.system", ("Bye.",)): 5,
        ("request.messages[1]", ("more",)): 4,
        ("request.max_tokens", ("max_tokens: 10000",)): 0,
    }


def test_the_schema_of_an_answer_costs_wherever_an_api_has_it() -> None:
    """Gemini's is the only one within other settings."""
    stored, sent = (
        {
            "endpoint": "POST /v1/models/m:generateContent",
            "request": {"contents": [], "generationConfig": {"stopSequences": [text], "responseSchema": schema}},
        }
        for text, schema in (("x", {"description": "Two."}), ("longer", {"description": "Two cities."}))
    )
    changes = compare_snapshots(dump(stored), dump(sent)).changes
    assert {change.place: change.characters for change in changes} == {
        "request.generationConfig.stopSequences[0]": 0,
        "request.generationConfig.responseSchema.description": 7,
    }
