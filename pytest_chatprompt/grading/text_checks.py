"""Checks of the text of an answer: by other texts, a regular expression, or a JSON Schema.

The text is taken as it is: nothing is trimmed and nothing normalized.
"""

from __future__ import annotations

import json
import re
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from itertools import accumulate
from typing import Annotated, Any, ClassVar, Final, NoReturn, Protocol, Self

from pydantic import BaseModel, ConfigDict, PlainValidator

from pytest_chatprompt.cases.case import EvalCase
from pytest_chatprompt.cases.fields import check_data_path
from pytest_chatprompt.errors import CheckError
from pytest_chatprompt.grading.check import Check, DataReader, SentData, Verdict, cut
from pytest_chatprompt.text.json_data import check_json, error_at, invalid, thaw, unexpected

# Of computing time of this process, however busy the machine is.
MAX_SECONDS: Final = 10.0


@contextmanager
def limited_time(what: str) -> Iterator[None]:
    """Stop the block after a limit of CPU time, where the thread and the system allow it."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: Any) -> NoReturn:
        raise CheckError(
            f"{what} takes more than {MAX_SECONDS:g} seconds on this text; write it so that it backtracks less"
        )

    # The timer of CPU time: timeouts of other plugins are not touched, since they use the clock.
    previous = signal.signal(signal.SIGVTALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, MAX_SECONDS)
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous)


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


def _find_folded(text: str, value: str) -> int:
    """Find a value in a text, in capitals or not; -1 if it is not there."""
    folded = text.casefold()
    offset = folded.find(value.casefold())
    if offset < 0 or len(folded) == len(text):
        return offset
    # Some letters become two or three: the German sharp s is `ss`.
    ends = accumulate(len(character.casefold()) for character in text)
    return next(index for index, end in enumerate(ends) if end > offset)


class TextCheck(Check):
    """Base of the checks in this module."""

    can_grade_request: ClassVar[bool] = True
    ignores_case: ClassVar[bool] = False

    def find(self, text: str, value: str) -> int:
        """The offset of a value in a text; -1 if it is not there."""
        return _find_folded(text, value) if self.ignores_case else text.find(value)


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
        offset = self.find(response.text, self.value)
        if offset < 0:
            return Verdict(False, "does not contain it")
        return Verdict(True, f"contains it at character {offset + 1}", offset)


class ContainsAny(TextCheck):
    """Passes where the text contains at least one of these."""

    value: Texts

    def grade(self, case: EvalCase, response: HasText) -> Verdict:  # noqa: ARG002
        """See `Check.grade`."""
        for text in self.value:
            offset = self.find(response.text, text)
            if offset >= 0:
                return Verdict(True, f"contains {text!r} at character {offset + 1}", offset)
        return Verdict(False, "contains none of them")


class ContainsAll(TextCheck):
    """Passes where the text contains each of these."""

    value: Texts

    def grade(self, case: EvalCase, response: HasText) -> Verdict:  # noqa: ARG002
        """See `Check.grade`."""
        missing = [repr(text) for text in self.value if self.find(response.text, text) < 0]
        return Verdict(not missing, f"does not contain {', '.join(missing)}" if missing else "contains all of them")


class IContains(Contains):
    """Passes where the text contains this one, in capitals or not."""

    ignores_case: ClassVar[bool] = True


class IContainsAny(ContainsAny):
    """Passes where the text contains at least one of these, in capitals or not."""

    ignores_case: ClassVar[bool] = True


class IContainsAll(ContainsAll):
    """Passes where the text contains each of these, in capitals or not."""

    ignores_case: ClassVar[bool] = True


class StartsWith(TextCheck):
    """Passes where the text begins with this one."""

    value: Text

    def grade(self, case: EvalCase, response: HasText) -> Verdict:  # noqa: ARG002
        """See `Check.grade`."""
        if response.text.startswith(self.value):
            return Verdict(True, "starts with it")
        return Verdict(False, "does not start with it")


_MOST_SHOWN = 60


def _read_pattern(value: Any) -> re.Pattern[str]:
    if not isinstance(value, str):
        raise unexpected("a regular expression, as a text")
    if not value:
        raise invalid("'value' is empty, and matches every text")
    try:
        return re.compile(value)
    # A warning is an error where the project says so.
    except (re.error, RecursionError, OverflowError, FutureWarning) as error:
        raise invalid(f"not a valid regular expression: {error}") from error


class Regex(TextCheck):
    """Passes where `re.search` finds the expression in the text."""

    value: Annotated[re.Pattern[str], PlainValidator(_read_pattern)]

    def grade(self, case: EvalCase, response: HasText) -> Verdict:  # noqa: ARG002
        """See `Check.grade`."""
        with limited_time("the regular expression"):
            match = self.value.search(response.text)
        if match is None:
            return Verdict(False, "has no match")
        found = cut(match[0], _MOST_SHOWN)
        return Verdict(True, f"has the match {found!r} at character {match.start() + 1}", match.start())


_MOST_OF_MESSAGE = 200


def check_schema(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a valid JSON Schema; without `$schema` it is one of draft 2020-12."""
    from jsonschema.exceptions import SchemaError  # noqa: PLC0415

    check_json(schema)
    try:
        _validator(json.dumps(thaw(schema)))
    except SchemaError as error:
        reason = cut(error.message, _MOST_OF_MESSAGE)
        raise error_at(tuple(error.path), invalid(f"not a valid JSON Schema: {reason}")) from error
    return schema


def find_misfit(data: Any, schema: Mapping[str, Any]) -> str:
    """The first place of data that does not fit a schema, and why: `$.city: 3 is not of type 'string'`; `""` for none.
    """
    from jsonschema.exceptions import best_match  # noqa: PLC0415

    with limited_time("the JSON Schema"):
        error = best_match(_validator(json.dumps(thaw(schema))).iter_errors(thaw(data)))
    return "" if error is None else f"{error.json_path}: {cut(error.message, _MOST_OF_MESSAGE)}"


# The checks of a file are those of all of its cases.
@lru_cache(maxsize=256)
def _validator(schema_text: str) -> Any:
    from jsonschema.validators import Draft202012Validator, validator_for  # noqa: PLC0415
    from referencing import Registry  # noqa: PLC0415

    schema = json.loads(schema_text)
    validator_class: Any = validator_for(schema, default=Draft202012Validator)
    validator_class.check_schema(schema, format_checker=validator_class.FORMAT_CHECKER)
    # With a registry of one's own nothing is fetched.
    return validator_class(schema, registry=Registry())


def _read_schema(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise unexpected("a JSON Schema, as a mapping")
    return check_schema(value)


def _read_schema_or_path(value: Any) -> str | Mapping[str, Any] | None:
    if isinstance(value, str):
        return check_data_path(value, "a JSON Schema")
    return None if value is None else _read_schema(value)


class _SchemaFile(BaseModel):
    model_config = ConfigDict(defer_build=True)

    value: Annotated[Mapping[str, Any], PlainValidator(_read_schema)]


class IsJson(TextCheck):
    """Passes where the text is JSON, and fits the schema in `value`."""

    value: Annotated[str | Mapping[str, Any] | None, PlainValidator(_read_schema_or_path)] = None

    def read_files(self, read: DataReader) -> Self:
        """See `Check.read_files`."""
        if not isinstance(self.value, str):
            return self
        return self.model_copy(update={"value": read(self.value, "value", _SchemaFile)})

    def grade(self, case: EvalCase, response: HasText) -> Verdict:  # noqa: ARG002
        """See `Check.grade`."""
        if isinstance(response, SentData):
            data = response.data
        else:
            try:
                data = json.loads(response.text, parse_constant=_refuse_constant)
            except (ValueError, RecursionError) as error:
                hint = " around it is a code fence" if response.text.lstrip().startswith("```") else f" {error}"
                return Verdict(False, f"is not JSON:{hint}")
        if self.value is None:
            return Verdict(True, "is JSON")
        assert isinstance(self.value, Mapping), "read_files has read it"  # noqa: S101
        misfit = find_misfit(data, self.value)
        if misfit:
            return Verdict(False, f"does not fit the schema at {misfit}")
        return Verdict(True, "is JSON that fits the schema")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"JSON has no {name}")
