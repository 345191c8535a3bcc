"""Results of cases that were answered, for the tests of reports."""

from __future__ import annotations

from typing import Any

from pytest_chatprompt.results.case_result import CaseResult, Outcome, ResponseResult
from pytest_chatprompt.results.check_result import CheckResult


def check(kind: str = "contains", passed: bool | None = True, value: Any = "x", **more: Any) -> CheckResult:
    """What a check said."""
    return CheckResult(**{"type": kind, "passed": passed, "value": value, "reason": "contains it", **more})


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
