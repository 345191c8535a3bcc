"""Marked lines: which words of a diff's lines changed."""

from __future__ import annotations

import pytest

from pytest_chatprompt.reports.review import style_lines

BEFORE = " ".join(f"before{number}" for number in range(20))
AFTER = " ".join(f"after{number}" for number in range(20))


def texts(*lines: str, whole: bool = False) -> list[str]:
    return ["".join(text for text, _ in line) for line in style_lines(lines, whole=whole)]


def test_short_lines_stay_as_they_are() -> None:
    lines = ["  one", "- in 14 days", "+ in 30 days", "> [1] moved to [0]: x", "  two"]
    assert texts(*lines) == lines
    assert [line[0][1] for line in style_lines(lines)] == ["", "removed", "added", "moved", ""]


def test_the_changed_words_of_a_long_line_stand_within_what_is_around_them() -> None:
    assert texts(f"-   {BEFORE} 14 {AFTER}", f"+   {BEFORE} 30 {AFTER}") == [
        "~ …before14 before15 before16 before17 before18 before19 [-14-]{+30+} "
        "after0 after1 after2 after3 after4 after5 after6 after7…"
    ]
    assert texts(f"- {BEFORE}", f"+ {BEFORE} more") == [
        "~ …before14 before15 before16 before17 before18 before19{+ more+}"
    ]


def test_removed_and_added_words_have_styles() -> None:
    (line,) = style_lines([f"- {BEFORE} one", f"+ {BEFORE} two"])
    assert [style for _, style in line] == ["", "", "removed", "added"]


def test_long_lines_are_whole_if_wanted() -> None:
    assert texts(f"- {BEFORE} 14 {AFTER}", f"+ {BEFORE} {AFTER}", whole=True) == [f"~ {BEFORE} [-14 -]{AFTER}"]
    assert texts(f"  {BEFORE}", whole=True) == [f"  {BEFORE}"]


def test_a_long_line_beside_a_change_is_cut() -> None:
    assert texts(f"  {BEFORE}") == [f"  {BEFORE}"[:100].rstrip() + "…"]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param((f"- {BEFORE}", f"+ {AFTER}"), id="nothing in common"),
        pytest.param((f"- {BEFORE} 1", f"+ {BEFORE} 2", "+ more"), id="another number of lines"),
        pytest.param((f"- {BEFORE}",), id="only removed"),
    ],
)
def test_lines_that_are_no_pairs_are_shown_whole(lines: tuple[str, ...]) -> None:
    assert texts(*lines) == list(lines)


def test_pairs_stand_together_if_one_of_them_is_long() -> None:
    assert texts("- a", f"- {BEFORE} 1", "+ b", f"+ {BEFORE} 2") == [
        "- a",
        "+ b",
        "~ …before14 before15 before16 before17 before18 before19 [-1-]{+2+}",
    ]
