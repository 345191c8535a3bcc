"""The layout of a snapshot: JSON data as exact and readable YAML.

YAML libraries fold, wrap or quote long strings by rules of their own. Here each line of the text depends on one line of
a string alone, so that a change of one line in a prompt is a change of one line in the snapshot.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import yaml
from yaml.representer import SafeRepresenter
from yaml.resolver import Resolver

from pytest_chatprompt.text.files import remember_long, sections

_STR_TAG: Final = "tag:yaml.org,2002:str"
_RESOLVER: Final[Any] = Resolver()
_REPRESENTER: Final[Any] = SafeRepresenter()

# Control and format characters, blanks other than the space, line separators, fillers, lone surrogates and
# noncharacters. A list, because the tables of `unicodedata` differ between Python versions.
INVISIBLE: Final = (
    "\x7f-\xa0\xad\u034f\u061c\u070f\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f"
    "\u205f-\u206f\u3000\u3164\ud800-\udfff\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# Few texts need these three: `re` compiles them then, and keeps them.
_INVISIBLE_IN_LINE: Final = f"[\x00-\x1f{INVISIBLE}]"
_NEEDS_ESCAPE: Final = f'[\x00-\x1f{INVISIBLE}"\\\\]'
_SHORT_ESCAPES: Final = {
    "\0": r"\0", "\a": r"\a", "\b": r"\b", "\t": r"\t", "\n": r"\n", "\v": r"\v", "\f": r"\f", "\r": r"\r",
    "\x1b": r"\e", '"': r"\"", "\\": r"\\",
}  # fmt: skip
# A plain string may begin with a dash if no blank follows, as in `--json`.
_NOT_PLAIN_START: Final = re.compile(r"[?:,\[\]{}#&*!|>'\"%@`]|-(?:\s|$)|---|\.\.\.")
_NUMBER_LIKE: Final = re.compile(r"[-+.]*\d[-+.:\w]*|[yYnN]")


class DumpError(TypeError):
    """A snapshot cannot hold a value; the text says what can stand in its place."""


def inline(value: Any) -> str:
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
            return str(_REPRESENTER.represent_float(value).value)
        case Mapping():
            return "{}"
        case list() | tuple():
            return "[]"
    raise DumpError(f"a snapshot cannot hold {type(value).__name__} {value!r}; compare eval_api.sent, or JSON data")


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
        # No number, date or boolean.
        and not _NUMBER_LIKE.fullmatch(text)
        and _RESOLVER.resolve(yaml.ScalarNode, text, (True, False)) == _STR_TAG
    )


def visible_line(text: str) -> str:
    """A line as it stands in a snapshot: with escapes if part of it cannot be seen."""
    return text if _is_visible_line(text) and not text.endswith(" ") else _quoted(text)


def _is_visible_line(text: str) -> bool:
    """Whether a string of one line has no invisible characters."""
    return text.isprintable() if text.isascii() else re.search(_INVISIBLE_IN_LINE, text) is None


def _quoted(text: str) -> str:
    """A string of one line in the kind of quotes that needs fewer escapes."""
    if ('"' in text or "\\" in text) and _is_visible_line(text):
        return "'" + text.replace("'", "''") + "'"
    return f'"{escape(text)}"'


def escape(text: str) -> str:
    """Escape what cannot be seen, quotes and backslashes, for a string in double quotes."""
    return re.sub(_NEEDS_ESCAPE, _escape_character, text)


def _escape_character(match: re.Match[str]) -> str:
    code = ord(match[0])
    # The shortest of YAML's forms that fits.
    long = f"\\x{code:02X}" if code <= 0xFF else f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"  # noqa: PLR2004
    return _SHORT_ESCAPES.get(match[0], long)


_INVISIBLE_IN_BLOCK: Final = f"[\x00-\x09\x0b-\x1f{INVISIBLE}]"
_INDENT: Final = "  "


def dump(data: Mapping[str, Any] | Sequence[Any]) -> str:
    """Write JSON data as YAML, in the order of the data; `""` for an empty mapping or list."""
    lines: list[str] = []
    _add_lines(lines, data, "")
    return "\n".join([*lines, ""])


# The functions add to one list: a generator in each level would hand on every line through all levels around it.


def _add_lines(lines: list[str], value: Mapping[str, Any] | Sequence[Any], indent: str) -> None:
    """Add the lines of a mapping or sequence that is not empty."""
    if isinstance(value, dict | Mapping):
        for key, inner in value.items():
            _add_entry(lines, f"{indent}{inline(key)}:", inner, indent, is_item=False)
    else:
        for inner in value:
            _add_entry(lines, f"{indent}-", inner, indent, is_item=True)


def _add_entry(lines: list[str], prefix: str, value: Any, indent: str, *, is_item: bool) -> None:
    """Add the lines of a mapping's value or a sequence's item, beginning with its key or dash."""
    deeper = indent + _INDENT
    match value:
        case str() if "\n" in value:
            _add_block(lines, prefix, value, deeper)
        case str():
            lines.append(f"{prefix} {inline(value)}")
        case dict() | Mapping() if value and is_item:
            # The first key follows the dash on its line, the others stand below.
            first = len(lines)
            _add_lines(lines, value, deeper)
            lines[first] = f"{prefix} {lines[first].removeprefix(deeper)}"
        case dict() | Mapping() if value:
            lines.append(prefix)
            _add_lines(lines, value, deeper)
        case list() | tuple() if value:
            lines.append(prefix)
            _add_lines(lines, value, deeper if is_item else indent)
        case _:
            lines.append(f"{prefix} {inline(value)}")


def _add_block(lines: list[str], prefix: str, text: str, indent: str) -> None:
    """Add the lines of a string of several lines."""
    ending = "" if text.endswith("\n") else "-"
    parts = sections(text.removesuffix("\n"))
    if text.endswith("\n\n") or text == "\n" or not all(map(_is_all_visible, parts)):
        lines.append(f'{prefix} "\\')
        lines += _escaped_lines(text, indent)
        return
    # Without this number YAML takes the indentation from the first line that is not empty.
    indentation = "2" if text.lstrip("\n").startswith(" ") else ""
    lines.append(f"{prefix} |{indentation}{ending}")
    lines += [_indenting(indent)(part) for part in parts]


@lru_cache
def _indenting(indent: str) -> Callable[[str], str]:
    return remember_long(lambda text: _indented(text, indent))


def _indented(text: str, indent: str) -> str:
    """Lines with an indentation, none of which ends in a blank; empty lines stay empty."""
    # All as one text: for a document of a megabyte, one by one takes longer than everything else together.
    indented = text.replace("\n", f"\n{indent}")
    return f"{indent}{indented}\n".replace(f"{indent}\n", "\n")[:-1]


def _escaped_lines(text: str, indent: str) -> list[str]:
    """The lines of a string in double quotes, without the first quote."""
    *ended, rest = text.split("\n")
    lines = [*(rf"{escape(line)}\n" for line in ended), *([escape(rest)] if rest else [])]
    # YAML would drop leading blanks as indentation; escaping the first one keeps them all.
    *others, last = (f"{indent}\\{line}" if line.startswith(" ") else f"{indent}{line}" for line in lines)
    return [*(f"{line}\\" for line in others), f'{last}"']


@remember_long
def _is_all_visible(text: str) -> bool:
    """Whether a string of several lines has neither invisible characters nor blanks at the end of a line."""
    if text.endswith(" ") or " \n" in text:
        return False
    if text.isascii():
        # In ASCII the patterns match exactly what Python calls not printable; this takes a fifth of the time.
        return text.replace("\n", "").isprintable()
    return re.search(_INVISIBLE_IN_BLOCK, text) is None
