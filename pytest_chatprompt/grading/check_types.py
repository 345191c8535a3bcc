"""The checks of an answer: its text, the tools that it calls, what it took, and what a function of the project says.

The text is taken as it is: nothing is trimmed and nothing normalized.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache, partial, reduce
from importlib import import_module
from itertools import zip_longest
from typing import Annotated, Any, ClassVar, Final, NoReturn, Self

from pydantic import AfterValidator, BaseModel

from pytest_chatprompt.cases.case import EvalCase
from pytest_chatprompt.cases.fields import NonEmptyString, NonEmptyTupleOf, check_data_path, is_integer, is_number
from pytest_chatprompt.errors import CheckError
from pytest_chatprompt.grading.check import Check, DataReader, SentData, Verdict, cut
from pytest_chatprompt.providers.response import ProviderResponse
from pytest_chatprompt.text.json_data import (
    check_json,
    checked,
    error_at,
    invalid,
    parsed,
    require_json_mapping,
    thaw,
    unexpected,
)
from pytest_chatprompt.wording import INSTALL_PRICES, dollars


class TextCheck(Check):
    """Base of the checks that look at the text of what is sent or answered."""

    can_grade_request: ClassVar[bool] = True
    ignores_case: ClassVar[bool] = False

    def grade(self, case: EvalCase, response: ProviderResponse | SentData) -> Verdict:  # noqa: ARG002, D102
        return self.grade_text(response.text)

    def grade_text(self, text: str) -> Verdict:
        """Decide whether the text passes."""
        raise NotImplementedError

    def find(self, text: str, value: str) -> int:
        """The offset of a value in a text; -1 if it is not there."""
        return text.casefold().find(value.casefold()) if self.ignores_case else text.find(value)


class Equals(TextCheck):
    """Passes where the text is this one, to its last character."""

    value: str

    def grade_text(self, text: str) -> Verdict:  # noqa: D102
        if text == self.value:
            return Verdict(True, "equals it")
        offset = next(at for at, (one, other) in enumerate(zip_longest(text, self.value)) if one != other)
        return Verdict(False, f"differs from it at character {offset + 1}", offset)


class Contains(TextCheck):
    """Passes where the text contains this one."""

    value: NonEmptyString

    def grade_text(self, text: str) -> Verdict:  # noqa: D102
        offset = self.find(text, self.value)
        if offset < 0:
            return Verdict(False, "does not contain it")
        return Verdict(True, f"contains it at character {offset + 1}", offset)


class ContainsAny(TextCheck):
    """Passes where the text contains at least one of these."""

    value: NonEmptyTupleOf[NonEmptyString]

    def grade_text(self, text: str) -> Verdict:  # noqa: D102
        for value in self.value:
            offset = self.find(text, value)
            if offset >= 0:
                return Verdict(True, f"contains {value!r} at character {offset + 1}", offset)
        return Verdict(False, "contains none of them")


class ContainsAll(TextCheck):
    """Passes where the text contains each of these."""

    value: NonEmptyTupleOf[NonEmptyString]

    def grade_text(self, text: str) -> Verdict:  # noqa: D102
        missing = [repr(value) for value in self.value if self.find(text, value) < 0]
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

    value: NonEmptyString

    def grade_text(self, text: str) -> Verdict:  # noqa: D102
        passed = text.startswith(self.value)
        return Verdict(passed, "starts with it" if passed else "does not start with it")


def _check_pattern(pattern: str) -> str:
    try:
        re.compile(pattern)
    # A warning is an error where the project says so.
    except (re.error, RecursionError, OverflowError, FutureWarning) as error:
        raise invalid(f"not a valid regular expression: {error}") from error
    return pattern


class Regex(TextCheck):
    """Passes where `re.search` finds the expression in the text."""

    value: Annotated[NonEmptyString, AfterValidator(_check_pattern)]

    def grade_text(self, text: str) -> Verdict:  # noqa: D102
        match = re.search(self.value, text)
        if match is None:
            return Verdict(False, "has no match")
        found = cut(match[0], 60)
        return Verdict(True, f"has the match {found!r} at character {match.start() + 1}", match.start())


_MOST_OF_MESSAGE = 200


def _read_schema(schema: Any) -> Mapping[str, Any]:
    """A valid JSON Schema; without `$schema` it is one of draft 2020-12."""
    from jsonschema.exceptions import SchemaError  # noqa: PLC0415

    if not isinstance(schema, Mapping):
        raise unexpected("a JSON Schema, as a mapping")
    check_json(schema)
    try:
        _validator(json.dumps(thaw(schema)))
    except SchemaError as error:
        reason = cut(error.message, _MOST_OF_MESSAGE)
        raise error_at(tuple(error.path), invalid(f"not a valid JSON Schema: {reason}")) from error
    return schema


def find_misfit(data: Any, schema: Mapping[str, Any]) -> str:
    """The first place of data that does not fit a schema, and why: `$.a: 3 is not of type 'string'`; `""` for none."""
    from jsonschema.exceptions import best_match  # noqa: PLC0415

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


def _read_schema_or_path(value: Any) -> str | Mapping[str, Any] | None:
    if isinstance(value, str):
        return check_data_path(value, "a JSON Schema")
    return None if value is None else _read_schema(value)


class _SchemaFile(BaseModel, defer_build=True):
    value: Annotated[Mapping[str, Any], parsed(_read_schema)]


class IsJson(TextCheck):
    """Passes where the text is JSON, and fits the schema in `value`."""

    value: Annotated[str | Mapping[str, Any] | None, parsed(_read_schema_or_path)] = None

    def read_files(self, read: DataReader) -> Self:
        """See `Check.read_files`."""
        if not isinstance(self.value, str):
            return self
        return self.model_copy(update={"value": read(self.value, "value", _SchemaFile)})

    def grade(self, case: EvalCase, response: ProviderResponse | SentData) -> Verdict:  # noqa: ARG002, D102
        try:
            data = response.data if isinstance(response, SentData) else _read_json(response.text)
        except (ValueError, RecursionError) as error:
            has_fence = response.text.lstrip().startswith("```")
            return Verdict(False, f"is not JSON: {'around it is a code fence' if has_fence else error}")
        if self.value is None:
            return Verdict(True, "is JSON")
        assert isinstance(self.value, Mapping), "read_files has read it"  # noqa: S101
        misfit = find_misfit(data, self.value)
        if misfit:
            return Verdict(False, f"does not fit the schema at {misfit}")
        return Verdict(True, "is JSON that fits the schema")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"JSON has no {name}")


_read_json: Final = partial(json.loads, parse_constant=_refuse_constant)


class ToolCalled(Check):
    """Passes where one of the answer's calls is of this tool, and has at least these arguments."""

    value: NonEmptyString
    arguments: Annotated[Mapping[str, Any], parsed(require_json_mapping)] = {}

    def grade(self, case: EvalCase, response: ProviderResponse) -> Verdict:  # noqa: ARG002, D102
        calls = [call.function for call in response.tool_calls if call.function.name == self.value]
        if not calls:
            names = list(dict.fromkeys(call.function.name for call in response.tool_calls))
            return Verdict(False, f"calls {', '.join(names)} and not {self.value}" if names else "calls no tool")
        expected = thaw(self.arguments)
        for call in calls:
            if not expected or _fits(_parse(call.arguments), expected):
                return Verdict(True, f"calls {self.value}({call.arguments})")
        return Verdict(False, f"calls {', '.join(f'{self.value}({call.arguments})' for call in calls)}")


def _parse(arguments: str) -> Any:
    """The arguments of a call; `None` for what is not JSON, which models do write."""
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return None


def _fits(data: Any, expected: Any) -> bool:
    """Whether data is what is expected, as JSON tells values apart; mappings may have more keys."""
    if isinstance(expected, dict):
        return isinstance(data, dict) and all(
            key in data and _fits(data[key], value) for key, value in expected.items()
        )
    if isinstance(expected, list):
        return isinstance(data, list) and len(data) == len(expected) and all(map(_fits, data, expected))
    # In Python, and not in JSON, True is 1.
    return isinstance(data, bool) == isinstance(expected, bool) and bool(data == expected)


def _is_positive(value: Any) -> bool:
    return is_number(value) and value > 0


class MaxLatencySeconds(Check):
    """Passes where the answer took no longer; a replayed one took what it took when it was recorded."""

    value: Annotated[float, checked("a number above 0", _is_positive)]

    def grade(self, case: EvalCase, response: ProviderResponse) -> Verdict:  # noqa: ARG002, D102
        if response.latency_seconds is None:
            raise CheckError("the provider does not report how long the answer took")
        return Verdict(response.latency_seconds <= self.value, f"took {response.latency_seconds:.2f} seconds")


class MaxCostUsd(Check):
    """Passes where the answer cost no more; a replayed one costs what it cost when it was recorded."""

    value: Annotated[float, checked("a number above 0, in US dollars", _is_positive)]

    def grade(self, case: EvalCase, response: ProviderResponse) -> Verdict:  # noqa: ARG002, D102
        cost = response.cost_usd
        if cost is None:
            raise CheckError(
                "it is not known what the answer cost: its provider does not say how many tokens it took, "
                f"or no price of its model is known; prices come with {INSTALL_PRICES}"
            )
        return Verdict(cost <= self.value, f"cost {dollars(cost)}")


_Count = Annotated[int, checked("a whole number, 1 or more", lambda value: is_integer(value) and value > 0)]


class MaxOutputTokens(Check):
    """Passes where the answer has no more tokens, those of thinking included where the API counts them."""

    value: _Count

    def grade(self, case: EvalCase, response: ProviderResponse) -> Verdict:  # noqa: ARG002, D102
        tokens = response.usage.output_tokens
        if tokens is None:
            raise CheckError("the provider does not report how many tokens the answer has")
        return Verdict(tokens <= self.value, f"has {tokens} tokens")


class MaxCharacters(Check):
    """Passes where what is sent is no longer; of several requests each."""

    can_grade_request: ClassVar[bool] = True
    can_grade_answer: ClassVar[bool] = False
    unit: ClassVar[str] = "characters"

    value: _Count

    def grade(self, case: EvalCase, response: SentData) -> Verdict:  # noqa: ARG002, D102
        requests = [*response.measure()] or [()]
        totals = [sum(getattr(part, self.unit) for part in parts) for parts in requests]
        most = max(totals)
        longest = requests[totals.index(most)]
        about = "about " if self.unit == "tokens" and any(part.is_estimate for part in longest) else ""
        which = f" in request {totals.index(most) + 1}" if len(totals) > 1 else ""
        parts = ", ".join(f"{part.name} {getattr(part, self.unit):,}" for part in longest)
        return Verdict(most <= self.value, f"has {about}{most:,} {self.unit}{which}: {parts}".removesuffix(": "))


class MaxTokens(MaxCharacters):
    """Passes where what is sent has no more tokens."""

    unit: ClassVar[str] = "tokens"


_NAME: Final = r"[^\W\d]\w*(\.[^\W\d]\w*)*"
_REFERENCE: Final = re.compile(rf"{_NAME}:{_NAME}")


def _is_reference(value: Any) -> bool:
    return isinstance(value, str) and _REFERENCE.fullmatch(value) is not None


class Python(Check):
    """Passes where a function, called with the case and the response, returns `True` or `None`."""

    can_grade_request: ClassVar[bool] = True

    value: Annotated[str, checked("a function as 'package.module:function'", _is_reference)]

    def grade(self, case: EvalCase, response: Any) -> Verdict:  # noqa: D102
        function = self.function()
        try:
            result = function(case, response)
        except AssertionError as error:
            return Verdict(False, f"is refused: {error}" if str(error) else "is refused by an assertion")
        if result is None or result is True:
            return Verdict(True, f"is accepted: the function returned {result}")
        if result is False:
            return Verdict(False, "is refused: the function returned False")
        if inspect.iscoroutine(result):
            result.close()
        shown = "a coroutine" if inspect.iscoroutine(result) else cut(repr(result), _MOST_OF_MESSAGE)
        raise CheckError(f"the function returned {shown}; return True or None to pass, False to fail")

    def function(self) -> Callable[..., Any]:
        """The function, imported now."""
        module, _, name = self.value.partition(":")
        try:
            function: Any = reduce(getattr, name.split("."), import_module(module))
        except Exception as error:
            raise CheckError(f"the function cannot be imported: {type(error).__name__}: {error}") from error
        if not callable(function):
            raise CheckError(f"{self.value} is not a function")
        return function  # type: ignore[no-any-return]
