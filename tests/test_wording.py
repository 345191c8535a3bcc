"""Phrases that messages share."""

from __future__ import annotations

import pytest

from pytest_chatprompt.wording import count, dollars, first_lines, grouped, visible, visible_line


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        (0, "$0.00"),
        (5, "$5.00"),
        (1234.567, "$1234.57"),
        (0.5, "$0.50"),
        (0.05, "$0.05"),
        (0.051, "$0.051"),
        (0.0512, "$0.051"),
        (0.0005, "$0.0005"),
        (0.00014, "$0.00014"),
        (0.000000123, "$0.00000012"),
    ],
)
def test_amounts_of_dollars(amount: float, expected: str) -> None:
    assert dollars(amount) == expected


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error::x", "\\::error::x"),
        ("a\n \u3000\t::set-output name=a::b", "a\n \u3000\t\\::set-output name=a::b"),
        ("a ::error::x", "a ::error::x"),
        (":: x", ":: x"),
        ("x ##vso[task.a]b ##[error]c ##VSO[x]", "x ##\\vso[task.a]b ##\\[error]c ##\\VSO[x]"),
        ("## Title [a](b) ##", "## Title [a](b) ##"),
        ("\x1b[31m\x07\x00\x7f\x9b", "\\x1b[31m\\x07\\x00\\x7f\\x9b"),
        ("a\r::error::b\r\nc\x0b\u2028d", "a\\r::error::b\nc\\x0b\\u2028d"),
        ("\u202egnp\u2066\u200f\ufeff\ud800", "\\u202egnp\\u2066\\u200f\\ufeff\\ud800"),
        ("\ta\né 日本 👩\u200d👧 \xa0", "\ta\né 日本 👩\u200d👧 \xa0"),
    ],
)
def test_a_text_of_others_is_visible_and_commands_nothing(text: str, shown: str) -> None:
    assert visible(text) == visible(shown) == shown
    assert visible_line(text) == shown.replace("\n", "\\n")


@pytest.mark.parametrize(
    ("most", "lines"),
    [(None, ["a", "b", "c"]), (3, ["a", "b", "c"]), (2, ["a", "b", "and 1 more"]), (0, ["and 3 more"])],
)
def test_of_many_lines_the_first_are_shown_and_how_many_there_are_more(most: int | None, lines: list[str]) -> None:
    assert first_lines(["a", "b", "c"], most) == lines


def test_what_has_the_same_key_is_grouped_in_the_order_of_the_keys() -> None:
    assert list(grouped([("b", 1), ("a", 2), ("b", 3)]).items()) == [("b", [1, 3]), ("a", [2])]


def test_a_noun_has_the_plural_that_is_given() -> None:
    assert [count(number, "reply was", "replies were") for number in (0, 1, 2)] == [
        "0 replies were",
        "1 reply was",
        "2 replies were",
    ]
