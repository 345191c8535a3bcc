"""Run comparison: what got better, what got worse, and what answers otherwise in a second run.

Two `RunResults` come in; a `RunComparison` comes out: each case that ran in both, and those that ran in one of them
only. Pure; `reports` says it in words.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from pytest_chatprompt.results.case_result import CaseResult
from pytest_chatprompt.results.check_result import CheckResult
from pytest_chatprompt.results.run_results import RunResults

Kind = Literal["worse", "better", "changed", "same"]


@dataclass(frozen=True, slots=True)
class CaseComparison:
    """One case in two runs.

    Args:
        before: what it did in the first run.
        after: what it did in the second one.
        failing: the checks that do not pass any more, or that are new and do not pass, as they were graded last.
        passing: the checks that pass now and did not pass before, as they were graded last.
        kind: what came of it. A case that passed and does not pass is worse, and the reverse is better. Where it passed
            in neither run, its checks decide: worse as soon as one does not pass any more.
        is_answer_changed: whether the text of the answer or a call in it differs; `False` if one run has no answer. Of
            a repeated case the first answer counts.
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
    """Two runs beside each other. A test that was skipped did not run.

    Args:
        cases: those that ran in both, in the order of the second run.
        new: what ran in the second run only.
        gone: what ran in the first run only.
    """

    cases: tuple[CaseComparison, ...]
    new: tuple[CaseResult, ...]
    gone: tuple[CaseResult, ...]

    def of_kind(self, kind: Kind) -> list[CaseComparison]:
        """The cases of which this came."""
        return [case for case in self.cases if case.kind == kind]


def compare_runs(before: RunResults, after: RunResults) -> RunComparison:
    """Compare two runs, test by test, by their node ids.

    Args:
        before: the first run.
        after: the second run.
    """
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
    is_answer_changed = _differ(_answer(before), _answer(after)) is True
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


def _answer(result: CaseResult) -> Any:
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
