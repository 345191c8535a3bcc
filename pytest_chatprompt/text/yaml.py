"""YAML, as this package reads it everywhere: a tree with the position of every value, within limits.

The tree is built from libyaml's events. An alias shares its target instead of copying it, and depth, values and
characters are counted as they are once aliases are expanded: a hostile file takes neither memory nor time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

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

from pytest_chatprompt.errors import Diagnostic, EvalFileError
from pytest_chatprompt.text.files import TextFileError, read_text
from pytest_chatprompt.text.json_data import LONE_SURROGATE, MAX_FILE_DEPTH, MAX_VALUES, describe_data


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
        value: for a mapping a `dict` of `Entry`s by key, for a sequence a `tuple` of `Node`s, for either of them below
            the levels that are wanted `Data`, else the scalar's value.
        text: a scalar as it is written, without its quotes; `""` for the others.
        is_plain_text: whether it is a scalar that is written without quotes.
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
        return self.value.value if isinstance(self.value, Data) else self.value

    def describe(self, *, with_hint: bool = False) -> str:
        """Describe the value as YAML read it; the hint says that quotes make a scalar text, unless it is text."""
        has_hint = with_hint and self.text and not isinstance(self.value, str)
        return describe_data(self.value, self.text) + (f"; {_IF_TEXT}" if has_hint else "")

    def find(self, location: tuple[str | int, ...]) -> Node:
        """Follow keys and indexes to a node inside this one; any that does not exist at its place is skipped."""
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


class Entry(NamedTuple):
    """A key of a mapping and its value, each as a node."""

    key: Node
    node: Node


def make_node(value: Any, place: Node) -> Node:
    """Make a node of data at the place of another one; nodes within it keep their own."""
    match value:
        case Node():
            return value
        case Mapping():
            entries = {key: Entry(make_node(key, place), make_node(inner, place)) for key, inner in value.items()}
            return Node(place.mark, entries)
        case Sequence() if not isinstance(value, str):
            return Node(place.mark, tuple(make_node(inner, place) for inner in value))
    return Node(place.mark, value, str(value))


@dataclass(slots=True)
class Data:
    """A mapping or a sequence as plain Python data, without the places of what is in it."""

    value: Any


class YamlError(Exception):
    """A text is not one valid YAML document; `problems` say where and why, in order."""

    def __init__(self, *problems: tuple[Position, str]) -> None:
        self.problems = problems
        super().__init__(problems[0][1])


MAX_ALIASED_VALUES: Final = 100_000
MAX_ALIASED_CHARACTERS: Final = 256_000_000
# Of a file that this package has written.
MAX_BYTES: Final = 256 * 1024 * 1024
# A number has fewer characters: Python limits how many.
_LONGEST_NUMBER: Final = 1000
_YAML_TAGS: Final = "tag:yaml.org,2002:"
_STR_TAG: Final = f"{_YAML_TAGS}str"
# What a text without quotes may be that YAML 1.2 knows as nothing but a string: `<<`, `=` and dates.
_TEXT_TAGS: Final = (_STR_TAG, *(_YAML_TAGS + kind for kind in ("merge", "value", "timestamp")))
_IF_TEXT: Final = "put it in quotes if you mean text"
_TOO_DEEP: Final = f"nested more than {MAX_FILE_DEPTH} levels deep"
# PyYAML without libyaml reads the same, slowly.
_Loader: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# The line breaks of YAML 1.1, which are ordinary characters in YAML 1.2, and half of a character as JSON escapes it,
# which libyaml refuses: while it parses, private characters stand for them, which are this much higher.
_HIDDEN: Final = re.compile(r"[\x85\u2028\u2029]|\\u([dD][89a-fA-F][0-9A-Fa-f]{2})")
_STAND_IN: Final = re.compile(
    r"[\U00100085\U00102028\U00102029\U0010d800-\U0010dfff]|\\U0010([dD][89a-fA-F][0-9A-Fa-f]{2})"
)
_HIGHER: Final = 0x100000


def load_yaml(text: str) -> Any:
    """Load a text that a program has written, half characters included, as data; any problem is a `YamlError`."""
    return parse_yaml(text, allows_halves=True).data()


def parse_yaml(text: str, *, allows_halves: bool = False, levels: int = MAX_FILE_DEPTH) -> Node:
    """Parse the one YAML document of a text, which may have escaped halves of characters if that is allowed.

    What is more than some levels deep need not have nodes of its own. Thousands of them would live until the whole text
    is parsed, and be visited by the garbage collector several times.
    """
    hidden = _HIDDEN.sub(lambda match: f"\\U0010{match[1]}" if match[1] else chr(ord(match[0]) + _HIGHER), text)
    try:
        return _Composer(_Loader(hidden), levels, has_stand_ins=hidden != text, allows_halves=allows_halves).compose()
    except yaml.MarkedYAMLError as error:
        at: Any = error.problem_mark
        # Libyaml does not say which.
        reason = str(error.problem).replace("found character that", f"found character {hidden[at.index :][:1]!r} that")
        if error.context_mark is not None:
            reason += f", {error.context} on line {error.context_mark.line + 1}"
        # libyaml 0.2.6 reads ahead, and stops at 1,000 levels by itself.
        reason = _TOO_DEEP if "maximum nesting depth" in reason else f"not valid YAML: {reason}"
        raise YamlError((mark_position(at), reason)) from error
    except (yaml.reader.ReaderError, UnicodeEncodeError) as error:
        # Both parsers refuse the same characters, but one counts bytes and one characters, so look for it again.
        before = yaml.reader.Reader.NON_PRINTABLE.split(text)[0]
        position = Position(before.count("\n") + 1, len(before) - before.rfind("\n"))
        reason = f"not valid YAML: the character U+{ord(text[len(before)]):04X} is not allowed"
        raise YamlError((position, reason)) from error


class _Composer:
    """Builds the tree of one text; "composing" is YAML's own word for it."""

    def __init__(self, loader: Any, levels: int, *, has_stand_ins: bool, allows_halves: bool) -> None:
        self.loader = loader
        self.levels = levels
        self.has_stand_ins = has_stand_ins
        self.allows_halves = allows_halves
        self.problems: list[tuple[Position, str]] = []
        # An anchor has no node before the end of its value.
        self.anchors: dict[str, Node | None] = {}
        # How many collections are open, how many values there are so far, and how much of it aliases repeat.
        self.level = 0
        self.values = 0
        self.aliased_values = 0
        self.aliased_characters = 0
        self.resolver: Any = Resolver()
        self.constructor: Any = SafeConstructor()

    def compose(self) -> Node:
        nodes = self.nodes()
        if self.problems:
            raise YamlError(*sorted(self.problems))
        return nodes[0] if nodes else Node(yaml.Mark("", 0, 0, 0, "", 0), None)

    def add_problem(self, mark: Any, text: str) -> None:
        self.problems.append((mark_position(mark), text))

    def nodes(self) -> list[Node]:
        """The nodes up to the end of the innermost collection, or of the text."""
        nodes: list[Node] = []
        # `yaml.parse` calls the parser twice for each event, and collection spends most of its time here.
        while (event := self.loader.get_event()) is not None:
            kind = type(event)
            if kind is ScalarEvent:
                node = self.scalar(event)
            elif kind is SequenceStartEvent or kind is MappingStartEvent:
                node = self.collection(event)
            elif kind is AliasEvent:
                node = self.alias(str(event.anchor), mark_position(event.start_mark))
            elif kind is SequenceEndEvent or kind is MappingEndEvent:
                break
            elif kind is DocumentStartEvent and nodes:
                reason = "a second YAML document begins here; only one is allowed in a file"
                raise YamlError((mark_position(event.start_mark), reason))
            else:
                continue
            nodes.append(node)
            if event.anchor:
                self.anchors[event.anchor] = node
            if self.values > MAX_VALUES:
                raise YamlError((mark_position(event.start_mark), f"more than {MAX_VALUES:,} values up to here"))
        return nodes

    def collection(self, start: Any) -> Node:
        """The mapping or sequence that an event begins."""
        self.values += 1
        self.check_depth(1, mark_position(start.start_mark))
        self.check_tag(start)
        if start.anchor:
            self.anchors[start.anchor] = None
        self.level += 1
        nodes = self.nodes()
        self.level -= 1
        node = Node(start.start_mark, self.mapping(nodes) if type(start) is MappingStartEvent else tuple(nodes))
        # Aliases may ask for nodes anywhere.
        if self.level == self.levels and not self.anchors:
            node.value = Data(node.data())
        return node

    def check_tag(self, event: Any, hint: str = "") -> None:
        if event.tag not in (None, "!", _STR_TAG):
            tag = event.tag.replace(_YAML_TAGS, "!!")
            self.add_problem(event.start_mark, f"the YAML tag {tag} is not allowed here{hint}")

    def check_depth(self, depth: int, position: Position) -> None:
        if self.level + depth > MAX_FILE_DEPTH:
            raise YamlError((position, _TOO_DEEP))

    def alias(self, anchor: str, position: Position) -> Node:
        """The node that an alias stands for."""
        if anchor not in self.anchors:
            raise YamlError((position, f"the alias *{anchor} has no anchor &{anchor} before it; {_IF_TEXT}"))
        node = self.anchors[anchor]
        if node is None:
            raise YamlError((position, f"the alias *{anchor} is inside the value that it refers to"))
        values, characters, depth = _measure(node)
        self.check_depth(depth, position)
        self.values += values
        self.aliased_values += values
        self.aliased_characters += characters
        if self.aliased_values > MAX_ALIASED_VALUES or self.aliased_characters > MAX_ALIASED_CHARACTERS:
            limits = f"{MAX_ALIASED_VALUES:,} values or {MAX_ALIASED_CHARACTERS:,} characters"
            raise YamlError((position, f"the aliases up to here expand to more than {limits}"))
        return node

    def restored(self, event: Any) -> str:
        """The text of a scalar as it stands in the file."""
        text = _STAND_IN.sub(
            lambda match: f"\\u{match[1]}" if match[1] else chr(ord(match[0]) - _HIGHER), str(event.value)
        )
        # Two halves that follow each other are one character.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        half = LONE_SURROGATE.search(text)
        if half is not None and not self.allows_halves:
            reason = f"\\u{ord(half[0]):04x} is not a whole character; write the character itself"
            self.add_problem(event.start_mark, reason)
        return text

    def scalar(self, event: Any) -> Node:
        self.values += 1
        mark = event.start_mark
        text = self.restored(event) if self.has_stand_ins else event.value
        if event.tag is not None:
            self.check_tag(event, f"; {_IF_TEXT}")
        value, is_plain_text = text, event.tag is None and event.implicit[0]
        if is_plain_text:
            resolved = self.resolver.resolve(yaml.ScalarNode, text, (True, False))
            # With a colon it is a number of base 60, which only YAML 1.1 has.
            if resolved not in _TEXT_TAGS and ":" not in text and len(text) <= _LONGEST_NUMBER:
                # `0x_` only looks like a number.
                with suppress(ValueError):
                    value = self.constructor.construct_object(yaml.ScalarNode(resolved, text))
        return Node(mark, value, text, is_plain_text)

    def mapping(self, nodes: list[Node]) -> dict[Any, Entry]:
        entries: dict[Any, Entry] = {}
        merged: dict[Any, Entry] = {}
        for key, value in zip(nodes[::2], nodes[1::2], strict=True):
            # As in JSON, every key is text: `1` is `"1"`.
            name = key.text if key.value is None or isinstance(key.value, int | float) else key.value
            if not isinstance(name, str):
                hint = "" if isinstance(name, tuple) else ", and text that begins with { must be in quotes"
                self.add_problem(key.mark, f"the key is {describe_data(name)}; a key must be a string{hint}")
            elif name == "<<" and key.is_plain_text:
                self.merge(value, merged)
            elif name in entries:
                first_line = entries[name].key.position.line
                self.add_problem(key.mark, f"the key {name!r} appears twice, first on line {first_line}")
            else:
                entries[name] = Entry(key, value)
        return merged | entries if merged else entries

    def merge(self, value: Node, merged: dict[Any, Entry]) -> None:
        """Collect the entries that `<<` merges in; where two mappings have the same key, YAML lets the earlier win."""
        for source in value.value if isinstance(value.value, tuple) else (value,):
            if isinstance(source.value, dict):
                for key, entry in source.value.items():
                    merged.setdefault(key, entry)
            else:
                self.add_problem(source.mark, "the value of << must be a mapping or a list of mappings")


def _measure(node: Node) -> tuple[int, int, int]:
    """How many values, characters and levels a node has; what aliases repeat counts each time."""
    if isinstance(node.value, dict):
        children = [child for entry in node.value.values() for child in entry]
    elif isinstance(node.value, tuple):
        children = list(node.value)
    else:
        return 1, len(node.text), 0
    values, characters, depths = zip((0, 0, 0), *map(_measure, children), strict=True)
    return 1 + sum(values), sum(characters), 1 + max(depths)


def read_yaml_file(path: Path, root: Path, shown_path: str, levels: int = MAX_FILE_DEPTH) -> tuple[str, Node]:
    """Read and parse a YAML file: its text and its root node; any error is an `EvalFileError`."""
    try:
        text = read_text(path, root)
        return text, parse_yaml(text, levels=levels)
    except TextFileError as error:
        raise EvalFileError([Diagnostic(shown_path, error.line, error.column, f"this file {error}")]) from error
    except YamlError as error:
        raise EvalFileError(Diagnostic(shown_path, *position, text) for position, text in error.problems) from error
