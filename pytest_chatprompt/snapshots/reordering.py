"""Reordering: what of a snapshot stands in another place now, and is otherwise the same.

The data of a snapshot and what is sent now come in; the data in the order of what is sent comes out, with a `Move` for
each list, mapping or transcript whose order changed. A diff of the result shows only what else changed. Pure, and
linear except for sorting; `changes` calls it.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_chatprompt.snapshots.line_places import TURN, text_lines

_MOST_SINGLE_MOVES: Final = 3
_LABEL_CHARACTERS: Final = 60


@dataclass(frozen=True, slots=True)
class Move:
    """Items, keys or turns that moved within one list, mapping or transcript.

    Args:
        place: the list, mapping or transcript: `request.messages`.
        description: what went where, a line each.
        texts: the lines of what moved, without its form: equal for equal moves in other places.
    """

    place: str
    description: tuple[str, ...]
    texts: tuple[str, ...]


def in_sent_order(stored: Mapping[str, Any], sent: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Move, ...]]:
    """Bring the data of a snapshot into the order of what is sent.

    Args:
        stored: what the snapshot shows.
        sent: what is sent now.

    Returns:
        The stored data; equal items of lists, turns of the question and keys stand as they are sent. And the moves, in
        the order of the data.
    """
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
            turns, sent_turns = _turns(stored), _turns(sent)
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
        moved = sorted((target, source) for source, target in pairs if target not in unmoved)
        if len(moved) > _MOST_SINGLE_MOVES:
            order = ", ".join(f"[{source}]" for source, _ in sorted(pairs, key=lambda pair: pair[1]))
            description: tuple[str, ...] = (f"another order: {order}",)
        else:
            description = tuple(f"[{source}] moved to [{target}]: {_label(stored[source])}" for target, source in moved)
        texts = tuple(line for target, _ in moved for line in text_lines(sent[target]))
        self.moves.append(Move(place, description, texts))
        items = list(stored)
        in_order = [source for source, _ in sorted(pairs, key=lambda pair: pair[1])]
        for (slot, _), source in zip(pairs, in_order, strict=True):
            items[slot] = stored[source]
        return items


def _turns(question: str) -> list[str]:
    """The turns of a transcript; joined by line breaks they are the transcript."""
    turns: list[list[str]] = []
    for line in question.split("\n"):
        if not turns or TURN.fullmatch(line):
            turns.append([])
        turns[-1].append(line)
    return ["\n".join(turn) for turn in turns]


def _equal_items(stored: Sequence[Any], sent: Sequence[Any]) -> list[tuple[int, int]]:
    """Pairs of the indexes of equal items in both lists, by the first one; of equal ones the first to the first."""
    indexes: dict[str, deque[int]] = defaultdict(deque)
    for index, item in enumerate(sent):
        indexes[_identity(item)].append(index)
    pairs = []
    for index, item in enumerate(stored):
        same = indexes.get(_identity(item))
        if same:
            pairs.append((index, same.popleft()))
    return pairs


def _identity(item: Any) -> str:
    return json.dumps(item)


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
