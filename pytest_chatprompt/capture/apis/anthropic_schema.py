"""The JSON Schema that a request to Anthropic demands, with the limits that its SDK wrote into descriptions.

A schema comes in, a schema comes out. A pure function; `anthropic` calls it.
Source: the package `anthropic` (`lib/_parse/_transform.py`): what the API does not know of a schema, such as `minimum`
or `prefixItems`, goes into the description as `{minimum: 1, maximum: 10}`, each value as Python's `str` writes it, and
the SDK checks the reply by the whole model.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from pytest_chatprompt.capture.apis.json_text import json_text

_NUMBERS: Final = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"),
    *("minItems", "maxItems", "minProperties", "maxProperties", "uniqueItems", "minContains", "maxContains"),
)
_TEXTS: Final = ("pattern", "format", "contentMediaType", "contentEncoding")
_DATA: Final = (
    *("enum", "const", "prefixItems", "items", "contains", "patternProperties", "propertyNames", "contentSchema"),
    *("dependentRequired", "dependentSchemas", "if", "then", "else", "not", "allOf", "anyOf", "oneOf"),
)
# Keywords that do not restrict the valid values.
_NOTES: Final = ("default", "examples", "deprecated", "readOnly", "writeOnly", "discriminator", "$comment", "$schema")
_KNOWN: Final = frozenset((*_NUMBERS, *_TEXTS, *_DATA, *_NOTES))
_START: Final = re.compile(r"(?:^|\n\n)\{")
_KEY: Final = re.compile(r"(?:^|, )([\w$-]+): ")
# A limit, so that no description takes seconds to read.
_MOST_KEYS: Final = 100


def with_limits(schema: Any) -> Any:
    """Put the limits in the descriptions of a schema back into their places.

    Args:
        schema: as the request demands it; it is not changed.
    """
    copied = json.loads(json_text(schema))
    pending = [copied]
    while pending:
        current = pending.pop()
        if isinstance(current, list):
            pending += current
        elif isinstance(current, dict):
            pending += current.values()
            description = current.get("description")
            if isinstance(description, str) and description.endswith("}"):
                _add_limits(current, _find_limits(description))
    return copied


def _add_limits(schema: dict[str, Any], limits: Mapping[str, Any]) -> None:
    for keyword, value in limits.items():
        if keyword != "minProperties" or "patternProperties" in limits or value <= len(schema.get("properties", ())):
            # The SDK forbids all properties that the schema does not name, so there cannot be more of them.
            schema.setdefault(keyword, value)


def _find_limits(description: str) -> dict[str, Any]:
    """The limits at the end of a description; empty if there are none."""
    for start in _START.finditer(description):
        limits = _read_limits(description[start.end() : -1])
        if limits is not None:
            return limits
    return {}


def _read_limits(text: str) -> dict[str, Any] | None:
    """Read `minimum: 1, maximum: 10`; `None` if the text is something else.

    Values hold commas and colons too. So it is read from its end: a keyword is one if all after it can be read.
    """
    keys = list(_KEY.finditer(text))
    if not keys or keys[0].start() != 0 or len(keys) > _MOST_KEYS:
        return None
    # What is read from each place on.
    read: dict[int, dict[str, Any]] = {len(text): {}}
    for index in reversed(range(len(keys))):
        keyword = keys[index][1]
        for end in (*(key.start() for key in keys[index + 1 :]), len(text)):
            if end not in read or (keyword in _TEXTS and not _is_end_of_text(text, end)):
                continue
            value = _read_value(keyword, text[keys[index].end() : end])
            if value is not None:
                read[keys[index].start()] = {**value, **read[end]}
                break
    return read.get(0)


def _is_end_of_text(text: str, end: int) -> bool:
    """Whether a text may end here: before a keyword that exists, or an extension."""
    key = _KEY.match(text, end)
    return key is None or key[1] in _KNOWN or key[1].startswith("x-")


def _read_value(keyword: str, written: str) -> dict[str, Any] | None:
    """A keyword with its value; empty for one that says nothing here, `None` if it cannot have this value."""
    if keyword in _TEXTS:
        return {keyword: written}
    if keyword not in _NUMBERS and keyword not in _DATA:
        return {}
    try:
        value = ast.literal_eval(written)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    if keyword in _NUMBERS and not isinstance(value, int | float):
        return None
    return {keyword: value}
