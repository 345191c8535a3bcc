"""The repeated case: get all answers of a case that is sent several times, grade each, and decide by the pass rate.

As soon as the outcome of the case is certain, nothing more is sent; what is in flight is waited for. Each answer is
graded as that of any other case: by the checks, then by the hook. Fixtures look at the first answer only.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from pytest_chatprompt.cases.case import DEFAULT_PASS_RATE
from pytest_chatprompt.errors import (
    BudgetError,
    CheckError,
    CheckFailedError,
    ProviderError,
    ReplayError,
    RequestCancelledError,
)
from pytest_chatprompt.grading.grade import AttemptOutcome, RequiredPasses
from pytest_chatprompt.options import all_results_key
from pytest_chatprompt.providers.response import ProviderResponse
from pytest_chatprompt.results.records import AttemptResult, CheckResult, RepeatsResult, check_result
from pytest_chatprompt.results.texts import describe_repeats, repeats_result
from pytest_chatprompt.runs.case_checks import CaseChecks, ask_judge
from pytest_chatprompt.runs.case_results import judge_results, notes_of, response_result
from pytest_chatprompt.runs.item import ENDED_EARLY, RESPONSE_FIXTURE, EvalItem, failed_checks_key, is_outage
from pytest_chatprompt.runs.recordings import raise_if_unusable, record_repeats, replay_answer
from pytest_chatprompt.runs.report_hooks import user_frames
from pytest_chatprompt.runs.usage_summary import (
    INTERVAL_PROPERTY,
    RATE_PROPERTY,
    add_judge_usage,
    add_replayed,
    add_usage,
    set_properties,
)
from pytest_chatprompt.snapshots.files import recording_path
from pytest_chatprompt.wording import shown_path, visible

if TYPE_CHECKING:
    from pytest_chatprompt.capture.eval_api import EvalAPI
    from pytest_chatprompt.capture.secrets.redaction import Redactor
    from pytest_chatprompt.cases.case import EvalCase
    from pytest_chatprompt.live.answers import LiveCase, LiveResponse
    from pytest_chatprompt.live.judging import Votes
    from pytest_chatprompt.prompt.request import ProviderRequest
    from pytest_chatprompt.runs.live_run import LiveRun

    # Gives an answer, or raises the error of the provider in place of one.
    GetAnswer = Callable[[], LiveResponse]

_MOST_OF_ANSWER: Final = 240


@dataclass(slots=True)
class RepeatedCase:
    """Grades the answers of one repeated case.

    Args:
        request: the item's fixture request.
        case: the fixture `eval_case`.
        provider_request: the fixture `eval_request`.
        checks: those of the case; `None` for none.
        live_case: what is sent, and how often.
        attempts: what became of each request so far.
        answers: the answers so far, by number.
    """

    request: pytest.FixtureRequest
    case: EvalCase
    provider_request: ProviderRequest
    checks: CaseChecks | None
    live_case: LiveCase
    attempts: list[AttemptResult] = field(default_factory=list)
    answers: dict[int, LiveResponse] = field(default_factory=dict)
    _errors: list[ProviderError] = field(default_factory=list)

    @property
    def item(self) -> EvalItem:
        """The item that runs."""
        item: EvalItem = self.request.node
        return item

    @property
    def required(self) -> RequiredPasses:
        """How many answers have to pass."""
        return RequiredPasses(self.live_case.repeat, self.case.pass_rate or DEFAULT_PASS_RATE)

    def run(self, live_run: LiveRun | None, api: EvalAPI) -> None:
        """Get and grade the answers, record them, then let the fixtures look at the first one.

        Raises:
            CheckFailedError: fewer answers pass than have to.
            CheckError: it cannot be said whether enough answers pass, since some could not be obtained or graded.
            ReplayError: too few answers are recorded.
        """
        __tracebackhide__ = True
        self.item.stash[failed_checks_key] = ""
        answers = self._recorded(api) if live_run is None else self._sent(live_run, api)
        try:
            with closing(answers):
                for number, get in answers:
                    self._take(number, get)
        except ENDED_EARLY:
            # Nobody skips a case that has failed already.
            if self._outcome() in ("failed", "error"):
                raise self._error() from None
            raise
        finally:
            # What has arrived is paid for, also if the run is interrupted now.
            self._note(api.redactor)
        self._finish()

    def _recorded(self, api: EvalAPI) -> Generator[tuple[int, GetAnswer], None, None]:
        """All answers that are recorded; without any the error is that of a case that is sent once."""
        case = self.live_case
        for number in case.recorded_numbers() or [1]:
            yield number, partial(replay_answer, case.place_of(number), case.provider, case.compared, api)

    def _sent(self, live_run: LiveRun, api: EvalAPI) -> Generator[tuple[int, GetAnswer], None, None]:
        """The answers of a live run as they arrive; those that are recorded come first if the run replays."""
        case = self.live_case
        sends = live_run.answers_of(self.item, case.compared)
        if sends is None:
            recorded = case.recorded_numbers()
            for number in sorted(range(1, case.repeat + 1), key=lambda number: number not in recorded):
                if number not in recorded and self._is_certain():
                    return
                yield number, partial(live_run.send_here, case, number, api)
            return
        try:
            for number, _ in sends.arriving(self._is_certain, live_run.wait_for_first):
                yield number, partial(live_run.judged, sends, number)
        finally:
            sends.abandon()

    def _is_certain(self) -> bool:
        return self._outcome() is not None or not all(live.response.is_awaited for live in self.answers.values())

    def _take(self, number: int, get: GetAnswer) -> None:
        """Get one answer and grade it."""
        __tracebackhide__ = True
        error: BaseException | None = None
        response = result = None
        checks: tuple[CheckResult, ...] = ()
        try:
            live = self.answers[number] = get()
        except RequestCancelledError:
            # It was this run that broke the request off: that says nothing about the API.
            raise
        except ProviderError as no_answer:
            error = no_answer
            if not isinstance(error, BudgetError):
                # What was not sent is no part of the usage.
                self._errors.append(error)
        else:
            response = live.response
            if not response.is_awaited:
                return
            result = response_result(response, live.is_replayed, live.requests)
            error, checks = self._grade(number, live)
        outcome: AttemptOutcome = "passed"
        problem = ""
        if error is not None:
            outcome = "error" if is_outage(error) else "failed"
            problem = self._describe(error, response)
        # The votes may have come with the answer, or while it was graded.
        judge = judge_results(self.answers[number].votes) if number in self.answers else ()
        attempt = AttemptResult(
            number=number, outcome=outcome, response=result, checks=checks, judge=judge, problem=problem
        )
        self.attempts.append(attempt)

    def _note(self, redactor: Redactor) -> None:
        """Keep the answers so far for reports, and for later runs."""
        answers, notes = list(self.answers.values()), notes_of(self.item)
        if self.attempts:
            result = repeats_result(self.required, self.attempts)
            notes.repeats = result
            _add_usage(self.item, result, answers, self._errors)
        first = self._first
        if first is not None:
            notes.response, notes.is_replayed, notes.votes = first.response, first.is_replayed, first.votes
            notes.requests = first.requests
        add_judge_usage(self.item, tuple(votes for live in answers for votes in live.votes))
        record_repeats(self.live_case.place, self.answers, redactor)

    def _grade(self, number: int, live: LiveResponse) -> tuple[BaseException | None, tuple[CheckResult, ...]]:
        """Why an answer does not pass, `None` if it does; and what the checks said."""
        __tracebackhide__ = True
        response, failure = live.response, None
        try:
            raise_if_unusable(response)
        except ProviderError as error:
            return error, ()
        results: tuple[CheckResult, ...] = ()
        if self.checks is not None:
            checks = replace(self.checks, graded=[])
            checks.grade_answer(response, self._votes(number, live))
            failure = checks.failure()
            with_place = self.item.config.stash.get(all_results_key, False)
            results = tuple(check_result(each, self.case, with_place=with_place) for each in checks.graded)
        try:
            hook = self.item.ihook.pytest_chatprompt_response
            hook(case=self.case, request=self.provider_request, response=response)
        except ENDED_EARLY:
            raise
        except (pytest.fail.Exception, Exception) as error:
            both = failure and failure.__class__(f"{failure}\n\n{self._describe(error, None)}")
            return both or error, results
        return failure, results

    def _votes(self, number: int, live: LiveResponse) -> Votes:
        """What the judge says about an answer."""
        if self.live_case.judging is None:
            return ()
        self.answers[number] = judged = ask_judge(self.item, self.live_case.judging, live, self.live_case.place)
        return judged.votes

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

    @property
    def _first(self) -> LiveResponse | None:
        """The answer with the lowest number; `None` without any."""
        return self.answers[min(self.answers)] if self.answers else None

    def _finish(self) -> None:
        """Let the fixtures look at the first answer, and raise what is wrong with the case."""
        __tracebackhide__ = True
        first = self._first
        if first is not None and not first.response.is_awaited:
            # There is no answer to check.
            if self.checks is not None:
                self.checks.grade_answer(first.response)
            return
        failure = None if self._outcome() == "passed" else self._error()
        try:
            if first is not None:
                self._set_up_fixtures(first.response)
        except ENDED_EARLY:
            if failure is not None:
                raise failure from None
            raise
        except BaseException:
            self.item.stash[failed_checks_key] = "" if failure is None else str(failure)
            raise
        if failure is not None:
            raise failure
        if any(attempt.problem for attempt in self.attempts):
            self.item.add_report_section("call", "answers", visible(self._text()))

    def _set_up_fixtures(self, first: ProviderResponse) -> None:
        """Set up the project's fixtures that use `eval_response`; they get the first answer."""
        __tracebackhide__ = True
        if self.item.finish is not None:
            # The fixtures have ended, and none of them asks for the answer.
            return
        self.item.case_run.first_response = first
        if self.request.getfixturevalue(RESPONSE_FIXTURE) != first:
            raise CheckError(
                "eval_response is overridden and changes the answer, but a case that is sent several times is graded "
                "by the answers of its provider: change them there"
            )
        for name in self.item.response_fixtures:
            self.request.getfixturevalue(name)

    def _error(self) -> CheckFailedError | CheckError | ReplayError:
        """The error of a case that does not pass."""
        outcome = self._outcome()
        if outcome is not None:
            return (CheckFailedError if outcome == "failed" else CheckError)(self._text())
        # Only a replayed run comes to an end before the outcome is certain.
        had = {attempt.number for attempt in self.attempts}
        *others, last = (str(number) for number in range(1, self.live_case.repeat + 1) if number not in had)
        missing = f"{', '.join(others)} and {last}" if others else last
        head = f"{len(had)} of {self.live_case.repeat} answers are recorded, and with them the outcome is not certain"
        return ReplayError(
            f"{head}: nothing is recorded for {missing}\n\n{self.live_case.place.advice}\n\n{self._text()}"
        )

    def _text(self) -> str:
        return describe_repeats(repeats_result(self.required, self.attempts))


def _add_usage(
    item: EvalItem, result: RepeatsResult, answers: Sequence[LiveResponse], errors: Sequence[ProviderError]
) -> None:
    """Put the usage of a repeated case, and its rate, into its user properties."""
    sent = [live for live in answers if not live.is_replayed]
    if sent or errors:
        requests = sum(live.requests for live in sent) + len(errors) if any(live.requests > 1 for live in sent) else 0
        add_usage(item, item.provider_name, *(live.response for live in sent), *errors, requests=requests)
    recordings = [live.recording for live in answers if live.recording is not None]
    if recordings:
        # All recordings are of one file.
        unused = sum(exchange.repeat > result.planned for exchange in recordings[0].others)
        add_replayed(item, recording_path(item.snapshot_folder, item.snapshot_stem), *recordings, unused=unused)
    low, high = result.interval
    rate = f"{result.passed}/{result.answers}"
    set_properties(item, {RATE_PROPERTY: rate, INTERVAL_PROPERTY: f"{low} to {high}"})
