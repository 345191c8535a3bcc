"""JSON text of data that a message holds in place of text (rule A7).

In: JSON data from an eval file. Out: its text, laid out as JavaScript's `JSON.stringify(data, null, 2)` lays it out.
Pure; `message` calls it.
Source: ECMA-262, `SerializeJSONObject` and `Number::toString`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

_INDENT: Final = "  "
# Half of a surrogate pair, the only text beyond ASCII that is escaped.
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
# Up to here a number is written with all its digits, from here on with an exponent.
_LARGEST_POSITIONAL: Final = 1e21
_SMALLEST_POSITIONAL: Final = 1e-6


def to_json_text(data: Any, indent: str = "") -> str:
    """Write data as JSON: keys in the order of the file, two blanks for each level, text beyond ASCII as it is.

    Args:
        data: what JSON can hold; lists may be tuples.
        indent: the blanks before the line on which it begins.
    """
    inner = indent + _INDENT
    if isinstance(data, Mapping):
        entries = [f"{_text(str(key))}: {to_json_text(value, inner)}" for key, value in data.items()]
        return _block("{}", entries, indent)
    if isinstance(data, list | tuple):
        return _block("[]", [to_json_text(item, inner) for item in data], indent)
    if isinstance(data, str):
        return _text(data)
    return _number(data) if isinstance(data, float) else json.dumps(data)


def _block(brackets: str, entries: list[str], indent: str) -> str:
    if not entries:
        return brackets
    lines = ",\n".join(f"{indent}{_INDENT}{entry}" for entry in entries)
    return f"{brackets[0]}\n{lines}\n{indent}{brackets[1]}"


def _text(text: str) -> str:
    return _LONE_SURROGATE.sub(lambda mark: f"\\u{ord(mark[0]):04x}", json.dumps(text, ensure_ascii=False))


def _number(number: float) -> str:
    """A number as JavaScript writes it: without `.0`, and with fewer exponents than in Python."""
    digits = Decimal(repr(number)).normalize()
    if not number or _SMALLEST_POSITIONAL <= abs(number) < _LARGEST_POSITIONAL:
        return f"{abs(digits) if not number else digits:f}"
    sign, figures, _ = digits.as_tuple()
    first, rest = figures[0], "".join(map(str, figures[1:]))
    return f"{'-' if sign else ''}{first}{'.' if rest else ''}{rest}e{digits.adjusted():+d}"
