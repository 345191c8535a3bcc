"""`repeat` and `pass_rate`: how often a case is sent in a live run, and how many of its answers have to pass.

In: plain data. Out: the same, checked. `shared_keys` reads them, and `grading.pass_rate` says what they mean.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field

from pytest_chatprompt.evalfile.json_data import unexpected
from pytest_chatprompt.evalfile.schema_annotations import SchemaKeywords

DEFAULT_REPEAT: Final = 1
DEFAULT_PASS_RATE: Final = 1.0


def _check_repeat(value: Any) -> Any:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise unexpected("a whole number from 1")
    return value


def _check_pass_rate(value: Any) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # Not a number is not between two numbers either.
    if value is not None and not (is_number and 0 < value <= 1):
        raise unexpected("a number above 0, and 1 at most: 0.8 for 80 %")
    return value


Repeat = Annotated[Annotated[int, Field(ge=1)] | None, BeforeValidator(_check_repeat)]
PassRate = Annotated[
    Annotated[float, SchemaKeywords(lambda: {"exclusiveMinimum": 0, "maximum": 1})] | None,
    BeforeValidator(_check_pass_rate),
]
