"""`regex`: whether a regular expression matches somewhere in the text of an answer.

In: the expression. Out: a verdict with its first match. Searching is `re.search`, within a limit of computing time.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar

from pydantic import PlainValidator

from pytest_chatprompt.cases.case import EvalCase
from pytest_chatprompt.grading.check import Check, Verdict
from pytest_chatprompt.grading.text_checks import HasText
from pytest_chatprompt.grading.time_limit import limited_time
from pytest_chatprompt.text.json_data import invalid, unexpected

_MOST_SHOWN = 60


def _read_pattern(value: Any) -> re.Pattern[str]:
    if not isinstance(value, str):
        raise unexpected("a regular expression, as a text")
    if not value:
        raise invalid("'value' is empty, and matches every text")
    try:
        return re.compile(value)
    # A warning is an error where the project says so.
    except (re.error, RecursionError, OverflowError, FutureWarning) as error:
        raise invalid(f"not a valid regular expression: {error}") from error


class Regex(Check):
    """Passes where `re.search` finds the expression in the text."""

    can_grade_request: ClassVar[bool] = True

    value: Annotated[re.Pattern[str], PlainValidator(_read_pattern)]

    def grade(self, case: EvalCase, response: HasText) -> Verdict:  # noqa: ARG002
        """See `Check.grade`."""
        with limited_time("the regular expression"):
            match = self.value.search(response.text)
        if match is None:
            return Verdict(False, "has no match")
        found = match[0] if len(match[0]) <= _MOST_SHOWN else f"{match[0][:_MOST_SHOWN]}…"
        return Verdict(True, f"has the match {found!r} at character {match.start() + 1}", match.start())
