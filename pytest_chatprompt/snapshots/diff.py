"""The diff of a snapshot: how what is sent now differs from what is stored, by place in the data."""

from __future__ import annotations

import difflib
import json
import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

from pytest_chatprompt.capture.prompt_cost import is_media, is_text_key, names_arguments, read_keys
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.snapshots.files import SnapshotFileError, conflict_line
from pytest_chatprompt.snapshots.hints import mask_hint, order_hint
from pytest_chatprompt.snapshots.layout import dump, inline
from pytest_chatprompt.snapshots.stored import Change, DataPath, Difference, Hunk, read_data, requests_in
from pytest_chatprompt.wording import data_place

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
# What is given to an agent or a plain function; what these send of it is not known.
_UNSENT_KEYS: Final = ("argv", "prompt", "files", "messages")


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


def prompts_of(data: Mapping[str, Any]) -> dict[DataPath, SentRequest]:
    """The requests that a snapshot shows, by the paths of their bodies; what an agent is given by `()`."""
    prompts = {
        (*path, "request"): SentRequest(entry["endpoint"], entry["request"])
        for path, entry in requests_in(data).items()
    }
    given = {key: data[key] for key in _UNSENT_KEYS if key in data}
    return {**prompts, (): SentRequest("", given)} if given and not isinstance(data.get("requests"), list) else prompts


def lines_of(data: Mapping[str, Any]) -> list[Line]:
    """The lines of a snapshot."""
    read = {
        (*path, key) if isinstance(sent.body, Mapping) else path
        for path, sent in prompts_of(data).items()
        for key in (read_keys(sent) if isinstance(sent.body, Mapping) else [""])
    }
    return list(_Lines(frozenset(read)).of_mapping(data, (), is_read=False))


def text_lines(value: Any) -> list[str]:
    """What an item of a conversation says: the lines of its texts, without role and form."""
    if not isinstance(value, str | Mapping | list):
        return [inline(value)]
    lines = _Lines(frozenset()).of_value(value, ("question",), is_read=False)
    return [line.text for line in lines if line.text is not None]


@dataclass(frozen=True, slots=True)
class _Lines:
    """Makes the lines of a snapshot; `is_read` says whether a model reads the texts in a value.

    Args:
        read_paths: below which all texts are part of a prompt.
    """

    read_paths: frozenset[DataPath]

    def of_mapping(self, data: Mapping[str, Any], path: DataPath, *, is_read: bool) -> Iterator[Line]:
        around = _key(path)
        for key, value in data.items():
            inner = (*path, key)
            of_key = [_form(inner)] if isinstance(value, Mapping | list | tuple) and value else []
            is_inner_read = (is_read and is_text_key(str(key), around)) or inner in self.read_paths
            of_key += self.of_value(value, inner, is_read=is_inner_read)
            if is_read and names_arguments(around):
                of_key[0] = of_key[0]._replace(size=of_key[0].size + len(str(key)))
            yield from of_key

    def of_value(self, value: Any, path: DataPath, *, is_read: bool) -> Iterator[Line]:
        """The lines of a value without the line of its key, if it has one of its own."""
        match value:
            case Mapping() if value:
                yield from self.of_mapping(value, path, is_read=is_read)
            case list() | tuple() if value:
                for index, item in enumerate(value):
                    if isinstance(item, list | tuple) and item:
                        yield _form((*path, index))
                    yield from self.of_value(item, (*path, index), is_read=is_read)
            case str():
                yield from _lines_of_text(value, path, is_read=is_read and not is_media(value))
            case _:
                yield _form(path)._replace(text=f"{_key(path)}: {inline(value)}")


def _lines_of_text(text: str, path: DataPath, *, is_read: bool) -> Iterator[Line]:
    form = _form(path)
    # A text of several lines is prose wherever it stands, and each of them counts with its break.
    is_block = "\n" in text
    if not is_block and not _is_conversation(path):
        yield form._replace(text=f"{_key(path)}: {inline(text)}", size=len(text) * is_read)
        return
    if not is_block and _key(path) in _FRAME_KEYS:
        yield form
        return
    if is_block:
        yield form._replace(size=-1 if is_read and not text.endswith("\n") else 0)
    turn = 0
    for line in text.removesuffix("\n").split("\n"):
        size = (len(line) + is_block) * is_read
        if path[0] != "question":
            yield form._replace(text=line, size=size)
            continue
        marker = _TURN.fullmatch(line)
        turn += marker is not None
        yield Line(form.place, f"{form.place}#{turn}", line if marker is None else marker["text"], size)


def _form(path: DataPath) -> Line:
    """A line that only gives the form."""
    place = data_place(path)
    return Line(place, place, None)


def _key(path: DataPath) -> str:
    return next((part for part in reversed(path) if isinstance(part, str)), "")


def _is_conversation(path: DataPath) -> bool:
    if path[0] in _TRANSCRIPT_KEYS:
        return True
    start = next((index for index, part in enumerate(path) if part == "request"), None)
    return start is not None and len(path) > start + 1 and path[start + 1] in _CONVERSATION_KEYS


_MOST_SINGLE_MOVES: Final = 3
_LABEL_CHARACTERS: Final = 60


@dataclass(frozen=True, slots=True)
class Move:
    """Items, keys or turns that moved within one list, mapping or transcript.

    Args:
        texts: the lines of what moved, without its form: equal for equal moves in other places.
    """

    place: str
    description: tuple[str, ...]
    texts: tuple[str, ...]


def in_sent_order(stored: Any, sent: Any, path: DataPath = ()) -> tuple[Any, list[Move]]:
    """The stored data with equal items of lists, turns and keys in the order of what is sent, and what moved for it."""
    moves: list[Move] = []

    def inner(part: str | int, item: Any, sent_item: Any) -> Any:
        ordered, more = in_sent_order(item, sent_item, (*path, part))
        moves.extend(more)
        return ordered

    if isinstance(stored, Mapping) and isinstance(sent, Mapping):
        common = [key for key in stored if key in sent]
        in_order = [key for key in sent if key in stored]
        if common != in_order:
            names = (", ".join(keys) for keys in (common, in_order))
            description = f"keys in another order: {' → '.join(names)}"
            moves.append(Move(data_place(path), (description,), tuple(in_order)))
        following = iter(in_order)
        keys = [next(following) if key in sent else key for key in stored]
        return {key: inner(key, stored[key], sent[key]) if key in sent else stored[key] for key in keys}, moves
    if isinstance(stored, list) and isinstance(sent, list):
        stored = _items_in_order(stored, sent, path, moves)
        if len(stored) == len(sent):
            stored = [inner(index, *items) for index, items in enumerate(zip(stored, sent, strict=True))]
    elif path == ("question",) and isinstance(stored, str) and isinstance(sent, str):
        turns, sent_turns = _TURN_BREAK.split(stored), _TURN_BREAK.split(sent)
        # Joined by line breaks they are the transcript.
        stored = "\n".join(_items_in_order(turns, sent_turns, path, moves))
    return stored, moves


def _items_in_order(stored: list[Any], sent: list[Any], path: DataPath, moves: list[Move]) -> list[Any]:
    """The stored items, those that are sent too in the order of what is sent; adds what moved for it."""
    pairs = _equal_items(stored, sent)
    unmoved = _unmoved(pairs)
    if len(unmoved) == len(pairs):
        return stored
    in_order = sorted((target, source) for source, target in pairs)
    moved = [(target, source) for target, source in in_order if target not in unmoved]
    description = [f"[{source}] moved to [{target}]: {_label(stored[source])}" for target, source in moved]
    if len(moved) > _MOST_SINGLE_MOVES:
        description = [f"another order: {', '.join(f'[{source}]' for _, source in in_order)}"]
    texts = tuple(line for target, _ in moved for line in text_lines(sent[target]))
    moves.append(Move(data_place(path), tuple(description), texts))
    items = list(stored)
    for (slot, _), (_, source) in zip(pairs, in_order, strict=True):
        items[slot] = stored[source]
    return items


def _equal_items(stored: list[Any], sent: list[Any]) -> list[tuple[int, int]]:
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
        hint = self._hint()
        return [
            *([hint, ""] if hint else []),
            path,
            *changes,
            *(["", f"To accept it: {command}"] if command else []),
        ]

    def _hint(self) -> str:
        """Why the snapshot cannot be read, or what the difference may come from, if not from a change of the prompt."""
        try:
            sent = read_data(self.sent)
        except SnapshotFileError:
            return ""
        try:
            stored = read_data(self.stored or "")
        except SnapshotFileError as error:
            return f"The snapshot {error}; {error.remedy}."
        return order_hint(stored, sent) or mask_hint(self.difference.changes)
