"""The review: what is told of each case, and of the run at its end."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pytest_chatprompt.reports.review import Review
from pytest_chatprompt.results.records import CaseResult
from tests.reports.test_distinct_changes import anthropic, differs, openai

BOTH = [
    differs("one", openai("14 days", "hi"), openai("30 days", "hi")),
    differs("two", anthropic("14 days", "hi"), anthropic("30 days", "hi"), "anthropic"),
    differs("three", openai("14 days", "hi"), openai("30 days", "ho")),
]


def plain(lines: object) -> list[str]:
    assert not isinstance(lines, str)
    return ["".join(text for text, _ in line) for line in lines]  # type: ignore[attr-defined]


def accept(results: Sequence[CaseResult]) -> str:
    return f"pytest {' '.join(result.node_id for result in results)} --snapshot-update"


def test_a_change_is_shown_with_its_first_case_and_told_with_the_others() -> None:
    review = Review(BOTH)
    assert plain(review.case_lines(BOTH[0])) == [
        "@@ request.messages[0].content @@",
        "    - role: system",
        "-     content: 14 days",
        "+     content: 30 days",
        "    - role: user",
    ]
    assert review.case_lines(BOTH[1]) == "nothing but change 1, shown with a.eval.yaml::one and at the end"
    assert [review.short_line(result) for result in BOTH[:2]] == [
        'request.messages[0].content: "14 days" → "30 days"',
        "change 1",
    ]


def test_of_a_case_with_other_changes_only_these_are_shown() -> None:
    two = [BOTH[0], differs("x", {"system": "14 days\na\nb\nc", "n": 1}, {"system": "30 days\na\nb\nc", "n": 2})]
    review = Review(two)
    review.case_lines(two[0])
    assert plain(review.case_lines(two[1])) == [
        "@@ system @@ change 1, shown above",
        "@@ n @@",
        "    c",
        '- "n": 1',
        '+ "n": 2',
    ]
    assert review.short_line(two[1]) == "n: 1 → 2 and change 1"


def test_a_case_whose_changes_were_shown_with_several_others_says_their_numbers() -> None:
    results = [
        differs("x", {"a": 1}, {"a": 2}),
        differs("y", {"b": 1}, {"b": 2}),
        differs("z", {"a": 1, "b": 1}, {"a": 2, "b": 2}),
    ]
    review = Review(results)
    assert [review.case_lines(result) for result in results][
        2
    ] == "nothing but changes 1 and 2, shown above and at the end"
    assert review.short_line(results[2]) == "changes 1 and 2"


def test_the_end_lists_each_change_once_with_its_places_and_commands() -> None:
    review = Review(BOTH)
    assert review.title() == "2 distinct changes in 3 snapshots"
    assert plain(review.end_lines("pytest --snapshot-update", accept)) == [
        "1. 3 snapshots, 2 providers: a.eval.yaml::one, a.eval.yaml::two, a.eval.yaml::three",
        "   request.messages[0].content (2), request.system (1)",
        "   - 14 days",
        "   + 30 days",
        "",
        "2. 1 snapshot: a.eval.yaml::three",
        "   question, request.messages[1].content",
        "   - hi",
        "   + ho",
        "   To accept this snapshot, with its other changes: pytest a.eval.yaml::three --snapshot-update",
        "",
        "To accept all: pytest --snapshot-update",
    ]


def test_a_change_of_some_cases_has_a_command_of_its_own() -> None:
    results = [differs(name, {"a": 1}, {"a": 2}) for name in "xy"] + [differs("z", {"b": 1}, {"b": 2})]
    lines = plain(Review(results).end_lines("all", accept))
    assert "   To accept it: pytest a.eval.yaml::x a.eval.yaml::y --snapshot-update" in lines
    many = [differs(f"x{n}", {"a": 1}, {"a": 2}) for n in range(11)] + [results[2]]
    for lists_all in (False, True):
        lines = plain(Review(many, lists_all=lists_all).end_lines("all", accept))
        assert any("To accept it: pytest a.eval.yaml::x0 " in line for line in lines) is lists_all


@pytest.mark.parametrize("lists_all", [False, True])
def test_long_lists_are_cut_unless_all_is_wanted(lists_all: bool) -> None:
    results = [differs(f"c{n}", {f"x{p}": 1 for p in range(6)}, {f"x{p}": 2 for p in range(6)}) for n in range(5)]
    results += [differs("long", {"s": "\n".join(["-"])}, {"s": "\n".join(f"line {n}" for n in range(30))})]
    results += [differs(f"n{n}", {f"k{n}": 1}, {f"k{n}": 2}) for n in range(20)]
    results += [differs(f"new{n}", None, {"new": n}) for n in range(5)]
    lines = plain(Review(results, lists_all=lists_all, lists_all_changes=lists_all).end_lines("all", accept))
    assert ("... and 7 more changes (-v shows them)" in lines) is not lists_all
    assert ("   ... and 11 more lines (-v shows them)" in lines) is not lists_all
    assert any("a.eval.yaml::c2 and 2 more" in line for line in lines) is not lists_all
    assert ("new: 2 more" in lines) is not lists_all
    assert lines.count("new: a.eval.yaml::new4") == lists_all
    assert any(line.startswith("27. ") for line in lines) is lists_all


def test_the_places_of_a_change_are_counted() -> None:
    texts = {f"p{n}": "a\nb" for n in range(6)}
    (line,) = [
        line
        for line in plain(Review([differs("x", texts, dict.fromkeys(texts, "a\nc"))]).end_lines("all", accept))
        if "p0" in line
    ]
    assert line == "   p0, p1, p2, p3 and 2 more places"


def test_renamed_and_new_cases_are_no_changes() -> None:
    one, two = {"question": "one"}, {"question": "two"}
    new = differs("n", None, {"question": "new"})
    assert new.snapshot is not None
    named = new.model_copy(update={"snapshot": new.snapshot.model_copy(update={"renamed_from": "old"})})
    results = [differs("x", one, two), differs("y", two, one), named]
    review = Review(results)
    assert review.title() == "2 renamed, 1 new snapshot"
    assert review.case_lines(results[0]) == "renamed, it sends what the snapshot of a.eval.yaml::y shows"
    assert review.short_line(results[0]) == "renamed: what the snapshot of a.eval.yaml::y shows"
    assert review.case_lines(named) == []
    assert plain(review.end_lines("all", accept)) == [
        "a.eval.yaml::x is renamed: it sends what the snapshot of a.eval.yaml::y shows",
        "a.eval.yaml::y is renamed: it sends what the snapshot of a.eval.yaml::x shows",
        "new: a.eval.yaml::n, renamed from 'old'",
        "To accept all: all",
    ]


def test_what_cannot_be_seen_is_escaped() -> None:
    lines = plain(Review([differs("x", {"s": "a\nb"}, {"s": "a\nb\t"})]).end_lines("all", accept))
    assert lines[2:4] == ["   - b", '   + "b\\t"']
