"""Answers by case: the results of a live or replayed run, with the providers of one case together.

The results of a run come in; groups of those with an answer come out, those that need a look first. Pure;
`markdown_answers` shows them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pytest_chatprompt.results.case_result import CaseResult, ResponseResult


@dataclass(frozen=True, slots=True)
class AnsweredCase:
    """The answers to one case.

    Args:
        name: the file and the id of the case.
        answers: each result with its answer, in the order of the run; at least one.
    """

    name: str
    answers: tuple[tuple[CaseResult, ResponseResult], ...]

    @property
    def rank(self) -> int:
        """0 if the providers disagree, 1 if no answer passed, 2 if all did."""
        outcomes = {result.outcome == "passed" for result, _ in self.answers}
        return 0 if len(outcomes) > 1 else 1 if False in outcomes else 2


def answers_by_case(results: Iterable[CaseResult]) -> list[AnsweredCase]:
    """The answered cases: first those that only some providers pass, then those that none passes, then the others."""
    groups: dict[str, list[tuple[CaseResult, ResponseResult]]] = {}
    for result in results:
        if result.response is not None:
            name = result.node_id if result.case_id is None else f"{result.path}::{result.case_id}"
            groups.setdefault(name, []).append((result, result.response))
    cases = [AnsweredCase(name, tuple(answers)) for name, answers in groups.items()]
    return sorted(cases, key=lambda case: case.rank)
