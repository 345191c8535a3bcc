"""How data of YAML is checked: the base of the models of an eval file, and the kinds of their fields.

`eval_message`, `case` and `eval_file` define their models with these.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError


def _not_empty(value: Any) -> Any:
    if isinstance(value, list | tuple) and not value:
        raise PydanticCustomError("too_short", "empty")
    return value


T = TypeVar("T")
# YAML has lists and the models have tuples: only the container is converted, what is in it stays strict.
Several = Annotated[tuple[T, ...], Field(strict=False)]
# pydantic's `min_length` counts the items that are valid; a list of nothing but mistakes is not empty.
OneOrMore = Annotated[Several[T], BeforeValidator(_not_empty)]
NonEmptyString = Annotated[str, Field(min_length=1)]


def one_or_several(value: Any) -> str:
    """The tag of a union of a string, several of something, and null: `string`, `parts` or `null`."""
    if value is None:
        return "null"
    return "parts" if isinstance(value, list | tuple) else "string"


class Strict(BaseModel):
    """Frozen, nothing converted, unknown keys refused, except those that begin with `x-`."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _without_private_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            return {key: value for key, value in data.items() if not key.startswith("x-")}
        return data
