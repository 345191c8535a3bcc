"""The repeated case: get all answers of a case that is sent several times, grade each, and decide by the pass rate.

As soon as the outcome of the case is certain, nothing more is sent; what is in flight is waited for. Each answer is
graded as that of any other case: by the checks, then by the hook. Fixtures look at the first answer only.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import pytest

from pytest_chatprompt.apis.chat_provider import ChatProvider
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
from pytest_chatprompt.runs.case_checks import CaseChecks
from pytest_chatprompt.runs.case_results import judge_results, note_repeats, note_response, note_votes, response_result
from pytest_chatprompt.runs.item import ENDED_EARLY, RESPONSE_FIXTURE, EvalItem, failed_checks_key, is_outage
from pytest_chatprompt.runs.recordings import raise_if_unusable, record_repeats, replay_answer
from pytest_chatprompt.runs.repeat_count import INTERVAL_PROPERTY, RATE_PROPERTY, first_response_key
from pytest_chatprompt.runs.report_hooks import user_frames
from pytest_chatprompt.runs.usage import add_judge_usage, add_replayed, add_usage, set_properties
from pytest_chatprompt.snapshots.files import recording_path
from pytest_chatprompt.wording import shown_path, visible

if TYPE_CHECKING:
    from pytest_chatprompt.capture.eval_api import EvalAPI
    from pytest_chatprompt.capture.secrets.redaction import Redactor
    from pytest_chatprompt.cases.case import EvalCase
    from pytest_chatprompt.live.answers import LiveCase, LiveResponse
    from pytest_chatprompt.live.judging import Judging, Votes
    from pytest_chatprompt.prompt.request import ProviderRequest
    from pytest_chatprompt.runs.live_run import LiveRun
    from pytest_chatprompt.snapshots.recording_place import RecordingPlace

_MOST_OF_ANSWER: Final = 240
IsCertain = Callable[[], bool]


class RepeatedAnswer(NamedTuple):
    """One answer of a repeated case.

    Args:
        number: from 1.
        live: the answer; `None` if there is none.
        error: why there is none; else `None`.
    """

    number: int
    live: LiveResponse | None
    error: ProviderError | None = None

    @classmethod
    def of(cls, number: int, get: Callable[[], LiveResponse]) -> RepeatedAnswer:
        """Get the answer of a number, or the provider's error.

        Raises:
            RequestCancelledError: the run was stopped.
        """
        __tracebackhide__ = True
        try:
            return cls(number, get())
        except RequestCancelledError:
            # It was this run that broke the request off: that says nothing about the API.
            raise
        except ProviderError as error:
            return cls(number, None, error)


class RepeatedAnswers(Protocol):
    """Gives the answers of one repeated case."""

    def answers(self, is_certain: IsCertain) -> Iterator[RepeatedAnswer]:
        """The answers, as they arrive.

        Args:
            is_certain: whether the outcome is certain by the answers that were given so far.

        Raises:
            SnapshotError: something other than what was compared with the snapshot was sent.
            ReplayError: a recording is unreadable, or lacks a request.
        """
        ...


@dataclass(frozen=True, slots=True)
class LiveAnswers:
    """Answers of a live run; those that are recorded are replayed if the run replays.

    Args:
        live_run: sends and waits.
        item: the item that runs.
        case: what is sent.
        api: its stand-in of the APIs.
    """

    live_run: LiveRun
    item: EvalItem
    case: LiveCase
    api: EvalAPI

    def answers(self, is_certain: IsCertain) -> Iterator[RepeatedAnswer]:
        """See `RepeatedAnswers`."""
        __tracebackhide__ = True
        sends = self.live_run.answers_of(self.item, self.case.compared)
        if sends is None and not isinstance(self.case.provider, ChatProvider):
            yield from self._one_by_one(is_certain)
            return
        sends = sends or self.live_run.send_repeats(self.case)
        try:
            for number, _ in sends.arriving(is_certain, self.live_run.wait_for_first):
                yield RepeatedAnswer.of(number, partial(self.live_run.judged, sends, number))
        finally:
            sends.abandon()

    def _one_by_one(self, is_certain: IsCertain) -> Iterator[RepeatedAnswer]:
        """Send in this thread, where Ctrl-C arrives: it has to end an agent's process."""
        __tracebackhide__ = True
        recorded = self.case.recorded_numbers()
        for number in sorted(range(1, self.case.repeat + 1), key=lambda number: number not in recorded):
            if number not in recorded and is_certain():
                return
            yield RepeatedAnswer.of(number, partial(self.live_run.send_here, self.case, number, self.api))


@dataclass(frozen=True, slots=True)
class RecordedAnswers:
    """Answers of a replayed run: all that are recorded for this very request, though the outcome may be certain before.

    Args:
        case: what would be sent.
        api: its stand-in of the APIs.
    """

    case: LiveCase
    api: EvalAPI

    def answers(self, is_certain: IsCertain) -> Iterator[RepeatedAnswer]:
        """See `RepeatedAnswers`; without any recorded answer the error is that of a case that is sent once."""
        __tracebackhide__ = True
        del is_certain
        case = self.case
        for number in case.recorded_numbers() or [1]:
            replay = partial(replay_answer, case.place_of(number), case.provider, case.compared, self.api)
            yield RepeatedAnswer.of(number, replay)


@dataclass(slots=True)
class RepeatedCase:
    """Grades the answers of one repeated case.

    Args:
        request: the item's fixture request.
        case: the fixture `eval_case`.
        provider_request: the fixture `eval_request`.
        checks: those of the case; `None` for none.
        judging: what a judge is asked about each answer; `None` for nothing.
        place: of its recording.
        repeat: how often it is to be sent, at least 2.
        attempts: what became of each request so far.
        answers: the answers so far, by number.
    """

    request: pytest.FixtureRequest
    case: EvalCase
    provider_request: ProviderRequest
    checks: CaseChecks | None
    judging: Judging | None
    place: RecordingPlace
    repeat: int
    attempts: list[AttemptResult] = field(default_factory=list)
    answers: dict[int, LiveResponse] = field(default_factory=dict)
    _errors: list[ProviderError] = field(default_factory=list)
    _counts: Counter[str] = field(default_factory=Counter)

    @property
    def item(self) -> EvalItem:
        """The item that runs."""
        item: EvalItem = self.request.node
        return item

    @property
    def required(self) -> RequiredPasses:
        """How many answers have to pass."""
        return RequiredPasses(self.repeat, self.case.pass_rate or DEFAULT_PASS_RATE)

    def run(self, source: RepeatedAnswers, redactor: Redactor) -> None:
        """Get and grade the answers, record them, then let the fixtures look at the first one.

        Args:
            source: gives the answers.
            redactor: removes secrets from recordings.

        Raises:
            CheckFailedError: fewer answers pass than have to.
            CheckError: it cannot be said whether enough answers pass, since some could not be obtained or graded.
            ReplayError: too few answers are recorded.
        """
        __tracebackhide__ = True
        self.item.stash[failed_checks_key] = ""
        try:
            for answer in source.answers(self._is_certain):
                self._take(answer)
        except ENDED_EARLY:
            # Nobody skips a case that has failed already.
            if self._outcome() in ("failed", "error"):
                raise self._error() from None
            raise
        finally:
            # What has arrived is paid for, also if the run is interrupted now.
            self._note(redactor)
        self._finish()

    def _is_certain(self) -> bool:
        return self._outcome() is not None or not all(live.response.is_awaited for live in self.answers.values())

    def _take(self, answer: RepeatedAnswer) -> None:
        """Grade one answer."""
        __tracebackhide__ = True
        error: BaseException | None = answer.error
        response = result = None
        checks: tuple[CheckResult, ...] = ()
        if answer.live is not None:
            self.answers[answer.number] = answer.live
            response = answer.live.response
            if not response.is_awaited:
                return
            result = response_result(response, answer.live.is_replayed)
            error, checks = self._grade(answer.number, answer.live)
        if answer.error is not None and not isinstance(answer.error, BudgetError):
            # What was not sent is no part of the usage.
            self._errors.append(answer.error)
        outcome: AttemptOutcome = "passed"
        problem = ""
        if error is not None:
            outcome = "error" if is_outage(error) else "failed"
            problem = self._describe(error, response)
        self._counts[outcome] += 1
        # The votes may have come with the answer, or while it was graded.
        judge = judge_results(self.answers[answer.number].votes) if answer.number in self.answers else ()
        attempt = AttemptResult(
            number=answer.number, outcome=outcome, response=result, checks=checks, judge=judge, problem=problem
        )
        self.attempts.append(attempt)

    def _note(self, redactor: Redactor) -> None:
        """Keep the answers so far for reports, and for later runs."""
        answers = list(self.answers.values())
        if self.attempts:
            result = repeats_result(self.required, self.attempts)
            note_repeats(self.item, result)
            _add_usage(self.item, result, answers, self._errors)
        first = self._first()
        if first is not None:
            note_response(self.item, first.response, is_replayed=first.is_replayed)
            note_votes(self.item, first.votes)
        add_judge_usage(self.item, tuple(votes for live in answers for votes in live.votes))
        record_repeats(self.place, self.answers, redactor)

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
            checks = self.checks.for_answer()
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
        if self.judging is None:
            return ()
        from pytest_chatprompt.runs.case_judge import ask_judge  # noqa: PLC0415

        self.answers[number] = judged = ask_judge(self.item, self.judging, live, self.place)
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
        counts = self._counts
        return self.required.outcome(counts["passed"], counts["failed"], counts["error"])

    def _first(self) -> LiveResponse | None:
        """The answer with the lowest number; `None` without any."""
        return self.answers[min(self.answers)] if self.answers else None

    def _finish(self) -> None:
        """Let the fixtures look at the first answer, and raise what is wrong with the case."""
        __tracebackhide__ = True
        first = self._first()
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
        self.item.stash[first_response_key] = first
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
        *others, last = (str(number) for number in range(1, self.repeat + 1) if number not in had)
        missing = f"{', '.join(others)} and {last}" if others else last
        head = f"{len(had)} of {self.repeat} answers are recorded, and with them the outcome is not certain"
        return ReplayError(f"{head}: nothing is recorded for {missing}\n\n{self.place.advice}\n\n{self._text()}")

    def _text(self) -> str:
        return describe_repeats(repeats_result(self.required, self.attempts))


def _add_usage(
    item: EvalItem, result: RepeatsResult, answers: Sequence[LiveResponse], errors: Iterable[ProviderError]
) -> None:
    """Put the usage of a repeated case, and its rate, into its user properties.

    Args:
        item: the case's item.
        result: how many answers pass.
        answers: those that it got.
        errors: those in place of answers.
    """
    sent: list[ProviderResponse | ProviderError] = [
        *(live.response for live in answers if not live.is_replayed),
        *errors,
    ]
    if sent:
        add_usage(item, item.provider_name, *sent)
    recordings = [live.recording for live in answers if live.recording is not None]
    if recordings:
        # All recordings are of one file.
        unused = sum(exchange.repeat > result.planned for exchange in recordings[0].others)
        add_replayed(item, recording_path(item.snapshot_folder, item.snapshot_stem), *recordings, unused=unused)
    low, high = result.interval
    rate = f"{result.passed}/{result.answers}"
    set_properties(item, {RATE_PROPERTY: rate, INTERVAL_PROPERTY: f"{low} to {high}"})
