"""Grade a check, say why those of a case do not pass, and how many answers of a repeated case have to."""

from __future__ import annotations

import math
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final, Literal, NamedTuple

from pytest_chatprompt.cases.case import EvalCase, EvalCheck, place_of_row
from pytest_chatprompt.errors import CheckError
from pytest_chatprompt.grading.check import SentData, Verdict, cut, describe_check, verdict_sentence
from pytest_chatprompt.grading.judge import JudgeVote, LlmRubric, count_votes
from pytest_chatprompt.grading.table import CaseCheck, find_node
from pytest_chatprompt.providers.response import ProviderResponse
from pytest_chatprompt.wording import count


class GradedCheck(NamedTuple):
    """A check with its verdict, the opposite where it is negated, or with the error that left it without one."""

    check: CaseCheck
    subject: ProviderResponse | SentData
    verdict: Verdict | None
    error: str = ""

    @property
    def passed(self) -> bool:
        """Whether the check passes; one without a verdict does not."""
        return self.verdict is not None and self.verdict.passed

    @property
    def sentence(self) -> str:
        """What it said: `failed: icontains '14 days': the answer does not contain it`."""
        written, of = self.check.written, {} if self.check.of == "answer" else {"of": self.check.of}
        without = ("of", "value") if written.arguments.get("value") is None else ("of",)
        arguments = {key: value for key, value in written.arguments.items() if key not in without}
        description = describe_check(EvalCheck(written.type.replace("-", "_"), arguments | of))
        passed, reason = (None, self.error) if self.verdict is None else (self.passed, self.verdict.reason)
        return verdict_sentence(passed, description, self.check.of, reason)


def grade(
    check: CaseCheck, case: EvalCase, subject: ProviderResponse | SentData, votes: Sequence[JudgeVote] = ()
) -> GradedCheck:
    """Grade a check; an exception that it raises becomes the error of its result."""
    try:
        asks_judge = isinstance(check.check, LlmRubric)
        verdict = count_votes(votes) if asks_judge else check.check.grade(case, subject)
        if not isinstance(verdict, Verdict):
            raise CheckError(f"{type(check.check).__name__}.grade returned {verdict!r}, which is not a Verdict")
    except CheckError as error:
        return GradedCheck(check, subject, None, str(error))
    except (Exception, SystemExit) as error:
        return GradedCheck(check, subject, None, f"crashed with {describe_crash(error)}")
    if check.is_negated:
        verdict = Verdict(not verdict.passed, verdict.reason, verdict.offset)
    return GradedCheck(check, subject, verdict)


def describe_crash(error: BaseException) -> str:
    """An exception, and where it was raised."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    text = f"{type(error).__name__}: {error}".removesuffix(": ")
    return f"{text} ({Path(frame.filename).name}, line {frame.lineno})"


_MOST_OF_TEXT: Final = 240
# How much of an excerpt stands before what it is about.
_BEFORE: Final = 60


def describe_failures(graded: Sequence[GradedCheck], case: EvalCase) -> str:
    """Say which checks of a case do not pass; the first line is a summary."""
    not_passed = [one for one in graded if not one.passed]
    broken = [one for one in not_passed if one.verdict is None]
    failed = len(not_passed) - len(broken)
    of_all = f"{failed} of " if len(graded) > 1 else ""
    counts = [f"{of_all}{count(len(graded), 'check')} failed"] if failed else []
    counts += [f"{count(len(broken), 'check')} could not be graded"] if broken else []
    summary = f"{', '.join(counts)}: {'; '.join(describe_check(one.check.written) for one in not_passed)}"
    return "\n".join((summary, *(f"\n{_describe(one, case)}" for one in not_passed)))


def _describe(graded: GradedCheck, case: EvalCase) -> str:
    line, column = find_node(graded.check.written, case).position
    place = f"{case.origin.shown_path}:{line}:{column}"
    row = place_of_row(case.origin.row)
    noun = "request" if isinstance(graded.subject, SentData) else "answer"
    head = f"{place}: {describe_check(graded.check.written)}"
    if graded.verdict is None:
        return f"{head}: {graded.error}{row}"
    # What is only measured tells its parts.
    excerpt = f"\n  {noun}: {_excerpt(graded)}" if graded.check.check.can_grade_answer else ""
    return f"{head}: the {noun} {graded.verdict.reason}{row}{excerpt}"


def _excerpt(graded: GradedCheck) -> str:
    """Some of the text that was looked at, in one line, around the place that the verdict is about."""
    text = graded.subject.text
    offset = (graded.verdict and graded.verdict.offset) or 0
    start = offset - _BEFORE if offset > _MOST_OF_TEXT - _BEFORE else 0
    end = start + _MOST_OF_TEXT
    excerpt = f"{'…' if start else ''}{text[start:end]!r}{'…' if end < len(text) else ''}"
    calls = [] if isinstance(graded.subject, SentData) else [call.function for call in graded.subject.tool_calls]
    shown = [cut(f"{call.name}({call.arguments})", _MOST_OF_TEXT) for call in calls]
    size = f" ({len(text)} characters)" if len(text) > _MOST_OF_TEXT else ""
    return "; calls ".join((excerpt + size, *shown))


AttemptOutcome = Literal["passed", "failed", "error"]


@dataclass(frozen=True, slots=True)
class RequiredPasses:
    """How many answers of a repeated case have to pass."""

    planned: int
    pass_rate: float

    @property
    def count(self) -> int:
        """The least number of answers that is the pass rate, at least 1."""
        # As the author wrote the rate: 0.07 times 100 is a little more than 7 in binary fractions.
        return math.ceil(Fraction(repr(self.pass_rate)) * self.planned)

    def outcome(self, passed: int, failed: int, errors: int) -> AttemptOutcome | None:
        """How the case ends, whatever the answers that are still missing say; `None` as long as it is not certain.

        An error says nothing about the answer, so the case is an error if, and only if, it could have ended either way.
        """
        missing = self.planned - passed - failed - errors
        needed = self.count
        if passed >= needed:
            return "passed"
        if failed > self.planned - needed:
            return "failed"
        can_pass = passed + missing >= needed
        can_fail = failed + missing > self.planned - needed
        return None if can_pass or can_fail else "error"
