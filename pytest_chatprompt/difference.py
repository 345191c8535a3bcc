"""The difference between a snapshot and what is sent now, for people.

Two texts of `snapshot_yaml` come in, a unified diff comes out whose hunks are headed by where they stand
in the payload (`request.messages[1].content`). Pure; only asked when a case fails.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Final

import yaml

from pytest_chatprompt.snapshot_yaml import dump

_CONTEXT_LINES: Final = 1
_STYLE_SWITCH_LINES: Final = 6
_LONGEST_LINES: Final = 400


def difference(stored: str, sent: str) -> str:
    """Tell two snapshots apart.

    Args:
        stored: the text of the snapshot.
        sent: the text of what is sent now.

    Returns:
        Removed lines with `-`, added ones with `+`, each hunk under its place; `""` for equal texts.
    """
    shortest = _compared(stored, sent)
    if len(shortest) > _STYLE_SWITCH_LINES:
        # A first unseen character turns all lines of a block into escaped ones: told so, one line is one line again.
        shortest = min(shortest, _compared(_escaped(stored), _escaped(sent)), key=len)
    if len(shortest) > _LONGEST_LINES:
        shortest[_LONGEST_LINES:] = [f"... and {len(shortest) - _LONGEST_LINES} more lines"]
    return "\n".join(shortest)


def _compared(stored: str, sent: str) -> list[str]:
    before, after = _lines(stored), _lines(sent)
    places = list(_places(yaml.compose(sent), ""))
    lines: list[str] = []
    for group in difflib.SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(_CONTEXT_LINES):
        changed = next(opcode for opcode in group if opcode[0] != "equal")
        lines.append(f"@@ {_place_of(changed[3], places)} @@")
        for tag, first, last, first_sent, last_sent in group:
            if tag == "equal":
                lines += [f"  {line}" for line in before[first:last]]
            else:
                lines += [f"- {line}" for line in before[first:last]]
                lines += [f"+ {line}" for line in after[first_sent:last_sent]]
    return lines


def _escaped(text: str) -> str:
    """A snapshot with all of its blocks escaped; one that is no snapshot as it is."""
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError:
        return text
    return dump(data, escaped=True) if isinstance(data, dict) else text


def _lines(text: str) -> list[str]:
    """The lines of a text; one that lacks the line break at its end, as an editor may leave it, says so."""
    lines = text.split("\n")
    return lines[:-1] if text.endswith("\n") else [*lines, "(no line break at the end)"]


def _places(node: yaml.Node | None, path: str) -> Iterator[tuple[int, str]]:
    """Where the values of a document begin: 0-based line and path, in order."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = f"{path}.{key.value}" if path else key.value
            yield key.start_mark.line, inner
            yield from _places(value, inner)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            yield value.start_mark.line, f"{path}[{index}]"
            yield from _places(value, f"{path}[{index}]")


def _place_of(line: int, places: list[tuple[int, str]]) -> str:
    return next((path for first, path in reversed(places) if first <= line), "")
