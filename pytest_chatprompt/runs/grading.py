"""The answer to a case of a live or replayed run: get it, grade it, and note what it was for reports and later runs."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import pytest

from pytest_chatprompt.errors import BudgetError, ProviderError, RequestCancelledError
from pytest_chatprompt.live.answers import LiveResponse
from pytest_chatprompt.runs.item import RESPONSE_FIXTURE, EvalItem, notes_of
from pytest_chatprompt.runs.recordings import find_unusable, record_answers
from pytest_chatprompt.runs.usage_summary import add_judge_usage, add_replayed, add_usage

if TYPE_CHECKING:
    from pytest_chatprompt.capture.eval_api import EvalAPI
    from pytest_chatprompt.cases.case import EvalCase
    from pytest_chatprompt.live.answers import LiveCase
    from pytest_chatprompt.live.judging import Votes
    from pytest_chatprompt.prompt.request import ProviderRequest
    from pytest_chatprompt.providers.response import ProviderResponse
    from pytest_chatprompt.runs.case_checks import CaseChecks
    from pytest_chatprompt.runs.live_run import LiveRun

# Gives an answer, or raises the error of the provider in place of one.
GetAnswer = Callable[[], LiveResponse]


@dataclass(eq=False)
class Grading:
    """Grades the answer to a case: by its checks, then by the fixtures and the hook of the project.

    Args:
        live_case: what is sent, and how often.
        answers: those that have come so far, by number; at most one unless the case is sent several times.
        votes: what the judge said about each.
    """

    request: pytest.FixtureRequest
    case: EvalCase
    provider_request: ProviderRequest
    checks: CaseChecks | None
    live_case: LiveCase
    live_run: LiveRun | None
    api: EvalAPI
    answers: dict[int, LiveResponse] = field(default_factory=dict)
    votes: dict[int, Votes] = field(default_factory=dict)
    _errors: list[ProviderError] = field(default_factory=list)

    @property
    def item(self) -> EvalItem:
        """The item that runs."""
        item: EvalItem = self.request.node
        return item

    def grade(self) -> None:
        """Get the answer and grade it."""
        __tracebackhide__ = True
        response: ProviderResponse
        # In a second pass without fixtures, none of them asks for the answer.
        response = self.response() if self.item.finish else self.request.getfixturevalue(RESPONSE_FIXTURE)
        live = self.answers.get(1)
        if live is None or live.response is not response:
            # The project overrides eval_response: what the judge said before is about another answer.
            live = LiveResponse(self.live_case.compared, response, None if live is None else live.recording)
        votes = self.ask_judge(1, live)
        if self.checks is not None:
            self.checks.grade_answer(response, votes)
        if response.is_awaited:
            self.set_up_fixtures()
            self.call_hook(response)

    def response(self) -> ProviderResponse:
        """The response that fixtures look at: the first one."""
        __tracebackhide__ = True
        if not self.answers:
            with closing(self.arriving()) as arriving:
                response = self.get(*next(arriving)).response
            self.record()
            unusable = find_unusable(response) if response.is_awaited else None
            if unusable is not None:
                raise unusable
        return self.answers[min(self.answers)].response

    def arriving(self) -> Generator[tuple[int, GetAnswer], None, None]:
        """The answers as they arrive, each with its number; those that are recorded come first if the run replays."""
        case, live_run = self.live_case, self.live_run
        sends = None if live_run is None else live_run.answers_of(self.item, case.compared)
        if live_run is not None and sends is not None:
            try:
                for number, _ in sends.arriving(self.is_certain, live_run.wait_for_first):
                    yield number, partial(live_run.judged, sends, number)
            finally:
                sends.abandon()
            return
        recorded = case.recorded_numbers() if case.repeat > 1 else []
        missing = [number for number in range(1, case.repeat + 1) if number not in recorded]
        if live_run is None and recorded:
            # Without any, the error is that of a case that is sent once.
            missing = []
        for number in (*recorded, *missing):
            if number in missing and self.is_certain():
                return
            router = None if live_run is None else live_run.router_here()
            yield number, partial(case.send, router, number, self.api)

    def is_certain(self) -> bool:
        """Whether nothing more needs to be sent."""
        return bool(self.answers)

    def get(self, number: int, get: GetAnswer) -> LiveResponse:
        """Get an answer."""
        __tracebackhide__ = True
        try:
            self.answers[number] = get()
        except (BudgetError, RequestCancelledError):
            # This run broke off the request, or did not send it: that says nothing about the API.
            raise
        except ProviderError as error:
            self._errors.append(error)
            raise
        return self.answers[number]

    def ask_judge(self, number: int, live: LiveResponse) -> Votes:
        """What the judge says about an answer."""
        __tracebackhide__ = True
        if self.live_case.judging is None:
            return ()
        from pytest_chatprompt.runs.case_checks import ask_judge  # noqa: PLC0415 - most cases have no judge

        self.votes[number] = ask_judge(self.item, self.live_case.judging, live, self.live_case.place).votes
        return self.votes[number]

    def set_up_fixtures(self) -> None:
        """Set up the project's fixtures that use the answer."""
        __tracebackhide__ = True
        for name in self.item.response_fixtures:
            self.request.getfixturevalue(name)

    def call_hook(self, response: ProviderResponse) -> None:
        """Let the project look at an answer."""
        __tracebackhide__ = True
        hook = self.item.ihook.pytest_chatprompt_response
        hook(case=self.case, request=self.provider_request, response=response)

    def note(self) -> None:
        """Keep the answers so far, and what the judge said about them, for reports and for later runs."""
        item, case, notes, answers = self.item, self.live_case, notes_of(self.item), list(self.answers.values())
        notes.exchange = case.compared
        first = min(self.answers, default=1)
        notes.votes = self.votes.get(first, ())
        notes.answer = self.answers.get(first)
        sent = [live for live in answers if not live.is_replayed]
        if sent or self._errors:
            several = any(live.requests > 1 for live in sent)
            requests = sum(live.requests for live in sent) + len(self._errors) if several else 0
            add_usage(item, item.provider_name, *(live.response for live in sent), *self._errors, requests=requests)
        recordings = [live.recording for live in answers if live.recording is not None]
        if recordings:
            # All recordings are of one file.
            unused = sum(exchange.repeat > case.repeat for exchange in recordings[0].others)
            add_replayed(item, case.place.path, *recordings, unused=unused)
        add_judge_usage(item, tuple(votes for each in self.votes.values() for votes in each))
        self.record()

    def record(self) -> None:
        """Keep the answers so far for later runs: they are paid for, whatever becomes of this one."""
        record_answers(self.live_case, self.answers, self.api.redactor)
