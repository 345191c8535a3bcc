"""Reordering: what only stands in another place is told as moved, and the rest of the data keeps its place."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from pytest_chatprompt.snapshots.diff import in_sent_order

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
