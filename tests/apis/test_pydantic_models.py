"""Pydantic models of many kinds: each takes the least instance of the schema that an SDK sends for it."""

from __future__ import annotations

import datetime
import decimal
import enum
import ipaddress
import json
import uuid
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal, Optional

import pydantic
import pytest
from anthropic import transform_schema
from hypothesis import given, settings, strategies as st
from openai.lib._pydantic import to_strict_json_schema
from pydantic import BaseModel, Field

from pytest_chatprompt.apis.anthropic import with_limits
from pytest_chatprompt.apis.schema_instance import least_instance


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Node(BaseModel):
    """A model that holds itself."""

    name: str
    next: Optional[Node] = None  # noqa: UP045 - what many write
    children: list[Node]


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = Field(gt=0)


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    age: float = Field(ge=0.5, lt=1)


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]


class Closed(BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")

    pet: Pet = Field(description="{braces}")
    place: tuple[float, float] = Field(default=(0.0, 0.0), description="where, minItems: 9")


# Types, each with a default.
LEAVES: Final[list[tuple[Any, Any]]] = [
    (int, 3),
    (float, 0.5),
    (str, "a, minLength: 5}"),
    (bool, True),
    (datetime.datetime, datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)),
    (datetime.date, datetime.date(2025, 1, 1)),
    (datetime.time, datetime.time(1)),
    (datetime.timedelta, datetime.timedelta(1)),
    (uuid.UUID, uuid.UUID(int=0)),
    (pydantic.UUID4, None),
    (decimal.Decimal, decimal.Decimal("1.5")),
    (bytes, b"a"),
    (Color, Color.BLUE),
    (Level, Level.HIGH),
    (Literal["x", 2, None], "x"),
    (Literal["only"], "only"),
    (Node, None),
    (Pet, None),
    (Closed, None),
    (pydantic.AnyUrl, None),
    (ipaddress.IPv4Address, None),
    (ipaddress.IPv6Network, None),
    (pydantic.Json[dict[str, int]], None),
    (pydantic.ByteSize, 5),
    (Annotated[int, Field(ge=-9, lt=-2, multiple_of=3)], -3),
    (Annotated[float, Field(gt=0, le=1)], 1.0),
    (Annotated[str, Field(min_length=2, max_length=4)], "ab"),
    (Annotated[str, Field(pattern=r"^[A-Z]{2}, maxItems: \d+$")], None),
    (Annotated[decimal.Decimal, Field(max_digits=4, decimal_places=2)], None),
    (Annotated[str, Field(json_schema_extra={"x-order": 1}, min_length=1)], None),
    (dict[str, int], {"a": 1}),
    (dict[Literal["a", "b"], int], {"a": 1}),
    (dict[Annotated[str, Field(pattern="^[a-z]+$")], int], {}),
]


# As values: mypy reads subscripts of the names as types.
ANNOTATED: Any = Annotated
LIST: Any = list
TUPLE: Any = tuple
OPTIONAL: Any = Optional


def _compounds(types: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lengths: Any = st.sampled_from([Field(), Field(min_length=1), Field(min_length=2, max_length=3)])
    return st.one_of(
        types.map(lambda made: OPTIONAL[made]),
        st.tuples(types, lengths).map(lambda made: ANNOTATED[LIST[made[0]], made[1]]),
        st.lists(types, min_size=1, max_size=3).map(lambda made: TUPLE[tuple(made)]),
        types.map(lambda made: TUPLE[made, ...]),
        st.lists(types, min_size=1, max_size=2).map(_model),
    )


def _model(types: list[Any]) -> type[BaseModel]:
    fields: dict[str, Any] = {f"field{index}": (each, ...) for index, each in enumerate(types)}
    return pydantic.create_model("Inner", **fields)


TYPES = st.recursive(st.sampled_from([leaf for leaf, _ in LEAVES]), _compounds, max_leaves=4)


@st.composite
def models(draw: st.DrawFn) -> type[BaseModel]:
    fields: dict[str, Any] = {}
    for index in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["required", "default", "optional"]))
        description = draw(st.sampled_from([None, "a text", "{braces}\n\n{minItems: 3", "first\n\nsecond"]))
        if kind == "default":
            made, default = draw(st.sampled_from(LEAVES))
            fields[f"f{index}"] = (TUPLE[made, int], Field(default=(default, 1), description=description))
        elif kind == "optional":
            fields[f"f{index}"] = (OPTIONAL[draw(TYPES)], Field(default=None, description=description))
        else:
            fields[f"f{index}"] = (draw(TYPES), Field(description=description))
    return pydantic.create_model("Made", **fields)


def plain(model: type[BaseModel]) -> Any:
    return model.model_json_schema()


def anthropic(model: type[BaseModel]) -> Any:
    return with_limits(transform_schema(model))


@pytest.mark.parametrize("schema_of", [plain, to_strict_json_schema, anthropic])
@settings(max_examples=35)
@given(models())
def test_a_model_takes_the_least_instance(schema_of: Callable[[type[BaseModel]], Any], model: type[BaseModel]) -> None:
    model.model_validate_json(json.dumps(least_instance(schema_of(model))))
