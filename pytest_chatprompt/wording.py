"""Phrases that the messages to users share: paths, suggestions, numbers of messages."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, TypeVar

K = TypeVar("K")
V = TypeVar("V")

# What to type for the prices of models.
INSTALL_PRICES: Final = "pip install 'pytest-chatprompt[prices]'"
# What moves the cursor, changes the direction of text, ends a line for others than us, or cannot be encoded.
_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
# Commands to CI in its log. GitHub Actions looks for `::error::` at the start of a line, and for `##[error]` anywhere,
# as Azure Pipelines does for `##vso[`.
# Source: https://github.com/actions/runner/blob/main/src/Runner.Common/ActionCommand.cs
_COMMAND_AT_START: Final = re.compile(r"^([^\S\n]*)(?=::\w)", re.MULTILINE)
_COMMAND: Final = re.compile(r"##(?=(?:vso)?\[)", re.IGNORECASE)


def visible(text: str) -> str:
    r"""A text of others, as a terminal and the log of CI may show it.

    Control characters become escapes such as `\x1b`, and a backslash stands within what CI would take for a command:
    `\::error::`, `##\vso[`. Line feeds, tabs and all other characters stay; CRLF becomes LF.
    """
    text = _INVISIBLE.sub(lambda match: ascii(match[0])[1:-1], text.replace("\r\n", "\n"))
    if "::" in text:
        text = _COMMAND_AT_START.sub(r"\1\\", text)
    return _COMMAND.sub(r"##\\", text) if "##" in text else text


def visible_line(text: str) -> str:
    r"""A text of others that has to stay on one line: as `visible` gives it, with `\n` for line feeds."""
    return visible(text).replace("\n", "\\n")


def shown_path(path: Path, root: Path) -> str:
    """A path as messages show it: relative to the root folder where it is inside, with `/` on every platform."""
    try:
        return path.relative_to(root).as_posix()
    except ValueError:
        return path.as_posix()


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A suggestion for a mistyped word, such as `did you mean 'content'?`; `""` if no known word is close."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f"did you mean {close[0]!r}?" if close else ""


def about_message(number: int | None, text: str) -> str:
    """Put the number of a message in front of a text about it, if it has one: `message 2: the role is missing`."""
    return text if number is None else f"message {number}: {text}"


def enumerated(words: Iterable[int | str], conjunction: str = "and") -> str:
    """At least one word in a sentence: `a`, `a and b`, `a, b and c`."""
    *first, last = map(str, words)
    return f"{', '.join(first)} {conjunction} {last}" if first else last


def numbered(noun: str, numbers: Sequence[int | str]) -> str:
    """Things by their numbers or ids: `message 2`, `messages 2 and 3`, `messages 1, 2 and 3`."""
    return f"{noun}{'s' if len(numbers) > 1 else ''} {enumerated(numbers)}"


def data_place(path: Iterable[str | int]) -> str:
    """A place in JSON data: `messages[0].content`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")


def common_start(old: Sequence[object], new: Sequence[object]) -> int:
    """How many items two lists or texts begin with in common."""
    length = min(len(old), len(new))
    return next((index for index in range(length) if old[index] != new[index]), length)


def cut(text: str, longest: int) -> str:
    """The beginning of a text, as long as it may be."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def listed(names: Sequence[str], most: int | None, noun: str = "") -> str:
    """The first of some names, and how many there are more: `a, b and 3 more`, with a noun `a, b and 3 more places`."""
    hidden = 0 if most is None else max(len(names) - most, 0)
    more = f" and {count(hidden, f'more {noun}') if noun else f'{hidden} more'}" if hidden else ""
    return ", ".join(names[:most]) + more


def first_lines(lines: Sequence[str], most: int | None, more: str = "and {} more") -> list[str]:
    """The first of some lines, and one about how many there are more."""
    hidden = 0 if most is None else len(lines) - most
    return [*lines[:most], *([more.format(hidden)] if hidden > 0 else [])]


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """What has the same key, such as a message, together; in the order of the keys."""
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def count(number: int, noun: str, nouns: str = "") -> str:
    """A number with its noun: `1 case`, `2 cases`; another plural than that with an s is given as `nouns`."""
    return f"{number} {noun if number == 1 else nouns or f'{noun}s'}"


def dollars(amount: float) -> str:
    """An amount of US dollars: `$5.00`; below ten cents with two digits that count: `$0.0012`."""
    digits = max(2, 1 - math.floor(math.log10(amount))) if amount > 0 else 2
    text = f"{amount:.{digits}f}"
    while digits > 2 and text.endswith("0"):  # noqa: PLR2004 - cents
        text, digits = text[:-1], digits - 1
    return f"${text}"
