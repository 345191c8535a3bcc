"""The diff of a snapshot: places of lines, moves and changes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from pytest_chatprompt.capture.prompt_cost import count_characters
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.snapshots.diff import compare_snapshots, diff_snapshots, in_sent_order, lines_of, text_lines
from pytest_chatprompt.snapshots.layout import dump
from pytest_chatprompt.snapshots.stored import Change


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
        "@@ @@",
        "- {broken",
        "- (no line break at the end)",
        "+ a: 1",
    ]


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


@pytest.mark.parametrize("stored", ["{broken", "- 1\n", ""])
def test_a_long_snapshot_is_compared_with_a_text_that_is_not_a_snapshot(stored: str) -> None:
    assert "+ j: 1" in diff_snapshots(stored, dump(dict.fromkeys("abcdefghij", 1))).splitlines()


def test_a_long_diff_is_cut_after_400_lines() -> None:
    before = {"a": [f"x{number}" for number in range(500)]}
    after = {"a": [f"y{number}" for number in range(500)]}
    assert len(diff_data(before, after)) == 401
    assert diff_data(before, after)[-1] == "... and 602 more lines"


def test_a_missing_last_line_break_is_shown() -> None:
    assert diff_snapshots("a: 1", "a: 1\n").splitlines() == ["@@ @@", "  a: 1", "- (no line break at the end)"]


TEXTS = st.text("ab\n \t\r:", max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["question", "request", "messages"]), VALUES), st.booleans())
def test_there_is_one_for_each_line_of_a_snapshot(data: dict[str, Any], escapes_lines: bool) -> None:
    assert len(lines_of(data)) == dump(data, escapes_lines=escapes_lines).count("\n")


def test_each_line_has_its_place_and_what_it_says() -> None:
    data = {
        "question": "[User]:\none\n[Assistant]: two",
        "request": {
            "temperature": 0.5,
            "stream": True,
            "system": [{"type": "text", "text": "yes"}],
            "messages": [{"role": "user", "content": "a\nb\n"}],
            "nested": [[1]],
            "none": [],
        },
    }
    assert [tuple(line[:3]) for line in lines_of(data)] == [
        ("question", "question", None),
        ("question", "question#1", None),
        ("question", "question#1", "one"),
        ("question", "question#2", "two"),
        ("request", "request", None),
        ("request.temperature", "request.temperature", "temperature: 0.5"),
        ("request.stream", "request.stream", "stream: true"),
        ("request.system", "request.system", None),
        ("request.system[0].type", "request.system[0].type", None),
        ("request.system[0].text", "request.system[0].text", "yes"),
        ("request.messages", "request.messages", None),
        ("request.messages[0].role", "request.messages[0].role", None),
        ("request.messages[0].content", "request.messages[0].content", None),
        ("request.messages[0].content", "request.messages[0].content", "a"),
        ("request.messages[0].content", "request.messages[0].content", "b"),
        ("request.nested", "request.nested", None),
        ("request.nested[0]", "request.nested[0]", None),
        ("request.nested[0][0]", "request.nested[0][0]", "nested: 1"),
        ("request.none", "request.none", "none: []"),
    ]


@pytest.mark.parametrize(
    "item",
    [
        pytest.param({"role": "user", "content": "one\ntwo"}, id="of chat completions"),
        pytest.param({"role": "user", "parts": [{"text": "one"}, {"text": "two"}]}, id="of Gemini"),
        pytest.param("[User]:\none\ntwo", id="of the question"),
    ],
)
def test_the_same_turn_says_the_same_in_each_form(item: Any) -> None:
    assert text_lines(item) == ["one", "two"]


ONE, TWO, THREE = ({"role": "user", "content": text} for text in ("one", "two", "three"))


def test_a_moved_message_is_told_where_it_stood_and_stands() -> None:
    stored, sent = {"messages": [ONE, TWO, THREE]}, {"messages": [THREE, ONE, TWO]}
    data, moves = in_sent_order(stored, sent)
    assert data == sent
    assert [(move.place, move.description, move.texts) for move in moves] == [
        ("messages", ("[2] moved to [0]: three",), ("three",))
    ]


def test_what_stays_between_two_that_are_exchanged_has_not_moved() -> None:
    _, (move,) = in_sent_order({"messages": [ONE, TWO, THREE]}, {"messages": [THREE, TWO, ONE]})
    assert move.description == ("[2] moved to [0]: three", "[0] moved to [2]: one")


def test_a_turn_of_the_question_moves_as_its_message_does() -> None:
    stored, sent = {"question": "[User]: one\n[User]:\ntwo\nx"}, {"question": "[User]:\ntwo\nx\n[User]: one"}
    data, (move,) = in_sent_order(stored, sent)
    assert data == sent
    assert (move.place, move.description, move.texts) == ("question", ("[0] moved to [1]: one",), ("one",))


def test_a_list_in_another_order_is_told_as_one() -> None:
    tools = [{"type": "function", "function": {"name": name}} for name in "abcde"]
    data, (move,) = in_sent_order({"tools": tools}, {"tools": tools[::-1]})
    assert data == {"tools": tools[::-1]}
    assert move.description == ("another order: [4], [3], [2], [1], [0]",)


def test_what_is_removed_and_added_beside_a_move_stays_in_its_place() -> None:
    data, (move,) = in_sent_order({"a": [1, 9, 2, 3]}, {"a": [2, 1, 8, 3]})
    assert data == {"a": [2, 9, 1, 3]}
    assert move.description == ("[0] moved to [1]: 1",)


def test_moves_within_items_and_of_keys_are_told_too() -> None:
    stored = {"b": 1, "gone": 0, "a": [{"x": [1, 2], "y": 3}]}
    data, moves = in_sent_order(stored, {"a": [{"x": [2, 1], "y": 4}], "b": 1, "new": 0})
    assert list(data.items()) == [("a", [{"x": [2, 1], "y": 3}]), ("gone", 0), ("b", 1)]
    assert [(move.place, move.description) for move in moves] == [
        ("", ("keys in another order: b, a → a, b",)),
        ("a[0].x", ("[0] moved to [1]: 1",)),
    ]


@pytest.mark.parametrize(
    ("item", "label"),
    [
        pytest.param({"name": "f", "description": "d"}, "f", id="a name"),
        pytest.param({"type": "function", "function": {"name": "f"}}, "f", id="the name of a function"),
        pytest.param({"function": "f"}, "f", id="a text in place of a function"),
        pytest.param("x" * 61, "x" * 60 + "…", id="a long text"),
        pytest.param({"role": "user"}, "", id="nothing to say"),
    ],
)
def test_an_item_is_called_by_its_name_or_by_what_it_says(item: Any, label: str) -> None:
    _, (move,) = in_sent_order({"a": [1, 2, item]}, {"a": [item, 1, 2]})
    assert move.description == (f"[2] moved to [0]: {label}",)


@given(st.lists(st.integers(0, 5), max_size=6), st.lists(st.integers(0, 5), max_size=6))
def test_no_item_is_lost_and_equal_ones_stand_in_the_order_of_what_is_sent(stored: list[int], sent: list[int]) -> None:
    data, moves = in_sent_order({"a": stored}, {"a": sent})
    assert sorted(data["a"]) == sorted(stored)
    if sorted(stored) == sorted(sent):
        assert data["a"] == sent
        assert bool(moves) is (stored != sent)


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
        pytest.param("a: 2\na: 2\n", ("a: 2", "a: 2"), id="a repeated key"),
        pytest.param("{broken", ("{broken", "(no line break at the end)"), id="no YAML"),
        pytest.param("a: !!binary aGk=\n", ("a: !!binary aGk=",), id="a value that no snapshot holds"),
    ],
)
def test_a_text_that_cannot_be_read_is_compared_as_it_is(stored: str, removed: tuple[str, ...]) -> None:
    (change,) = compare_snapshots(stored, "a: 1\n").changes
    assert (change.place, change.removed, change.added) == ("", removed, ("a: 1",))


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


@given(REQUESTS | st.fixed_dictionaries({"question": TEXTS, "requests": st.lists(REQUESTS, max_size=2)}))
def test_the_lines_of_a_request_are_as_long_as_its_prompt(data: dict[str, Any]) -> None:
    assert sum(line.size for line in lines_of(data)) == characters(data)


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
        ("request.messages[1].content[0].text", ("more",)): 4,
        ("request.max_tokens", ("max_tokens: 10000",)): 0,
    }
