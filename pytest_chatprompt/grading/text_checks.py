"""Checks of the text of an answer, by other texts.

In: what the author is looking for. Out: a verdict with the place in the text. `table` lists them.
The text is taken as it is: nothing is trimmed and nothing normalized.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Annotated, Any, ClassVar, Protocol

from pydantic import PlainValidator

from pytest_chatprompt.cases.case import EvalCase
from pytest_chatprompt.grading.check import Check, Verdict
from pytest_chatprompt.text.json_data import error_at, invalid, unexpected


class HasText(Protocol):
    """A `ProviderResponse`, or a `SentData`."""

    @property
    def text(self) -> str:
        """The text that is looked at."""
        ...


def _read_text(value: Any) -> str:
    if not isinstance(value, str):
        raise unexpected("a text")
    if not value:
        raise invalid("'value' is empty, and every text contains it")
    return value


def _read_texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not value:
        raise unexpected("a list of texts, at least one")
    for index, text in enumerate(value):
        if not isinstance(text, str) or not text:
            raise error_at((index,), unexpected("a text that is not empty"))
    return tuple(value)


Text = Annotated[str, PlainValidator(_read_text)]
Texts = Annotated[tuple[str, ...], PlainValidator(_read_texts)]


class TextCheck(Check):
    """Base of the checks in this module."""

    can_grade_request: ClassVar[bool] = True


class Equals(TextCheck):
    """Passes where the text is this one, to its last character."""

    value: str

    def grade(self, case: EvalCase, response: HasText) -> Verdict:  # noqa: ARG002
        """See `Check.grade`."""
        if response.text == self.value:
            return Verdict(True, "equals it")
        pairs = zip(response.text, self.value, strict=False)
        shorter = min(len(response.text), len(self.value))
        offset = next((index for index, (one, other) in enumerate(pairs) if one != other), shorter)
        return Verdict(False, f"differs from it at character {offset + 1}", offset)


class Contains(TextCheck):
    """Passes where the text contains this one."""

    value: Text

    def grade(self, case: EvalCase, response: HasText) -> Verdict:  # noqa: ARG002
        """See `Check.grade`."""
        return _find(response.text, self.value)


class IContains(TextCheck):
    """Passes where the text contains this one, in capitals or not."""

    value: Text

    def grade(self, case: EvalCase, response: HasText) -> Verdict:  # noqa: ARG002
        """See `Check.grade`."""
        return _find(_Folded(response.text), self.value.casefold())


class ContainsAny(TextCheck):
    """Passes where the text contains at least one of these."""

    value: Texts

    def grade(self, case: EvalCase, response: HasText) -> Verdict:  # noqa: ARG002
        """See `Check.grade`."""
        return _find_any(response.text, {text: text for text in self.value})


class IContainsAny(TextCheck):
    """Passes where the text contains at least one of these, in capitals or not."""

    value: Texts

    def grade(self, case: EvalCase, response: HasText) -> Verdict:  # noqa: ARG002
        """See `Check.grade`."""
        return _find_any(_Folded(response.text), {text: text.casefold() for text in self.value})


class ContainsAll(TextCheck):
    """Passes where the text contains each of these."""

    value: Texts

    def grade(self, case: EvalCase, response: HasText) -> Verdict:  # noqa: ARG002
        """See `Check.grade`."""
        return _find_all(response.text, {text: text for text in self.value})


class IContainsAll(TextCheck):
    """Passes where the text contains each of these, in capitals or not."""

    value: Texts

    def grade(self, case: EvalCase, response: HasText) -> Verdict:  # noqa: ARG002
        """See `Check.grade`."""
        return _find_all(response.text.casefold(), {text: text.casefold() for text in self.value})


class StartsWith(TextCheck):
    """Passes where the text begins with this one."""

    value: Text

    def grade(self, case: EvalCase, response: HasText) -> Verdict:  # noqa: ARG002
        """See `Check.grade`."""
        if response.text.startswith(self.value):
            return Verdict(True, "starts with it")
        return Verdict(False, "does not start with it")


class _Folded:
    """A text in which `find` makes no difference between capitals and other letters.

    Args:
        text: as it is.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._folded = text.casefold()

    def find(self, value: str) -> int:
        """The offset of `value`, which is folded, in the text as it is; -1 if it is not there."""
        offset = self._folded.find(value)
        if offset < 0 or len(self._folded) == len(self._text):
            return offset
        # Some letters become two or three: the German sharp s is `ss`.
        lengths = accumulate(len(character.casefold()) for character in self._text)
        return next(index for index, end in enumerate(lengths) if end > offset)


def _find(text: str | _Folded, value: str) -> Verdict:
    offset = text.find(value)
    if offset < 0:
        return Verdict(False, "does not contain it")
    return Verdict(True, f"contains it at character {offset + 1}", offset)


def _find_any(text: str | _Folded, values: dict[str, str]) -> Verdict:
    """Look for several texts; `values` has what to look for by what the author wrote."""
    for written, value in values.items():
        offset = text.find(value)
        if offset >= 0:
            return Verdict(True, f"contains {written!r} at character {offset + 1}", offset)
    return Verdict(False, "contains none of them")


def _find_all(text: str, values: dict[str, str]) -> Verdict:
    missing = [written for written, value in values.items() if value not in text]
    if missing:
        return Verdict(False, f"does not contain {', '.join(map(repr, missing))}")
    return Verdict(True, "contains all of them")
