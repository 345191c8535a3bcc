r"""Write the text of a snapshot: JSON data as exact and readable YAML.

JSON data comes in; a YAML text comes out, and loading it gives back exactly the same data. Pure; the extension, the
diff and the recordings of this room call it, and so do `live` and `reports`.

One line of a string is one line of the text. A string of several lines is a literal block if all of it is visible;
else it is a double-quoted scalar with a line break after every `\n`, in which every invisible character is escaped.
YAML libraries fold, wrap or quote long strings by rules of their own. Here each line of the text depends on one line of
the string alone, so that a change of one line in a prompt is a change of one line in the snapshot.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from pytest_chatprompt.snapshots.scalars import INVISIBLE, escape, inline, inline_text
from pytest_chatprompt.snapshots.snapshot_text import SharedLines, SnapshotText
from pytest_chatprompt.text.shared_texts import SharedTexts

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
