"""The diff of a snapshot: how what is sent now differs from what is stored, by place in the data."""

from __future__ import annotations

import difflib
import json
import re
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

from pytest_chatprompt.snapshots.files import SnapshotFileError
from pytest_chatprompt.snapshots.layout import dump, inline
from pytest_chatprompt.snapshots.stored import Change, Difference, Hunk, read_data, written_anew

# The line of a transcript on which a turn begins, and what follows on it.
_TURN: Final = re.compile(r"\[(?:System|User|Assistant|Tool)\]:(?: (?P<text>.*))?")
_TURN_BREAK: Final = re.compile(rf"\n(?=(?:{_TURN.pattern})$)".replace("?P<text>", "?:"), re.MULTILINE)
# Where the bodies of the known APIs hold their conversation: texts count there under any key.
_CONVERSATION_KEYS: Final = frozenset(
    {"messages", "contents", "input", "system", "systemInstruction", "system_instruction", "instructions", "prompt"}
)
_TRANSCRIPT_KEYS: Final = frozenset({"question", "prompt", "messages"})
# Which API it is decides how these read; the conversation is the same.
_FRAME_KEYS: Final = frozenset({"role", "type"})


class Line(NamedTuple):
    """One line of a snapshot.

    Args:
        place: the path in the data of the value that it belongs to: `request.messages[0].content`.
        unit: the place; in a transcript with the number of the turn.
        text: the line of a text, without indentation, quotes and role marker; key and value of a setting; `None` if it
            only gives the form.
    """

    place: str
    unit: str
    text: str | None


def lines_of(data: Mapping[str, Any]) -> list[Line]:
    """The lines of a snapshot."""
    return list(_mapping_lines(data, (), ""))


def text_lines(value: Any) -> list[str]:
    """What an item of a conversation says: the lines of its texts, without role and form."""
    if not isinstance(value, str | Mapping | list):
        return [inline(value)]
    lines = _entry_lines(value, ("question",), "")
    return [line.text for line in lines if line.text is not None]


def _mapping_lines(data: Mapping[str, Any], path: tuple[str | int, ...], place: str) -> Iterator[Line]:
    for key, value in data.items():
        inner = (*path, key)
        inner_place = f"{place}.{key}" if place else key
        if isinstance(value, Mapping | list | tuple) and value:
            yield Line(inner_place, inner_place, None)
        yield from _entry_lines(value, inner, inner_place)


def _entry_lines(value: Any, path: tuple[str | int, ...], place: str) -> Iterator[Line]:
    """The lines of a value without the line of its key, if it has one of its own."""
    match value:
        case Mapping() if value:
            yield from _mapping_lines(value, path, place)
        case list() | tuple() if value:
            for index, item in enumerate(value):
                item_place = f"{place}[{index}]"
                if isinstance(item, list | tuple) and item:
                    yield Line(item_place, item_place, None)
                yield from _entry_lines(item, (*path, index), item_place)
        case str() if "\n" in value:
            # A text of several lines is prose wherever it stands.
            yield Line(place, place, None)
            yield from _prose_lines(value.removesuffix("\n").split("\n"), path, place)
        case str() if _is_conversation(path):
            yield from [Line(place, place, None)] if _key(path) in _FRAME_KEYS else _prose_lines([value], path, place)
        case _:
            yield Line(place, place, f"{_key(path)}: {inline(value)}")


def _key(path: tuple[str | int, ...]) -> str:
    return next((part for part in reversed(path) if isinstance(part, str)), "")


def _prose_lines(lines: Sequence[str], path: tuple[str | int, ...], place: str) -> Iterator[Line]:
    turn = 0
    for line in lines:
        marker = _TURN.fullmatch(line) if path[0] == "question" else None
        turn += marker is not None
        unit = f"{place}#{turn}" if path[0] == "question" else place
        yield Line(place, unit, line if marker is None else marker["text"])


def _is_conversation(path: tuple[str | int, ...]) -> bool:
    if path[0] in _TRANSCRIPT_KEYS:
        return True
    start = next((index for index, part in enumerate(path) if part == "request"), None)
    return start is not None and len(path) > start + 1 and path[start + 1] in _CONVERSATION_KEYS


_MOST_SINGLE_MOVES: Final = 3
_LABEL_CHARACTERS: Final = 60


@dataclass(frozen=True, slots=True)
class Move:
    """Items, keys or turns that moved within one list, mapping or transcript."""

    place: str
    description: tuple[str, ...]
    # The lines of what moved, without its form: equal for equal moves in other places.
    texts: tuple[str, ...]


def in_sent_order(stored: Mapping[str, Any], sent: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Move, ...]]:
    """The stored data with equal items of lists, turns and keys in the order of what is sent, and what moved for it."""
    reordering = _Reordering()
    data: dict[str, Any] = reordering.ordered(stored, sent, "")
    return data, tuple(reordering.moves)


@dataclass(slots=True)
class _Reordering:
    moves: list[Move] = field(default_factory=list)

    def ordered(self, stored: Any, sent: Any, place: str) -> Any:
        if isinstance(stored, Mapping) and isinstance(sent, Mapping):
            return self._mapping(stored, sent, place)
        if isinstance(stored, list) and isinstance(sent, list):
            return self._list(stored, sent, place)
        if place == "question" and isinstance(stored, str) and isinstance(sent, str) and stored != sent:
            # Joined by line breaks they are the transcript.
            turns, sent_turns = _TURN_BREAK.split(stored), _TURN_BREAK.split(sent)
            return "\n".join(self._items(turns, sent_turns, place)) if min(len(turns), len(sent_turns)) > 1 else stored
        return stored

    def _mapping(self, stored: Mapping[str, Any], sent: Mapping[str, Any], place: str) -> dict[str, Any]:
        common = [key for key in stored if key in sent]
        in_order = [key for key in sent if key in stored]
        if common != in_order:
            names = (", ".join(keys) for keys in (common, in_order))
            self.moves.append(Move(place, (f"keys in another order: {' → '.join(names)}",), tuple(in_order)))
        keys = iter(in_order)
        ordered = [next(keys) if key in sent else key for key in stored]
        return {
            key: self.ordered(stored[key], sent[key], f"{place}.{key}" if place else key)
            if key in sent
            else stored[key]
            for key in ordered
        }

    def _list(self, stored: list[Any], sent: list[Any], place: str) -> list[Any]:
        items = self._items(stored, sent, place)
        if len(items) != len(sent):
            return items
        return [
            self.ordered(item, sent_item, f"{place}[{index}]")
            for index, (item, sent_item) in enumerate(zip(items, sent, strict=True))
        ]

    def _items(self, stored: Sequence[Any], sent: Sequence[Any], place: str) -> list[Any]:
        """The stored items, those that are sent too in the order of what is sent."""
        pairs = _equal_items(stored, sent)
        unmoved = _unmoved(pairs)
        if len(unmoved) == len(pairs):
            return list(stored)
        in_order = sorted((target, source) for source, target in pairs)
        moved = [(target, source) for target, source in in_order if target not in unmoved]
        description: tuple[str, ...]
        if len(moved) > _MOST_SINGLE_MOVES:
            description = (f"another order: {', '.join(f'[{source}]' for _, source in in_order)}",)
        else:
            description = tuple(f"[{source}] moved to [{target}]: {_label(stored[source])}" for target, source in moved)
        texts = tuple(line for target, _ in moved for line in text_lines(sent[target]))
        self.moves.append(Move(place, description, texts))
        items = list(stored)
        for (slot, _), (_, source) in zip(pairs, in_order, strict=True):
            items[slot] = stored[source]
        return items


def _equal_items(stored: Sequence[Any], sent: Sequence[Any]) -> list[tuple[int, int]]:
    """Pairs of the indexes of equal items in both lists, by the first one; of equal ones the first to the first."""
    indexes: dict[str, deque[int]] = defaultdict(deque)
    for index, item in enumerate(sent):
        indexes[json.dumps(item)].append(index)
    pairs = []
    for index, item in enumerate(stored):
        if same := indexes.get(json.dumps(item)):
            pairs.append((index, same.popleft()))
    return pairs


def _unmoved(pairs: Sequence[tuple[int, int]]) -> set[int]:
    """The indexes, in what is sent, of as many items as can stay in order."""
    rise = _longest_rise([target for _, target in pairs])
    # Of two that were exchanged around a third one, the third one has not moved.
    fixed = {target for source, target in pairs if source == target}
    return fixed if len(fixed) == len(rise) else rise


def _longest_rise(numbers: Sequence[int]) -> set[int]:
    """The longest part of a sequence of different numbers that is in order already: what need not move."""
    ends: list[int] = []
    before: dict[int, int | None] = {}
    for number in numbers:
        at = bisect_left(ends, number)
        before[number] = ends[at - 1] if at else None
        ends[at : at + 1] = [number]
    rise: set[int] = set()
    last = ends[-1] if ends else None
    while last is not None:
        rise.add(last)
        last = before[last]
    return rise


def _label(item: Any) -> str:
    """What an item is called, or the first line of what it says."""
    if isinstance(item, Mapping):
        inner = item.get("function")
        name = item.get("name") or (inner.get("name") if isinstance(inner, Mapping) else None)
        if isinstance(name, str):
            return name
    first = next(iter(text_lines(item)), "")
    return first if len(first) <= _LABEL_CHARACTERS else f"{first[:_LABEL_CHARACTERS]}…"


_CONTEXT_LINES: Final = 1
# A shorter diff is not worth comparing a second time with all blocks escaped.
_SHORT_DIFF_LINES: Final = 6
# Of a text that cannot be read as data, perhaps because it is too large.
_LONGEST_UNREAD_TEXT: Final = 100_000
_LONGEST_UNREAD_LINE: Final = 1_000
_NO_LINE_BREAK: Final = "(no line break at the end)"


class _Side(NamedTuple):
    """One of the two texts: its lines, and where each of them stands."""

    text: list[str]
    lines: Sequence[Line]


class _Unit(NamedTuple):
    """The changed lines of one value: of both sides, each as it is written and as it is read."""

    place: str
    sides: tuple[list[tuple[str, str | None]], list[tuple[str, str | None]]]

    @property
    def is_telling(self) -> bool:
        """Whether it says more than the role and other keys around something new do."""
        return all(self.sides) or any(text is not None for lines in self.sides for _, text in lines)


def compare_snapshots(stored: str, sent: str) -> Difference:
    """Compare two snapshots, by their data if that can be read, whatever the form in which it was written."""
    difference = _compare_data(stored, sent) if _is_readable(stored) else None
    if difference is not None and (difference.hunks or stored == sent):
        return difference
    # The stored text cannot be read, or not as the data that it shows: the changed lines of its beginning say why.
    lines = [line[:_LONGEST_UNREAD_LINE] for line in _split_lines(stored[:_LONGEST_UNREAD_TEXT])]
    before, after = _Side(lines, ()), _Side(_split_lines(sent), lines_of(read_data(sent)))
    return _difference(before, after, ())


def compare_texts(stored: str, sent: str) -> Difference:
    """Compare two texts line by line that are no data, such as what syrupy's `diff` keeps."""
    before, after = (
        _Side(lines, [Line("", "", line) for line in lines]) for lines in map(_split_lines, (stored, sent))
    )
    return _difference(before, after, ())


def _compare_data(stored: str, sent: str) -> Difference:
    sent_data = read_data(sent)
    ordered, moves = in_sent_order(read_data(stored), sent_data)
    texts = (dump(ordered) if moves else written_anew(stored), sent)
    sides = [_Side(_split_lines(text), lines_of(data)) for text, data in zip(texts, (ordered, sent_data), strict=True)]
    difference = _difference(sides[0], sides[1], moves)
    if _length(difference, moves) > _SHORT_DIFF_LINES:
        # The first invisible character in a block switches all of its lines to escapes. With every block escaped in
        # both texts, a change of one line is a diff of one line again.
        texts = (dump(ordered, escape_blocks=True), dump(sent_data, escape_blocks=True))
        sides = [_Side(_split_lines(text), side.lines) for text, side in zip(texts, sides, strict=True)]
        return min(difference, _difference(sides[0], sides[1], moves), key=lambda one: _length(one, moves))
    return difference


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


def _length(difference: Difference, moves: Sequence[Move]) -> int:
    """How many lines a diff has, without those about moves, which come first."""
    return sum(1 + len(hunk.lines) for hunk in difference.hunks[len(moves) :])


def _difference(before: _Side, after: _Side, moves: Sequence[Move]) -> Difference:
    changes = [Change(move.place, moved=move.texts or move.description) for move in moves]
    hunks = [
        Hunk(move.place, tuple(f"> {line}" for line in move.description), (number,))
        for number, move in enumerate(moves)
    ]
    matcher = difflib.SequenceMatcher(None, before.text, after.text, autojunk=False)
    for group in matcher.get_grouped_opcodes(_CONTEXT_LINES):
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
    yield from map(_change, [unit for unit in units.values() if unit.is_telling] or units.values())


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


_MAX_DIFF_LINES: Final = 400


def diff_snapshots(stored: str, sent: str) -> str:
    """Compare two snapshots and write the difference as text."""
    return diff_text(compare_snapshots(stored, sent))


def diff_text(difference: Difference) -> str:
    """Write a difference as text, each hunk under its path in the data; `""` where nothing differs."""
    diff = [line for hunk in difference.hunks for line in (f"@@ {hunk.place} @@", *hunk.lines)]
    if len(diff) > _MAX_DIFF_LINES:
        diff[_MAX_DIFF_LINES:] = [f"... and {len(diff) - _MAX_DIFF_LINES} more lines"]
    return "\n".join(diff)


@dataclass(eq=False)
class Comparison:
    """What a test compared with a snapshot that is not the same, or does not exist.

    Without `has_data` the texts are not data as `dump` writes it: another extension or syrupy's `diff` has made them.
    """

    path: Path
    stored: str | None
    sent: str
    has_data: bool = field(default=True, kw_only=True)

    @cached_property
    def problem(self) -> str:
        """Why the data of the snapshot cannot be read, such as `cannot be read: line 1, ...`; `""` if it can."""
        try:
            read_data(self.stored or "")
        except SnapshotFileError as error:
            return f"{error}; put the file back, as with git checkout, or accept what is sent"
        return ""

    @cached_property
    def difference(self) -> Difference:
        """What changed; empty where there is no snapshot."""
        if self.stored is None:
            return Difference((), ())
        return (compare_snapshots if self.has_data else compare_texts)(self.stored, self.sent)
