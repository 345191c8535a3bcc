"""Problems of a YAML text: what is wrong, where, and what to write instead.

`yaml_parser` raises a `YamlError` where it cannot go on, and lists the other problems; the modules that parse files
report them, and `ignored_data` drops those that do not matter.
"""

from __future__ import annotations

from typing import NamedTuple

from pytest_chatprompt.evalfile.yaml_tree import Position


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
