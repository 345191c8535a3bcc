"""Changes: find how what is sent now differs from a snapshot, by place.

Two texts come in, the stored one and one written by `serializer`; a `Difference` comes out. Pure; `diff` and
`comparison` call it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from pytest_chatprompt.snapshots.difference import Change, Difference, Hunk
from pytest_chatprompt.snapshots.files import SnapshotFileError
from pytest_chatprompt.snapshots.line_places import Line, lines_of
from pytest_chatprompt.snapshots.reordering import Move, in_sent_order
from pytest_chatprompt.snapshots.serializer import dump
from pytest_chatprompt.snapshots.stored_data import read_data, written_anew

_CONTEXT_LINES: Final = 1
# A shorter diff is not worth comparing a second time with all blocks escaped.
_SHORT_DIFF_LINES: Final = 6
# Of a text that cannot be read as data, perhaps because it is too large.
_LONGEST_UNREAD_TEXT: Final = 100_000
_LONGEST_UNREAD_LINE: Final = 1_000
_NO_LINE_BREAK: Final = "(no line break at the end)"


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two texts: its lines, and where each of them stands."""

    text: list[str]
    lines: Sequence[Line]


class _Unit(NamedTuple):
    """The changed lines of one value: of both sides, each as it is written and as it is read."""

    place: str
    sides: tuple[list[tuple[str, str | None]], list[tuple[str, str | None]]]

    def texts(self) -> Iterator[str | None]:
        """What its lines say, of both sides."""
        return (text for lines in self.sides for _, text in lines)


def compare_snapshots(stored: str, sent: str) -> Difference:
    """Compare two snapshots line by line.

    Args:
        stored: the text of the snapshot's file; it need not be valid YAML. In which form it was written does not count,
            as long as its data can be read.
        sent: the text of what is sent now, written by `serializer`.
    """
    difference = _compare_data(stored, sent) if _is_readable(stored) else None
    if difference is not None and (difference.hunks or stored == sent):
        return difference
    # The stored text cannot be read, or not as the data that it shows: the changed lines of its beginning say why.
    lines = [line[:_LONGEST_UNREAD_LINE] for line in _split_lines(stored[:_LONGEST_UNREAD_TEXT])]
    before, after = _Side(lines, ()), _Side(_split_lines(sent), lines_of(read_data(sent)))
    return _difference(before, after, _opcodes(before.text, after.text), ())


def compare_texts(stored: str, sent: str) -> Difference:
    """Compare two texts that `serializer` has not written line by line, such as what syrupy's `diff` keeps.

    Args:
        stored: the text of the snapshot's file.
        sent: the text of what is there now.
    """
    before, after = (
        _Side(lines, [Line("", "", line) for line in lines]) for lines in map(_split_lines, (stored, sent))
    )
    return _difference(before, after, _opcodes(before.text, after.text), ())


def _compare_data(stored: str, sent: str) -> Difference:
    sent_data = read_data(sent)
    ordered, moves = in_sent_order(read_data(stored), sent_data)
    texts = (dump(ordered) if moves else written_anew(stored), sent)
    sides = [_Side(_split_lines(text), lines_of(data)) for text, data in zip(texts, (ordered, sent_data), strict=True)]
    opcodes = _opcodes(sides[0].text, sides[1].text)
    if _length(opcodes) > _SHORT_DIFF_LINES:
        # The first invisible character in a block switches all of its lines to escapes. With every block escaped in
        # both texts, a change of one line is a diff of one line again.
        escaped = [
            _Side(_split_lines(dump(data, escape_blocks=True)), side.lines)
            for data, side in zip((ordered, sent_data), sides, strict=True)
        ]
        shorter = _opcodes(escaped[0].text, escaped[1].text)
        if _length(shorter) < _length(opcodes):
            sides, opcodes = escaped, shorter
    return _difference(sides[0], sides[1], opcodes, moves)


def _is_readable(stored: str) -> bool:
    """Whether a stored text has the data of a snapshot."""
    try:
        return isinstance(read_data(stored), Mapping) and bool(written_anew(stored))
    except (SnapshotFileError, TypeError):
        return False


def _split_lines(text: str) -> list[str]:
    """The lines of a text, with a note if the last line break is missing, which an editor may have removed."""
    lines = text.split("\n")
    return lines[:-1] if text.endswith("\n") else [*lines, _NO_LINE_BREAK]


def _opcodes(before: list[str], after: list[str]) -> list[list[tuple[str, int, int, int, int]]]:
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return list(matcher.get_grouped_opcodes(_CONTEXT_LINES))


def _length(groups: list[list[tuple[str, int, int, int, int]]]) -> int:
    """How many lines a diff has."""
    return sum(
        1 + sum(i2 - i1 if tag == "equal" else i2 - i1 + j2 - j1 for tag, i1, i2, j1, j2 in group) for group in groups
    )


def _difference(
    before: _Side, after: _Side, groups: list[list[tuple[str, int, int, int, int]]], moves: Sequence[Move]
) -> Difference:
    changes = [Change(move.place, moved=move.texts or move.description) for move in moves]
    hunks = [
        Hunk(move.place, tuple(f"> {line}" for line in move.description), (number,))
        for number, move in enumerate(moves)
    ]
    for group in groups:
        lines: list[str] = []
        first = len(changes)
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                lines += [f"  {line}" for line in before.text[i1:i2]]
            else:
                lines += [f"- {line}" for line in before.text[i1:i2]]
                lines += [f"+ {line}" for line in after.text[j1:j2]]
                changes += _changes(before, after, (i1, i2), (j1, j2))
        hunks.append(Hunk(changes[first].place, tuple(lines), tuple(range(first, len(changes)))))
    return Difference(tuple(changes), tuple(hunks))


def _changes(before: _Side, after: _Side, removed: tuple[int, int], added: tuple[int, int]) -> Iterator[Change]:
    """The changes in one range of lines, one for each value that they belong to."""
    units: dict[str, _Unit] = {}
    for number, (side, (start, end)) in enumerate(((before, removed), (after, added))):
        for index in range(start, end):
            if before.lines:
                line = side.lines[index]
            else:
                # A stored text that cannot be read has no places: one of what is sent now stands for them.
                line = after.lines[min(added[0], len(after.lines) - 1)]._replace(text=None)
            unit = units.setdefault(line.unit, _Unit(line.place, ([], [])))
            unit.sides[number].append((side.text[index], line.text))
    # The role and other keys around something new are not shown as changes of their own.
    telling = [unit for unit in units.values() if all(unit.sides) or any(text is not None for text in unit.texts())]
    for unit in telling or units.values():
        yield _change(unit)


def _change(unit: _Unit) -> Change:
    """A change of one value, without the lines at both ends that are the same."""
    removed, added = ([text for _, text in lines if text is not None] for lines in unit.sides)
    if removed == added:
        # Only the form changed, such as a role, or the line break at the end of a text.
        removed, added = ([line.strip().removeprefix("- ") for line, _ in lines] for lines in unit.sides)
    while removed and added and removed[0] == added[0]:
        del removed[0], added[0]
    while removed and added and removed[-1] == added[-1]:
        del removed[-1], added[-1]
    return Change(unit.place, tuple(removed), tuple(added))
