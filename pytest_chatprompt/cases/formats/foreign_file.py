"""A file of another tool while it is read, and what becomes of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from glob import glob
from pathlib import Path
from typing import Any, Final, NamedTuple

from pytest_chatprompt.cases.origin import Row
from pytest_chatprompt.errors import Diagnostic
from pytest_chatprompt.text.files import NamedFileError, find_file
from pytest_chatprompt.text.yaml import Node
from pytest_chatprompt.wording import did_you_mean

Keys = Collection[str]
# YAML 1.2, https://yaml.org/spec/1.2.2/#103-core-schema
_CONSTANTS: Final = dict.fromkeys(("", "~", "null", "Null", "NULL")) | {
    word: word.lower() == "true" for word in ("true", "True", "TRUE", "false", "False", "FALSE")
}
_INTEGER: Final = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


class Translation(NamedTuple):
    """A file in our own format.

    Args:
        document: its tree, with `evalcases`.
        rows: the rows that cases come from which stand in another file, by the 0-based index of the case.
    """

    document: Node
    rows: Mapping[int, Row] = {}


class ProblemError(Exception):
    """Something in a file is wrong: the node, and what."""

    def __init__(self, node: Node, text: str) -> None:
        self.node = node
        self.text = text
        super().__init__(text)


@dataclass(eq=False)
class ForeignFile:
    """A file of another tool while it is read.

    Attributes:
        path: the file, absolute.
        root: pytest's root folder.
        shown_path: the file as messages show it.
        document: the node of its top, a mapping or a list.
        problems: what makes it unusable; a reader goes on, so that all of it is told at once.
        warn: is called for what is read and has no effect, once for each kind.
        told: the texts of these warnings.
    """

    path: Path
    root: Path
    shown_path: str
    document: Node
    warn: Callable[[Diagnostic], object]
    problems: list[Diagnostic] = field(default_factory=list)
    told: set[str] = field(default_factory=set)

    def diagnostic(self, node: Node, text: str) -> Diagnostic:
        """Report something at a node."""
        return Diagnostic(self.shown_path, *node.position, text)

    def reject(self, node: Node, text: str) -> None:
        """Add a problem."""
        self.problems.append(self.diagnostic(node, text))

    def ignore(self, node: Node, text: str) -> None:
        """Warn about what has no effect, where it first stands."""
        if text not in self.told:
            self.told.add(text)
            self.warn(self.diagnostic(node, text))

    def find(self, name: str, node: Node, folder: Path | None = None) -> list[Path]:
        """Find the files that a name or a glob stands for in a folder, else in that of the file, at least one."""
        folder = folder or self.path.parent
        try:
            # `Path.glob` raises errors for absolute and for invalid patterns.
            is_glob = re.search(r"[*?[]", name)
            names = sorted(glob(name, root_dir=folder, recursive=True)) if is_glob else [name]  # noqa: PTH207
            if not names:
                raise ProblemError(node, f"no file matches {name}")
            return [find_file(each, folder, self.root).path for each in names]
        except NamedFileError as error:
            raise ProblemError(node, str(error)) from None

    def entries(self, node: Node | None, what: str) -> dict[str, Node]:
        """The nodes of a mapping, by key: none for `None`; anything else is a problem."""
        if node is None or node.value is None:
            return {}
        if not isinstance(node.value, dict):
            self.reject(node, f"{what} must be a mapping, but is {node.describe()}")
            return {}
        return {key: entry.node for key, entry in node.value.items()}

    def known_entries(
        self, mapping: Node | None, what: str, effective: Keys, ignored: Keys, inert: Keys = ()
    ) -> dict[str, Node]:
        """The entries of a mapping that have an effect, by key; the others are warned about, or are problems.

        A key that is near one of those known is a mistake; any other is warned about, as it may come from a version
        of the tool that is not known here. What is inert is warned about too, what is ignored is not.
        """
        nodes = self.entries(mapping, what)
        for key, entry in mapping.value.items() if mapping and nodes else ():
            if key not in effective and key not in ignored and not key.startswith("x-"):
                hint = "" if key in inert else did_you_mean(key, (*effective, *ignored))
                if hint:
                    self.reject(entry.key, f"unknown key {key!r} of {what}; {hint}")
                else:
                    self.ignore(entry.key, f"{key!r} of {what} has no effect here")
        return {key: node for key, node in nodes.items() if key in effective}


def items_of(node: Node | None) -> tuple[Node, ...]:
    """The items of a list, or a single one that stands for it; none for `None`."""
    return () if node is None or node.value is None else node.value if isinstance(node.value, tuple) else (node,)


def core_data(node: Node, read_text: Callable[[Node], str] = lambda node: node.text) -> Any:
    """The data of a node as YAML 1.2 reads it, where `NO` is a text and `010` is ten."""
    if isinstance(node.value, dict):
        return {key: core_data(entry.node, read_text) for key, entry in node.value.items()}
    if isinstance(node.value, tuple):
        return [core_data(each, read_text) for each in node.value]
    if not node.is_plain_text:
        return read_text(node) if isinstance(node.value, str) else node.value
    if node.text in _CONSTANTS:
        return _CONSTANTS[node.text]
    if _INTEGER.fullmatch(node.text):
        return int(node.text, 0 if node.text[1:2] in ("o", "x") else 10)
    return float(node.text) if _FLOAT.fullmatch(node.text) else read_text(node)
