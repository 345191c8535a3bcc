"""The base class of an eval file's models, and the types that their fields share.

In: plain data from YAML. Out: frozen models, nothing converted.
The models of this room and the checks of `grading` derive from it; providers declare settings with `NonEmptyString`.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from pytest_chatprompt.evalfile.schema_annotations import SchemaKeywords


def _reject_empty_list(value: Any) -> Any:
    if isinstance(value, list | tuple) and not value:
        raise PydanticCustomError("too_short", "empty")
    return value


T = TypeVar("T")
# What an eval file consists of; errors about unknown keys know what may be meant at each level.
Level = Literal["file", "case", "settings", "message", "part"]
# YAML gives lists and the models hold tuples: only the container is converted, its items stay strict.
TupleOf = Annotated[tuple[T, ...], Field(strict=False)]
# pydantic's `min_length` counts only the valid items, so it would call a list of nothing but invalid ones empty.
NonEmptyTupleOf = Annotated[TupleOf[T], BeforeValidator(_reject_empty_list), SchemaKeywords(lambda: {"minItems": 1})]
NonEmptyString = Annotated[str, Field(min_length=1)]


def value_kind(value: Any) -> str:
    """The tag of a value in a union of a string, a list and null: `string`, `list` or `null`."""
    if value is None:
        return "null"
    return "list" if isinstance(value, list | tuple) else "string"


class StrictModel(BaseModel):
    """Base of an eval file's models: frozen, nothing converted, no unknown keys but those that begin with `x-`.

    Attributes:
        level: the level of an eval file that the model is for; `None` for a part of another level.
        field_names: the names of its fields. `model_fields` is a property, and takes longer than validating a message.
    """

    level: ClassVar[Level | None] = None
    field_names: ClassVar[frozenset[str]] = frozenset()

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        cls.field_names = frozenset(cls.model_fields)

    @model_validator(mode="before")
    @classmethod
    def _drop_extension_keys(cls, data: Any) -> Any:
        # Most mappings have no other keys than the model, and are used as they are.
        if isinstance(data, dict) and not cls.field_names.issuperset(data):
            # The parser reports a key that is not a string.
            return {key: value for key, value in data.items() if isinstance(key, str) and not key.startswith("x-")}
        return data
