"""Two runs beside each other."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt.reports.compare import CaseComparison, compare_runs
from pytest_chatprompt.results.records import (
    CaseResult,
    CheckResult,
    Outcome,
    ResponseResult,
    RunResults,
    SnapshotResult,
)

NAMES = ("a.json", "b.json")


def check(value: str, passed: bool | None, line: int = 1) -> CheckResult:
    return CheckResult(type="contains", value=value, passed=passed, reason="r", line=line)


def result(
    outcome: Outcome = "passed", *checks: CheckResult, text: str | None = "yes", sent: Any = "q", **more: Any
) -> CaseResult:
    return CaseResult(
        node_id="a::x",
        path="a",
        line=1,
        provider="openai",
        outcome=outcome,
        checks=checks,
        response=None if text is None else ResponseResult(text=text),
        snapshot=None if sent is None else SnapshotResult(path="s", state="same", sent={"request": sent}),
        **more,
    )


def compared(before: CaseResult, after: CaseResult) -> CaseComparison:
    (case,) = compare_runs(RunResults(results=(before,)), RunResults(results=(after,)), NAMES).cases
    return case


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (result(), result(), "same"),
        (result(), result("failed"), "worse"),
        (result(), result("error", text=None), "worse"),
        (result("failed"), result(), "better"),
        (result("error"), result(), "better"),
        (result("failed"), result("failed"), "same"),
        (result("failed"), result("error"), "changed"),
        (result(), result(text="no"), "changed"),
        (result(), result(sent="other"), "changed"),
        # An answer that is missing on one side says nothing.
        (result(), result(text=None), "same"),
        (result("failed", check("a", True)), result("failed", check("a", False)), "worse"),
        (result("failed", check("a", True)), result("error", check("a", None)), "worse"),
        (result("failed", check("a", False)), result("failed", check("a", True)), "better"),
        (result("failed", check("a", None)), result("failed", check("a", True)), "better"),
        (
            result("failed", check("a", True), check("b", False)),
            result("failed", check("a", False), check("b", True)),
            "worse",
        ),
        # It is another check.
        (result("failed", check("a", True)), result("failed", check("b", False)), "same"),
        (result("failed", check("a", False, line=1)), result("failed", check("a", False, line=9)), "same"),
    ],
)
def test_what_came_of_a_case(before: CaseResult, after: CaseResult, kind: str) -> None:
    assert compared(before, after).kind == kind


def test_the_checks_that_changed_are_told_and_new_ones_that_do_not_pass() -> None:
    before = result("failed", check("a", True), check("b", False), check("c", False), check("gone", False))
    after = result("failed", check("a", False), check("b", True), check("c", False), check("new", None))
    case = compared(before, after)
    assert [one.value for one in case.failing] == ["a", "new"]
    assert [one.value for one in case.passing] == ["b"]


def call(number: str, arguments: str) -> dict[str, Any]:
    return {"id": number, "type": "function", "function": {"name": "find", "arguments": arguments}}


@pytest.mark.parametrize(
    ("before", "after", "is_changed"),
    [
        (call("1", "{}"), call("2", "{}"), False),
        (call("1", "{}"), call("1", '{"a": 1}'), True),
        ({"name": "x"}, {"name": "x"}, False),
    ],
)
def test_an_answer_changed_if_it_calls_something_else_whatever_the_ids_of_the_calls(
    before: Any, after: Any, is_changed: bool
) -> None:
    cases = [
        result().model_copy(update={"response": ResponseResult(text="", tool_calls=(one,))}) for one in (before, after)
    ]
    assert compared(*cases).is_answer_changed == is_changed


@pytest.mark.parametrize(
    ("before", "after", "is_changed"),
    [
        (result(sent="a"), result(sent="a"), False),
        (result(sent={"a": 1, "b": 2}), result(sent={"b": 2, "a": 1}), True),
        (result(sent=None), result(), None),
        (result(sent=None), result(sent=None), None),
        (result(sent=None, requests=({"request": 1},)), result(sent=None, requests=({"request": 1},)), False),
        (result(sent=None, requests=({"request": 1},)), result(sent=None, requests=({"request": 2},)), True),
    ],
)
def test_whether_what_is_sent_changed(before: CaseResult, after: CaseResult, is_changed: bool | None) -> None:
    assert compared(before, after).is_request_changed is is_changed


def test_a_test_that_was_skipped_did_not_run_and_the_last_of_several_runs_counts() -> None:
    def named(name: str, outcome: Outcome = "passed") -> CaseResult:
        return result(outcome).model_copy(update={"node_id": name})

    before = RunResults(results=(named("a"), named("b", "skipped"), named("c"), named("d")))
    after = RunResults(results=(named("b"), named("c", "skipped"), named("a", "failed"), named("a"), named("e")))
    comparison = compare_runs(before, after, NAMES)
    assert [case.after.node_id for case in comparison.cases] == ["a"]
    assert [case.after.node_id for case in comparison.of_kind("same")] == ["a"]
    assert comparison.of_kind("worse") == []
    assert [one.node_id for one in comparison.new] == ["b", "e"]
    assert [one.node_id for one in comparison.gone] == ["c", "d"]
