"""`python`: whether a function of the project accepts an answer.

In: `package.module:function`, imported when the check is graded. Out: its verdict. What it does is the project's own.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import reduce
from importlib import import_module
from typing import Annotated, Any, ClassVar, Final

from pydantic import PlainValidator

from pytest_chatprompt.cases.case import EvalCase
from pytest_chatprompt.errors import CheckError
from pytest_chatprompt.grading.check import Check, Verdict
from pytest_chatprompt.text.json_data import unexpected

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
        """The function, imported now.

        Raises:
            CheckError: it cannot be imported, or is no function.
        """
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
