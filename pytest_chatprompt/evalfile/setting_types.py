"""The types of single settings, which eval files and chat providers share.

In: a value of plain data. Out: the same value, checked. `settings` declares those of eval files with them, and
`apis.chat_provider` the keyword arguments of chat providers, which every run with such a provider reads.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Final

from pydantic import Field, PlainValidator

from pytest_chatprompt.evalfile.json_data import checked, invalid, unexpected
from pytest_chatprompt.evalfile.schema_annotations import SchemaKeywords, WrittenAs
from pytest_chatprompt.evalfile.strict_model import NonEmptyString, NonEmptyTupleOf
from pytest_chatprompt.wording import did_you_mean

# The union of what the vendors take: each takes some of them.
REASONING_EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


def is_number(value: Any) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def is_integer(value: Any) -> bool:
    """Whether a value is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def _is_stop(value: Any) -> bool:
    texts = value if isinstance(value, list | tuple) else (value,)
    return bool(texts) and all(isinstance(text, str) and text for text in texts)


def _check_effort(value: Any) -> Any:
    if not isinstance(value, str):
        raise unexpected(f"one of {', '.join(REASONING_EFFORTS)}")
    if value not in REASONING_EFFORTS:
        hint = did_you_mean(value, REASONING_EFFORTS) or f"the efforts are {', '.join(REASONING_EFFORTS)}"
        raise invalid(f"unknown reasoning_effort: {value!r}; {hint}")
    return value


TopP = Annotated[
    float, Field(ge=0, le=1), checked("a number from 0 to 1", lambda value: is_number(value) and 0 <= value <= 1)
]
Stop = Annotated[
    str | tuple[str, ...],
    checked("a text, or a list of texts, none of them empty", _is_stop),
    WrittenAs(lambda: NonEmptyString | NonEmptyTupleOf[NonEmptyString]),
]
Seed = Annotated[int, checked("a whole number", is_integer)]
ReasoningEffort = Annotated[str, PlainValidator(_check_effort), SchemaKeywords(lambda: {"enum": [*REASONING_EFFORTS]})]
