"""Changed words: which words of a line changed, and what of the line is shown."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from pytest_chatprompt.results import texts as module
from pytest_chatprompt.results.texts import Piece, changed_words, excerpt, pieces_of_one_line


@pytest.mark.parametrize(
    ("removed", "added", "pieces"),
    [
        pytest.param("in 14 days.", "in 30 days.", [("in ", "in "), ("14", "30"), (" days.", " days.")], id="a word"),
        pytest.param("be kind", "be very kind", [("be ", "be "), ("", "very "), ("kind", "kind")], id="a word more"),
        pytest.param("a b c d", "a x y d", [("a ", "a "), ("b c", "x y"), (" d", " d")], id="two words side by side"),
        pytest.param("a", "b", [("a", "b")], id="all of it"),
        pytest.param("a", "a", [("a", "a")], id="nothing"),
        pytest.param("", "", [], id="empty lines"),
        pytest.param("", "a", [("", "a")], id="an empty line before"),
        pytest.param(
            "可在十四天内退回。",
            "可在三十天内退回。",
            [("可在", "可在"), ("", "三"), ("十", "十"), ("四", ""), ("天内退回。", "天内退回。")],
            id="a script without blanks",
        ),
        pytest.param(
            f"x {'y' * 30}A{'z' * 30} w",
            f"x {'y' * 30}BC{'z' * 30} w",
            [(f"x {'y' * 30}", f"x {'y' * 30}"), ("A", "BC"), (f"{'z' * 30} w", f"{'z' * 30} w")],
            id="a character of a very long word",
        ),
        pytest.param("y" * 60, "y" * 50, [("y" * 50, "y" * 50), ("y" * 10, "")], id="the end of a very long word"),
        pytest.param("a" * 50, "b" * 50, [("a" * 50, "b" * 50)], id="a very long word for another one"),
    ],
)
def test_a_line_is_compared_word_by_word(removed: str, added: str, pieces: list[tuple[str, str]]) -> None:
    assert changed_words(removed, added) == tuple(Piece(*piece) for piece in pieces)


@given(st.text("ab .三", max_size=60), st.text("ab .三", max_size=60))
def test_the_pieces_are_both_lines(removed: str, added: str) -> None:
    pieces = changed_words(removed, added)
    assert "".join(piece.removed for piece in pieces) == removed
    assert "".join(piece.added for piece in pieces) == added
    assert all(one.is_equal != other.is_equal for one, other in pairwise(pieces))


def test_a_very_long_line_is_one_change_from_its_first_to_its_last_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_PAIRS", 0)
    assert changed_words("a 1 b 2 c", "a 3 b 4 c") == (Piece("a ", "a "), Piece("1 b 2", "3 b 4"), Piece(" c", " c"))


def test_a_line_of_equal_words_takes_no_longer_than_others() -> None:
    # Each pair of equal words is looked at once for each change: this would take minutes.
    old, new = "to be " * 5_000, "be to " * 5_000
    assert [piece.is_equal for piece in changed_words(old, new)].count(False) == 1
    assert [piece.is_equal for piece in changed_words("x " * 5_000, "y " * 5_000)].count(False) == 1


def test_lines_that_share_less_than_half_are_two_lines() -> None:
    assert pieces_of_one_line("ab", "ab") == (Piece("ab", "ab"),)
    assert pieces_of_one_line("aaa b", "aaa c") == (Piece("aaa ", "aaa "), Piece("b", "c"))
    assert pieces_of_one_line("a bb", "a cc") == (Piece("a ", "a "), Piece("bb", "cc"))
    assert pieces_of_one_line("a bbb", "a ccc") == ()
    assert pieces_of_one_line("", "") == ()


def test_an_excerpt_has_whole_words_around_each_change() -> None:
    words = " ".join(f"word{number}" for number in range(30))
    pieces = changed_words(f"{words} 14 {words} 7 {words}", f"{words} 30 {words} 8 {words}")
    assert "".join(f"[{piece.removed}]" for piece in excerpt(pieces, 20)) == (
        "[…word28 word29 ][14][ word0 word1 word2…word28 word29 ][7][ word0 word1 word2…]"
    )
    assert excerpt(changed_words("x" * 50 + " a", "x" * 50 + " b"), 20)[0].removed == "…" + "x" * 19 + " "
    assert excerpt(changed_words("a " + "x" * 50, "b " + "x" * 50), 20)[1].removed == " " + "x" * 19 + "…"


def test_short_lines_are_shown_whole() -> None:
    pieces = changed_words("in 14 days", "in 30 days")
    assert excerpt(pieces, 20) == pieces
