r"""The layout of a snapshot: JSON data as exact and readable YAML, and its text in lines.

One line of a string is one line of the text. A string of several lines is a literal block if all of it is visible;
else it is a double-quoted scalar with a line break after every `\n`, in which every invisible character is escaped.
YAML libraries fold, wrap or quote long strings by rules of their own. Here each line of the text depends on one line of
the string alone, so that a change of one line in a prompt is a change of one line in the snapshot.

Most snapshots are equal, so the lines need not be joined to be compared with the bytes of a file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml
from yaml.resolver import Resolver

from pytest_chatprompt.prompt.shared_texts import SharedTexts
from pytest_chatprompt.text.files import TextFileError, holds_bytes
from pytest_chatprompt.text.yaml import MAX_BYTES

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
            return _float_text(value)
        case Mapping():
            return "{}"
        case list() | tuple():
            return "[]"
    raise TypeError(f"a snapshot cannot hold {type(value).__name__} {value!r}")


def inline_text(text: str) -> str:
    """Do as `inline` does with a string."""
    return text if _is_plain(text) else _quoted(text)


def _float_text(value: float) -> str:
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


class SharedLines(str):
    """Lines that are the same object in many snapshots."""

    @cached_property
    def encoded(self) -> bytes:
        """The lines as UTF-8."""
        return self.encode()


@dataclass(frozen=True, slots=True)
class SnapshotText:
    """The text of a snapshot; `str` gives it as one.

    Args:
        lines: without the line break at their ends; one of them may be several lines of a document. None for `""`.
    """

    lines: Sequence[str]

    def __str__(self) -> str:
        return "\n".join([*self.lines, ""])

    def encoded(self) -> Iterator[bytes]:
        """The text as UTF-8, in pieces; shared lines are pieces of their own."""
        others: list[str] = []
        for line in self.lines:
            if isinstance(line, SharedLines):
                yield "\n".join([*others, ""]).encode()
                yield line.encoded
                # The line break at their end.
                others = [""]
            else:
                others.append(line)
        yield "\n".join([*others, ""]).encode()

    def is_in(self, path: Path) -> bool:
        """Whether a file holds just this text; one that holds the same data in another form does not.

        Args:
            path: the file; one that cannot be read holds nothing.
        """
        try:
            return holds_bytes(path, self.encoded(), MAX_BYTES)
        except TextFileError:
            return False


_INVISIBLE_IN_BLOCK: Final = re.compile(f"[\x00-\x09\x0b-\x1f{INVISIBLE}]")
_INDENT: Final = "  "
_LINE_BREAK: Final = "\n"


class _Layout(NamedTuple):
    """How strings of several lines are written."""

    escapes_blocks: bool
    shared: SharedTexts


def dump(data: Mapping[str, Any], *, escape_blocks: bool = False, shared: SharedTexts | None = None) -> str:
    """Write JSON data as YAML.

    Args:
        data: mappings with string keys, sequences, strings, numbers, booleans and `None`; their order is kept.
        escape_blocks: write every string of several lines with escapes, even if all of it is visible.
        shared: long texts that are part of the data of many snapshots; each is laid out once.

    Returns:
        The text, with a line break at its end; `""` for an empty mapping.

    Raises:
        TypeError: the data contains a value of another type.
    """
    return str(lay_out(data, escape_blocks=escape_blocks, shared=shared))


def lay_out(data: Mapping[str, Any], *, escape_blocks: bool = False, shared: SharedTexts | None = None) -> SnapshotText:
    """Do as `dump` does, without joining the lines."""
    lines: list[str] = []
    _add_lines(lines, data, "", _Layout(escape_blocks, shared or SharedTexts()))
    return SnapshotText(lines)


# The functions add to one list: a generator in each level would hand on every line through all levels around it.


def _add_lines(lines: list[str], value: Mapping[str, Any] | Sequence[Any], indent: str, layout: _Layout) -> None:
    """Add the lines of a mapping or sequence that is not empty."""
    if isinstance(value, (dict, Mapping)):
        for key, inner in value.items():
            _add_entry(lines, f"{indent}{inline(key)}:", inner, indent, layout, is_item=False)
    else:
        for inner in value:
            _add_entry(lines, f"{indent}-", inner, indent, layout, is_item=True)


def _add_entry(  # noqa: PLR0913 - the place of an entry, and how it is written
    lines: list[str], prefix: str, value: Any, indent: str, layout: _Layout, *, is_item: bool
) -> None:
    """Add the lines of a mapping's value or a sequence's item, beginning with its key or dash."""
    deeper = indent + _INDENT
    match value:
        case str() if "\n" in value:
            _add_block(lines, prefix, value, deeper, layout)
        case str():
            # Most values are strings of one line.
            lines.append(f"{prefix} {inline_text(value)}")
        case dict() | Mapping() if value:
            if is_item:
                # The first key follows the dash on its line, the others stand below.
                first = len(lines)
                _add_lines(lines, value, deeper, layout)
                lines[first] = f"{prefix} {lines[first].removeprefix(deeper)}"
            else:
                lines.append(prefix)
                _add_lines(lines, value, deeper, layout)
        case list() | tuple() if value:
            lines.append(prefix)
            _add_lines(lines, value, deeper if is_item else indent, layout)
        case _:
            lines.append(f"{prefix} {inline(value)}")


def _add_block(lines: list[str], prefix: str, text: str, indent: str, layout: _Layout) -> None:
    """Add the lines of a string of several lines."""
    shared = layout.shared
    pieces = shared.pieces(text.removesuffix("\n"))
    is_visible = all(shared.remember(piece, "visible", _is_all_visible) for piece in pieces)
    if layout.escapes_blocks or text.endswith("\n\n") or text == "\n" or not is_visible:
        lines.append(f'{prefix} "\\')
        lines += _escaped_lines(text, indent)
        return
    # Without this number YAML takes the indentation from the first line that is not empty.
    indentation = "2" if text.lstrip("\n").startswith(" ") else ""
    lines.append(f"{prefix} |{indentation}" + ("" if text.endswith("\n") else "-"))
    for piece in pieces:
        # All lines as one text: for a document of a megabyte, one by one takes longer than everything else together.
        indented = partial(_indented_for_many if piece.is_shared else _indented, indent=indent)
        lines.append(shared.remember(piece, indent, indented))


def _escaped_lines(text: str, indent: str) -> Iterator[str]:
    """The lines of a string in double quotes, without the first quote."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
        breaks = [r"\n"] * len(lines)
    else:
        breaks = [*[r"\n"] * (len(lines) - 1), ""]
    for number, (line, line_break) in enumerate(zip(lines, breaks, strict=True), start=1):
        # YAML would drop leading blanks as indentation; escaping the first one keeps them all.
        backslash = "\\" if line.startswith(" ") else ""
        yield f"{indent}{backslash}{escape(line)}{line_break}" + ('"' if number == len(lines) else "\\")


def _indented(text: str, indent: str) -> str:
    """Lines with an indentation, none of which ends in a blank; empty lines stay empty."""
    return f"{indent}{text.replace(_LINE_BREAK, _LINE_BREAK + indent)}\n".replace(f"{indent}\n", "\n")[:-1]


def _indented_for_many(text: str, indent: str) -> SharedLines:
    """Do as `_indented` does, for lines that many snapshots share."""
    return SharedLines(_indented(text, indent))


def _is_all_visible(text: str) -> bool:
    """Whether a string of several lines has neither invisible characters nor blanks at the end of a line."""
    if text.endswith(" ") or " \n" in text:
        return False
    if text.isascii():
        # In ASCII the patterns match exactly what Python calls not printable; this takes a fifth of the time.
        return text.replace("\n", "").isprintable()
    return _INVISIBLE_IN_BLOCK.search(text) is None
