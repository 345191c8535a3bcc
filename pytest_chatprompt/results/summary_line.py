"""Summary line: what changed in a case, in one short line.

The changes of a case come in; `request.system: "14 days" → "30 days" and 2 more` comes out. Pure; `items` shows it in
pytest's short summary, and so do JUnit's messages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from pytest_chatprompt.results.changed_words import changed_words
from pytest_chatprompt.snapshots.difference import Change

_LONGEST_QUOTE: Final = 40
# A changed word that is shorter is hard to find without the one beside it.
_SHORT_WORDS: Final = 8


def summary_line(changes: Sequence[Change]) -> str:
    """What changed, in one line.

    Args:
        changes: of one case. Equal ones in several places count once.

    Returns:
        The line; `""` for no changes.
    """
    if not changes:
        return ""
    distinct: dict[object, Change] = {}
    for change in changes:
        known = distinct.get(change.content)
        # The question repeats for people what the request says.
        if known is None or known.place == "question":
            distinct[change.content] = change
    first, *others = distinct.values()
    more = f" and {len(others)} more" if others else ""
    return f"{describe_change(first)}{more}"


def describe_change(change: Change) -> str:
    """One change in one line, with its place."""
    place = change.place or "the snapshot"
    if change.moved:
        return f"{place}: moved {_quoted(change.moved)}"
    if not change.removed:
        return f"{place}: added {_shown(change.place, change.added)}"
    if not change.added:
        return f"{place}: removed {_shown(change.place, change.removed)}"
    values = [_value(change.place, lines) for lines in (change.removed, change.added)]
    if None not in values:
        return f"{place}: {_cut(str(values[0]))} → {_cut(str(values[1]))}"
    old, new = _first_changed_words(change.removed[0], change.added[0])
    return f"{place}: {_quoted((old, *change.removed[1:]))} → {_quoted((new, *change.added[1:]))}"


def _first_changed_words(removed: str, added: str) -> tuple[str, str]:
    """The part of two lines that differs, with a word beside it if it is short."""
    pieces = changed_words(removed, added)
    changed = [number for number, piece in enumerate(pieces) if not piece.is_equal]
    if not changed:
        return removed, added
    first, last = changed[0], changed[-1]
    old = "".join(piece.removed for piece in pieces[first : last + 1])
    new = "".join(piece.added for piece in pieces[first : last + 1])
    if min(len(old), len(new)) < _SHORT_WORDS:
        before = pieces[first - 1].removed if first else ""
        after = pieces[last + 1].removed if last + 1 < len(pieces) else ""
        beside = re.match(r"\s*\w+", after) if old.strip() and new.strip() else None
        if beside is not None:
            return old + beside[0], new + beside[0]
        beside = re.search(r"\S+\s*$", before)
        if beside is not None:
            return beside[0] + old, beside[0] + new
    return old, new


def _value(place: str, lines: tuple[str, ...]) -> str | None:
    """The value of a setting; `None` for a text."""
    key = re.sub(r"\[\d+\]", "", place).rpartition(".")[2]
    return lines[0].removeprefix(f"{key}: ") if len(lines) == 1 and lines[0].startswith(f"{key}: ") else None


def _shown(place: str, lines: tuple[str, ...]) -> str:
    value = _value(place, lines)
    return _quoted(lines) if value is None else _cut(value)


def _quoted(lines: tuple[str, ...]) -> str:
    """The first line of a text in quotes."""
    text = lines[0].strip() or next((line.strip() for line in lines if line.strip()), "")
    shown = _cut(text)
    if len(lines) > 1 and not shown.endswith("…"):
        shown += "…"
    return f'"{shown}"'


def _cut(text: str) -> str:
    # Prompts may be long, and each character makes at least one that is shown.
    start = text[: _LONGEST_QUOTE + 1]
    visible = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in start)
    return visible if len(visible) <= _LONGEST_QUOTE else f"{visible[: _LONGEST_QUOTE - 1].rstrip()}…"
