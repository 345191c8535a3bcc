"""Results in words: changed words, summaries and repeats."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from pytest_chatprompt.grading.grade import AttemptOutcome, RequiredPasses
from pytest_chatprompt.results import wording as module
from pytest_chatprompt.results.records import AttemptResult
from pytest_chatprompt.results.wording import (
    Piece,
    changed_words,
    describe_rate,
    describe_repeats,
    excerpt,
    pieces_of_one_line,
    repeats_result,
    summary_line,
    summary_of_rates,
)
from pytest_chatprompt.snapshots.changes import Change


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
    between = "x" * 28
    pieces = changed_words(f"14 {between} 7", f"30 {between} 8")
    assert excerpt(pieces, 20) == pieces


def attempt(number: int, outcome: AttemptOutcome, problem: str = "") -> AttemptResult:
    return AttemptResult(number=number, outcome=outcome, problem=problem)


def test_equal_problems_are_shown_once_with_the_numbers_of_their_answers() -> None:
    attempts = [
        attempt(3, "error", "down"),
        attempt(1, "failed", "poor"),
        attempt(4, "error", "down"),
        attempt(2, "passed"),
    ]
    result = repeats_result(RequiredPasses(6, 0.5), attempts)
    assert (result.passed, result.answers, result.needed) == (1, 2, 3)
    assert describe_repeats(result) == (
        "1/2 answers passed: 50 % (95 % interval 9 % to 91 %); 2 answers could not be obtained or graded; 2 not sent; "
        "3 of 6 must pass\n\n"
        "answer 1 of 6: poor\n\n"
        "answers 3 and 4 of 6: down"
    )


def test_without_answers_no_rate_is_known() -> None:
    result = repeats_result(RequiredPasses(2, 1.0), [attempt(1, "error", "down")])
    assert describe_repeats(result).startswith("1 answer could not be obtained or graded; 1 not sent; 2 of 2 must pass")
    assert describe_rate(0, 0, result.interval) == "none known"


def test_the_summary_lists_the_lowest_rates_first_and_ten_at_most() -> None:
    cases = {f"c{number}": (number % 4, 5) for number in range(12)}
    head, *lines, last = summary_of_rates({**cases, "good": (5, 5)})
    assert head == "13 cases were sent more than once, and 23/65 answers passed; not all of these:"
    assert [line.split()[0] for line in lines] == ["0/5"] * 3 + ["1/5"] * 3 + ["2/5"] * 3 + ["3/5"]
    assert last == "  and 2 more"
    assert list(summary_of_rates({"good": (5, 5)})) == ["1 case was sent more than once, and 5/5 answers passed."]


def changed(place: str, removed: str, added: str) -> Change:
    return Change(place, (removed,), (added,))


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (changed("a", "Send it back within 14 days.", "Send it back within 30 days."), 'a: "14 days." → "30 days."'),
        (changed("a", "Be kind.", "Be very kind."), 'a: "Be" → "Be very"'),
        (changed("a", "before something after", "before anything after"), 'a: "something" → "anything"'),
        (changed("a", "one", "two"), 'a: "one" → "two"'),
        (changed("request.n[0].top_p", "top_p: 1", "top_p: 0.5"), "request.n[0].top_p: 1 → 0.5"),
        (Change("a", ("x 1", "y"), ("x 2", "z")), 'a: "x 1…" → "x 2…"'),
        (Change("a", (), ("Be kind.",)), 'a: added "Be kind."'),
        (Change("a", ("", "Be kind.", "Be brief."), ()), 'a: removed "Be kind.…"'),
        (Change("a.seed", (), ("seed: 1",)), "a.seed: added 1"),
        (Change("a.seed", ("seed: 1",), ()), "a.seed: removed 1"),
        (Change("messages", moved=("one", "two")), 'messages: moved "one…"'),
        (Change("", moved=("a", "b")), 'the snapshot: moved "a…"'),
        (Change("a", (), ("x" * 50,)), f'a: added "{"x" * 39}…"'),
        (Change("a", (), ("x\ty\u200b",)), 'a: added "x\\ty\\u200b"'),
        (Change("a", (), ("",)), 'a: added ""'),
        (Change("a", ("x", "y"), ("x", "z")), 'a: "x…" → "x…"'),
    ],
)
def test_a_change_is_one_line(change: Change, line: str) -> None:
    assert summary_line([change]) == line


def test_the_first_is_shown_and_others_are_counted_once() -> None:
    first = [changed(place, "in 14 days", "in 30 days") for place in ("question", "request.system")]
    others = [changed(place, "a", "b") for place in ("question", "request.messages[0].content")]
    assert summary_line(first) == 'request.system: "14 days" → "30 days"'
    assert summary_line(first[::-1]) == summary_line(first)
    assert summary_line([*first, *others]) == 'request.system: "14 days" → "30 days" and 1 more'
