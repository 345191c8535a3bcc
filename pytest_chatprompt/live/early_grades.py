"""`EarlyGrades`: what the graders said that looked at an answer in a thread, before pytest runs its case.

A grader is a function that looks at an answer: a check, a fixture with `eval_response`, the hook. `prefetch` carries
what each of them did with the answer, `items` delivers it where pytest would have called the grader.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_chatprompt.cases.case import EvalCase
from pytest_chatprompt.live.thread_output import KeptOutput
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.response import ProviderResponse


class GraderOutcome(NamedTuple):
    """What one grader did.

    Args:
        value: what it returned.
        error: what it raised; `None` if it returned.
        output: what it has put out meanwhile.
    """

    value: Any
    error: BaseException | None
    output: KeptOutput

    def deliver(self) -> Any:
        """Put out what the grader has put out, and return its value.

        Raises:
            BaseException: what the grader has raised, or a warning of it that is an error.
        """
        __tracebackhide__ = True
        self.output.emit()
        if self.error is not None:
            raise self.error
        return self.value


class EarlyGrades(NamedTuple):
    """What the graders of a case said about one answer.

    Args:
        case: the case that they were given.
        request: what it sends.
        response: the answer.
        checks: what the checks of the answer did that ran, by their place among these.
        fixtures: what the fixtures returned that ran, by their definitions.
        hook: what the hook did; `None` if it has not run.
    """

    case: EvalCase
    request: ProviderRequest
    response: ProviderResponse
    checks: Mapping[int, GraderOutcome]
    fixtures: Mapping[Any, GraderOutcome]
    hook: GraderOutcome | None


# Runs jobs, in several threads where they are free, and waits for all of them.
RunJobs = Callable[[Sequence[Callable[[], Any]]], list[Any]]
# Called with a case, what it sends, the answer, and what runs the graders; `None` if none of them ran.
GradeAnswer = Callable[[EvalCase, ProviderRequest, ProviderResponse, RunJobs], EarlyGrades | None]
