"""The base class of an eval file's models, and the types that their fields share."""

from __future__ import annotations

import math
import re
from pathlib import PurePath
from typing import Annotated, Any, ClassVar, Final, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from pytest_chatprompt.text.json_data import checked, invalid, parsed, unexpected, without_extensions
from pytest_chatprompt.wording import did_you_mean


def _reject_empty_list(value: Any) -> Any:
    if isinstance(value, list | tuple) and not value:
        raise PydanticCustomError("too_short", "empty")
    return value


T = TypeVar("T")
# What an eval file consists of; errors about unknown keys know what may be meant at each level.
Level = Literal["file", "case", "settings", "message", "part"]
# The keys of cases in other formats; AgentV renamed `evalcases` to `tests`, as they are called in promptfoo.
OTHER_FORMATS: Final = frozenset({"tests", "scenarios"})
# YAML gives lists and the models hold tuples: only the container is converted, its items stay strict.
TupleOf = Annotated[tuple[T, ...], Field(strict=False)]
# pydantic's `min_length` counts only the valid items, so it would call a list of nothing but invalid ones empty.
NonEmptyTupleOf = Annotated[TupleOf[T], BeforeValidator(_reject_empty_list)]
NonEmptyString = Annotated[str, Field(min_length=1)]


def value_kind(value: Any) -> str:
    """The tag of a value in a union; in angle brackets, because error messages leave it out."""
    if value is None:
        return "<null>"
    return "<list>" if isinstance(value, list | tuple) else "<string>"


StringOrList = Annotated[
    Annotated[NonEmptyString, Tag("<string>")]
    | Annotated[NonEmptyTupleOf[T], Tag("<list>")]
    | Annotated[None, Tag("<null>")],
    Discriminator(value_kind),
]


def split_provider_name(name: str) -> tuple[str, str]:
    """The provider and the model that a name says: `openai:gpt-5` names both, others a provider alone."""
    # A model, a note that tells variants apart, or both: `openai:gpt-5`, `openai (strict)`, `openai:gpt-5 (strict)`.
    match = re.fullmatch(r"([^\s:()]+)(?::(\S+))?( \([^()]+\))?", name)
    return (name, "") if match is None else (match[1], match[2] or "")


class StrictModel(BaseModel):
    """Base of an eval file's models: frozen, nothing converted, no unknown keys but those that begin with `x-`.

    `level` is the level of an eval file that the model is for; `None` for a part of another level.
    A model is built when it is first used, which is not safe between threads before pydantic 2.14.
    """

    level: ClassVar[Level | None] = None

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _read_mapping(cls, data: Any) -> Any:
        return without_extensions(data) if isinstance(data, dict) else data


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


Temperature = Annotated[float, checked("a number, 0 or more", lambda value: is_number(value) and value >= 0)]
TopP = Annotated[float, checked("a number from 0 to 1", lambda value: is_number(value) and 0 <= value <= 1)]
Stop = Annotated[str | tuple[str, ...], checked("a text, or a list of texts, none of them empty", _is_stop)]
Seed = Annotated[int, checked("a whole number", is_integer)]
TokenCount = Annotated[int, checked("a whole number, 1 or more", lambda value: is_integer(value) and value >= 1)]
ReasoningEffort = Annotated[str, parsed(_check_effort)]


DATA_SUFFIXES: Final = (".json", ".yaml", ".yml")


def check_data_path(path: str, otherwise: str) -> str:
    """Return a path that names a JSON or YAML file; `otherwise` is what the value may be if it is no path."""
    if PurePath(path).suffix.lower() not in DATA_SUFFIXES:
        raise unexpected(f"{otherwise}, or the path of a .json, .yaml or .yml file")
    return path
