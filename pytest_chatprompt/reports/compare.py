"""Compare two runs: what got better, what got worse, and what answers otherwise, in words for a terminal or a log."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple, get_args

from pytest_chatprompt.cases.case import DEFAULT_PASS_RATE
from pytest_chatprompt.grading.grade import RequiredPasses
from pytest_chatprompt.reports.ab import FROM_NEVER, TO_NEVER, Compared, turned
from pytest_chatprompt.reports.answers import called_tools, table_rows, total_of
from pytest_chatprompt.reports.review import change_cost
from pytest_chatprompt.reports.terminal import table_lines
from pytest_chatprompt.results.records import CaseResult, CheckResult, RunResults, SnapshotResult
from pytest_chatprompt.results.wording import around_changes, repeats_result
from pytest_chatprompt.snapshots.changes import Difference
from pytest_chatprompt.snapshots.diff import compare_snapshots
from pytest_chatprompt.snapshots.layout import dump
from pytest_chatprompt.wording import count, cut, visible_line

Kind = Literal["worse", "better", "changed", "same"]
KINDS: Final = ("worse", "better", "changed", "new", "same")


class CaseComparison(NamedTuple):
    """One case in two runs.

    Args:
        failing: the checks that do not pass any more, or that are new and do not pass, as they were graded last.
        passing: the checks that pass now and did not pass before, as they were graded last.
        kind: what came of it; where it passed in neither run, its checks decide.
        is_answer_changed: of the first answer; `False` if one run has none.
        is_request_changed: `None` if a run does not say what it sent.
    """

    before: CaseResult
    after: CaseResult
    failing: tuple[CheckResult, ...]
    passing: tuple[CheckResult, ...]
    kind: Kind
    is_answer_changed: bool
    is_request_changed: bool | None

    @property
    def answers(self) -> tuple[str, ...]:
        """Both answers in a line each, cut to the part that changed; none if they are the same."""
        if not self.is_answer_changed:
            return ()
        one, other = _answer(self.before) or "", _answer(self.after) or ""
        return tuple(cut(text, _LONGEST_ANSWER) for text in around_changes(one, other, _AROUND_CHANGES))


class RunComparison(NamedTuple):
    """Two runs beside each other, or two versions in one run. A test that was skipped did not run.

    Args:
        versions: what the run found that compares two; `None` for two runs.
    """

    names: tuple[str, str]
    cases: tuple[CaseComparison, ...]
    new: tuple[CaseResult, ...]
    gone: tuple[CaseResult, ...]
    versions: Compared | None = None

    def of_kind(self, kind: Kind) -> list[CaseComparison]:
        """The cases of which this came."""
        return [case for case in self.cases if case.kind == kind]

    @property
    def headline(self) -> str:
        """How many cases are what; of versions the verdict."""
        if self.versions is not None:
            return self.versions.sentence()
        worse, better, changed, same = (len(self.of_kind(kind)) for kind in get_args(Kind))
        counts = f"{worse} worse, {better} better, {changed} changed, {same} the same"
        return f"{counts}, {len(self.new)} new, {len(self.gone)} gone"

    @property
    def sections(self) -> list[tuple[str, list[ToldCase]]]:
        """What is told of the cases that are not the same, under its title."""
        told = [(title, list(map(_told, self.of_kind(kind)))) for kind, title in _TITLES.items()]
        for title, results in (("New", self.new), ("Gone", self.gone)):
            told.append((title, [(result.node_id, result.outcome, [], ()) for result in results]))
        if self.versions is not None:
            told.insert(0, ("Preflight", [(line, "", [], ()) for line in self.versions.preflight()]))
            told.append(("Notes", [(line, "", [], ()) for line in self.versions.notes()]))
        return [(title, cases) for title, cases in told if cases]

    @property
    def table(self) -> Sequence[Sequence[str]]:
        """The totals of the cases of both; none if one has no answers."""
        if self.versions is not None:
            return list(self.versions.table())
        sides = ([case.before for case in self.cases], [case.after for case in self.cases])
        totals = [total_of(name, cases) for name, cases in zip(self.names, sides, strict=True)]
        known = [total for total in totals if total is not None]
        return table_rows(known) if len(known) > 1 else []


def compare_runs(before: RunResults, after: RunResults, names: tuple[str, str]) -> RunComparison:
    """Compare two runs, test by test, by their node ids; the names are what to call them."""
    old, new = _that_ran(before.results), _that_ran(after.results)
    return RunComparison(
        names=names,
        cases=tuple(_compare(old[node_id], result) for node_id, result in new.items() if node_id in old),
        new=tuple(result for node_id, result in new.items() if node_id not in old),
        gone=tuple(result for node_id, result in old.items() if node_id not in new),
    )


def compare_versions(run: RunResults, versions: Compared) -> tuple[RunResults, RunComparison]:
    """Both versions of the cases of one run as two runs: the later one, and how they compare."""
    sent = [result for result in run.results if result.versions is not None and result.versions.attempts]
    before, after = (
        run.model_copy(update={"results": tuple(_as_version(result, is_before) for result in sent)})
        for is_before in (True, False)
    )
    compared = compare_runs(before, after, versions.names)
    # Of samples nobody knows that they are the same.
    cases = (case._replace(kind="changed") if case.kind == "same" else case for case in compared.cases)
    return after, compared._replace(cases=tuple(cases), versions=versions)


def _as_version(result: CaseResult, is_before: bool) -> CaseResult:
    """The result of a case, as if it had been sent in one version only."""
    versions: Any = result.versions
    version, snapshot = versions.before if is_before else versions.after, result.snapshot
    # Only what is sure is called better or worse.
    is_failed = turned(versions) == (FROM_NEVER if is_before else TO_NEVER)
    repeats = repeats_result(RequiredPasses(len(version.attempts), DEFAULT_PASS_RATE), version.attempts)
    answers = tuple(each.response for each in version.attempts if each.response is not None)
    return result.model_copy(
        update={
            "outcome": "failed" if is_failed else result.outcome,
            "snapshot": snapshot
            and snapshot.model_copy(update={"sent": snapshot.stored if is_before else snapshot.sent}),
            "response": next(iter(answers), None),
            # None has passed where nothing grades them.
            **({"repeats": repeats} if versions.is_graded else {"answers": answers}),
            "versions": None,
        }
    )


def _that_ran(results: Iterable[CaseResult]) -> dict[str, CaseResult]:
    return {result.node_id: result for result in results if result.outcome != "skipped"}


def _compare(before: CaseResult, after: CaseResult) -> CaseComparison:
    earlier = {key: bool(check.passed) for key, check in _checks(before).items()}
    failing = tuple(check for key, check in _checks(after).items() if not check.passed and earlier.get(key, True))
    passing = tuple(check for key, check in _checks(after).items() if check.passed and not earlier.get(key, True))
    is_answer_changed = _differ(_answer(before), _answer(after)) is True
    is_request_changed = _differ(before.sent, after.sent)
    is_changed = before.outcome != after.outcome or rate_of(before) != rate_of(after)
    kind: Kind = "changed" if is_changed or is_answer_changed or is_request_changed else "same"
    if (before.outcome == "passed") != (after.outcome == "passed"):
        kind = "better" if after.outcome == "passed" else "worse"
    elif after.outcome != "passed" and any(_key(check) in earlier for check in failing):
        kind = "worse"
    elif after.outcome != "passed" and passing:
        kind = "better"
    return CaseComparison(before, after, failing, passing, kind, is_answer_changed, is_request_changed)


def rate_of(result: CaseResult) -> str:
    """How many answers of a repeated case pass: `4/5`; `""` for other tests."""
    return "" if result.repeats is None else f"{result.repeats.passed}/{result.repeats.answers}"


def _checks(result: CaseResult) -> dict[str, CheckResult]:
    """The checks of a case, each once: of a repeated case the first that does not pass, else the first."""
    checks: dict[str, CheckResult] = {}
    for check in result.all_checks:
        if checks.setdefault(_key(check), check).passed:
            checks[_key(check)] = check
    return checks


def _key(check: CheckResult) -> str:
    """What a check says, wherever in the file it stands."""
    return json.dumps([check.type, check.is_negated, check.of, check.value, check.arguments])


def payload(data: Any) -> str:
    """The text of the snapshot that shows some data."""
    return data if isinstance(data, str) else dump(data)


def _differ(before: Any, after: Any) -> bool | None:
    """Whether two JSON values differ, the order of their keys included; `None` if one is not known."""
    return None if before is None or after is None else json.dumps(before) != json.dumps(after)


def compared_run(after: RunResults, comparison: RunComparison) -> RunResults:
    """The later run, with what the earlier one sent in place of the snapshots."""
    earlier = {case.after.node_id: case.before for case in comparison.cases}
    results = [_beside(result, earlier.get(node_id)) for node_id, result in _that_ran(after.results).items()]
    return after.model_copy(update={"results": tuple(results), "against": comparison.names[0]})


def _beside(after: CaseResult, before: CaseResult | None) -> CaseResult:
    stored, sent = None if before is None else before.sent, after.sent
    is_changed = _differ(stored, sent) is True
    snapshot = SnapshotResult(
        path="" if after.snapshot is None else after.snapshot.path,
        state="different" if is_changed else "same",
        difference=compare_snapshots(payload(stored), payload(sent)) if is_changed else Difference((), ()),
        cost=change_cost(stored, sent) if is_changed else None,
        stored=stored if is_changed else None,
        sent=sent,
    )
    return after.model_copy(update={"snapshot": snapshot, "requests": ()})


_TITLES: Final[dict[Kind, str]] = {"worse": "Worse", "better": "Better", "changed": "Changed"}
_LONGEST_ANSWER: Final = 240
_AROUND_CHANGES: Final = 60


def comparison_lines(comparison: RunComparison) -> Iterator[str]:
    """Say what came of the second run beside the first."""
    yield f"{' → '.join(comparison.names)}: {comparison.headline}"
    for title, cases in comparison.sections:
        yield ""
        yield f"{title} ({len(cases)})"
        for node_id, facts, lines, answers in cases:
            yield f"  {node_id}: {facts}"
            yield from (f"    {line}" for line in lines)
            yield from (f"    {sign} {text}" for sign, text in zip("-+", answers, strict=False))
    if table := comparison.table:
        yield ""
        yield f"{count(len(comparison.cases), 'case')} of both runs:"
        yield from table_lines(table)


# A case by its node id, what came of it, why, a line each, and its answers, if they differ.
ToldCase = tuple[str, str, list[str], tuple[str, ...]]


def _told(case: CaseComparison) -> ToldCase:
    before, after = case.before, case.after
    facts = [after.outcome if before.outcome == after.outcome else f"{before.outcome} → {after.outcome}"]
    rates = rate_of(before), rate_of(after)
    if rates[0] != rates[1]:
        facts.append(f"{rates[0] or 'one answer'} → {rates[1] or 'one answer'} passed")
    if before.provider != after.provider:
        facts.append(f"sent to {after.provider or 'no provider'}, formerly to {before.provider or 'no provider'}")
    elif case.is_request_changed:
        facts.append("what is sent changed")
    elif case.is_answer_changed and case.is_request_changed is False:
        facts.append("what is sent is the same")
    lines = [f"{each.place}: {each.sentence}".removeprefix(": ") for each in (*case.failing, *case.passing)]
    if after.error is not None and not case.failing:
        lines.append(after.error.message)
    return after.node_id, "; ".join(facts), lines, case.answers


def _answer(result: CaseResult) -> str | None:
    """The answer in one line, without what differs each time, such as the ids of tool calls; `None` for none."""
    response = result.response
    if response is None:
        return None
    return visible_line("\n".join(part for part in (response.text, *called_tools(response)) if part))
