"""A/B in words: which cases come first, and what is said of many."""

from __future__ import annotations

import pytest

from pytest_chatprompt.grading.rates import wilson_interval
from pytest_chatprompt.reports.ab import Compared
from pytest_chatprompt.reports.compare import compare_runs, compare_versions
from pytest_chatprompt.reports.merge import MergeError, merge_runs
from pytest_chatprompt.reports.page import render_page
from pytest_chatprompt.results.records import AttemptResult, CaseResult, RunResults, VersionResult, VersionsResult
from tests.reports.test_page import bodies_of, index_of


def version(signs: str) -> VersionResult:
    """The answers to a version, a sign each."""
    passed = signs.count("+")
    attempts = tuple(
        AttemptResult(number=number, outcome="passed" if sign == "+" else "failed")
        for number, sign in enumerate(signs, 1)
    )
    interval = wilson_interval(passed, len(signs))
    return VersionResult(passed=passed, answers=len(signs), interval=interval, attempts=attempts)


def result(name: str, before: str = "", after: str = "", left_out: str = "") -> CaseResult:
    """The result of a case."""
    versions = VersionsResult(left_out=left_out, is_graded=True, before=version(before), after=version(after))
    return CaseResult(node_id=name, path="a.eval.yaml", line=1, provider="openai", outcome="passed", versions=versions)


def compared(*results: CaseResult) -> Compared:
    return Compared.of(results, "main", is_sequential=False)


def test_cases_that_turned_come_first_then_those_that_differ_most() -> None:
    found = compared(
        result("same", "++--", "++--"),
        result("better", "----", "+++-"),
        result("lost", "++++", "----"),
        result("worse", "++++", "+---"),
        result("won", "----", "++++"),
        result("a little", "---+", "--++"),
        # An ordinary test, and a case whose test passed without a comparison.
        CaseResult(node_id="own", path="test_own.py", line=1, outcome="passed"),
        CaseResult(node_id="any", path="a.eval.yaml", line=1, provider="openai", outcome="passed"),
    )
    assert [row[0] for row in found.table()] == [
        "with 95 % intervals",
        "lost (from always to never)",
        "won (from never to always)",
        "better",
        "worse",
        "a little",
        "same",
        "all 6 cases",
    ]


def test_of_many_cases_the_first_are_shown() -> None:
    found = compared(
        *(result(f"c{number}", "-", "+") for number in range(22)),
        *(result(f"d{number}", left_out="it is new") for number in range(3)),
        result("e", "+"),
    )
    assert [row[0] for row in found.table()][-3:] == [
        "c19 (from never to always)",
        "2 more cases",
        "all 22 cases",
    ]
    assert len(list(found.table(most=None))) == 1 + 22 + 1
    assert list(found.notes(2)) == [
        "not compared: d0, d1 and 1 more: it is new",
        "not compared: e: no answer of one version, or of both, was graded",
    ]
    assert next(found.notes(None)) == "not compared: d0, d1, d2: it is new"


@pytest.mark.parametrize("is_graded", [True, False])
def test_a_case_without_answers_of_one_version_is_neither_better_nor_worse(is_graded: bool) -> None:
    missing = VersionResult.of([AttemptResult(number=1, outcome="error", problem="no such model\nCheck its name.")])
    results = []
    for name, before, after in (("after", version("+"), missing), ("before", missing, version("+"))):
        versions = VersionsResult(is_graded=is_graded, before=before, after=after)
        results.append(result(name).model_copy(update={"versions": versions}))
    found = compared(*results)
    assert list(found.notes()) == [
        "not compared: after, before: no answer of one version, or of both, was graded: no such model"
    ]
    _, comparison = compare_versions(RunResults(results=tuple(results)), found)
    assert [(case.before.outcome, case.after.outcome) for case in comparison.cases] == [("passed", "passed")] * 2
    assert comparison.of_kind("better") == comparison.of_kind("worse") == []


def test_of_many_samples_a_small_difference_would_show() -> None:
    found = compared(*(result(f"c{number}", "+" * 10, "+" * 10) for number in range(50)))
    assert found.sentence() == (
        "no difference found: 0 points (95 % interval -0.8 to +0.8, exact paired test p = 1); "
        "500 samples a side would show one of about 2 points"
    )


def test_reports_that_compare_with_different_models_are_not_merged() -> None:
    results = (result("a", "+", "-"), result("b", "-", "-"))
    runs = [
        (
            f"{name}.json",
            RunResults(results=(each,), ab=Compared.of([each], f"model={name}", is_sequential=False).result()),
        )
        for name, each in zip(("one", "two"), results, strict=True)
    ]
    with pytest.raises(MergeError, match=r"different snapshots: one\.json with model=one, two\.json with model=two$"):
        merge_runs(runs)
    same = [(name, run.model_copy(update={"ab": runs[0][1].ab})) for name, run in runs]
    assert merge_runs(same).ab == Compared.of(results, "model=one", is_sequential=False).result()


def test_two_runs_that_compare_versions_are_a_page_of_both() -> None:
    found = [result("a", "+", "-")]
    run = RunResults(results=tuple(found), ab=Compared.of(found, "main", is_sequential=False).result())
    page = render_page(run, compare_runs(run, run, ("before.json", "after.json")))
    assert "before.json → after.json" in page
    assert "main → now" in render_page(run)


def test_the_page_calls_no_versions_the_same() -> None:
    alike = result("alike", "++", "++")
    page = render_page(RunResults(results=(alike,), ab=compared(alike).result()))
    assert [case["kind"] for case in index_of(page)] == ["changed"]


def test_the_page_calls_only_better_or_worse_what_turned() -> None:
    found = [result("lost", "+++", "---"), result("won", "---", "+++"), result("less", "+++", "+--")]
    run = RunResults(results=tuple(found), ab=Compared.of(found, "main", is_sequential=False).result())
    page = render_page(run)
    assert [(case["id"], case["kind"]) for case in index_of(page)] == [
        ("lost", "worse"),
        ("won", "better"),
        ("less", "changed"),
    ]
    body = bodies_of(page)[2]
    assert (body["before"]["repeats"]["rate"], body["repeats"]["rate"]) == (
        "3/3 answers passed: 100 % (95 % interval 44 % to 100 %)",
        "1/3 answers passed: 33 % (95 % interval 6 % to 79 %)",
    )
