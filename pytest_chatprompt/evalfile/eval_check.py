"""`checks`: what an answer, or what is sent, is graded by, as its author wrote it.

In: plain data of `checks`. Out: an `EvalCheck` for each: its type, its other keys, and where it stands in the file.
`shared_keys` reads them, `loader` adds up those of the file and the case, `template_rendering` fills in variables.
What the types are and mean, `grading` knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from pytest_chatprompt.evalfile.frozen_dict import freeze
from pytest_chatprompt.evalfile.json_data import Location, check_json, invalid, unexpected, without_extensions

_USAGE = "a check must be {type: TYPE, value: ...}"


@dataclass(frozen=True, slots=True)
class EvalCheck:
    """A check, as its author wrote it.

    Args:
        type: its type as written, such as `icontains` or `not-contains`.
        arguments: its other keys, such as `value`, with their JSON data.
        location: the keys and indexes that lead to it from the top of the eval file; empty for one made in code.
    """

    type: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    location: Location = field(default=(), compare=False)


def read_checks(data: Any) -> tuple[EvalCheck, ...]:
    """Check that `checks` is a list of mappings with a type; what else is in them is not looked at.

    Args:
        data: a list of mappings, or of `EvalCheck`s, which stay as they are.

    Raises:
        PydanticCustomError, ValidationError: what is wrong with it.
    """
    if not isinstance(data, list | tuple):
        raise unexpected("a list of checks")
    problems = [
        _detail((index, *location), error) for index, check in enumerate(data) for location, error in _problem(check)
    ]
    if problems:
        raise ValidationError.from_exception_data("checks", problems)
    check_json([None if isinstance(check, EvalCheck) else without_extensions(check) for check in data])
    return tuple(_read_check(check, ("checks", index)) for index, check in enumerate(data))


def _problem(check: Any) -> Iterable[tuple[Location, PydanticCustomError]]:
    if isinstance(check, EvalCheck):
        return
    if not isinstance(check, Mapping) or "type" not in check:
        yield (), invalid(_USAGE)
    elif not isinstance(check["type"], str) or not check["type"]:
        yield ("type",), unexpected("the name of a type")


def _detail(location: Location, error: PydanticCustomError) -> InitErrorDetails:
    return InitErrorDetails(type=error, loc=location, input=None)


def _read_check(check: Any, location: Location) -> EvalCheck:
    if isinstance(check, EvalCheck):
        return check
    own = without_extensions(check)
    return EvalCheck(own.pop("type"), freeze(own), location)


def merge_checks(file: Iterable[EvalCheck], case: Iterable[EvalCheck], case_index: int) -> tuple[EvalCheck, ...]:
    """The checks of a file, then those of one of its cases.

    Args:
        file: those of the file.
        case: those of the case, located from the top of the case.
        case_index: 0-based index of the case in `evalcases`.
    """
    own = (replace(check, location=("evalcases", case_index, *check.location)) for check in case)
    return (*file, *own)
