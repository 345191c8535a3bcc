"""The tree of a YAML text: every value of it, with its line and column.

`yaml_source` builds it; `eval_file`, `mistakes` and `agentv` read it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


class Place(NamedTuple):
    """A 1-based line and column of a text."""

    line: int
    column: int


def place_of(mark: Any) -> Place:
    """The place of a mark of PyYAML's, which counts from 0."""
    return Place(mark.line + 1, mark.column + 1)


@dataclass(slots=True, eq=False)
class Node:
    """One value of the document: a mapping, a sequence or a scalar.

    Args:
        mark: where it begins, as the parser has it.
        value: a `dict` of `Entry`s by key, a `tuple` of `Node`s, or what YAML made of the scalar.
        text: a scalar as it was written, without its quotes; empty for the others.
        size: how many nodes it holds, itself included, with aliases counted as often as they are used.
    """

    mark: Any
    value: Any
    text: str = ""
    size: int = 1

    @property
    def place(self) -> Place:
        """Where it begins."""
        return place_of(self.mark)

    def data(self) -> Any:
        """The plain Python value: `dict`, `list` and scalars."""
        if isinstance(self.value, dict):
            return {key: entry.node.data() for key, entry in self.value.items()}
        if isinstance(self.value, tuple):
            return [node.data() for node in self.value]
        return self.value

    def find(self, location: tuple[str | int, ...]) -> Node:
        """The deepest node on the way along keys and indexes; steps that lead nowhere are passed over."""
        node = self
        for step in location:
            match node.value:
                case dict() if step in node.value:
                    node = node.value[step].node
                case tuple() if isinstance(step, int) and step < len(node.value):
                    node = node.value[step]
        return node

    def key_place(self, key: str) -> Place:
        """Where a key of this mapping stands, or where the mapping begins if it has no such key."""
        entry = self.value.get(key) if isinstance(self.value, dict) else None
        return self.place if entry is None else entry.key.place


class Entry(NamedTuple):
    """A key of a mapping, and its value."""

    key: Node
    node: Node
