"""The review of a run."""

from __future__ import annotations

import pytest

from pytest_chatprompt.reports.review import Review, cost_line, style_lines
from pytest_chatprompt.results.records import ChangeCost
from pytest_chatprompt.snapshots.changes import Change
from tests.reports.test_review_changes import anthropic, differs, openai

BOTH = [
    differs("one", openai("14 days", "hi"), openai("30 days", "hi")),
    differs("two", anthropic("14 days", "hi"), anthropic("30 days", "hi"), "anthropic"),
    differs("three", openai("14 days", "hi"), openai("30 days", "ho")),
]


def plain(lines: object) -> list[str]:
    assert not isinstance(lines, str)
    return ["".join(text for text, _ in line) for line in lines]  # type: ignore[attr-defined]


def accept(_: object, change_id: str) -> str:
    return f"pytest --chatprompt-accept {change_id}"


def test_a_change_is_shown_with_its_first_case_and_told_with_the_others() -> None:
    review = Review(BOTH)
    assert plain(review.case_lines(BOTH[0])) == [
        "@@ request.messages[0].content @@",
        "-     content: 14 days",
        "+     content: 30 days",
    ]
    assert review.case_lines(BOTH[1]) == "nothing but change e60f, shown with a.eval.yaml::one and at the end"
    assert [review.short_line(result) for result in BOTH[:2]] == [
        'request.messages[0].content: "14 days" → "30 days"',
        "change e60f",
    ]


def test_a_long_diff_of_a_case_is_cut_unless_all_is_listed() -> None:
    before, after = ({"system": "\n".join(f"{letter}{number}" for number in range(300))} for letter in "ab")
    result = differs("long", before, after)
    shown = plain(Review([result]).case_lines(result))
    assert len(shown) == 401
    assert shown[-1] == "... and 201 more lines (-v shows them)"
    assert len(plain(Review([result], lists_all=True).case_lines(result))) == 601


def test_of_a_case_with_other_changes_only_these_are_shown() -> None:
    two = [BOTH[0], differs("x", {"system": "14 days\na\nb\nc", "n": 1}, {"system": "30 days\na\nb\nc", "n": 2})]
    review = Review(two)
    review.case_lines(two[0])
    assert plain(review.case_lines(two[1])) == [
        "@@ system @@ change e60f, shown above",
        "@@ n @@",
        '- "n": 1',
        '+ "n": 2',
    ]
    assert review.short_line(two[1]) == "n: 1 → 2 and change e60f"


def test_a_case_whose_changes_were_shown_with_several_others_says_their_ids() -> None:
    results = [
        differs("x", {"a": 1}, {"a": 2}),
        differs("y", {"b": 1}, {"b": 2}),
        differs("z", {"a": 1, "b": 1}, {"a": 2, "b": 2}),
    ]
    review = Review(results)
    assert [review.case_lines(result) for result in results][
        2
    ] == "nothing but changes 8e3d and b427, shown above and at the end"
    assert review.short_line(results[2]) == "changes 8e3d and b427"


def test_the_end_lists_each_change_once_with_its_places_and_commands() -> None:
    review = Review(BOTH)
    assert review.title() == "2 distinct changes in 3 snapshots"
    assert plain(review.end_lines("pytest --snapshot-update", accept)) == [
        "change e60f: 3 snapshots, 2 providers: a.eval.yaml::one, a.eval.yaml::two, a.eval.yaml::three",
        "   request.messages[0].content (2), request.system (1)",
        "   - 14 days",
        "   + 30 days",
        "   To accept it: pytest --chatprompt-accept e60f",
        "",
        "change 4efc: 1 snapshot: a.eval.yaml::three",
        "   question, request.messages[1].content",
        "   - hi",
        "   + ho",
        "   To accept it: pytest --chatprompt-accept 4efc",
        "",
        "To accept all: pytest --snapshot-update",
    ]


@pytest.mark.parametrize("lists_all", [False, True])
def test_long_lists_are_cut_unless_all_is_wanted(lists_all: bool) -> None:
    results = [differs(f"c{n}", {f"x{p}": 1 for p in range(6)}, {f"x{p}": 2 for p in range(6)}) for n in range(5)]
    results += [differs("long", {"s": "\n".join(["-"])}, {"s": "\n".join(f"line {n}" for n in range(30))})]
    results += [differs(f"n{n}", {f"k{n}": 1}, {f"k{n}": 2}) for n in range(20)]
    results += [differs(f"new{n}", None, {"new": n}) for n in range(5)]
    lines = plain(Review(results, lists_all=lists_all).end_lines("all", accept))
    assert ("... and 7 more changes (-v shows them)" in lines) is not lists_all
    assert ("   ... and 11 more lines (-v shows them)" in lines) is not lists_all
    assert any("a.eval.yaml::c2 and 2 more" in line for line in lines) is not lists_all
    assert ("new: 2 more" in lines) is not lists_all
    assert lines.count("new: a.eval.yaml::new4") == lists_all
    assert sum(line.startswith("change ") for line in lines) == (27 if lists_all else 20)


def test_the_places_of_a_change_are_counted() -> None:
    texts = {f"p{n}": "a\nb" for n in range(6)}
    (line,) = [
        line
        for line in plain(Review([differs("x", texts, dict.fromkeys(texts, "a\nc"))]).end_lines("all", accept))
        if "p0" in line
    ]
    assert line == "   p0, p1, p2, p3 and 2 more places"


def test_new_cases_are_no_changes() -> None:
    new = differs("n", None, {"question": "new"})
    assert new.snapshot is not None
    named = new.model_copy(update={"snapshot": new.snapshot.model_copy(update={"renamed_from": "old"})})
    review = Review([named])
    assert review.title() == "1 new snapshot"
    assert review.case_lines(named) == []
    assert plain(review.end_lines("all", accept)) == [
        "new: a.eval.yaml::n, renamed from 'old'",
        "   To accept it: pytest --chatprompt-accept new",
        "",
        "To accept all: all",
    ]


def test_ids_are_longer_where_several_changes_would_share_one(monkeypatch: pytest.MonkeyPatch) -> None:
    digests = {"1": "aaaa00", "2": "aaaa01", "3": "aaab00", "4": "aaaa1f"}
    monkeypatch.setattr(Change, "digest", property(lambda change: digests[change.added[0].removeprefix("a: ")]))
    results = [differs(name, {"a": 0}, {"a": int(name)}) for name in digests]
    assert [distinct.id for distinct in Review(results).changes] == ["aaaa00", "aaaa01", "aaab", "aaaa1"]


def test_the_id_of_a_change_is_the_same_wherever_it_stands() -> None:
    first, second = (Review([each]).changes[0] for each in BOTH[:2])
    assert first.change.place != second.change.place
    assert first.id == second.id == "e60f"


def test_the_snapshots_of_a_test_count_one_by_one() -> None:
    result, other = differs("x", {"a": 1}, {"a": 2}), differs("x", {"b": 1}, {"b": 2}).snapshot
    same = differs("x", {"a": 1}, {"a": 2}).snapshot
    assert other is not None
    assert same is not None
    others = [each.model_copy(update={"path": f"{number}.yaml"}) for number, each in enumerate((other, same))]
    review = Review([result.model_copy(update={"further": tuple(others)})])
    assert review.title() == "2 distinct changes in 3 snapshots"
    assert [each.counts() for each in review.changes] == ["2 snapshots", "1 snapshot"]
    assert [each.node_ids for each in review.changes] == [("a.eval.yaml::x",)] * 2


def test_what_cannot_be_seen_is_escaped() -> None:
    lines = plain(Review([differs("x", {"s": "a\nb"}, {"s": "a\nb\t"})]).end_lines("all", accept))
    assert lines[2:4] == ["   - b", '   + "b\\t"']


BEFORE = " ".join(f"before{number}" for number in range(20))
AFTER = " ".join(f"after{number}" for number in range(20))


def texts(*lines: str, whole: bool = False) -> list[str]:
    return ["".join(text for text, _ in line) for line in style_lines(lines, whole=whole)]


def test_short_lines_stay_as_they_are() -> None:
    lines = ["  one", "- in 14 days", "+ in 30 days", "> [1] moved to [0]: x", "  two"]
    assert texts(*lines) == lines
    assert [line[0][1] for line in style_lines(lines)] == ["", "red", "green", "cyan", ""]


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
    assert [style for _, style in line] == ["", "", "red", "green"]


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


def cost(characters: int, place: str | None = None, before: int = 9, **parts: int) -> ChangeCost:
    tokens = round(characters / 4)
    return ChangeCost(characters=characters, tokens=tokens, parts=parts, prefix_break=place, prefix_characters=before)


ENDS = "the first 9 characters are as before; vendors' caches end there, at"


@pytest.mark.parametrize(
    ("costs", "line"),
    [
        ([], ""),
        ([cost(0)], ""),
        ([cost(1)], "+1 character"),
        ([cost(-4)], "-4 characters (about -1 token)"),
        ([cost(40_000), cost(40_000)], "+40,000 characters (about +10,000 tokens)"),
        ([cost(-3), cost(0), cost(40)], "-3 to +40 characters (about -1 to +10 tokens)"),
        ([cost(40, tools=40)], "+40 characters (about +10 tokens): tools"),
        ([cost(8, turns=10, tools=-2)], "+8 characters (about +2 tokens): turns +10, tools -2"),
        (
            [cost(3, a=1, b=2), cost(7, b=3, c=4), cost(1, d=1)],
            "+1 to +7 characters (about 0 to +2 tokens): b +2 to +3, a +1 and 2 more parts",
        ),
        ([cost(0, "request.system")], f"{ENDS} request.system"),
        ([cost(1, "a"), cost(1, "a")], f"+1 character; {ENDS} a"),
        ([cost(0, "a"), cost(0, "b"), cost(0, "b")], f"{ENDS} b (2), a (1)"),
        ([cost(0, "a"), cost(0)], f"{ENDS} a (1)"),
        ([cost(0, place) for place in "aab"] + [cost(0, "c")], f"{ENDS} a (2), b (1) and 1 more place"),
        ([cost(0, place) for place in "abcd"], f"{ENDS} a (1), b (1) and 2 more places"),
        ([cost(0, "a", 1)], "the first 1 character is as before; vendors' caches end there, at a"),
        ([cost(0, "a", 0)], "not even the first character is as before; vendors' caches end there, at a"),
        (
            [cost(0, "a", 1204), cost(0, "a", 0)],
            "the first 0 to 1,204 characters are as before; vendors' caches end there, at a",
        ),
    ],
)
def test_the_line_says_what_is_to_be_said(costs: list[ChangeCost], line: str) -> None:
    assert cost_line(costs) == line


def test_parts_and_places_are_quoted_as_the_caller_wants() -> None:
    quoted = cost_line([cost(4, "a", turns=4)], lambda name: f"`{name}`")
    assert quoted == f"+4 characters (about +1 token): `turns`; {ENDS} `a`"
