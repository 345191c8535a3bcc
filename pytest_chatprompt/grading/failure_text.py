"""What a user reads about the checks that do not pass.

In: the graded checks of a case. Out: one text with all that do not pass: each with its place in the file, its value,
why, and an excerpt of what it looked at. Pure; `items` puts it into reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pytest_chatprompt.cases.case import EvalCase, place_of_row
from pytest_chatprompt.grading.check_description import describe_check
from pytest_chatprompt.grading.grade import GradedCheck
from pytest_chatprompt.grading.parsing import find_node
from pytest_chatprompt.grading.sent_data import SentData

_MOST_OF_TEXT: Final = 240
# How much of an excerpt stands before what it is about.
_BEFORE: Final = 60


def describe_failures(graded: Sequence[GradedCheck], case: EvalCase) -> str:
    """Say which checks of a case do not pass; the first line is a summary.

    Args:
        graded: all checks of the case that were graded, at least one of which does not pass.
        case: the case.
    """
    not_passed = [one for one in graded if not one.passed]
    failed = [one for one in not_passed if one.verdict is not None]
    broken = [one for one in not_passed if one.verdict is None]
    of_all = f" of {len(graded)}" if len(graded) > 1 else ""
    counts = [f"{len(failed)}{of_all} check{_s(len(graded))} failed"] if failed else []
    counts += [f"{len(broken)} check{_s(len(broken))} could not be graded"] if broken else []
    summary = f"{', '.join(counts)}: {'; '.join(describe_check(one.check.written) for one in not_passed)}"
    return "\n".join((summary, *(f"\n{_describe(one, case)}" for one in not_passed)))


def _describe(graded: GradedCheck, case: EvalCase) -> str:
    line, column = find_node(graded.check.written, case).position
    place = f"{case.origin.shown_path}:{line}:{column}"
    row = place_of_row(case.origin.row)
    noun = "request" if isinstance(graded.subject, SentData) else "answer"
    if graded.verdict is None:
        return f"{place}: {describe_check(graded.check.written)}: {graded.error}{row}"
    text = f"{place}: {describe_check(graded.check.written)}: the {noun} {graded.verdict.reason}{row}"
    return f"{text}\n  {noun}: {_excerpt(graded)}"


def _excerpt(graded: GradedCheck) -> str:
    """Some of the text that was looked at, in one line, around the place that the verdict is about."""
    text = graded.subject.text
    offset = (graded.verdict and graded.verdict.offset) or 0
    start = offset - _BEFORE if offset > _MOST_OF_TEXT - _BEFORE else 0
    end = start + _MOST_OF_TEXT
    excerpt = f"{'…' if start else ''}{text[start:end]!r}{'…' if end < len(text) else ''}"
    calls = [] if isinstance(graded.subject, SentData) else [call.function for call in graded.subject.tool_calls]
    shown = [_cut(f"{call.name}({call.arguments})", _MOST_OF_TEXT) for call in calls]
    size = f" ({len(text)} characters)" if len(text) > _MOST_OF_TEXT else ""
    return "; calls ".join((excerpt + size, *shown))


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}…"


def _s(number: int) -> str:
    return "" if number == 1 else "s"
