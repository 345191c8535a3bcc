"""Unions in the JSON Schema of eval files: one schema for what may be of several types.

In: the schemas of the members of a union. Out: one schema. Pure; only `json_schema` calls it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

Schema = dict[str, Any]

# Keywords about the values of one type only: a schema may have them beside keywords about another type.
_KEYWORDS_OF_ONE_TYPE: Final = frozenset(
    (
        *("type", "description", "items", "minItems", "uniqueItems", "minLength", "pattern", "minimum", "maximum"),
        *("properties", "required", "patternProperties", "additionalProperties", "propertyNames"),
    )
)


def any_of(members: Iterable[Schema]) -> Schema:
    """The schema of a union; members share one where that says the same, which validators explain better."""
    flat = [inner for member in members for inner in (member["anyOf"] if member.keys() == {"anyOf"} else [member])]
    shared: Schema = {}
    others = []
    for member in flat:
        if member.keys() <= _KEYWORDS_OF_ONE_TYPE and _are_of_other_types(shared, member):
            types = [*_types(shared), *_types(member)]
            shared |= member | {"type": types if len(types) > 1 else types[0]}
        else:
            others.append(member)
    unions = [*others, shared] if shared else others
    return unions[0] if len(unions) == 1 else {"anyOf": unions}


def _types(schema: Schema) -> list[str]:
    types = schema.get("type", [])
    return types if isinstance(types, list) else [types]


def _are_of_other_types(first: Schema, second: Schema) -> bool:
    """Whether no value has a type of both, and no keyword is about both."""
    types = {*_types(first), *_types(second)}
    has_both_numbers = {"integer", "number"} <= types and {"minimum", "maximum"} & {*first, *second}
    is_disjoint = len(types) == len(_types(first)) + len(_types(second)) and not has_both_numbers
    return is_disjoint and bool(_types(second)) and first.keys() & second.keys() <= {"type"}
