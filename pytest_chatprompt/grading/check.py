"""`Check`: what a type of check is, for the types of this package and for those of others.

A subclass has a field for each key that the author writes, and `grade`, which looks at an answer and gives a `Verdict`.
`table` lists the subclasses; `parsing` makes the checks of a case from them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from pydantic import BaseModel

from pytest_chatprompt.cases.case import EvalCase
from pytest_chatprompt.cases.fields import StrictModel

# Called with a path as its author wrote it, the key that names it, and a model with this key.
DataReader = Callable[[str, str, type[BaseModel]], Any]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a check passes, and the fact that decides it.

    Args:
        passed: whether the check passes.
        reason: a fact that completes "the answer ...", such as `contains it at character 12`; it is shown where the
            check fails, and so it must also be true where the opposite of the check fails.
        offset: the 0-based index of the character of the text that the fact is about; `None` for none.
    """

    passed: bool
    reason: str
    offset: int | None = None


class Check(StrictModel):
    """Base of all checks: a frozen model with a field for each key but `type` and `of`.

    The models convert nothing and know all of their keys, so that a mistake is an error at its line.

    Attributes:
        can_grade_request: whether authors may write `of: request`; `grade` then gets a `SentData` too.
    """

    can_grade_request: ClassVar[bool] = False

    def read_files(self, read: DataReader) -> Self:
        """The check with its files read, if it names any.

        Args:
            read: reads a JSON or YAML file that is looked for as attached files are.
        """
        del read
        return self

    def find_mistake(self, case: EvalCase) -> str:
        """What is wrong with the check in its case; `""` for nothing.

        Args:
            case: its case, with its variables filled in.
        """
        del case
        return ""

    def grade(self, case: EvalCase, response: Any) -> Verdict:
        """Decide whether an answer passes.

        Args:
            case: the case, with its variables filled in.
            response: the `ProviderResponse`; for `of: request` the `SentData`.

        Raises:
            CheckError: the answer lacks what the check needs.
        """
        raise NotImplementedError
