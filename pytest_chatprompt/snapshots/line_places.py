"""Line places: where in the data each line of a snapshot stands, and what it says apart from its YAML.

The data of a snapshot comes in; a `Line` for each line that `serializer.dump` writes of it comes out, whether blocks
are escaped or not. Pure; `changes` and `reordering` call it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from pytest_chatprompt.snapshots.scalars import inline

# The line of a transcript on which a turn begins, and what follows on it.
TURN: Final = re.compile(r"\[(?:System|User|Assistant|Tool)\]:(?: (?P<text>.*))?")
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
    """The lines of a snapshot.

    Args:
        data: what the snapshot shows.
    """
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
            yield Line(place, place, None)
            yield from _block_lines(value, path, place)
        case _:
            yield _inline_line(value, path, place)


def _block_lines(text: str, path: tuple[str | int, ...], place: str) -> Iterator[Line]:
    lines = text.removesuffix("\n").split("\n")
    if path[0] != "question":
        # A text of several lines is prose wherever it stands.
        yield from [Line(place, place, line) for line in lines]
        return
    turn = 0
    for line in lines:
        marker = TURN.fullmatch(line)
        turn += marker is not None
        yield Line(place, f"{place}#{turn}", line if marker is None else marker["text"])


def _inline_line(value: Any, path: tuple[str | int, ...], place: str) -> Line:
    key = next((part for part in reversed(path) if isinstance(part, str)), "")
    if isinstance(value, str) and _is_conversation(path):
        if key in _FRAME_KEYS:
            return Line(place, place, None)
        if path[0] != "question":
            return Line(place, place, value)
        marker = TURN.fullmatch(value)
        return Line(place, f"{place}#0", value) if marker is None else Line(place, f"{place}#1", marker["text"])
    return Line(place, place, f"{key}: {inline(value)}")


def _is_conversation(path: tuple[str | int, ...]) -> bool:
    if path[0] in _TRANSCRIPT_KEYS:
        return True
    start = next((index for index, part in enumerate(path) if part == "request"), None)
    return start is not None and len(path) > start + 1 and path[start + 1] in _CONVERSATION_KEYS
