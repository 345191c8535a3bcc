"""The diff of a snapshot: how what is sent now differs from what is stored, by place in the data."""

from __future__ import annotations

import difflib
import json
import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

from pytest_chatprompt.capture.prompt_cost import is_media, is_text_key, names_arguments, read_keys
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.snapshots.files import SnapshotFileError, conflict_line
from pytest_chatprompt.snapshots.hints import mask_hint, order_hint
from pytest_chatprompt.snapshots.layout import dump, inline
from pytest_chatprompt.snapshots.stored import Change, Difference, Hunk, read_data

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


_Path = tuple[str | int, ...]


class Line(NamedTuple):
    """One line of a snapshot.

    Args:
        place: the path in the data of the value that it belongs to: `request.messages[0].content`.
        unit: the place; in a transcript with the number of the turn.
        text: the line of a text, without indentation, quotes and role marker; key and value of a setting; `None` if it
            only gives the form.
        size: how many characters of the prompt it is. Together the lines of a request have as many as
            `prompt_cost.count_characters` counts.
    """

    place: str
    unit: str
    text: str | None
    size: int = 0


def lines_of(data: Mapping[str, Any]) -> list[Line]:
    """The lines of a snapshot."""
    return list(_Lines(_read_paths(data)).of_mapping(data, (), "", is_read=False))


def text_lines(value: Any) -> list[str]:
    """What an item of a conversation says: the lines of its texts, without role and form."""
    if not isinstance(value, str | Mapping | list):
        return [inline(value)]
    lines = _Lines(frozenset()).of_value(value, ("question",), "", is_read=False)
    return [line.text for line in lines if line.text is not None]


# What is given to an agent or a plain function; what these send of it is not known.
UNSENT_KEYS: Final = ("argv", "prompt", "files", "messages")


def requests_of(data: Mapping[str, Any]) -> Iterator[tuple[_Path, SentRequest]]:
    """The requests that a snapshot shows, each with the path of its body; `()` is that of what an agent is given."""
    several = data.get("requests")
    entries: list[tuple[_Path, Any]] = [((), data)]
    if isinstance(several, list):
        entries = [(("requests", index), entry) for index, entry in enumerate(several)]
    for path, entry in entries:
        if isinstance(entry, Mapping) and isinstance(entry.get("endpoint"), str):
            yield (*path, "request"), SentRequest(entry["endpoint"], entry.get("request"))
    given = {key: data[key] for key in UNSENT_KEYS if key in data}
    if given and not isinstance(several, list):
        yield (), SentRequest("", given)


def _read_paths(data: Mapping[str, Any]) -> frozenset[_Path]:
    """The paths below which all texts are part of a prompt."""
    return frozenset(
        (*path, key) if isinstance(sent.body, Mapping) else path
        for path, sent in requests_of(data)
        for key in (read_keys(sent) if isinstance(sent.body, Mapping) else [""])
    )


class _Lines:
    """Makes the lines of a snapshot. `is_read` says whether a model reads the texts in a value."""

    def __init__(self, read_paths: frozenset[_Path]) -> None:
        self._read_paths = read_paths

    def of_mapping(self, data: Mapping[str, Any], path: _Path, place: str, *, is_read: bool) -> Iterator[Line]:
        around = _key(path)
        for key, value in data.items():
            inner = (*path, key)
            inner_place = f"{place}.{key}" if place else key
            of_key = []
            if isinstance(value, Mapping | list | tuple) and value:
                of_key.append(Line(inner_place, inner_place, None))
            is_inner_read = (is_read and is_text_key(str(key), around)) or inner in self._read_paths
            of_key += self.of_value(value, inner, inner_place, is_read=is_inner_read)
            if is_read and names_arguments(around):
                of_key[0] = of_key[0]._replace(size=of_key[0].size + len(str(key)))
            yield from of_key

    def of_value(self, value: Any, path: _Path, place: str, *, is_read: bool) -> Iterator[Line]:
        """The lines of a value without the line of its key, if it has one of its own."""
        is_read = is_read and not (isinstance(value, str) and is_media(value))
        match value:
            case Mapping() if value:
                yield from self.of_mapping(value, path, place, is_read=is_read)
            case list() | tuple() if value:
                for index, item in enumerate(value):
                    item_place = f"{place}[{index}]"
                    if isinstance(item, list | tuple) and item:
                        yield Line(item_place, item_place, None)
                    yield from self.of_value(item, (*path, index), item_place, is_read=is_read)
            case str() if "\n" in value:
                # A text of several lines is prose wherever it stands. Each line counts with its break.
                yield Line(place, place, None, -1 if is_read and not value.endswith("\n") else 0)
                for line in _prose_lines(value.removesuffix("\n").split("\n"), path, place):
                    yield line._replace(size=len(line.text or "") + 1 if is_read else 0)
            case str() if _is_conversation(path) and _key(path) in _FRAME_KEYS:
                yield Line(place, place, None)
            case str() if _is_conversation(path):
                yield from (
                    line._replace(size=len(value) if is_read else 0) for line in _prose_lines([value], path, place)
                )
            case _:
                size = len(value) if is_read and isinstance(value, str) else 0
                yield Line(place, place, f"{_key(path)}: {inline(value)}", size)


def _key(path: _Path) -> str:
    return next((part for part in reversed(path) if isinstance(part, str)), "")


def _prose_lines(lines: Sequence[str], path: _Path, place: str) -> Iterator[Line]:
    turn = 0
    for line in lines:
        marker = _TURN.fullmatch(line) if path[0] == "question" else None
        turn += marker is not None
        unit = f"{place}#{turn}" if path[0] == "question" else place
        yield Line(place, unit, line if marker is None else marker["text"])


def _is_conversation(path: _Path) -> bool:
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
    """The indexes, in what is sent, of items that can stay where they are."""
    targets = [target for _, target in reversed(pairs)]
    matcher = difflib.SequenceMatcher(None, targets, sorted(targets, reverse=True), autojunk=False)
    in_order = {target for block in matcher.get_matching_blocks() for target in targets[block.a :][: block.size]}
    # Of two that were exchanged around a third one, the third one has not moved.
    fixed = {target for source, target in pairs if source == target}
    return fixed if len(fixed) >= len(in_order) else in_order


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
# Of a text that cannot be read as data, perhaps because it is too large.
_LONGEST_UNREAD_TEXT: Final = 100_000
_LONGEST_UNREAD_LINE: Final = 1_000
_NO_LINE_BREAK: Final = "(no line break at the end)"

# A line as the diff shows it, and what it is part of.
_Row = tuple[str, Line]


def compare_snapshots(stored: str, sent: str) -> Difference:
    """Compare two snapshots, by their data if that can be read, whatever the form in which it was written."""
    with suppress(SnapshotFileError):
        sent_data = _snapshot_data(sent)
        ordered, moves = in_sent_order(_snapshot_data(stored), sent_data)
        difference = _difference(_rows(ordered), _rows(sent_data), moves)
        if difference.hunks or stored == sent:
            return difference
    difference = _compare_texts(stored, sent)
    if conflict_line(stored) is None:
        return difference
    # The same change in each snapshot that has one, whatever its sides are.
    change = Change("the conflict of a merge", removed=("<<<<<<< ======= >>>>>>>",))
    return Difference((change,), tuple(Hunk(change.place, hunk.lines, (0,)) for hunk in difference.hunks))


def _compare_texts(stored: str, sent: str) -> Difference:
    """Compare two texts line by line, of which one is no data, or not the data that it shows: they have no places."""
    before = [line[:_LONGEST_UNREAD_LINE] for line in _split_lines(stored[:_LONGEST_UNREAD_TEXT])]
    rows = [[(line, Line("", "", line)) for line in lines] for lines in (before, _split_lines(sent))]
    return _difference(rows[0], rows[1])


def _snapshot_data(text: str) -> Mapping[str, Any]:
    data = read_data(text)
    if not isinstance(data, Mapping) or not data:
        raise SnapshotFileError("not a mapping")
    return data


def _rows(data: Mapping[str, Any]) -> list[_Row]:
    return list(zip(dump(data, escapes_lines=True).split("\n")[:-1], lines_of(data), strict=True))


def _split_lines(text: str) -> list[str]:
    """The lines of a text, with a note if the last line break is missing, which an editor may have removed."""
    lines = text.split("\n")
    return lines[:-1] if text.endswith("\n") else [*lines, _NO_LINE_BREAK]


def _difference(before: Sequence[_Row], after: Sequence[_Row], moves: Sequence[Move] = ()) -> Difference:
    changes = [Change(move.place, moved=move.texts or move.description) for move in moves]
    hunks = [
        Hunk(move.place, tuple(f"> {line}" for line in move.description), (number,))
        for number, move in enumerate(moves)
    ]
    texts = [[text for text, _ in rows] for rows in (before, after)]
    matcher = difflib.SequenceMatcher(None, texts[0], texts[1], autojunk=False)
    for group in matcher.get_grouped_opcodes(_CONTEXT_LINES):
        lines: list[str] = []
        first = len(changes)
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                lines += [f"  {text}" for text, _ in before[i1:i2]]
            else:
                lines += [f"- {text}" for text, _ in before[i1:i2]]
                lines += [f"+ {text}" for text, _ in after[j1:j2]]
                changes += _changes(before[i1:i2], after[j1:j2])
        hunks.append(Hunk(changes[first].place, tuple(lines), tuple(range(first, len(changes)))))
    return Difference(tuple(changes), tuple(hunks))


def _changes(removed: Sequence[_Row], added: Sequence[_Row]) -> list[Change]:
    """The changes in one range of lines, one for each value that they belong to."""
    units: dict[str, tuple[list[_Row], list[_Row]]] = {}
    for side, rows in enumerate((removed, added)):
        for row in rows:
            units.setdefault(row[1].unit, ([], []))[side].append(row)
    # The role and other keys around something new say nothing by themselves.
    telling = [
        sides for sides in units.values() if all(sides) or any(line.text is not None for _, line in chain(*sides))
    ]
    changes = [_change(sides) for sides in telling or units.values()]
    # What the others are longer counts for the first one.
    characters = sum(map(_growth, units.values()), 0) - sum(change.characters for change in changes)
    return [replace(changes[0], characters=changes[0].characters + characters), *changes[1:]]


def _growth(sides: tuple[list[_Row], list[_Row]]) -> int:
    """How many characters more of a prompt the second side is."""
    return sum(line.size for _, line in sides[1]) - sum(line.size for _, line in sides[0])


def _change(sides: tuple[list[_Row], list[_Row]]) -> Change:
    """A change of one value, without the lines at both ends that are the same."""
    removed, added = ([line.text for _, line in rows if line.text is not None] for rows in sides)
    if removed == added:
        # Only the form changed, such as a role, or the line break at the end of a text.
        removed, added = ([text.strip().removeprefix("- ") for text, _ in rows] for rows in sides)
    while removed and added and removed[0] == added[0]:
        del removed[0], added[0]
    while removed and added and removed[-1] == added[-1]:
        del removed[-1], added[-1]
    place = (sides[0] or sides[1])[0][1].place
    return Change(place, tuple(removed), tuple(added), characters=_growth(sides))


_MAX_DIFF_LINES: Final = 400


def diff_snapshots(stored: str, sent: str) -> str:
    """Compare two snapshots and write the difference as text."""
    return diff_text(compare_snapshots(stored, sent))


def diff_text(difference: Difference) -> str:
    """Write a difference as text, each hunk under its path in the data; `""` where nothing differs."""
    diff = [line for hunk in difference.hunks for line in (f"@@ {hunk.place} @@".replace("  ", " "), *hunk.lines)]
    if len(diff) > _MAX_DIFF_LINES:
        diff[_MAX_DIFF_LINES:] = [f"... and {len(diff) - _MAX_DIFF_LINES} more lines"]
    return "\n".join(diff)


@dataclass(eq=False)
class Comparison:
    """What a test compared with a snapshot that is not the same, or does not exist."""

    path: Path
    stored: str | None
    sent: str

    @cached_property
    def difference(self) -> Difference:
        """What changed; empty where there is no snapshot."""
        if self.stored is None:
            return Difference((), ())
        return compare_snapshots(self.stored, self.sent)

    def lines(self, path: str, command: str, *, shows_diff: bool = True) -> list[str]:
        """What a failure says: the path of the snapshot, what differs, and the command that accepts it, if any does."""
        if self.stored is None:
            return [f"There is no {path}.", *([f"To write it, for review: {command}"] if command else [])]
        changes = diff_text(self.difference).splitlines() if shows_diff else []
        hints = [each for each in (self._problem(), self._hint()) if each]
        return [
            *(line for hint in hints for line in (hint, "")),
            path,
            *changes,
            *(["", f"To accept it: {command}"] if command else []),
        ]

    def _problem(self) -> str:
        """Why the data of the snapshot cannot be read; `""` if it can, or if what is compared is no data."""
        error = _reading_error(self.stored or "")
        return "" if error is None or _reading_error(self.sent) else f"The snapshot {error}; {error.remedy}."

    def _hint(self) -> str:
        """What the difference may come from, if not from a change of the prompt."""
        if _reading_error(self.stored or "") or _reading_error(self.sent):
            return ""
        return order_hint(read_data(self.stored or ""), read_data(self.sent)) or mask_hint(self.difference.changes)


def _reading_error(text: str) -> SnapshotFileError | None:
    try:
        read_data(text)
    except SnapshotFileError as error:
        return error
    return None
