"""`CheckResult`: what one check of a case said, for every report to read.

A frozen record, which is JSON within a `CaseResult`. Pure; `graded_checks` makes it, `reports` show it.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from pytest_chatprompt.cases.shared_keys import EvalCheck
from pytest_chatprompt.grading.check_description import NEGATION, describe_check


class CheckResult(BaseModel):
    """What one check said.

    Args:
        type: its type, without `not_`.
        is_negated: whether `not_` stands before its type.
        of: what it looked at.
        value: its `value`, as its author wrote it, variables filled in; `None` if it has none.
        arguments: its other keys, but `type` and `of`.
        passed: whether it passes; `None` if it could not be graded.
        reason: a fact that completes "the answer ...", or "the request ..."; if it could not be graded, why not.
        path: the eval file, relative to pytest's root folder.
        line: where it stands there, 1-based; 0 if it was not looked up, as for a check that passes in a run
            without reports.
        column: likewise.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: str
    is_negated: bool = False
    of: Literal["answer", "request"] = "answer"
    value: Any = None
    arguments: dict[str, Any] = {}
    passed: bool | None
    reason: str
    path: str = ""
    line: int = 0
    column: int = 0

    @property
    def name(self) -> str:
        """Its type, with `not_` before it where it is negated."""
        return f"{NEGATION}{self.type}" if self.is_negated else self.type

    @property
    def description(self) -> str:
        """The check in a few words: `not_icontains 'as an AI'`."""
        value = {} if self.value is None else {"value": self.value}
        of = {} if self.of == "answer" else {"of": self.of}
        return describe_check(EvalCheck(self.name, {**value, **self.arguments, **of}))

    @property
    def place(self) -> str:
        """Where it stands: `evals/a.eval.yaml:4:9`; `""` if it was not looked up."""
        return f"{self.path}:{self.line}:{self.column}" if self.line else ""

    @property
    def verdict(self) -> str:
        """What it said, as a word."""
        return "not graded" if self.passed is None else "passed" if self.passed else "failed"
