"""YAML text with the place of everything in it.

Text goes in; a tree of `Node`s comes out, each with its line and column, together with the problems that
do not stop the reading (a key given twice, a key that is no string, a tag). PyYAML's C parser is used
where it is there. Only `eval_file` and `agentv` read through this module; `case` keeps the `Source` of a case.

The tree is built from parser events, without recursion: a YAML alias shares its target instead of copying
it, and depth and size are bounded while reading, so that a hostile file is refused instead of unfolded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple

import yaml
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

from pytest_chatprompt.yaml_tree import Entry, Node, Place, place_of

MAX_DEPTH: Final = 100
MAX_ALIASED_NODES: Final = 100_000
_MERGE_TAG: Final = "tag:yaml.org,2002:merge"
_STR_TAG: Final = "tag:yaml.org,2002:str"
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_START: Final = yaml.Mark("", 0, 0, 0, "", 0)


class SourceProblem(NamedTuple):
    """Something wrong at one place of the text."""

    place: Place
    text: str


class SourceError(Exception):
    """The text cannot be read as one YAML document; `problem` says why."""

    def __init__(self, place: Place, text: str) -> None:
        self.problem = SourceProblem(place, text)
        super().__init__(text)


@dataclass(slots=True)
class _Open:
    """A mapping or sequence whose end has not been read yet."""

    mark: Any
    is_mapping: bool
    anchor: str | None
    nodes: list[Node] = field(default_factory=list)


@dataclass(frozen=True)
class Source:
    """A text that was read, whose tree is built anew when a place in it is asked for.

    The trees of all cases are most of what a run would hold in memory, and few runs ask.

    Args:
        text: one that `read_yaml` could read.
    """

    text: str

    @cached_property
    def root(self) -> Node:
        """The root of its tree."""
        return read_yaml(self.text)[0]


def read_yaml(text: str) -> tuple[Node, list[SourceProblem]]:
    """Read the one YAML document of a text.

    Returns:
        Its root, and the problems in it, in the order of the text. An empty text gives a root of `None`.

    Raises:
        SourceError: no YAML, several documents, or too deep or too large to be meant.
    """
    try:
        return _Composer().compose(_Loader(text))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = place_of(_START if mark is None else mark)
        told = ", ".join(part for part in (error.context, error.problem) if part)
        raise SourceError(place, f"this is no YAML: {told}") from error
    except yaml.reader.ReaderError as error:
        # The error's own position counts bytes or characters, as the parser has it.
        refused = yaml.reader.Reader.NON_PRINTABLE.search(text)
        before, character = (text[: refused.start()], f"U+{ord(refused[0]):04X}") if refused else ("", "in it")
        place = Place(before.count("\n") + 1, len(before) - before.rfind("\n"))
        raise SourceError(place, f"this is no YAML: the character {character} is not allowed") from error


class _Composer:
    def __init__(self) -> None:
        self.problems: list[SourceProblem] = []
        self.anchors: dict[str, Node | None] = {}
        self.open: list[_Open] = []
        self.root: Node | None = None
        self.aliased_nodes = 0
        self.resolver: Any = Resolver()
        self.constructor: Any = SafeConstructor()

    def compose(self, loader: Any) -> tuple[Node, list[SourceProblem]]:
        # `yaml.parse` asks the parser twice for each event, and most of collecting is done here.
        while (event := loader.get_event()) is not None:
            kind = type(event)
            if kind is yaml.ScalarEvent:
                self.add(self.scalar(event), event.anchor)
            elif kind is yaml.SequenceEndEvent or kind is yaml.MappingEndEvent:
                self.end()
            elif kind is yaml.SequenceStartEvent or kind is yaml.MappingStartEvent:
                self.begin(event)
            elif kind is yaml.AliasEvent:
                self.add(self.alias(str(event.anchor), place_of(event.start_mark)), None)
            elif kind is yaml.DocumentStartEvent and self.root is not None:
                told = "a second YAML document begins here; a file holds one"
                raise SourceError(place_of(event.start_mark), told)
        self.problems.sort()
        return self.root or Node(_START, None), self.problems

    def problem(self, mark: Any, text: str) -> None:
        self.problems.append(SourceProblem(place_of(mark), text))

    def begin(self, event: Any) -> None:
        if len(self.open) >= MAX_DEPTH:
            raise SourceError(place_of(event.start_mark), f"nested more than {MAX_DEPTH} levels deep")
        if event.tag is not None and not event.implicit:
            self.problem(event.start_mark, f"the YAML tag {_shown_tag(event.tag)} is not allowed here")
        if event.anchor:
            self.anchors[event.anchor] = None
        self.open.append(_Open(event.start_mark, isinstance(event, yaml.MappingStartEvent), event.anchor))

    def end(self) -> None:
        done = self.open.pop()
        size = 1 + sum(node.size for node in done.nodes)
        value = self.mapping(done.nodes) if done.is_mapping else tuple(done.nodes)
        self.add(Node(done.mark, value, size=size), done.anchor)

    def add(self, node: Node, anchor: str | None) -> None:
        if anchor:
            self.anchors[anchor] = node
        if self.open:
            self.open[-1].nodes.append(node)
        else:
            self.root = node

    def alias(self, anchor: str, place: Place) -> Node:
        if anchor not in self.anchors:
            raise SourceError(place, f"the alias *{anchor} has no anchor &{anchor} before it")
        target = self.anchors[anchor]
        if target is None:
            raise SourceError(place, f"the alias *{anchor} stands inside of what it names")
        self.aliased_nodes += target.size
        if self.aliased_nodes > MAX_ALIASED_NODES:
            raise SourceError(place, f"the aliases up to here unfold to more than {MAX_ALIASED_NODES:,} values")
        return target

    def scalar(self, event: Any) -> Node:
        tag, mark = event.tag, event.start_mark
        if tag is not None and tag not in ("!", _STR_TAG):
            self.problem(mark, f"the YAML tag {_shown_tag(tag)} is not allowed here")
        if tag is not None or not event.implicit[0]:
            return Node(mark, event.value, event.value)
        resolved = self.resolver.resolve(yaml.ScalarNode, event.value, (True, False))
        if resolved in (_STR_TAG, _MERGE_TAG):
            return Node(mark, event.value, event.value)
        try:
            value = self.constructor.construct_object(yaml.ScalarNode(resolved, event.value))
        except ValueError as error:
            self.problem(mark, f"YAML cannot make a value of {event.value}: {error}; quote it")
            value = event.value
        return Node(mark, value, event.value)

    def mapping(self, nodes: list[Node]) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        merged: dict[str, Entry] = {}
        for key, value in zip(nodes[::2], nodes[1::2], strict=True):
            if not isinstance(key.value, str):
                wrong = "a mapping or list" if isinstance(key.value, dict | tuple) else key.text
                self.problem(key.mark, f"the key {wrong} is no string; quote it")
            elif key.value == "<<":
                self.merge(value, merged)
            elif key.value in entries:
                first = entries[key.value].key.place
                self.problem(key.mark, f"the key {key.value!r} is given twice, first in line {first.line}")
            else:
                entries[key.value] = Entry(key, value)
        return merged | entries if merged else entries

    def merge(self, value: Node, merged: dict[str, Entry]) -> None:
        """Put what `<<` names below the mapping's own keys; of several the earlier wins, as YAML has it."""
        for source in value.value if isinstance(value.value, tuple) else (value,):
            if isinstance(source.value, dict):
                for key, entry in source.value.items():
                    merged.setdefault(key, entry)
            else:
                self.problem(source.mark, "<< takes a mapping, or a list of mappings")


def _shown_tag(tag: str) -> str:
    prefix = "tag:yaml.org,2002:"
    return f"!!{tag.removeprefix(prefix)}" if tag.startswith(prefix) else tag
