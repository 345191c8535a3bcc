r"""The text of a snapshot: JSON data as YAML that is exact and readable.

Loading the text gives back the very data. One line of a string is one line of the text: a string of
several lines is a literal block where all of it can be seen, else a double-quoted scalar with a line break
behind every `\n`, in which everything that cannot be seen is escaped. Pure; `snapshot` calls it.

YAML libraries fold, wrap or quote long strings by rules of their own; this needs each line to depend on
that line alone, so that a changed line of a prompt is a changed line of the snapshot.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import yaml
from yaml.resolver import Resolver

_STR_TAG: Final = "tag:yaml.org,2002:str"
_RESOLVER: Final[Any] = Resolver()

# Control and format characters, blanks other than the space, line separators, fillers, half characters and
# non-characters. Listed, not looked up in `unicodedata`, whose tables differ between Python versions.
_UNSEEN: Final = (
    "\x7f-\xa0\xad\u034f\u061c\u070f\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f"
    "\u205f-\u206f\u3000\u3164\ud800-\udfff\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_UNSEEN_IN_LINE: Final = re.compile(f"[\x00-\x1f{_UNSEEN}]")
_UNSEEN_IN_BLOCK: Final = re.compile(f"[\x00-\x09\x0b-\x1f{_UNSEEN}]")
_ESCAPED: Final = re.compile(f'[\x00-\x1f{_UNSEEN}"\\\\]')
_SHORT_ESCAPES: Final = {
    "\0": r"\0", "\a": r"\a", "\b": r"\b", "\t": r"\t", "\n": r"\n", "\v": r"\v", "\f": r"\f", "\r": r"\r",
    "\x1b": r"\e", '"': r"\"", "\\": r"\\",
}  # fmt: skip
# A dash may begin a plain string where no blank follows it, as in `--json`.
_NOT_FIRST: Final = re.compile(r"[?:,\[\]{}#&*!|>'\"%@`]|-(?:\s|$)|---|\.\.\.")
_NUMBER_LIKE: Final = re.compile(r"[-+.]*\d[-+.:\w]*|[yYnN]")
_STEP: Final = "  "


def dump(data: Mapping[str, Any], *, escaped: bool = False) -> str:
    """Write JSON data as YAML.

    Args:
        data: mappings with string keys, sequences, strings, numbers, booleans and `None`, in their order.
        escaped: write every string of several lines with escapes, also where all of it can be seen.

    Returns:
        The text, with a line break at its end.

    Raises:
        TypeError: something in the data is none of these.
    """
    return "".join(f"{line}\n" for line in _lines(data, "", escaped))


def _lines(value: Mapping[str, Any] | Sequence[Any], indent: str, escaped: bool) -> Iterator[str]:
    """The lines of a mapping or sequence that is not empty."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _entry(f"{indent}{_inline(key)}:", inner, indent, escaped, is_item=False)
    else:
        for inner in value:
            yield from _entry(f"{indent}-", inner, indent, escaped, is_item=True)


def _entry(prefix: str, value: Any, indent: str, escaped: bool, *, is_item: bool) -> Iterator[str]:
    """The lines of a mapping's value or a sequence's item, the first behind its prefix."""
    deeper = indent + _STEP
    match value:
        case str() if "\n" in value:
            yield from _block(prefix, value, deeper, escaped)
        case Mapping() if value:
            if is_item:
                # The first key stands behind the dash, the others below it.
                lines = _lines(value, deeper, escaped)
                yield f"{prefix} {next(lines).removeprefix(deeper)}"
                yield from lines
            else:
                yield prefix
                yield from _lines(value, deeper, escaped)
        case list() | tuple() if value:
            yield prefix
            yield from _lines(value, deeper if is_item else indent, escaped)
        case _:
            yield f"{prefix} {_inline(value)}"


def _block(prefix: str, text: str, indent: str, escaped: bool) -> Iterator[str]:
    """The lines of a string of several lines."""
    if escaped or text.endswith("\n\n") or text == "\n" or not _is_all_seen(text):
        yield f'{prefix} "\\'
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()
            breaks = [r"\n"] * len(lines)
        else:
            breaks = [*[r"\n"] * (len(lines) - 1), ""]
        for number, (line, line_break) in enumerate(zip(lines, breaks, strict=True), start=1):
            # Blanks at the start of a line would count as indentation; the first, escaped, holds the others.
            start = "\\" if line.startswith(" ") else ""
            yield f"{indent}{start}{_escaped(line)}{line_break}" + ('"' if number == len(lines) else "\\")
        return
    # YAML takes the indentation from the first line that is not empty, unless it is told.
    told = "2" if text.lstrip("\n").startswith(" ") else ""
    yield f"{prefix} |{told}" + ("" if text.endswith("\n") else "-")
    # As one: to hand a document of a megabyte on line by line takes longer than all else that is done with it.
    yield "\n".join([f"{indent}{line}" if line else "" for line in text.removesuffix("\n").split("\n")])


def _is_all_seen(text: str) -> bool:
    """Whether all of a string of several lines is seen, blanks at the end of a line included."""
    if text.endswith(" ") or " \n" in text:
        return False
    if text.isascii():
        # The same as the pattern says, in a fifth of the time: of ASCII Python calls printable what can be seen.
        return text.replace("\n", "").isprintable()
    return _UNSEEN_IN_BLOCK.search(text) is None


def _inline(value: Any) -> str:
    """A scalar, or an empty collection, on one line."""
    match value:
        case str():
            return value if _is_plain(value) else _quoted(value)
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


def _float(value: float) -> str:
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    text = repr(value)
    # YAML 1.1 knows no float without a point: 1e+16 would be a string.
    return text if "." in text else text.replace("e", ".0e")


@lru_cache(maxsize=1024)
def _is_plain(text: str) -> bool:
    """Whether a string of one line can stand without quotes, and is a string to every YAML reader."""
    return (
        bool(text)
        and not _NOT_FIRST.match(text)
        and text == text.strip(" ")
        and ": " not in text
        and " #" not in text
        and not text.endswith(":")
        and not _UNSEEN_IN_LINE.search(text)
        and not _NUMBER_LIKE.fullmatch(text)
        and _RESOLVER.resolve(yaml.ScalarNode, text, (True, False)) == _STR_TAG
    )


def _quoted(text: str) -> str:
    """A string of one line in the quotes that leave most of it as it is."""
    if ('"' in text or "\\" in text) and not _UNSEEN_IN_LINE.search(text):
        return "'" + text.replace("'", "''") + "'"
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    return _ESCAPED.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    short = _SHORT_ESCAPES.get(character)
    if short is not None:
        return short
    code = ord(character)
    hexadecimal = f"{code:X}"
    # The first of YAML's three forms that has room: \xFF, \uFFFF, \UFFFFFFFF.
    letter, width = next(
        (letter, width) for letter, width in (("x", 2), ("u", 4), ("U", 8)) if width >= len(hexadecimal)
    )
    return f"\\{letter}{hexadecimal:0>{width}}"
