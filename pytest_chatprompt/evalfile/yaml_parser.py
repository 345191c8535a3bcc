"""A YAML parser that keeps the position of every value.

In: the text of a YAML file. Out: a tree of `Node`s, and the problems that did not stop the parser (a repeated key, a
key that is not a string, a tag). `yaml_file`, `definition_file` and `dataset_yaml` parse files with it; a case keeps a
`yaml_source.YamlSource` to look up positions later.

It builds the tree from PyYAML's events without recursion; `yaml_loaders` makes them. An alias shares its target instead
of copying it, and depth and size are limited while parsing, so a hostile file is refused and never expanded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import yaml
from yaml.constructor import SafeConstructor
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from yaml.resolver import Resolver

from pytest_chatprompt.evalfile.yaml_loaders import FastLoader, PythonLoader, hide_former_line_breaks, is_too_strict
from pytest_chatprompt.evalfile.yaml_problem import UnexpectedValue, YamlError, YamlProblem
from pytest_chatprompt.evalfile.yaml_tree import Entry, Node, Position, mark_position

MAX_DEPTH: Final = 100
MAX_ALIASED_NODES: Final = 100_000
_MERGE_TAG: Final = "tag:yaml.org,2002:merge"
_STR_TAG: Final = "tag:yaml.org,2002:str"
# What a text without quotes may be that YAML 1.2 knows as nothing but a string: `<<` and `=`.
_TEXT_TAGS: Final = (_STR_TAG, _MERGE_TAG, "tag:yaml.org,2002:value")
_IF_TEXT: Final = "put it in quotes if you mean text"
_START_MARK: Final = yaml.Mark("", 0, 0, 0, "", 0)


@dataclass(eq=False, slots=True)
class _OpenCollection:
    """A mapping or sequence whose end the parser has not reached yet.

    Args:
        mark: where it begins.
        is_mapping: whether it is a mapping.
        anchor: its anchor, if it has one.
        size_before: how many nodes there were before it.
        around: the nodes so far of the collection around it.
    """

    mark: Any
    is_mapping: bool
    anchor: str | None
    size_before: int
    around: list[Node]


def parse_yaml(text: str) -> tuple[Node, list[YamlProblem]]:
    """Parse the one YAML document of a text.

    Args:
        text: the whole text of a file.

    Returns:
        The root node, and the problems that did not stop the parser, in the order of the text.
        For an empty text the value of the root node is `None`.

    Raises:
        YamlError: the text is not valid YAML, has several documents, or is nested too deep or expands to too much.
    """
    try:
        return _compose(text)
    except yaml.MarkedYAMLError as error:
        from pytest_chatprompt.evalfile.syntax_errors import explain_syntax_error  # noqa: PLC0415 - most files have none

        position, reason = explain_syntax_error(error, text)
        raise YamlError(position, f"not valid YAML: {reason}") from error
    except yaml.reader.ReaderError as error:
        # Both loaders refuse the same characters, but one counts bytes and one characters, so look for it again.
        before = yaml.reader.Reader.NON_PRINTABLE.split(text)[0]
        position = Position(before.count("\n") + 1, len(before) - before.rfind("\n"))
        reason = f"not valid YAML: the character U+{ord(text[len(before)]):04X} is not allowed"
        raise YamlError(position, reason) from error


def _compose(text: str) -> tuple[Node, list[YamlProblem]]:
    """Build the tree of a text, with the fast loader if there is one and it can read the text."""
    hidden, restore = hide_former_line_breaks(text)
    if FastLoader is not None:
        try:
            return _Composer(restore).compose(FastLoader(hidden))
        except yaml.MarkedYAMLError as error:
            if not is_too_strict(error):
                raise
    return _Composer(restore).compose(PythonLoader(hidden))


class _Composer:
    """Builds the tree of one text; "composing" is YAML's own word for it.

    Args:
        restore: the table that brings back the characters that were hidden from the loader.
    """

    def __init__(self, restore: dict[int, str]) -> None:
        self.restore = restore
        self.diagnostics: list[YamlProblem] = []
        self.anchors: dict[str, Node | None] = {}
        self.open: list[_OpenCollection] = []
        # The nodes so far of the innermost collection; the root node where none is open.
        self.nodes: list[Node] = []
        # How many nodes there are so far; what an alias repeats counts each time.
        self.size = 0
        self.aliased_nodes = 0
        self.resolver: Any = Resolver()
        self.constructor: Any = SafeConstructor()

    def compose(self, loader: Any) -> tuple[Node, list[YamlProblem]]:
        # `yaml.parse` calls the parser twice for each event, and collection spends most of its time here.
        while (event := loader.get_event()) is not None:
            kind = type(event)
            if kind is ScalarEvent:
                self.size += 1
                node = self.scalar(event)
                self.nodes.append(node)
                if event.anchor:
                    self.anchors[event.anchor] = node
            elif kind is SequenceEndEvent or kind is MappingEndEvent:
                self.end_collection()
            elif kind is SequenceStartEvent or kind is MappingStartEvent:
                self.begin_collection(event, is_mapping=kind is MappingStartEvent)
            elif kind is AliasEvent:
                self.nodes.append(self.alias(str(event.anchor), mark_position(event.start_mark)))
            elif kind is DocumentStartEvent and self.nodes:
                reason = "a second YAML document begins here; only one is allowed in a file"
                raise YamlError(mark_position(event.start_mark), reason)
        self.diagnostics.sort()
        return self.nodes[0] if self.nodes else Node(_START_MARK, None), self.diagnostics

    def add_problem(self, mark: Any, text: str, kind: type[YamlProblem] = YamlProblem) -> None:
        self.diagnostics.append(kind(mark_position(mark), text))

    def begin_collection(self, event: Any, *, is_mapping: bool) -> None:
        if len(self.open) >= MAX_DEPTH:
            raise YamlError(mark_position(event.start_mark), f"nested more than {MAX_DEPTH} levels deep")
        if event.tag not in (None, "!"):
            self.add_problem(event.start_mark, f"the YAML tag {_short_tag(event.tag)} is not allowed here")
        if event.anchor:
            self.anchors[event.anchor] = None
        self.open.append(_OpenCollection(event.start_mark, is_mapping, event.anchor, self.size, self.nodes))
        self.nodes = []
        self.size += 1

    def end_collection(self) -> None:
        closed = self.open.pop()
        value = self.mapping(self.nodes) if closed.is_mapping else tuple(self.nodes)
        node = Node(closed.mark, value, size=self.size - closed.size_before)
        self.nodes = closed.around
        self.nodes.append(node)
        if closed.anchor:
            self.anchors[closed.anchor] = node

    def alias(self, anchor: str, position: Position) -> Node:
        if anchor not in self.anchors:
            raise YamlError(position, f"the alias *{anchor} has no anchor &{anchor} before it; {_IF_TEXT}")
        target = self.anchors[anchor]
        if target is None:
            raise YamlError(position, f"the alias *{anchor} is inside the value that it refers to")
        self.size += target.size
        self.aliased_nodes += target.size
        if self.aliased_nodes > MAX_ALIASED_NODES:
            raise YamlError(position, f"the aliases up to here expand to more than {MAX_ALIASED_NODES:,} values")
        return target

    def scalar(self, event: Any) -> Node:
        tag, mark, text = event.tag, event.start_mark, event.value
        if self.restore:
            text = text.translate(self.restore)
        if tag is not None and tag not in ("!", _STR_TAG):
            self.add_problem(mark, f"the YAML tag {_short_tag(tag)} is not allowed here; {_IF_TEXT}")
        if tag is not None or not event.implicit[0]:
            return Node(mark, text, text)
        resolved = self.resolver.resolve(yaml.ScalarNode, text, (True, False))
        if resolved in _TEXT_TAGS:
            return Node(mark, text, text, is_plain_text=True)
        try:
            value = self.constructor.construct_object(yaml.ScalarNode(resolved, text))
        except ValueError as error:
            reason = f"{text} is not a valid YAML value: {error}; put it in quotes"
            self.add_problem(mark, reason, UnexpectedValue)
            value = text
        return Node(mark, value, text)

    def mapping(self, nodes: list[Node]) -> dict[Any, Entry]:
        entries: dict[Any, Entry] = {}
        merged: dict[Any, Entry] = {}
        for key, value in zip(nodes[::2], nodes[1::2], strict=True):
            if not isinstance(key.value, str):
                if isinstance(key.value, dict | tuple):
                    self.add_problem(key.mark, _not_a_string(key))
                else:
                    self.add_problem(key.mark, _not_a_string(key), UnexpectedValue)
                    entries[key.value] = Entry(key, value)
            elif key.value == "<<":
                self.merge(value, merged)
            elif key.value in entries:
                first_line = entries[key.value].key.position.line
                self.add_problem(key.mark, f"the key {key.value!r} appears twice, first on line {first_line}")
            else:
                entries[key.value] = Entry(key, value)
        return merged | entries if merged else entries

    def merge(self, value: Node, merged: dict[Any, Entry]) -> None:
        """Collect the entries that `<<` merges in; where two mappings have the same key, YAML lets the earlier win."""
        for source in value.value if isinstance(value.value, tuple) else (value,):
            if isinstance(source.value, dict):
                for key, entry in source.value.items():
                    merged.setdefault(key, entry)
            else:
                self.add_problem(source.mark, "the value of << must be a mapping or a list of mappings")


def _not_a_string(key: Node) -> str:
    if isinstance(key.value, dict):
        return "the key is a mapping; a key must be a string, and text that begins with { must be in quotes"
    if isinstance(key.value, tuple):
        return "the key is a list; a key must be a string"
    return f"the key {key.text} is not a string; put it in quotes" if key.text else "the key is empty"


def _short_tag(tag: str) -> str:
    prefix = "tag:yaml.org,2002:"
    return f"!!{tag.removeprefix(prefix)}" if tag.startswith(prefix) else tag
