"""The checks of one eval item, and its judge: parsed, graded, and reported together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import pytest

from pytest_chatprompt.capture.sent_request import Exchange
from pytest_chatprompt.cases.case import EvalCase, case_in_test
from pytest_chatprompt.cases.origin import find_running_test
from pytest_chatprompt.errors import CheckError, CheckFailedError, EvalFileWarning, PayloadWarning
from pytest_chatprompt.grading.check import SentData, sent_data
from pytest_chatprompt.grading.grade import GradedCheck, describe_failures, grade
from pytest_chatprompt.grading.judge import JudgePrompt, JudgeVote, LlmRubric, PromptFile
from pytest_chatprompt.grading.table import CaseCheck, parse_checks
from pytest_chatprompt.options import options_key
from pytest_chatprompt.providers.response import Provider, ProviderResponse
from pytest_chatprompt.runs.item import ENDED_EARLY, EvalItem, notes_of
from pytest_chatprompt.runs.run_state import SharedByRun
from pytest_chatprompt.snapshots.shown_data import measure, snapshot_data
from pytest_chatprompt.text.files import NamedFileError
from pytest_chatprompt.wording import count

if TYPE_CHECKING:
    from pytest_chatprompt.capture.secrets.redaction import Redactor
    from pytest_chatprompt.live.judging import Judging
    from pytest_chatprompt.prompt.conversion import SentFiles
    from pytest_chatprompt.prompt.request import ProviderRequest
    from pytest_chatprompt.results.records import CheckResult

# pytest shows no frame of this module.
__tracebackhide__ = True


@dataclass(slots=True)
class CaseChecks:
    """Grades the checks of an eval item, and raises one error for all that fail."""

    item: EvalItem
    case: EvalCase
    checks: tuple[CaseCheck, ...]
    graded: list[GradedCheck] = field(default_factory=list)

    @classmethod
    def parse(cls, item: EvalItem, case: EvalCase) -> CaseChecks:
        """Parse the checks of a case."""
        if not case.has_origin:
            # It may have no checks, and is refused here if it does.
            case = case_in_test(case, find_running_test())
        checks = cls(item, case, parse_checks(case, SharedByRun.of(item.config).reader))
        notes_of(item).checks = checks
        return checks

    def grade_request(self, exchange: Exchange, files: Callable[[], SentFiles]) -> None:
        """Grade the checks that look at what is sent; `files` are those that stand in it as text."""
        if any(check.of == "request" for check in self.checks):
            data = snapshot_data(exchange, self.item.provider_name, self.item.config.rootpath)
            self._grade(sent_data(data, lambda: measure(exchange.sent, data, files())))

    def show_judging(
        self, request: pytest.FixtureRequest, provider_request: ProviderRequest, redactor: Redactor
    ) -> Judging | None:
        """What the judge will be asked about the answers; `None` if no check asks it. Nothing is sent."""
        rubrics = [each.check for each in self.checks if isinstance(each.check, LlmRubric)]
        if not rubrics:
            return None
        # Most runs have no judge.
        from pytest_chatprompt.capture.eval_api import EvalAPI  # noqa: PLC0415
        from pytest_chatprompt.live.judging import Judging, preview_question  # noqa: PLC0415
        from pytest_chatprompt.runs.live_run import show_request  # noqa: PLC0415

        config = request.config
        prompt = _project_prompt(config)
        questions = tuple(each.question(self.case, provider_request.question, prompt) for each in rubrics)
        judge: Provider = request.getfixturevalue("eval_judge")
        # A stand-in of its own: the replies that a test has queued are for the case.
        show = partial(show_request, config, judge, api=EvalAPI(redactor))
        judging = Judging(judge, questions, tuple(preview_question(each, show) for each in questions))
        for finding in dict.fromkeys(finding for shown in judging.previews for finding in shown.response.findings):
            text = f"the judge: {finding.text} [{finding.rule}, {finding.source}]"
            self.item.warn(PayloadWarning(text, rule=finding.rule))
        return judging

    def grade_answer(self, response: ProviderResponse, votes: Iterable[JudgeVote] = ()) -> None:
        """Grade the checks that look at the answer; without an answer, warn that nothing was graded.

        `votes` are what the judge said about it, to one check that asks it after the other.
        """
        number = sum(check.of == "answer" for check in self.checks)
        if response.is_awaited:
            self._grade(response, votes)
        elif number:
            checks = count(number, "check was", "checks were")
            text = f"{checks} not graded: {self.item.provider_name} does not wait for an answer"
            self.item.warn(EvalFileWarning(text))

    def _grade(self, subject: ProviderResponse | SentData, votes: Iterable[JudgeVote] = ()) -> None:
        of, votes = "request" if isinstance(subject, SentData) else "answer", iter(votes)
        for check in (check for check in self.checks if check.of == of):
            asked = check.check.votes if isinstance(check.check, LlmRubric) else 0
            try:
                graded = grade(check, self.case, subject, tuple(islice(votes, asked)))
            except ENDED_EARLY as error:
                # Ending the test here would hide the results of the other checks.
                graded = GradedCheck(check, subject, None, f"a check cannot skip a test: {error}")
            except pytest.fail.Exception as error:
                problem = f"a check fails by returning False or by an assertion, not by pytest.fail: {error}"
                graded = GradedCheck(check, subject, None, problem)
            self.graded.append(graded)

    def results(self) -> tuple[CheckResult, ...]:
        """The records of what the checks said so far."""
        from pytest_chatprompt.results.records import check_result  # noqa: PLC0415 - most cases pass, and none asks

        with_place = self.item.config.stash[options_key].keeps_results
        return tuple(check_result(graded, self.case, with_place=with_place) for graded in self.graded)

    def failure(self) -> CheckFailedError | CheckError | None:
        """The error for the checks that do not pass; `None` if all do."""
        if all(graded.passed for graded in self.graded):
            return None
        is_broken = any(graded.verdict is None for graded in self.graded)
        return (CheckError if is_broken else CheckFailedError)(describe_failures(self.graded, self.case))


def _project_prompt(config: pytest.Config) -> JudgePrompt | None:
    """The project's prompt of the judge; `None` if it has none."""
    name = config.stash[options_key].judge_template
    if name is None:
        return None
    reader = SharedByRun.of(config).reader
    try:
        prompt: JudgePrompt = reader.read_definition(name, config.rootpath, "template", PromptFile)
    except NamedFileError as error:
        raise CheckError(f"chatprompt_judge_template: {error}") from error
    return prompt
