"""The text of a YAML file, kept to look up positions in it.

In: a text that was parsed before. Out: its tree, parsed again on first use, and positions for characters. Each case of
an eval file keeps the one of its file.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from pytest_chatprompt.evalfile.shorthands import expand_tree
from pytest_chatprompt.evalfile.yaml_parser import parse_yaml
from pytest_chatprompt.evalfile.yaml_tree import Node, Position

_LINE_BREAK: Final = re.compile(r"\r\n?|\n")


@dataclass(frozen=True)
class YamlSource:
    """A YAML text that is parsed again when a position in it is needed.

    Keeping the trees of all cases would take most of a run's memory, and few runs need them.

    Args:
        text: a text that `parse_yaml` has parsed without `YamlError`.
    """

    text: str

    @cached_property
    def root(self) -> Node:
        """The root node of the text's tree, with its shorthands expanded; parsed on first use."""
        document = parse_yaml(self.text)[0]
        expand_tree(document)
        return document

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in _LINE_BREAK.finditer(self.text))]

    def offset(self, position: Position) -> int:
        """The 0-based index of the character at a position."""
        return self._line_starts[position.line - 1] + position.column - 1

    def position(self, offset: int) -> Position:
        """The position of the character at a 0-based index."""
        line = bisect_right(self._line_starts, offset)
        return Position(line, offset - self._line_starts[line - 1] + 1)
