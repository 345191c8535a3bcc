"""A YAML file, read from disk and parsed, and its text, kept to look up positions in it.

In: a path. Out: a `YamlFile`, or `EvalFileError` with the position of what cannot be read. Each case of an eval file
keeps the `YamlSource` of its file.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

from pytest_chatprompt.errors import Diagnostic, EvalFileError
from pytest_chatprompt.evalfile.shorthands import expand_tree
from pytest_chatprompt.evalfile.text_file import TextFileError, read_text
from pytest_chatprompt.evalfile.yaml_parser import parse_yaml
from pytest_chatprompt.evalfile.yaml_tree import Node, Position, YamlError, YamlProblem

_LINE_BREAK: Final = re.compile(r"\r\n?|\n")


class YamlFile(NamedTuple):
    """A parsed YAML file.

    Args:
        text: the whole text.
        document: the root node of its tree; a node of `None` if the file is empty.
        problems: the problems that did not stop the parser, in the order of the text.
    """

    text: str
    document: Node
    problems: list[YamlProblem]


def read_yaml_file(path: Path, root: Path, shown_path: str) -> YamlFile:
    """Read and parse a YAML file.

    Args:
        path: the file, absolute.
        root: pytest's root folder.
        shown_path: the file as messages show it.

    Raises:
        EvalFileError: it cannot be read as text, or is not valid YAML.
    """
    try:
        text = read_text(path, root)
        return YamlFile(text, *parse_yaml(text))
    except TextFileError as error:
        raise EvalFileError([Diagnostic(shown_path, error.line, error.column, f"this file {error}")]) from error
    except YamlError as error:
        position, reason = error.problem
        raise EvalFileError([Diagnostic(shown_path, position.line, position.column, reason)]) from error


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
