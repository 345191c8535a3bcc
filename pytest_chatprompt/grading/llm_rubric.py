"""`llm_rubric`: whether a model, the judge, says that an answer does what its author wants.

In: what a good answer does, in words. Out: what the judge is asked, and the verdict of its votes. It sends nothing:
`live.judging` asks the judge, before the check is graded. `table` lists it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Self

from pydantic import PlainValidator

from pytest_chatprompt.cases.case import EvalCase
from pytest_chatprompt.cases.fields import check_data_path
from pytest_chatprompt.errors import CheckError
from pytest_chatprompt.grading.check import Check, DataReader, Verdict
from pytest_chatprompt.grading.judge_prompt import JudgePrompt, JudgeQuestion, PromptFile, judge_question
from pytest_chatprompt.providers.response import ProviderResponse
from pytest_chatprompt.text.json_data import checked, unexpected


def _read_path(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise unexpected("the path of a .json, .yaml or .yml file")
    return None if value is None else check_data_path(value, "a list of messages")


def _is_odd(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0 and value % 2 == 1


def _is_text(value: Any) -> bool:
    return value is None or (isinstance(value, str) and bool(value.strip()))


class LlmRubric(Check):
    """Passes where the judge says that the answer does what `value` says."""

    value: Annotated[str | None, checked("a text that says what a good answer does", _is_text)] = None
    votes: Annotated[int, checked("an odd whole number, 1 or more, so that there is a majority", _is_odd)] = 1
    template: Annotated[str | JudgePrompt | None, PlainValidator(_read_path)] = None

    def read_files(self, read: DataReader) -> Self:
        """See `Check.read_files`."""
        if self.template is None:
            return self
        return self.model_copy(update={"template": read(str(self.template), "template", PromptFile)})

    def find_mistake(self, case: EvalCase) -> str:
        """See `Check.find_mistake`."""
        if self.value is None and not (case.outcome or "").strip():
            return "'llm_rubric' needs a 'value', or an 'outcome' of its case, that says what a good answer does"
        return ""

    def question(self, case: EvalCase, transcript: str, prompt: JudgePrompt | None) -> JudgeQuestion:
        """What the judge is asked.

        Args:
            case: the case, with its variables filled in.
            transcript: the conversation.
            prompt: that of the project, which counts if the check has none; `None` for that of this package.
        """
        own = self.template if isinstance(self.template, tuple) else prompt
        rubric = self.value if self.value is not None else case.outcome
        return judge_question(case, rubric or "", transcript, own, self.votes)

    def grade(self, case: EvalCase, response: ProviderResponse) -> Verdict:
        """No verdict: that comes from the votes of a judge, by `judge_verdict.count_votes`."""
        del case, response
        raise CheckError("no judge was asked")


def judge_questions(
    checks: Iterable[Check], case: EvalCase, transcript: str, prompt: JudgePrompt | None
) -> tuple[JudgeQuestion, ...]:
    """What a judge is asked about the answers to a case: one question for each check that asks it, in their order.

    Args:
        checks: of the case.
        case: the case, with its variables filled in.
        transcript: the conversation.
        prompt: that of the project; `None` if it has none of its own.
    """
    return tuple(check.question(case, transcript, prompt) for check in checks if isinstance(check, LlmRubric))
