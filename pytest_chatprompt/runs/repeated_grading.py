"""The repeated case: get all answers of a case that is sent several times, grade each, and decide by the pass rate.

As soon as the outcome of the case is certain, nothing more is sent; what is in flight is waited for. Each answer is
graded as that of any other case: by the checks, then by the hook. Fixtures look at the first answer only.
"""

from __future__ import annotations

import traceback
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from pytest_chatprompt.cases.case import DEFAULT_PASS_RATE
from pytest_chatprompt.errors import (
    ChatPromptError,
    CheckError,
    CheckFailedError,
    ProviderError,
    ReplayError,
    RequestCancelledError,
)
from pytest_chatprompt.grading.grade import AttemptOutcome, RequiredPasses
from pytest_chatprompt.results.records import AttemptResult
from pytest_chatprompt.results.wording import describe_repeats, repeats_result
from pytest_chatprompt.runs.case_results import answer_result, response_results
from pytest_chatprompt.runs.grading import Grading
from pytest_chatprompt.runs.item import ENDED_EARLY, RESPONSE_FIXTURE, is_outage, notes_of
from pytest_chatprompt.runs.recordings import find_unusable
from pytest_chatprompt.runs.report_hooks import user_frames
from pytest_chatprompt.runs.usage_summary import INTERVAL_PROPERTY, RATE_PROPERTY, set_properties
from pytest_chatprompt.wording import enumerated, shown_path, visible

if TYPE_CHECKING:
    from pytest_chatprompt.providers.response import ProviderResponse
    from pytest_chatprompt.runs.case_checks import CaseChecks

# pytest shows no frame of this module.
__tracebackhide__ = True

_MOST_OF_ANSWER: Final = 240


@dataclass(eq=False)
class RepeatedGrading(Grading):
    """Grades the answers of one repeated case; `attempts` is what became of each request so far."""

    attempts: list[AttemptResult] = field(default_factory=list)

    @property
    def required(self) -> RequiredPasses:
        """How many answers have to pass."""
        return RequiredPasses(self.sent.case.repeat, self.case.pass_rate or DEFAULT_PASS_RATE)

    def grade(self) -> None:
        """Get and grade the answers, then let the fixtures look at the first one."""
        with closing(self.sent.arriving(self._is_certain)) as numbers:
            for number in numbers:
                self._take(number)
        first = self.response() if self.answers else None
        if first is not None and not first.is_awaited:
            # There is no answer to check.
            if self.checks is not None:
                self.checks.grade_answer(first)
            return
        if self._outcome() is None:
            planned, had = self.required.planned, {attempt.number for attempt in self.attempts}
            missing = enumerated(number for number in range(1, planned + 1) if number not in had)
            head = f"{len(had)} of {planned} answers are recorded, and with them the outcome is not certain"
            advice = self.sent.case.place.advice
            raise ReplayError(f"{head}: nothing is recorded for {missing}\n\n{advice}\n\n{self._text()}")
        if first is not None and not self.item.finish:
            if self.request.getfixturevalue(RESPONSE_FIXTURE) != first:
                raise CheckError(
                    "eval_response is overridden and changes the answer, but a case that is sent several times is "
                    "graded by the answers of its provider: change them there"
                )
            self.set_up_fixtures()
        if self._outcome() == "passed" and any(attempt.problem for attempt in self.attempts):
            self.item.add_report_section("call", "answers", visible(self._text()))

    def failures(self) -> list[ChatPromptError]:
        """See `Grading.failures`; `checks` has graded what is sent."""
        error = {"failed": CheckFailedError, "error": CheckError}.get(self._outcome() or "")
        return [*([] if error is None else [error(self._text())]), *super().failures()]

    def _is_certain(self) -> bool:
        """Whether the answers that are missing cannot change the outcome."""
        return self._outcome() is not None or not all(live.response.is_awaited for live in self.answers.values())

    def _take(self, number: int) -> None:
        """Get one answer and grade it."""
        checks = self.checks and replace(self.checks, graded=[])
        response: ProviderResponse | None = None
        error: BaseException | None
        try:
            response = self.get(number).response
        except RequestCancelledError:
            raise
        except ProviderError as no_answer:
            error = no_answer
        else:
            if not response.is_awaited:
                return
            error = find_unusable(response) or self._grade(number, response, checks)
        attempt = AttemptResult(
            number=number,
            outcome="passed" if error is None else "error" if is_outage(error) else "failed",
            response=answer_result(self.answers.get(number)),
            checks=() if checks is None else checks.results(),
            judge=response_results(self.votes.get(number, ())),
            problem="" if error is None else self._describe(error, response),
        )
        self.attempts.append(attempt)

    def _grade(self, number: int, response: ProviderResponse, checks: CaseChecks | None) -> BaseException | None:
        """Why an answer does not pass; `None` if it does."""
        failure: CheckFailedError | CheckError | None = None
        if checks is not None:
            checks.grade_answer(response, self.ask_judge(number, response))
            failure = checks.failure()
        try:
            self.call_hook(response)
        except ENDED_EARLY:
            raise
        except (pytest.fail.Exception, Exception) as error:
            return error if failure is None else type(failure)(f"{failure}\n\n{self._describe(error, None)}")
        return failure

    def _note(self) -> None:
        if self.attempts:
            result = notes_of(self.item).repeats = repeats_result(self.required, self.attempts)
            low, high = result.interval
            rate = f"{result.passed}/{result.answers}"
            set_properties(self.item, {RATE_PROPERTY: rate, INTERVAL_PROPERTY: f"{low} to {high}"})
        super()._note()

    def _describe(self, error: BaseException, response: ProviderResponse | None) -> str:
        """Why an answer does not pass, and the answer if that does not show it."""
        if isinstance(error, CheckFailedError | CheckError | ProviderError):
            return str(error)
        frame = traceback.extract_tb(user_frames(error.__traceback__) or error.__traceback__)[-1]
        place = f"{shown_path(Path(frame.filename), self.item.config.rootpath)}:{frame.lineno}"
        text = f"{place}: {type(error).__name__}: {error}"
        if response is None:
            return text
        cut = "…" if len(response.text) > _MOST_OF_ANSWER else ""
        return f"{text}\n  answer: {response.text[:_MOST_OF_ANSWER]!r}{cut}"

    def _outcome(self) -> AttemptOutcome | None:
        counts = Counter(attempt.outcome for attempt in self.attempts)
        return self.required.outcome(counts["passed"], counts["failed"], counts["error"])

    def _text(self) -> str:
        return describe_repeats(repeats_result(self.required, self.attempts))
