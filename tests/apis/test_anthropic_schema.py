"""The limits that Anthropic's SDK writes into descriptions."""

from __future__ import annotations

from typing import Any

import pydantic
import pytest
from anthropic import transform_schema

from pytest_chatprompt.apis.anthropic import with_limits


class Verdict(pydantic.BaseModel):
    stars: int = pydantic.Field(ge=1, lt=6, multiple_of=2, description="How many")
    code: str = pydantic.Field(pattern="^a, b{2}$", max_length=5)
    words: list[str] = pydantic.Field(min_length=2, max_length=3)
    chance: float = pydantic.Field(ge=0.5)


def test_the_limits_of_a_model_are_found_again() -> None:
    properties = with_limits(transform_schema(Verdict))["properties"]
    limits = {"minimum": 1, "exclusiveMaximum": 6, "multipleOf": 2}
    assert {key: properties["stars"].get(key) for key in limits} == limits
    assert (properties["code"]["pattern"], properties["code"]["maxLength"]) == ("^a, b{2}$", 5)
    assert (properties["words"]["minItems"], properties["words"]["maxItems"]) == (2, 3)
    assert properties["chance"]["minimum"] == 0.5


LIMITS: list[Any] = [
    ("{default: (1, 'a'), maxItems: 2, minItems: 2, prefixItems: [{'type': 'integer'}, {'const': 3}]}",
     {"maxItems": 2, "minItems": 2, "prefixItems": [{"type": "integer"}, {"const": 3}]}),
    ("where\n\n{minItems: 9}\n\n{uniqueItems: True, maxItems: 2}", {"uniqueItems": True, "maxItems": 2}),
    ("{pattern: ^[A-Z]{2}, \\d+$, x-order: 1, maxLength: 5}", {"pattern": "^[A-Z]{2}, \\d+$", "maxLength": 5}),
    ("{minLength: 1, order: [1, 2], maxLength: 3}", {"minLength": 1, "maxLength": 3}),
    ("{contentMediaType: application/json, contentSchema: {'type': 'object'}}",
     {"contentMediaType": "application/json", "contentSchema": {"type": "object"}}),
    # The SDK forbids properties without a name, so that there is none.
    ("{minProperties: 2}", {}),
]  # fmt: skip


@pytest.mark.parametrize(("description", "limits"), LIMITS)
def test_limits_are_read_as_the_sdk_writes_them(description: str, limits: Any) -> None:
    schema = {"description": description}
    assert with_limits(schema) == schema | limits


@pytest.mark.parametrize(
    "schema",
    [
        None,
        {"description": "{stars: 5}"},
        {"description": "{minimum: many}"},
        {"description": 5},
        {"description": "{minimum: [}"},
        {"description": "see {minimum: 1}"},
        {"enum": ["{minimum: 1}"]},
    ],
)
def test_any_other_description_is_one(schema: Any) -> None:
    assert with_limits(schema) == schema
