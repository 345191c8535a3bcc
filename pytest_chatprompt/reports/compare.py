"""Compare two runs: what got better, what got worse, and what answers otherwise, in words for a terminal or a log."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pytest_chatprompt.reports.answers import called_tools, check_line, table_rows, total_of
from pytest_chatprompt.reports.terminal import table_lines
from pytest_chatprompt.results.records import CaseResult, CheckResult, ResponseResult, RunResults
from pytest_chatprompt.wording import count, visible_line

Kind = Literal["worse", "better", "changed", "same"]


@dataclass(frozen=True, slots=True)
class CaseComparison:
    """One case in two runs.

    Args:
        before: what it did in the first run.
        after: what it did in the second one.
        failing: the checks that do not pass any more, or that are new and do not pass, as they were graded last.
        passing: the checks that pass now and did not pass before, as they were graded last.
        kind: what came of it; where it passed in neither run, its checks decide.
        is_answer_changed: whether the first answer differs; `False` if one run has none.
        is_request_changed: whether what it sends differs; `None` if a run does not say what it sent.
    """

    before: CaseResult
    after: CaseResult
    failing: tuple[CheckResult, ...]
    passing: tuple[CheckResult, ...]
    kind: Kind
    is_answer_changed: bool
    is_request_changed: bool | None


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Two runs beside each other. A test that was skipped did not run."""

    cases: tuple[CaseComparison, ...]
    new: tuple[CaseResult, ...]
    gone: tuple[CaseResult, ...]

    def of_kind(self, kind: Kind) -> list[CaseComparison]:
        """The cases of which this came."""
        return [case for case in self.cases if case.kind == kind]


def compare_runs(before: RunResults, after: RunResults) -> RunComparison:
    """Compare two runs, test by test, by their node ids."""
    old, new = _that_ran(before.results), _that_ran(after.results)
    return RunComparison(
        cases=tuple(_compare(old[node_id], result) for node_id, result in new.items() if node_id in old),
        new=tuple(result for node_id, result in new.items() if node_id not in old),
        gone=tuple(result for node_id, result in old.items() if node_id not in new),
    )


def _that_ran(results: Iterable[CaseResult]) -> dict[str, CaseResult]:
    return {result.node_id: result for result in results if result.outcome != "skipped"}


def _compare(before: CaseResult, after: CaseResult) -> CaseComparison:
    earlier = {key: bool(check.passed) for key, check in _checks(before).items()}
    failing = tuple(check for key, check in _checks(after).items() if not check.passed and earlier.get(key, True))
    passing = tuple(check for key, check in _checks(after).items() if check.passed and not earlier.get(key, True))
    is_answer_changed = _differ(_answer_data(before), _answer_data(after)) is True
    is_request_changed = _differ(_sent(before), _sent(after))
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


def _answer_data(result: CaseResult) -> Any:
    """The answer without what differs each time, such as the ids of tool calls; `None` for none."""
    response = result.response
    return None if response is None else [response.text, [_function(call) for call in response.tool_calls]]


def _function(call: Any) -> Any:
    return call.get("function", call) if isinstance(call, dict) else call


def _sent(result: CaseResult) -> Any:
    """What was sent; `None` if that is not known."""
    known = None if result.snapshot is None else result.snapshot.sent
    return known if known is not None else list(result.requests) or None


def _differ(before: Any, after: Any) -> bool | None:
    """Whether two JSON values differ, the order of their keys included; `None` if one is not known."""
    return None if before is None or after is None else json.dumps(before) != json.dumps(after)


_TITLES: Final[dict[Kind, str]] = {"worse": "Worse", "better": "Better", "changed": "Changed"}
_LONGEST_ANSWER: Final = 240
# How much of an answer stands before what changed in it.
_BEFORE: Final = 60


def comparison_lines(comparison: RunComparison, names: tuple[str, str]) -> Iterator[str]:
    """Say what came of the second run beside the first."""
    numbers = {kind: len(comparison.of_kind(kind)) for kind in _TITLES}
    same = len(comparison.of_kind("same"))
    counts = f"{numbers['worse']} worse, {numbers['better']} better, {numbers['changed']} changed, {same} the same"
    yield f"{' → '.join(names)}: {counts}, {len(comparison.new)} new, {len(comparison.gone)} gone"
    for kind, title in _TITLES.items():
        yield from _section(title, [list(_case_lines(case)) for case in comparison.of_kind(kind)])
    for title, results in (("New", comparison.new), ("Gone", comparison.gone)):
        yield from _section(title, [[f"{result.node_id}: {result.outcome}"] for result in results])
    yield from _totals(comparison, names)


def _section(title: str, cases: Sequence[Sequence[str]]) -> Iterator[str]:
    if cases:
        yield ""
        yield f"{title} ({len(cases)})"
    for first, *others in cases:
        yield f"  {first}"
        yield from (f"    {line}" for line in others)


def _case_lines(case: CaseComparison) -> Iterator[str]:
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
    yield f"{after.node_id}: {'; '.join(facts)}"
    for check in (*case.failing, *case.passing):
        place = f"{check.place}: " if check.place else ""
        yield f"{place}{check_line(check)}"
    if after.error is not None and not case.failing:
        yield after.error.message
    if case.is_answer_changed:
        yield from (f"{sign} {text}" for sign, text in zip("-+", _answers(before, after), strict=True))


def _answers(before: CaseResult, after: CaseResult) -> tuple[str, str]:
    """Both answers in a line each, cut to the part that changed."""
    one, other = _answer(before), _answer(after)
    pairs = zip(one, other, strict=False)
    shorter = min(len(one), len(other))
    first = next((index for index, (a, b) in enumerate(pairs) if a != b), shorter)
    start = first - _BEFORE if first > _LONGEST_ANSWER - _BEFORE else 0
    return _excerpt(one, start), _excerpt(other, start)


def _answer(result: CaseResult) -> str:
    response = result.response or ResponseResult(text="")
    return visible_line("\n".join([response.text] * bool(response.text) + [*called_tools(response)]))


def _excerpt(text: str, start: int) -> str:
    end = start + _LONGEST_ANSWER
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def _totals(comparison: RunComparison, names: tuple[str, str]) -> Iterator[str]:
    """The cases of both runs side by side; nothing if one has no answers."""
    results = ([case.before for case in comparison.cases], [case.after for case in comparison.cases])
    totals = [total_of(name, cases) for name, cases in zip(names, results, strict=True)]
    known = [total for total in totals if total is not None]
    if len(known) > 1:
        yield ""
        yield f"{count(len(comparison.cases), 'case')} of both runs:"
        yield from table_lines(table_rows(known))
