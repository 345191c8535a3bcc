"""`Check`: what a type of check is, for the types of this package and for those of others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Final, Self

from pydantic import BaseModel

from pytest_chatprompt.apis.conversation import PromptPart
from pytest_chatprompt.cases.case import EvalCase, EvalCheck
from pytest_chatprompt.cases.fields import StrictModel
from pytest_chatprompt.text.json_data import thaw

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
        can_grade_answer: whether they may leave it out.
    """

    can_grade_request: ClassVar[bool] = False
    can_grade_answer: ClassVar[bool] = True

    def read_files(self, read: DataReader) -> Self:  # noqa: ARG002
        """The check with its files read, if it names any; `read` looks for them as for attached files."""
        return self

    def find_mistake(self, case: EvalCase) -> str:  # noqa: ARG002
        """What is wrong with the check in its case, whose variables are filled in; `""` for nothing."""
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


# Before a type it makes its opposite.
NEGATION: Final = "not_"


def describe_check(check: EvalCheck) -> str:
    """A check in a few words: `icontains 'off-by-one'`."""
    arguments = {key: cut(_shown(value), 80) for key, value in check.arguments.items()}
    value = [arguments.pop("value")] if "value" in arguments else []
    return " ".join([check.type, *value, *map("=".join, arguments.items())])


def verdict_word(passed: bool | None) -> str:
    """What a check said, as a word."""
    return "not graded" if passed is None else "passed" if passed else "failed"


def verdict_sentence(passed: bool | None, description: str, of: str, reason: str) -> str:
    """What a check said: `failed: icontains '14 days': the answer does not contain it`."""
    noun = "" if passed is None else f"the {of} "
    return f"{verdict_word(passed)}: {description}: {noun}{reason}"


def _shown(value: Any) -> str:
    """A value of the file; a regular expression would be hard to read with its backslashes doubled."""
    is_plain = isinstance(value, str) and value.isprintable() and "'" not in value
    return f"'{value}'" if is_plain else repr(thaw(value))


def cut(text: str, longest: int) -> str:
    """A text, or the beginning of one that is too long."""
    return text if len(text) <= longest else f"{text[:longest]}…"


# What stands in a snapshot beside the data that is sent.
_NOT_SENT: Final = frozenset({"provider", "endpoint", "headers", "question", "adjustments", "judge"})


@dataclass(frozen=True)
class SentData:
    """What a case sends: the data, and all of its texts as one.

    Args:
        data: the body of the request, as in the snapshot, but not masked; a list of the bodies where there are several;
            the chat prompt of a provider that makes no request; for an agent a mapping of what it is given.
        measure: gives the parts that fill the window of the model, of each request, the longest first.
    """

    data: Any
    measure: Callable[[], Sequence[Sequence[PromptPart]]] = field(default=tuple, repr=False, compare=False)

    @cached_property
    def text(self) -> str:
        """All texts in the data in order, each on lines of its own, except those of the keys `role` and `type`."""
        return "\n".join(_texts(self.data))


def sent_data(snapshot: Mapping[str, Any], measure: Callable[[], Sequence[Sequence[PromptPart]]] = tuple) -> SentData:
    """What is sent, taken from what its snapshot shows before masks are applied."""
    sent = {key: value for key, value in snapshot.items() if key not in _NOT_SENT}
    if "requests" in sent:
        sent["requests"] = [request["request"] for request in sent["requests"]]
    return SentData(next(iter(sent.values())) if len(sent) == 1 else sent, measure)


def _texts(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping):
        for key, value in data.items():
            # These are words of the API in every API.
            if key not in ("role", "type", "endpoint") or not isinstance(value, str):
                yield from _texts(value)
    elif isinstance(data, list | tuple):
        for item in data:
            yield from _texts(item)
