"""The diff of a snapshot: how what is sent now differs from what is stored, by place in the data."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from itertools import chain, groupby
from pathlib import Path
from typing import Any, Final

from pytest_chatprompt.capture.prompt_size import count_texts, is_media, key_below, read_paths
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.snapshots.changes import NEW, Change, Content, DataPath, Difference, Hunk, read_data, requests_in
from pytest_chatprompt.snapshots.files import SnapshotFileError, conflict_line
from pytest_chatprompt.snapshots.hints import mask_hint, order_hint
from pytest_chatprompt.snapshots.layout import dump, inline, visible_line
from pytest_chatprompt.snapshots.story import parting_hint
from pytest_chatprompt.wording import common_start, data_place, first_lines

# The line of a transcript on which a turn begins, and what follows on it.
_MARKER: Final = re.compile(r"\[(?:System|User|Assistant|Tool)\]:")
_TURN: Final = re.compile(rf"{_MARKER.pattern}(?: (?P<text>.*))?")
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


def prompts_of(data: Mapping[str, Any]) -> dict[DataPath, SentRequest]:
    """The requests that a snapshot shows, by the paths of their bodies; what an agent is given by `()`."""
    prompts = {
        (*path, "request"): SentRequest(entry["endpoint"], entry["request"])
        for path, entry in requests_in(data).items()
    }
    given = {key: data[key] for key in _UNSENT_KEYS if key in data}
    return {**prompts, (): SentRequest("", given)} if given and not isinstance(data.get("requests"), list) else prompts


class _Matcher(difflib.SequenceMatcher[str]):
    """Matches two sequences so that as many lines stay as can, each of them as early as it can.

    So the same lines stay where some of the changes between them are made already: each other change is as it was.
    """

    def __init__(self, before: Sequence[str], after: Sequence[str]) -> None:
        super().__init__(None, before, after, autojunk=False)
        self._sides = before, after

    def get_matching_blocks(self) -> list[difflib.Match]:
        """The lines that stay, those that stand together as one block; the last one is empty."""
        kept = enumerate(_kept_lines(*self._sides))
        numbered = groupby(kept, key=lambda each: (each[1][0] - each[0], each[1][1] - each[0]))
        blocks = [[numbers for _, numbers in block] for _, block in numbered]
        before, after = self._sides
        end = difflib.Match(len(before), len(after), 0)
        return [*(difflib.Match(*block[0], len(block)) for block in blocks), end]


# Comparing takes a bit for each pair of lines: 500 MB.
_MOST_PAIRS: Final = 4_000_000_000


def _kept_lines(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int]]:
    """The numbers of the lines that stay, on both sides.

    Of huge texts none stays between the first and the last change: comparing them would take too much memory.
    """
    start, end = common_start(before, after), 0
    old, new = before[start:], after[start:]
    if len(old) * len(new) > _MOST_PAIRS:
        end = common_start(old[::-1], new[::-1])
        old, new = old[: len(old) - end], new[: len(new) - end]
    middle = _common_lines(old, new) if len(old) * len(new) <= _MOST_PAIRS else []
    kept = [(number, number) for number in range(start)]
    kept += [(start + number, start + other) for number, other in middle]
    return kept + [(len(before) - number, len(after) - number) for number in range(end, 0, -1)]


def _common_lines(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int]]:
    """As many lines as can stay, each as early as it can, by their numbers on both sides."""
    # Bits are the lines of `after`, the last one the lowest. In the row of a line of `before`, 0 is where one line more
    # is common to both from there on, by Hyyrö's algorithm.
    size = len(after)
    places: dict[str, int] = {}
    for number, line in enumerate(after, start=1):
        places[line] = places.get(line, 0) | 1 << (size - number)
    rows = [(1 << size) - 1]
    for line in reversed(before):
        row, common = rows[-1], rows[-1] & places.get(line, 0)
        rows.append((row + common | row - common) & rows[0])

    def count_common(number: int, start: int) -> int:
        """How many lines can stay from these two on."""
        return (~rows[len(before) - number] & rows[0] >> start).bit_count()

    kept: list[tuple[int, int]] = []
    start, left = 0, count_common(0, 0)
    for number, line in enumerate(before):
        first = size - (places.get(line, 0) & rows[0] >> start).bit_length()
        if first < size and count_common(number + 1, first + 1) == left - 1:
            kept.append((number, first))
            start, left = first + 1, left - 1
    return kept


_CONTEXT_LINES: Final = 1
_INDENT: Final = "  "
# Of a text that cannot be read as data, perhaps because it is too large.
_LONGEST_UNREAD_TEXT: Final = 100_000
_LONGEST_UNREAD_LINE: Final = 1_000
# In place of a value that one side does not have.
_ABSENT: Final = object()

# Changes that are shown together, and the lines that show them.
_Found = tuple[Sequence[Change], Sequence[str]]


def compare_snapshots(stored: str, sent: str) -> Difference:
    """Compare two snapshots, by their data if that can be read, whatever the form in which it was written."""
    with suppress(SnapshotFileError):
        return _compare_data(_snapshot_data(stored), _snapshot_data(sent))[0]
    comparer = _Comparer()
    lines = [line[:_LONGEST_UNREAD_LINE] for line in stored[:_LONGEST_UNREAD_TEXT].split("\n")]
    comparer.compare_lines(lines, sent.split("\n"))
    difference = _difference(comparer.found)
    # Nobody can accept one of them without the others, so they are one change.
    removed = tuple(chain(*(change.removed for change in difference.changes)))
    added = tuple(chain(*(change.added for change in difference.changes)))
    change = Change("", removed, added)
    if conflict_line(stored) is not None:
        # The same change in each snapshot that has one, whatever its sides are.
        change = Change("the conflict of a merge", removed=("<<<<<<< ======= >>>>>>>",))
    return Difference((change,), tuple(Hunk(change.place, hunk.lines, (0,)) for hunk in difference.hunks))


def accept_changes(stored: str, sent: Mapping[str, Any], contents: Collection[Content]) -> Mapping[str, Any]:
    """The data of a snapshot with some changes towards what is sent, wherever it has them, and without the others."""
    try:
        before = _snapshot_data(stored)
    except SnapshotFileError:
        return sent
    difference, _ = _compare_data(before, sent)
    return _compare_data(before, sent, (change.content in contents for change in difference.changes))[1]


def _compare_data(
    stored: Mapping[str, Any], sent: Mapping[str, Any], wanted: Iterable[bool] = ()
) -> tuple[Difference, Mapping[str, Any]]:
    """The difference of two snapshots, and the first one with those of the changes that are wanted."""
    comparer = _Comparer(_read_paths(stored) | _read_paths(sent), iter(wanted))
    merged = comparer.compare(stored, sent)
    return _difference(comparer.found), merged


def _snapshot_data(text: str) -> Mapping[str, Any]:
    data = read_data(text)
    if not isinstance(data, Mapping) or not data:
        raise SnapshotFileError("not a mapping")
    return data


def _difference(found: Iterable[_Found]) -> Difference:
    changes: list[Change] = []
    hunks = []
    for together, lines in found:
        numbers = range(len(changes), len(changes) + len(together))
        changes += together
        hunks.append(Hunk(together[0].place, tuple(lines), tuple(numbers)))
    # What is removed in one place and added in another one has moved.
    removed = {each.removed for each in changes if each.removed and not each.added}
    moved = removed & {each.added for each in changes if not each.removed}
    return Difference(tuple(_as_move(each, moved) for each in changes), tuple(hunks))


def _as_move(change: Change, moved: Set[tuple[str, ...]]) -> Change:
    """A change as a move, if it is one side of a move."""
    lines = change.removed or change.added
    is_side = lines in moved and not (change.removed and change.added)
    return replace(change, removed=(), added=(), moved=lines) if is_side else change


def _read_paths(data: Mapping[str, Any]) -> frozenset[DataPath]:
    """The paths of the prompts that a snapshot shows."""
    return frozenset(
        (*path, *inner)
        for path, sent in prompts_of(data).items()
        for inner in (read_paths(sent) if isinstance(sent.body, Mapping) else [()])
    )


@dataclass(eq=False, slots=True)
class _Comparer:
    """Finds the changes from a stored value to what is sent, in the order of the data.

    A comparison gives the stored value with those of the changes that are wanted.

    Args:
        read_paths: below which texts are part of a prompt.
        wanted: whether a change is, for each in the order in which they are found; none of those that follow is.
    """

    read_paths: frozenset[DataPath] = frozenset()
    wanted: Iterator[bool] = field(default_factory=lambda: iter(()))
    found: list[_Found] = field(default_factory=list)

    def compare(self, stored: Any, sent: Any, path: DataPath = ()) -> Any:
        """Compare two values in the same place; either may be absent."""
        match stored, sent:
            case Mapping(), Mapping():
                return self._compare_mappings(stored, sent, path)
            case list(), list():
                return self._compare_lists(stored, sent, path)
            case str(), str() if path == ("question",) and "\n" in stored + sent:
                # Joined by line breaks, the turns are the transcript.
                return "\n".join(self._compare_lists(_TURN_BREAK.split(stored), _TURN_BREAK.split(sent), path))
            case str(), str() if stored != sent and _is_block(stored, sent, path):
                return self._compare_texts(stored, sent, path)
            case _ if stored is _ABSENT or sent is _ABSENT or json.dumps(stored) != json.dumps(sent):
                return sent if self._is_wanted(*self._replacement(stored, sent, path)) else stored
        return stored

    def _compare_texts(self, stored: str, sent: str, path: DataPath) -> str:
        before, after = (_lines_of_text(text, path) for text in (stored, sent))
        if before == after:
            # Another role.
            return "\n".join(self.compare_lines(stored.split("\n"), sent.split("\n"), path))
        lines = self.compare_lines(before, after, path)
        if lines in (before, after):
            return stored if lines == before else sent
        marker = _MARKER.match(stored) if path[0] == "question" else None
        # A turn of several lines begins below its marker.
        opening = "" if marker is None else f"{marker[0]} " if len(lines) == 1 else f"{marker[0]}\n"
        return opening + "\n".join(lines)

    def _is_wanted(self, change: Change, lines: Sequence[str]) -> bool:
        self.found.append(([change], lines))
        return next(self.wanted, False)

    def _compare_mappings(self, stored: Mapping[str, Any], sent: Mapping[str, Any], path: DataPath) -> dict[str, Any]:
        before, after = ([str(key) for key in each if key in stored and key in sent] for each in (stored, sent))
        keys = _joined_keys(sent, stored)
        if before != after:
            still = {before[number] for number, _ in _kept_lines(before, after)}
            change = Change(_place(path), moved=tuple(key for key in after if key not in still))
            if not self._is_wanted(change, [f"> keys in another order: {', '.join(before)} → {', '.join(after)}"]):
                # Beside those that stay: so the others remain the same, whichever further keys there are.
                keys = _joined_keys(stored, [key for key in sent if key in still or key not in stored])
        values = {
            key: self.compare(stored.get(key, _ABSENT), sent.get(key, _ABSENT), (*path, key))
            for key in {**stored, **sent}
        }
        return {key: values[key] for key in keys if values[key] is not _ABSENT}

    def _compare_lists(self, stored: list[Any], sent: list[Any], path: DataPath) -> list[Any]:
        before, after = ([json.dumps(item) for item in items] for items in (stored, sent))
        matcher = _Matcher(before, after)
        merged: list[Any] = []
        for tag, i1, i2, j1, j2 in matcher.get_opcodes():
            if tag == "equal":
                merged += stored[i1:i2]
                continue
            pairs = _paired(stored[i1:i2], sent[j1:j2], path)
            start = i1 if tag == "delete" else j1
            merged += [self.compare(*pair, (*path, index)) for index, pair in enumerate(pairs, start)]
        return [item for item in merged if item is not _ABSENT]

    def compare_lines(self, before: list[str], after: list[str], path: DataPath = ()) -> list[str]:
        """Compare two texts line by line; without a path they are no data."""
        indent = _INDENT * len(_text_keys(path))
        is_read = bool(path) and self._size("x", path) > 0
        matcher = _Matcher(before, after)
        # Grouping alters the list.
        opcodes = [*matcher.get_opcodes()]
        wanted = []
        for group in matcher.get_grouped_opcodes(_CONTEXT_LINES):
            changes = []
            shown = []
            for tag, i1, i2, j1, j2 in group:
                removed, added = before[i1:i2], after[j1:j2]
                if tag == "equal":
                    shown += [f"  {indent}{visible_line(line)}" for line in removed]
                    continue
                shown += [f"- {indent}{visible_line(line)}" for line in removed]
                shown += [f"+ {indent}{visible_line(line)}" for line in added]
                # Each line counts with its break.
                growth = sum(len(line) + 1 for line in added) - sum(len(line) + 1 for line in removed)
                if (i2, j2) == (len(before), len(after)) and not (removed and added):
                    removed, added = _as_before_blank_line(removed, added, before[:i1][-1:])
                changes.append(Change(_place(path), tuple(removed), tuple(added), characters=growth * is_read))
                wanted.append(next(self.wanted, False))
            self.found.append((changes, shown))
        decisions = iter(wanted)
        return [
            line
            for tag, i1, i2, j1, j2 in opcodes
            for line in (after[j1:j2] if tag != "equal" and next(decisions) else before[i1:i2])
        ]

    def _replacement(self, stored: Any, sent: Any, path: DataPath) -> tuple[Change, list[str]]:
        """A change of a whole value."""
        sides = [[] if value is _ABSENT else [value] for value in (stored, sent)]
        shown = [[line for value in side for line in _shown_lines(value, path)] for side in sides]
        texts = [[line for value in side for line in _text_lines(value, path)] for side in sides]
        if texts[0] == texts[1]:
            # Only the form changed, such as a role.
            texts = [[line.strip().removeprefix("- ") for line in lines] for lines in shown]
        before, after = (sum(self._size(value, path) for value in side) for side in sides)
        change = Change(_place(path), tuple(texts[0]), tuple(texts[1]), characters=after - before)
        return change, [*(f"- {line}" for line in shown[0]), *(f"+ {line}" for line in shown[1])]

    def _size(self, value: Any, path: DataPath) -> int:
        """How many characters of a prompt a value has, with its key if that is the name of an argument."""
        start = next((length for length in range(len(path) + 1) if path[:length] in self.read_paths), None)
        if start is None:
            inner = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
            return sum(self._size(each, (*path, key)) for key, each in inner)
        *around, last = ["", *_text_keys(path[start:])]
        key = reduce(key_below, around, "")
        is_entry = path[start:] and last == path[-1]
        return count_texts({last: value}, key) if is_entry else count_texts(value, key_below(key, last))


def _as_before_blank_line(removed: list[str], added: list[str], last: list[str]) -> tuple[list[str], list[str]]:
    """Lines that were removed or added below the last one of a text, as if a blank line followed it.

    So a paragraph that is added at the end of one text and between those of another is the same change.
    """
    lines = removed or added
    if lines[0] != "" == lines[-1]:
        # The text has another line break at its end.
        return [*last, *removed], [*last, *added]
    turned = int(lines[0] == "")
    return [*removed[turned:], *removed[:turned]], [*added[turned:], *added[:turned]]


def _joined_keys(first: Iterable[str], second: Iterable[str]) -> list[str]:
    """The keys of two mappings, in the order of the first; each that only the second has follows the one before it."""
    keys = list(first)
    position = 0
    for key in second:
        if key in keys:
            position = keys.index(key) + 1
        else:
            keys.insert(position, key)
            position += 1
    return keys


def _paired(stored: list[Any], sent: list[Any], path: DataPath) -> Iterator[tuple[Any, Any]]:
    """Items that were replaced, each with what it became: as many pairs as there can be, by the lines they share."""
    if len(stored) > len(sent):
        yield from ((one, other) for other, one in _paired(sent, stored, path))
        return
    lines, others = ([_text_lines(item, path) for item in items] for items in (stored, sent))
    # For the last item, the one before it, ...: by how many of `sent` before its own have none, which lines are shared.
    rows = [[0] * (len(sent) - len(stored) + 1)]
    for number in reversed(range(len(stored))):
        after = [max(rows[-1][new:]) for new in range(len(rows[0]))]
        rows.append([len(_kept_lines(lines[number], others[number + new])) + most for new, most in enumerate(after)])
    new = 0
    for number, item in enumerate(stored):
        row, before = rows.pop(), new
        new = row.index(max(row[before:]), before)
        yield from ((_ABSENT, other) for other in sent[number + before : number + new])
        yield item, sent[number + new]
    yield from ((_ABSENT, other) for other in sent[len(stored) + new :])


def _text_lines(value: Any, path: DataPath) -> list[str]:
    """What a value says: the lines of its texts; keys with their values where it is no conversation."""
    match value:
        case Mapping() if value:
            return list(chain(*(_text_lines(inner, (*path, key)) for key, inner in value.items())))
        case list() if value:
            return list(chain(*(_text_lines(item, path) for item in value)))
        case str() if "\n" in value:
            return _lines_of_text(value.removesuffix("\n"), path)
        case str() if _is_conversation(path):
            return [] if _key(path) in _FRAME_KEYS else _lines_of_text(value, path)
    return [f"{_key(path)}: {inline(value)}"]


def _lines_of_text(text: str, path: DataPath) -> list[str]:
    """The lines of a text, without role markers."""
    lines = text.split("\n")
    if path[0] != "question":
        return lines
    said = (line if (marker := _TURN.fullmatch(line)) is None else marker["text"] for line in lines)
    return [line for line in said if line is not None]


def _shown_lines(value: Any, path: DataPath) -> list[str]:
    """A value with its key as the lines of a snapshot."""
    keys = len(_text_keys(path))
    if path[0] == "question" and isinstance(path[-1], int) and isinstance(value, str):
        return [f"{_INDENT * keys}{visible_line(line)}" for line in value.split("\n")]
    lines = dump([value] if isinstance(path[-1], int) else {path[-1]: value}).removesuffix("\n").split("\n")
    return [f"{_INDENT * (keys - 1)}{line}" for line in lines]


def _is_block(stored: str, sent: str, path: DataPath) -> bool:
    """Whether a text is compared line by line."""
    return ("\n" in stored + sent or path[:-1] == ("question",)) and not (is_media(stored) or is_media(sent))


def _text_keys(path: DataPath) -> list[str]:
    return [part for part in path if isinstance(part, str)]


def _key(path: DataPath) -> str:
    return next(reversed(_text_keys(path)), "")


def _place(path: DataPath) -> str:
    # The turns of the question have no place of their own.
    return data_place(path[:1] if path[:1] == ("question",) else path)


def _is_conversation(path: DataPath) -> bool:
    if path[0] in _TRANSCRIPT_KEYS:
        return True
    start = next((index for index, part in enumerate(path) if part == "request"), None)
    return start is not None and len(path) > start + 1 and path[start + 1] in _CONVERSATION_KEYS


_MAX_DIFF_LINES: Final = 400


def diff_text(difference: Difference) -> str:
    """Write a difference as text, each hunk under its path in the data; `""` where nothing differs."""
    diff = [line for hunk in difference.hunks for line in (f"@@ {hunk.place} @@".replace("  ", " "), *hunk.lines)]
    return "\n".join(first_lines(diff, _MAX_DIFF_LINES, "... and {} more lines"))


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

    def accepting(self, ids: Collection[str]) -> str | None:
        """The text of the snapshot with those changes that ids name; `None` if they name none of them."""
        if self.stored is None:
            return self.sent if NEW in ids else None
        changes = self.difference.changes
        contents = {each.content for each in changes if any(map(each.is_named, ids))}
        return dump(accept_changes(self.stored, read_data(self.sent), contents)) if contents else None

    def lines(self, path: str, command: str, *, shows_diff: bool = True) -> list[str]:
        """What a failure says: the path of the snapshot, what differs, and the command that accepts it, if any does."""
        if self.stored is None:
            return [f"There is no {path}.", *([f"To write it, for review: {command}"] if command else [])]
        changes = diff_text(self.difference).splitlines() if shows_diff else []
        hints = self._hints()
        above = [*hints, ""] if hints else []
        below = ["", f"To accept it: {command}"] if command else []
        return [*above, path, *changes, *below]

    def _hints(self) -> list[str]:
        """Why the snapshot cannot be read, or where two runs part, and what else the difference may come from."""
        try:
            sent = read_data(self.sent)
        except SnapshotFileError:
            return []
        try:
            stored = read_data(self.stored or "")
        except SnapshotFileError as error:
            return [f"The snapshot {error}; {error.remedy}."]
        order = order_hint(stored, sent)
        return [order] if order else [*filter(None, (parting_hint(stored, sent), mask_hint(self.difference.changes)))]
