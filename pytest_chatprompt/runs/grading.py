"""The answer to a case of a live or replayed run: get it, grade it, and note what it was for reports and later runs."""

from __future__ import annotations

import itertools
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import pytest

from pytest_chatprompt.errors import NOT_SENT, ChatPromptError, ProviderError, RequestCancelledError
from pytest_chatprompt.runs.item import ENDED_EARLY, RESPONSE_FIXTURE, EvalItem, notes_of
from pytest_chatprompt.runs.recordings import find_unusable, record_answers
from pytest_chatprompt.runs.usage_summary import add_judge_usage, add_replayed, add_usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_chatprompt.capture.secrets.redaction import Redactor
    from pytest_chatprompt.cases.case import EvalCase
    from pytest_chatprompt.grading.judge import JudgeVote
    from pytest_chatprompt.live.answers import CaseAnswers, LiveResponse
    from pytest_chatprompt.prompt.request import ProviderRequest
    from pytest_chatprompt.providers.response import ProviderResponse
    from pytest_chatprompt.runs.case_checks import CaseChecks

# pytest shows no frame of this module.
__tracebackhide__ = True
# Errors of requests that this run did not send, or broke off.
_UNSENT: Final = (*NOT_SENT, RequestCancelledError)


@dataclass(eq=False)
class Grading:
    """Grades the answer to a case: by its checks, then by the fixtures and the hook of the project.

    Args:
        answers: those that have been looked at so far, by number; at most one unless the case is sent several times.
        votes: what the judge said about each.
    """

    request: pytest.FixtureRequest
    case: EvalCase
    provider_request: ProviderRequest
    checks: CaseChecks | None
    sent: CaseAnswers
    redactor: Redactor
    answers: dict[int, LiveResponse] = field(default_factory=dict)
    votes: dict[int, tuple[JudgeVote, ...]] = field(default_factory=dict)
    _errors: dict[int, BaseException] = field(default_factory=dict)

    @property
    def item(self) -> EvalItem:
        """The item that runs."""
        item: EvalItem = self.request.node
        return item

    @property
    def sent_through(self) -> str:
        """What the table of usage says that its answers came from."""
        return self.item.provider_name

    def run(self) -> None:
        """Get the answer and grade it, raise one error for all that is wrong, and note what it was."""
        self.item.grading = self
        try:
            self.grade()
        except ENDED_EARLY:
            # Nobody skips a case that has failed already.
            self._raise_failures()
            raise
        except BaseException:
            notes_of(self.item).failed_checks = "\n\n".join(map(str, self.failures()))
            raise
        finally:
            # The answers of a run would add up: pytest keeps its items.
            self.item.grading = None
            self._note()
        self._raise_failures()

    def _raise_failures(self) -> None:
        failures = self.failures()
        if failures:
            notes_of(self.item).failed_checks = "\n\n".join(map(str, failures[1:]))
            raise failures[0] from None

    def failures(self) -> list[ChatPromptError]:
        """What is wrong with the answers, by all that has graded them so far."""
        failure = None if self.checks is None else self.checks.failure()
        return [] if failure is None else [failure]

    def grade(self) -> None:
        """Get the answer and grade it."""
        # In a second pass without fixtures, none of them asks for the answer.
        response = self.response() if self.item.finish else self.request.getfixturevalue(RESPONSE_FIXTURE)
        if self.checks is not None:
            self.checks.grade_answer(response, self.ask_judge(1, response))
        if response.is_awaited:
            self.set_up_fixtures()
            self.call_hook(response)

    def response(self) -> ProviderResponse:
        """The response that fixtures look at: the first one."""
        if not self.answers:
            with closing(self.sent.arriving(lambda: bool(self.answers))) as numbers:
                response = self.get(next(numbers)).response
            # It is paid for, whatever becomes of this run.
            record_answers(self.sent, self.redactor)
            unusable = find_unusable(response) if response.is_awaited else None
            if unusable is not None:
                raise unusable
        return self.answers[min(self.answers)].response

    def get(self, number: int) -> LiveResponse:
        """Get an answer that has come."""
        try:
            self.answers[number] = self.sent.answer(number)
        except BaseException as error:
            self._errors[number] = error
            raise
        return self.answers[number]

    def _sent_in_vain(self, number: int) -> Sequence[ProviderResponse | ProviderError | None]:
        """What became of the requests for an answer that did not come."""
        from pytest_chatprompt.capture.recording.model_answers import model_answers  # noqa: PLC0415 - most answers come

        error, seen = self._errors[number], self.sent.seen.get(number)
        answers = [] if seen is None else [each.response for each in model_answers(seen) if not each.is_replayed]
        return answers or ([error] if isinstance(error, ProviderError) and not isinstance(error, _UNSENT) else [])

    def ask_judge(self, number: int, response: ProviderResponse) -> tuple[JudgeVote, ...]:
        """What the judge says about an answer, or about what the project has put in its place."""
        live = self.answers.get(number)
        self.votes[number] = self.sent.votes_on(number, response, None if live is None else live.recording)
        return self.votes[number]

    def set_up_fixtures(self) -> None:
        """Set up the project's fixtures that use the answer."""
        for name in self.item.response_fixtures:
            self.request.getfixturevalue(name)

    def call_hook(self, response: ProviderResponse) -> None:
        """Let the project look at an answer."""
        hook = self.item.ihook.pytest_chatprompt_response
        hook(case=self.case, request=self.provider_request, response=response)

    def _note(self) -> None:
        """Keep the answers so far, and what the judge said about them, for reports and for later runs."""
        item, case, notes, answers = self.item, self.sent.case, notes_of(self.item), list(self.answers.values())
        notes.exchange = case.compared
        first = min(self.answers, default=1)
        notes.answer, notes.votes = self.answers.get(first), self.votes.get(first, ())
        sent = [live for live in answers if not live.is_replayed]
        failed = [outcomes for outcomes in map(self._sent_in_vain, self._errors) if outcomes]
        requests = sum(live.requests for live in sent) + sum(map(len, failed))
        if requests:
            is_one_each = requests == len(sent) + len(failed)
            outcomes = [*(live.response for live in sent), *itertools.chain(*failed)]
            add_usage(item, self.sent_through, *outcomes, requests=0 if is_one_each else requests)
        asked = [number for number, error in self._errors.items() if not isinstance(error, _UNSENT)]
        recordings = [seen for seen in map(self.sent.seen.get, (*self.answers, *asked)) if seen]
        if recordings and (case.place.mode.replays or case.place.mode.records):
            # All recordings are of one file.
            unused = sum(exchange.repeat > case.repeat for exchange in recordings[0].others)
            add_replayed(item, case.place.path, *recordings, unused=unused)
        add_judge_usage(item, [vote for votes in self.votes.values() for vote in votes])
        record_answers(self.sent, self.redactor)
