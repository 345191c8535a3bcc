"""Checks of the rest of an answer: the tools that it calls, what it took, and what a function of the project says."""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Callable, Mapping
from functools import reduce
from importlib import import_module
from typing import Annotated, Any, ClassVar, Final

from pydantic import PlainValidator

from pytest_chatprompt.cases.case import EvalCase
from pytest_chatprompt.cases.fields import NonEmptyString
from pytest_chatprompt.errors import CheckError
from pytest_chatprompt.grading.check import Check, Verdict
from pytest_chatprompt.providers.response import ProviderResponse
from pytest_chatprompt.text.json_data import checked, require_json_mapping, thaw, unexpected
from pytest_chatprompt.wording import INSTALL_PRICES, dollars


class ToolCalled(Check):
    """Passes where one of the answer's calls is of this tool, and has at least these arguments."""

    value: NonEmptyString
    arguments: Annotated[Mapping[str, Any], PlainValidator(require_json_mapping)] = {}

    def grade(self, case: EvalCase, response: ProviderResponse) -> Verdict:  # noqa: ARG002
        """See `Check.grade`."""
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
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0


class MaxLatencySeconds(Check):
    """Passes where the answer took no longer; a replayed one took what it took when it was recorded."""

    value: Annotated[float, checked("a number above 0", _is_positive)]

    def grade(self, case: EvalCase, response: ProviderResponse) -> Verdict:  # noqa: ARG002
        """See `Check.grade`."""
        if response.latency_seconds is None:
            raise CheckError("the provider does not report how long the answer took")
        return Verdict(response.latency_seconds <= self.value, f"took {response.latency_seconds:.2f} seconds")


class MaxCostUsd(Check):
    """Passes where the answer cost no more; a replayed one costs what it cost when it was recorded."""

    value: Annotated[float, checked("a number above 0, in US dollars", _is_positive)]

    def grade(self, case: EvalCase, response: ProviderResponse) -> Verdict:  # noqa: ARG002
        """See `Check.grade`."""
        cost = response.cost_usd
        if cost is None:
            raise CheckError(
                "it is not known what the answer cost: its provider does not say how many tokens it took, "
                f"or no price of its model is known; prices come with {INSTALL_PRICES}"
            )
        return Verdict(cost <= self.value, f"cost {dollars(cost)}")


class MaxOutputTokens(Check):
    """Passes where the answer has no more tokens, those of thinking included where the API counts them."""

    value: Annotated[
        int, checked("a whole number, 1 or more", lambda value: _is_positive(value) and isinstance(value, int))
    ]

    def grade(self, case: EvalCase, response: ProviderResponse) -> Verdict:  # noqa: ARG002
        """See `Check.grade`."""
        tokens = response.usage.output_tokens
        if tokens is None:
            raise CheckError("the provider does not report how many tokens the answer has")
        return Verdict(tokens <= self.value, f"has {tokens} tokens")


_NAME: Final = r"[^\W\d]\w*(\.[^\W\d]\w*)*"
_REFERENCE: Final = re.compile(rf"{_NAME}:{_NAME}")


def _read_reference(value: Any) -> str:
    if not isinstance(value, str) or not _REFERENCE.fullmatch(value):
        raise unexpected("a function as 'package.module:function'")
    return value


class Python(Check):
    """Passes where a function, called with the case and the response, returns `True` or `None`."""

    can_grade_request: ClassVar[bool] = True

    value: Annotated[str, PlainValidator(_read_reference)]

    def grade(self, case: EvalCase, response: Any) -> Verdict:
        """See `Check.grade`."""
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
        raise CheckError(f"the function returned {_described(result)}; return True or None to pass, False to fail")

    def function(self) -> Callable[..., Any]:
        """The function, imported now."""
        module, _, name = self.value.partition(":")
        try:
            function: Any = reduce(getattr, name.split("."), import_module(module))
        except Exception as error:
            raise CheckError(f"the function cannot be imported: {type(error).__name__}: {error}") from error
        if not callable(function):
            raise CheckError(f"{_described(function)} is not a function")
        return function  # type: ignore[no-any-return]


def _described(value: Any) -> str:
    if inspect.iscoroutine(value):
        return "a coroutine"
    text = repr(value)
    return text if len(text) <= 100 else f"a {type(value).__name__}"  # noqa: PLR2004
