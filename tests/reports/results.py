"""Results of cases that were answered, for the tests of reports."""

from __future__ import annotations

from typing import Any, Literal

from pytest_chatprompt.grading.grade import RequiredPasses
from pytest_chatprompt.results.records import AttemptResult, CaseResult, CheckResult, Outcome, ResponseResult
from pytest_chatprompt.results.wording import repeats_result


def check(kind: str = "contains", passed: bool | None = True, value: Any = "x", **more: Any) -> CheckResult:
    """What a check said."""
    return CheckResult(**{"type": kind, "passed": passed, "value": value, "reason": "contains it", **more})


def repeated(case: str, *outcomes: Literal["passed", "failed", "error"], provider: str = "openai") -> CaseResult:
    """What a case came to that was sent several times, of which one answer has to pass."""
    attempts = [
        AttemptResult(number=number, outcome="error", problem="503: overloaded")
        if outcome == "error"
        else AttemptResult(
            number=number,
            outcome=outcome,
            response=ResponseResult(text=f"answer {number}", latency_seconds=1.0),
            checks=(check(passed=outcome == "passed"),),
        )
        for number, outcome in enumerate(outcomes, start=1)
    ]
    repeats = repeats_result(RequiredPasses(len(outcomes), 0.2), attempts)
    first = next(attempt.response for attempt in attempts if attempt.response is not None)
    outcome: Outcome = "passed" if repeats.passed else "failed"
    return answered(case, provider, outcome).model_copy(update={"repeats": repeats, "response": first})


def answered(
    case: str,
    provider: str = "openai",
    outcome: Outcome = "passed",
    text: str | None = "yes",
    checks: tuple[CheckResult, ...] = (),
    **response: Any,
) -> CaseResult:
    """What a case came to that got an answer; `text` is `None` if it got none."""
    return CaseResult(
        node_id=f"a.eval.yaml::{case}[{provider}]",
        path="a.eval.yaml",
        line=1,
        case_id=case,
        provider=provider,
        outcome=outcome,
        response=None if text is None else ResponseResult(text=text, **response),
        checks=checks,
    )
