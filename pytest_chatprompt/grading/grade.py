"""Grading one check: a check, a case and what it looks at come in, a `GradedCheck` comes out.

Every check is graded by itself, so that all failures of a case can be reported. `items` calls it and reports the
result.
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_chatprompt.cases.case import EvalCase
from pytest_chatprompt.errors import CheckError
from pytest_chatprompt.grading.check import Check, Verdict
from pytest_chatprompt.grading.judge_verdict import JudgeVote, count_votes
from pytest_chatprompt.grading.llm_rubric import LlmRubric
from pytest_chatprompt.grading.parsing import CaseCheck
from pytest_chatprompt.grading.sent_data import SentData
from pytest_chatprompt.providers.response import ProviderResponse


@dataclass(frozen=True, slots=True)
class GradedCheck:
    """A check with its verdict, or with the error that left it without one.

    Args:
        check: the check.
        subject: what it looked at.
        verdict: its verdict, the opposite where it is negated; `None` if it cannot be graded.
        error: why it cannot be graded; `""` if it can.
    """

    check: CaseCheck
    subject: ProviderResponse | SentData
    verdict: Verdict | None
    error: str = ""

    @property
    def passed(self) -> bool:
        """Whether the check passes; one without a verdict does not."""
        return self.verdict is not None and self.verdict.passed


def grade(
    check: CaseCheck, case: EvalCase, subject: ProviderResponse | SentData, votes: Sequence[JudgeVote] = ()
) -> GradedCheck:
    """Grade a check; an exception that it raises becomes the error of its result.

    Args:
        check: the check.
        case: its case, with its variables filled in.
        subject: the answer, or what is sent, as the check's `of` says.
        votes: of the judge about the answer, if the check asks one.

    Returns:
        The check with its verdict or its error.
    """
    try:
        verdict = _decide(check.check, case, subject, votes)
        if not isinstance(verdict, Verdict):
            raise CheckError(f"{type(check.check).__name__}.grade returned {verdict!r}, which is not a Verdict")
    except CheckError as error:
        return GradedCheck(check, subject, None, str(error))
    except (Exception, SystemExit) as error:
        return GradedCheck(check, subject, None, f"crashed with {describe_crash(error)}")
    if check.is_negated:
        verdict = Verdict(not verdict.passed, verdict.reason, verdict.offset)
    return GradedCheck(check, subject, verdict)


def _decide(check: Check, case: EvalCase, subject: Any, votes: Sequence[JudgeVote]) -> Verdict:
    return count_votes(votes) if isinstance(check, LlmRubric) else check.grade(case, subject)


def describe_crash(error: BaseException) -> str:
    """An exception, and where it was raised."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    text = f"{type(error).__name__}: {error}".removesuffix(": ")
    return f"{text} ({Path(frame.filename).name}, line {frame.lineno})"
