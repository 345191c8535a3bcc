"""The origin of a case: the file and the position that it was read from, or the test that made it in code."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, NamedTuple

from pytest_chatprompt.cases.message import location_in_file
from pytest_chatprompt.text.yaml import Node, Position, parse_yaml

# Marks count from 0, so its position is 0:0.
_NOWHERE: Final = Node(Position(-1, -1), None)


@dataclass(frozen=True)
class YamlSource:
    """A YAML text that is parsed again when a position in it is needed.

    Keeping the trees of all cases would take most of a run's memory, and few runs need them. A file of another tool has
    a tree at once: what it is translated to.
    """

    text: str
    translated: Node | None = None

    @cached_property
    def root(self) -> Node:
        """The root node of the text's tree; parsed on first use."""
        return self.translated or parse_yaml(self.text)


class Row(NamedTuple):
    """A row: the variables of one item, unless something is wrong with it.

    Args:
        id: its `id`, else its number, counted from 0.
        path: the file that it stands in, as messages show it.
        line: the 1-based line on which it begins; 0 in a JSON file.
        column: the 1-based column at which it begins; 0 in a JSON file.
        values: its variables, plain JSON data by name.
        problem: why it cannot be used; `""` if it can.
    """

    id: str
    path: str
    line: int
    column: int
    values: dict[str, Any]
    problem: str = ""

    @property
    def place(self) -> str:
        """Where it stands, as messages show it: `cities.csv:3:1`."""
        return f"{self.path}:{self.line}:{self.column}" if self.line else self.path


class Origin(NamedTuple):
    """The file and the position that a case was read from.

    Args:
        path: the eval file, absolute.
        shown_path: the eval file as messages show it: relative to the root folder, with `/`; the name of the test for a
            case made in code.
        line: the 1-based line on which the case begins; 0 for a case made in code.
        column: the 1-based column at which it begins; 0 for a case made in code.
        source: the text of the file, for the positions of everything in it.
        case_index: 0-based index of the case in `evalcases`.
        row: the row whose variables are filled in; `None` for none.
    """

    path: Path
    shown_path: str
    # Two numbers instead of a `Position`: each case then keeps one object less for the garbage collector to visit.
    line: int
    column: int
    source: YamlSource
    case_index: int
    row: Row | None = None

    @property
    def position(self) -> Position:
        """The line and column where the case begins."""
        return Position(self.line, self.column)

    @property
    def _levels(self) -> tuple[Node, Node]:
        """The case, then its file."""
        if not self.line:
            return _NOWHERE, _NOWHERE
        return self.source.root.find(("evalcases", self.case_index)), self.source.root

    def position_of(self, *location: str | int, provider_name: str = "") -> Position:
        """The position of a value in the case, or else in its file; where there is none, of what is around it.

        Settings for the provider, by the name by which it was asked for, win over those for all. Checks have their
        location in the file.
        """
        case, file = self._levels
        if "checks" in location:
            return file.find(location).position
        location = location_in_file(case, location)
        keys = tuple(takewhile(lambda step: isinstance(step, str), location))
        is_setting = keys[:1] == ("settings",)
        for wanted in (("settings", provider_name, *keys[1:]), keys) if is_setting else (keys,):
            for level in (case, file):
                entry = level.find_entry(wanted)
                if entry is not None and entry.node.value is not None:
                    return (entry.key if is_setting else entry.node.find(location[len(keys) :])).position
        return case.find(location).position

    def position_of_provider(self, name: str) -> Position | None:
        """The position at which the case, else the file, names a provider; `None` if neither does."""
        for level in self._levels:
            for location in (("provider",), ("execution", "target"), ("target",)):
                named = level.find(location)
                nodes: tuple[Node, ...] = named.value if isinstance(named.value, tuple) else (named,)
                for node in nodes:
                    if node.value == name:
                        return node.position
        return None


class CaseTest(NamedTuple):
    """The test in which a case is made, `""` if none runs, with the folder of its module and the root folder."""

    node_id: str
    folder: Path
    root: Path


def find_running_test() -> CaseTest:
    """The test that runs now; with the working folder if none runs, or its module is in no folder above."""
    # https://docs.pytest.org/en/stable/example/simple.html#pytest-current-test-environment-variable
    node_id = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    path = node_id.partition("::")[0]
    working_folder = Path.cwd()
    for root in (working_folder, *working_folder.parents) if path else ():
        if (root / path).is_file():
            return CaseTest(node_id, (root / path).parent, root)
    return CaseTest(node_id, working_folder, working_folder)
