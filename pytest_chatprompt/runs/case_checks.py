"""The checks of one eval item: parsed, graded, and reported together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from pytest_chatprompt.capture.sent_request import Exchange
from pytest_chatprompt.cases.case import EvalCase, case_in_test
from pytest_chatprompt.cases.origin import find_running_test
from pytest_chatprompt.errors import CheckError, CheckFailedError, EvalFileWarning
from pytest_chatprompt.grading.check import SentData, sent_data
from pytest_chatprompt.grading.grade import GradedCheck, describe_failures, grade
from pytest_chatprompt.grading.judge import LlmRubric
from pytest_chatprompt.grading.parsing import CaseCheck, parse_checks
from pytest_chatprompt.providers.response import ProviderResponse
from pytest_chatprompt.runs.item import ENDED_EARLY, EvalItem, failed_checks_key, graded_checks_key
from pytest_chatprompt.runs.shared import shared_file_reader
from pytest_chatprompt.snapshots.shown_data import snapshot_data

if TYPE_CHECKING:
    from pytest_chatprompt.capture.secrets.redaction import Redactor
    from pytest_chatprompt.live.judging import Judging, Votes
    from pytest_chatprompt.prompt.request import ProviderRequest


@dataclass(slots=True)
class CaseChecks:
    """Grades the checks of an eval item, and raises one error for all that fail.

    Args:
        item: the item.
        case: the fixture `eval_case`.
        checks: its checks.
        graded: those that were graded so far, in order.
    """

    item: EvalItem
    case: EvalCase
    checks: tuple[CaseCheck, ...]
    graded: list[GradedCheck] = field(default_factory=list)

    @classmethod
    def parse(cls, item: EvalItem, case: EvalCase) -> CaseChecks:
        """Parse the checks of a case.

        Raises:
            EvalFileError: some are not valid.
        """
        __tracebackhide__ = True
        # An item may run again.
        item.stash[failed_checks_key] = ""
        if not case.has_origin:
            # It may have no checks, and is refused here if it does.
            case = case_in_test(case, find_running_test())
        checks = cls(item, case, parse_checks(case, shared_file_reader(item.config)))
        item.stash[graded_checks_key] = (case, checks.graded)
        return checks

    def for_answer(self) -> CaseChecks:
        """The same checks for one answer of a repeated case, none of them graded."""
        return replace(self, graded=[])

    def grade_request(self, exchange: Exchange) -> None:
        """Grade the checks that look at what is sent."""
        checks = [check for check in self.checks if check.of == "request"]
        if checks:
            self._grade(checks, sent_data(snapshot_data(exchange, self.item.provider_name, self.item.config.rootpath)))

    def show_judging(
        self, request: pytest.FixtureRequest, provider_request: ProviderRequest, redactor: Redactor
    ) -> Judging | None:
        """What the judge will be asked about the answers; `None` if no check asks it. Nothing is sent.

        Raises:
            CheckError: see `case_judge.show_judging`.
        """
        __tracebackhide__ = True
        checks = [check.check for check in self.checks]
        if not any(isinstance(check, LlmRubric) for check in checks):
            return None
        # Most runs have no judge.
        from pytest_chatprompt.runs.case_judge import show_judging  # noqa: PLC0415

        return show_judging(request, self.case, checks, provider_request, redactor)

    def grade_answer(self, response: ProviderResponse, votes: Votes = ()) -> None:
        """Grade the checks that look at the answer; without an answer, warn that nothing was graded.

        Args:
            response: the answer.
            votes: what the judge said about it, for each check that asks it.
        """
        checks = [check for check in self.checks if check.of == "answer"]
        if response.is_awaited:
            self._grade(checks, response, votes)
        elif checks:
            nouns = "1 check was" if len(checks) == 1 else f"{len(checks)} checks were"
            self.item.warn(
                EvalFileWarning(f"{nouns} not graded: {self.item.provider_name} does not wait for an answer")
            )

    def _grade(self, checks: list[CaseCheck], subject: ProviderResponse | SentData, votes: Votes = ()) -> None:
        all_votes = iter(votes)
        for check in checks:
            own_votes = next(all_votes, ()) if isinstance(check.check, LlmRubric) else ()
            try:
                graded = grade(check, self.case, subject, own_votes)
            except ENDED_EARLY as error:
                # Ending the test here would hide the results of the other checks.
                graded = GradedCheck(check, subject, None, f"a check cannot skip a test: {error}")
            except pytest.fail.Exception as error:
                problem = f"a check fails by returning False or by an assertion, not by pytest.fail: {error}"
                graded = GradedCheck(check, subject, None, problem)
            self.graded.append(graded)

    @contextmanager
    def reported_at_the_end(self) -> Iterator[None]:
        """Raise the failures of the checks once fixtures and hooks have run; if these fail too, add them to the report.

        Raises:
            CheckFailedError: some do not pass.
            CheckError: some could not be graded.
        """
        __tracebackhide__ = True
        try:
            yield
        except ENDED_EARLY:
            # Nobody skips a case that has failed already.
            self._raise_failures()
            raise
        except BaseException:
            # What a repeated case has left there comes first.
            texts = (self.item.stash[failed_checks_key], self._text())
            self.item.stash[failed_checks_key] = "\n\n".join(filter(None, texts))
            raise
        self._raise_failures()

    def _raise_failures(self) -> None:
        __tracebackhide__ = True
        failure = self.failure()
        if failure is not None:
            raise failure

    def failure(self) -> CheckFailedError | CheckError | None:
        """The error for the checks that do not pass; `None` if all do."""
        text = self._text()
        is_broken = any(graded.verdict is None for graded in self.graded)
        return (CheckError if is_broken else CheckFailedError)(text) if text else None

    def _text(self) -> str:
        """All that does not pass; `""` for nothing."""
        return "" if all(graded.passed for graded in self.graded) else describe_failures(self.graded, self.case)
