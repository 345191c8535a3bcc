"""Line places: a line for each line that the serializer writes, with its place and what it says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from pytest_chatprompt.snapshots.diff import lines_of, text_lines
from pytest_chatprompt.snapshots.layout import dump

TEXTS = st.text("ab\n \t\r:", max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["question", "request", "messages"]), VALUES), st.booleans())
def test_there_is_one_for_each_line_of_a_snapshot(data: dict[str, Any], escape_blocks: bool) -> None:
    assert len(lines_of(data)) == dump(data, escape_blocks=escape_blocks).count("\n")


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
    assert [tuple(line) for line in lines_of(data)] == [
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
