"""The tree of a YAML text, every value with its line and column, and what is wrong with the text.

`yaml_parser` builds it; everything else in this room reads positions and data from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


class Position(NamedTuple):
    """A line and a column of a text, both 1-based; columns count characters."""

    line: int
    column: int


def mark_position(mark: Any) -> Position:
    """The position of one of PyYAML's marks, which count from 0."""
    return Position(mark.line + 1, mark.column + 1)


@dataclass(slots=True, eq=False)
class Node:
    """One value of a YAML text: a mapping, a sequence or a scalar.

    Args:
        mark: PyYAML's mark of where the value begins.
        value: for a mapping a `dict` of `Entry`s by key, for a sequence a `tuple` of `Node`s, else the scalar's value.
        text: a scalar as it is written, without its quotes; `""` for the others.
        is_plain_text: whether it is a string that is written without quotes.
    """

    mark: Any
    value: Any
    text: str = ""
    is_plain_text: bool = False

    @property
    def position(self) -> Position:
        """The line and column where the value begins."""
        return mark_position(self.mark)

    def data(self) -> Any:
        """The value as plain Python data: `dict`, `list` and scalars."""
        if isinstance(self.value, dict):
            return {key: entry.node.data() for key, entry in self.value.items()}
        if isinstance(self.value, tuple):
            return [node.data() for node in self.value]
        return self.value

    def find(self, location: tuple[str | int, ...]) -> Node:
        """Follow keys and indexes from this node to a node inside it.

        Args:
            location: the keys and indexes; any that does not exist at its place is skipped.

        Returns:
            The innermost node that was reached; this node itself if none of them exists.
        """
        node = self
        for step in location:
            match node.value:
                case dict() if step in node.value:
                    node = node.value[step].node
                case tuple() if isinstance(step, int) and step < len(node.value):
                    node = node.value[step]
        return node

    def find_entry(self, keys: tuple[str | int, ...]) -> Entry | None:
        """Follow keys from this node to the last of them; `None` if one does not exist."""
        node, entry = self, None
        for key in keys:
            entry = node.value.get(key) if isinstance(node.value, dict) else None
            if entry is None:
                return None
            node = entry.node
        return entry

    def key_position(self, key: str) -> Position:
        """The position of a key of this mapping, or of the mapping itself if it has no such key."""
        entry = self.value.get(key) if isinstance(self.value, dict) else None
        return self.position if entry is None else entry.key.position


class Entry(NamedTuple):
    """A key of a mapping and its value, each as a node."""

    key: Node
    node: Node


class YamlProblem(NamedTuple):
    """What is wrong at one position of a text.

    Args:
        position: where it is.
        text: what is wrong, and what to write instead.
    """

    position: Position
    text: str


class UnexpectedValue(YamlProblem):
    """A key that is not a string, or a value that is not what it looks like; allowed in data that is ignored."""

    __slots__ = ()


class YamlError(Exception):
    """A text is not one valid YAML document; `problem` says where and why."""

    def __init__(self, position: Position, text: str) -> None:
        self.problem = YamlProblem(position, text)
        super().__init__(text)
