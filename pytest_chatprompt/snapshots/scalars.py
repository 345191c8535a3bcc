"""Scalars of a snapshot: a string, a number, a boolean or `null` as YAML on one line.

A value comes in; its text comes out, and every YAML reader loads it as the same value. Pure; `serializer`,
`line_places` and `reports` call it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import yaml
from yaml.resolver import Resolver

_STR_TAG: Final = "tag:yaml.org,2002:str"
_RESOLVER: Final[Any] = Resolver()

# Control and format characters, blanks other than the space, line separators, fillers, lone surrogates and
# noncharacters. A list, because the tables of `unicodedata` differ between Python versions.
INVISIBLE: Final = (
    "\x7f-\xa0\xad\u034f\u061c\u070f\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f"
    "\u205f-\u206f\u3000\u3164\ud800-\udfff\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_INVISIBLE_IN_LINE: Final = re.compile(f"[\x00-\x1f{INVISIBLE}]")
_NEEDS_ESCAPE: Final = re.compile(f'[\x00-\x1f{INVISIBLE}"\\\\]')
_SHORT_ESCAPES: Final = {
    "\0": r"\0", "\a": r"\a", "\b": r"\b", "\t": r"\t", "\n": r"\n", "\v": r"\v", "\f": r"\f", "\r": r"\r",
    "\x1b": r"\e", '"': r"\"", "\\": r"\\",
}  # fmt: skip
# A plain string may begin with a dash if no blank follows, as in `--json`.
_NOT_PLAIN_START: Final = re.compile(r"[?:,\[\]{}#&*!|>'\"%@`]|-(?:\s|$)|---|\.\.\.")
_NUMBER_LIKE: Final = re.compile(r"[-+.]*\d[-+.:\w]*|[yYnN]")


def inline(value: Any) -> str:
    """A scalar, or an empty collection, on one line.

    Raises:
        TypeError: a value of another type.
    """
    match value:
        case str():
            return inline_text(value)
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _float(value)
        case Mapping():
            return "{}"
        case list() | tuple():
            return "[]"
    raise TypeError(f"a snapshot cannot hold {type(value).__name__} {value!r}")


def inline_text(text: str) -> str:
    """Do as `inline` does with a string."""
    return text if _is_plain(text) else _quoted(text)


def _float(value: float) -> str:
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    text = repr(value)
    # YAML 1.1 requires a point in a float: 1e+16 would be a string.
    return text if "." in text else text.replace("e", ".0e")


@lru_cache(maxsize=1024)
def _is_plain(text: str) -> bool:
    """Whether a string of one line needs no quotes: every YAML reader loads it unquoted as the same string."""
    return (
        bool(text)
        and not _NOT_PLAIN_START.match(text)
        and text == text.strip(" ")
        and ": " not in text
        and " #" not in text
        and not text.endswith(":")
        and _is_visible_line(text)
        and (_is_several_words(text) or _is_string(text))
    )


def _is_several_words(text: str) -> bool:
    """Whether a string is several words: what YAML reads as something else is one word, or begins with a digit."""
    return " " in text and text[0].isalpha()


def _is_string(text: str) -> bool:
    """Whether a string without quotes is a string, and no number, date or boolean."""
    return not _NUMBER_LIKE.fullmatch(text) and _RESOLVER.resolve(yaml.ScalarNode, text, (True, False)) == _STR_TAG


def visible_line(text: str) -> str:
    """A line as it stands in a snapshot: with escapes if part of it cannot be seen."""
    return text if _is_visible_line(text) and not text.endswith(" ") else _quoted(text)


def _is_visible_line(text: str) -> bool:
    """Whether a string of one line has no invisible characters."""
    return text.isprintable() if text.isascii() else _INVISIBLE_IN_LINE.search(text) is None


def _quoted(text: str) -> str:
    """A string of one line in the kind of quotes that needs fewer escapes."""
    if ('"' in text or "\\" in text) and _is_visible_line(text):
        return "'" + text.replace("'", "''") + "'"
    return f'"{escape(text)}"'


def escape(text: str) -> str:
    """Escape what cannot be seen, quotes and backslashes, for a string in double quotes."""
    return _NEEDS_ESCAPE.sub(_escape_character, text)


def _escape_character(match: re.Match[str]) -> str:
    character = match[0]
    short = _SHORT_ESCAPES.get(character)
    if short is not None:
        return short
    code = ord(character)
    hexadecimal = f"{code:X}"
    # The shortest of YAML's three forms that fits: \xFF, \uFFFF, \UFFFFFFFF.
    letter, width = next(
        (letter, width) for letter, width in (("x", 2), ("u", 4), ("U", 8)) if width >= len(hexadecimal)
    )
    return f"\\{letter}{hexadecimal:0>{width}}"
