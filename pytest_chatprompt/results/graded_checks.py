"""Graded checks as records: what a check of a case said, for the reports of the run.

A graded check and its case come in; a `CheckResult` comes out. Pure; `items` calls it when a test ends.
"""

from __future__ import annotations

from typing import Any

from pytest_chatprompt.cases.case import EvalCase
from pytest_chatprompt.grading.check_description import NEGATION
from pytest_chatprompt.grading.grade import GradedCheck
from pytest_chatprompt.grading.parsing import find_node
from pytest_chatprompt.results.check_result import CheckResult
from pytest_chatprompt.text.json_data import thaw


def check_result(graded: GradedCheck, case: EvalCase, *, with_place: bool) -> CheckResult:
    """Make the record of a graded check.

    Args:
        graded: the check, with its verdict or its error.
        case: its case.
        with_place: whether to look up where it stands, though it passes; the eval file is parsed again for that.
    """
    check, verdict = graded.check, graded.verdict
    arguments = {key: thaw(value) for key, value in check.written.arguments.items() if key != "of"}
    position: dict[str, Any] = {}
    if with_place or not graded.passed:
        line, column = find_node(check.written, case).position
        position = {"path": case.origin.shown_path, "line": line, "column": column}
    return CheckResult(
        type=check.written.type.replace("-", "_").removeprefix(NEGATION),
        is_negated=check.is_negated,
        of=check.of,
        value=arguments.pop("value", None),
        arguments=arguments,
        passed=None if verdict is None else verdict.passed,
        reason=graded.error if verdict is None else verdict.reason,
        **position,
    )
