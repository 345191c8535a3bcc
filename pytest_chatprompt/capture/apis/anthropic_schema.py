"""The JSON Schema that a request to Anthropic demands, with the limits that its SDK wrote into descriptions.

A schema comes in, a schema comes out. A pure function; `anthropic` calls it.
Source: the package `anthropic` (`lib/_parse/_transform.py`): what the API does not know of a schema, such as `minimum`,
goes into the description as `{minimum: 1, maximum: 10}`, and the SDK checks the reply by the whole model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from pytest_chatprompt.capture.apis.json_text import json_text

_LIMITS: Final = re.compile(r"(?:^|\n\n)\{(.+)\}$", re.DOTALL)
_KEYWORDS: Final = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"),
    *("minItems", "maxItems", "minProperties", "maxProperties", "uniqueItems", "pattern", "format"),
)
_NEXT: Final = re.compile(rf"(?:^|, )({'|'.join(_KEYWORDS)}): ")


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
            limits = _LIMITS.search(str(current.get("description")))
            if limits is not None:
                for keyword, value in _read_limits(limits[1]):
                    current.setdefault(keyword, value)
    return copied


def _read_limits(text: str) -> Iterator[tuple[str, Any]]:
    _, *parts = _NEXT.split(text)
    for keyword, written in zip(parts[::2], parts[1::2], strict=True):
        if keyword in ("pattern", "format"):
            yield keyword, written
        elif re.fullmatch(r"-?\d+(\.\d+)?(e[-+]?\d+)?|True", written):
            yield keyword, json.loads(written.lower())
