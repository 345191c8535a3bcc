"""The distinct changes of a run."""

from __future__ import annotations

from typing import Any

from pytest_chatprompt.reports.review import Review, cost_line, distinct_changes
from pytest_chatprompt.results.records import CaseResult, ChangeCost, SnapshotResult
from pytest_chatprompt.snapshots.changes import data_sha256
from pytest_chatprompt.snapshots.diff import compare_snapshots
from pytest_chatprompt.snapshots.layout import dump


def differs(
    name: str, before: dict[str, Any] | None, after: dict[str, Any], provider: str | None = "openai"
) -> CaseResult:
    """The result of a case of the file `a`, or of the file that its name begins with."""
    file = name.partition("::")[0] if "::" in name else "a.eval.yaml"
    stored, sent = None if before is None else dump(before), dump(after)
    snapshot = SnapshotResult(
        path=f"__snapshots__/{name}.yaml",
        state="new" if stored is None else "different",
        difference=compare_snapshots(stored or sent, sent),
        stored_sha256=None if stored is None else data_sha256(stored),
        sent_sha256=data_sha256(sent),
    )
    node_id = name if "::" in name else f"{file}::{name}"
    case_id = None if provider is None else name
    return CaseResult(
        node_id=node_id, path=file, line=1, case_id=case_id, provider=provider, outcome="failed", snapshot=snapshot
    )


def openai(system: str, user: str) -> dict[str, Any]:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    return {"question": user, "request": {"messages": messages}}


def anthropic(system: str, user: str) -> dict[str, Any]:
    return {"question": user, "request": {"system": system, "messages": [{"role": "user", "content": user}]}}


def test_a_guideline_that_many_cases_share_is_one_change() -> None:
    results = [
        *[differs(f"o{n}", openai("14 days", f"u{n}"), openai("30 days", f"u{n}")) for n in range(3)],
        *[differs(f"b::a{n}", anthropic("14 days", "u"), anthropic("30 days", "u"), "anthropic") for n in range(2)],
        differs("other", openai("s", "one"), openai("s", "two")),
    ]
    first, second = distinct_changes(results)
    assert (first.change.removed, first.change.added) == (("14 days",), ("30 days",))
    assert first.places == (("request.messages[0].content", 3), ("request.system", 2))
    assert [result.case_id for result in first.results] == ["o0", "o1", "o2", "b::a0", "b::a1"]
    assert first.counts() == "5 snapshots, 2 providers, 2 files"
    assert second.change.place == "request.messages[1].content"
    assert second.places == (("question", 1), ("request.messages[1].content", 1))


def test_the_change_of_the_most_cases_is_first_and_a_case_that_ran_twice_counts_once() -> None:
    results = [differs("x", {"a": 1}, {"a": 2}), *[differs(name, {"b": 1}, {"b": 2}) for name in "yzyz"]]
    assert [(change.change.place, len(change.results)) for change in distinct_changes(results)] == [("b", 2), ("a", 1)]


def test_a_change_that_stands_twice_in_a_place_counts_one_case() -> None:
    result = differs("x", {"system": "a\nb\nc\nd\na"}, {"system": "x\nb\nc\nd\nx"})
    (change,) = distinct_changes([result])
    assert change.places == (("system", 1),)


def with_cost(result: CaseResult, cost: ChangeCost) -> CaseResult:
    """A result whose changes cost so much together."""
    assert result.snapshot is not None
    return result.model_copy(update={"snapshot": result.snapshot.model_copy(update={"cost": cost})})


def test_a_distinct_change_costs_what_it_is_itself_and_not_what_its_cases_cost() -> None:
    def case(name: str, before: tuple[str, str], after: tuple[str, str], cost: ChangeCost) -> CaseResult:
        endpoint = {"endpoint": "POST /v1/messages"}
        return with_cost(differs(name, endpoint | anthropic(*before), endpoint | anthropic(*after)), cost)

    place: dict[str, Any] = {"prefix_break": "request.system", "prefix_characters": 7}
    system = ChangeCost(characters=4, tokens=1, parts={"system text": 4}, **place)
    both = ChangeCost(characters=112, tokens=28, parts={"system text": 4, "last turn": 108}, **place)
    place = {"prefix_break": "request.messages[0].content", "prefix_characters": 9}
    user = ChangeCost(characters=108, tokens=27, parts={"last turn": 108}, **place)
    results = [
        case("a", ("Be kind.", "hi"), ("Be kind now.", "hi"), system),
        case("b", ("Be kind.", "hi"), ("Be kind now.", "h " * 55), both),
        case("c", ("Be kind.", "hi"), ("Be kind.", "h " * 55), user),
    ]
    first, second = distinct_changes(results)
    assert first.change.added == ("Be kind now.",)
    ends = "characters are as before; vendors' caches end there, at"
    assert cost_line(first.costs) == f"+4 characters (about +1 token): system text; the first 7 {ends} request.system"
    assert cost_line(second.costs) == (
        f"+108 characters (about +27 tokens): last turn; the first 9 {ends} request.messages[0].content (1)"
    )


def test_a_change_in_two_places_of_a_case_costs_both() -> None:
    endpoint = {"endpoint": "POST /v1/messages"}
    before, after = (endpoint | anthropic(text, text) for text in ("be kind", "be kind now"))
    (change,) = distinct_changes([with_cost(differs("a", before, after), ChangeCost(characters=8, tokens=2))])
    assert cost_line(change.costs) == "+8 characters (about +2 tokens)"


def test_a_change_whose_cost_is_not_known_has_none() -> None:
    (change,) = distinct_changes([differs("a", {"a": 1}, {"a": 2})])
    assert change.costs == ()


def test_a_change_that_looks_like_a_date_has_a_hint() -> None:
    dated = (openai("a", "on 2026-11-22"), openai("a", "on 2026-11-23"))
    both = (openai("a", "on 2026-11-22"), openai("b", "on 2026-11-23"))
    advice = "If it differs from run to run, mask it: let the fixture eval_masks give "
    hint = f'   Only what looks like a date differs. {advice}{{r"\\b\\d{{4}}-\\d\\d-\\d\\d\\b": "<date>"}}'

    def lines(*results: CaseResult) -> list[str]:
        return ["".join(text for text, _ in line) for line in Review(results).end_lines("", lambda *_: "")]

    assert hint in lines(differs("x", *dated), differs("y", *both))
    assert hint in lines(differs("x", *dated))
