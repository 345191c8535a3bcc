"""YAML, as this package reads it everywhere: a tree with the position of every value, within limits.

The tree is built from libyaml's events without recursion. An alias shares its target instead of copying it, and depth,
values and bytes are counted as they are once aliases are expanded: a hostile file takes neither memory nor time.
"""

from __future__ import annotations

import re
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
from pytest_chatprompt.text.files import TextFileError, read_text, utf8_size
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

    def key_position(self, key: str) -> Position:
        """The position of a key of this mapping, or of the mapping itself if it has no such key."""
        entry = self.value.get(key) if isinstance(self.value, dict) else None
        return self.position if entry is None else entry.key.position


class Entry(NamedTuple):
    """A key of a mapping and its value, each as a node."""

    key: Node
    node: Node


class YamlProblem(NamedTuple):
    """What is wrong at one position of a text, and what to write instead."""

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


MAX_ALIASED_VALUES: Final = 100_000
MAX_BYTES: Final = 256 * 1024 * 1024
# More digits cannot be written again: Python limits them.
_MAX_DIGITS: Final = 4300
_LARGEST: Final = 10**_MAX_DIGITS
_MAX_SHOWN: Final = 60
_MERGE_TAG: Final = "tag:yaml.org,2002:merge"
_STR_TAG: Final = "tag:yaml.org,2002:str"
# What a text without quotes may be that YAML 1.2 knows as nothing but a string: `<<` and `=`.
_TEXT_TAGS: Final = (_STR_TAG, _MERGE_TAG, "tag:yaml.org,2002:value")
_IF_TEXT: Final = "put it in quotes if you mean text"
_START_MARK: Final = yaml.Mark("", 0, 0, 0, "", 0)
# PyYAML without libyaml reads the same, slowly.
_Loader: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# YAML 1.1 takes these for line breaks, YAML 1.2 for ordinary characters.
_FORMER_LINE_BREAKS: Final = "\x85\u2028\u2029"
_ESCAPED_CHARACTER: Final = re.compile(r"\\(?:u|U0000)([0-9A-Fa-f]{4})")
# Half of a character as JSON escapes it, which libyaml refuses.
_ESCAPED_HALF: Final = re.compile(r"\\u[dD][89a-fA-F][0-9A-Fa-f]{2}")


class _Counts(NamedTuple):
    """How much there is in a value, what aliases repeat counted each time."""

    values: int
    size: int
    depth: int


@dataclass(eq=False, slots=True)
class _OpenCollection:
    """A mapping or sequence whose end the parser has not reached yet."""

    mark: Any
    is_mapping: bool
    anchor: str | None
    values_before: int
    bytes_before: int
    around: list[Node]
    depth: int = 1


def load_yaml(text: str) -> Any:
    """Load a text that this package or a tool has written, such as a snapshot, as plain data.

    A text in it may have half characters. Any problem is a `YamlError`.
    """
    root, problems = parse_yaml(text, allows_halves=True)
    if problems:
        raise YamlError(*problems[0])
    return root.data()


def parse_yaml(text: str, *, allows_halves: bool = False) -> tuple[Node, list[YamlProblem]]:
    """Parse the one YAML document of a text.

    Args:
        text: the whole text of a file.
        allows_halves: whether a text in it may have half a character, escaped; else that is a problem.

    Returns:
        The root node, and the problems that did not stop the parser, in the order of the text.
        For an empty text the value of the root node is `None`.

    Raises:
        YamlError: the text is not valid YAML, has several documents, or is nested too deep or expands to too much.
    """
    hidden, restore = _hide(text)
    try:
        return _Composer(restore, allows_halves=allows_halves).compose(_Loader(hidden))
    except yaml.MarkedYAMLError as error:
        position, reason = _explain_syntax_error(error, text)
        raise YamlError(position, f"not valid YAML: {reason}") from error
    except (yaml.reader.ReaderError, UnicodeEncodeError) as error:
        # Both parsers refuse the same characters, but one counts bytes and one characters, so look for it again.
        before = yaml.reader.Reader.NON_PRINTABLE.split(text)[0]
        position = Position(before.count("\n") + 1, len(before) - before.rfind("\n"))
        reason = f"not valid YAML: the character U+{ord(text[len(before)]):04X} is not allowed"
        raise YamlError(position, reason) from error


def _hide(text: str) -> tuple[str, dict[str, str]]:
    r"""Replace what libyaml does not read as YAML 1.2 does by private characters that the text does not have."""
    breaks = [character for character in _FORMER_LINE_BREAKS if character in text]
    halves = sorted(set(_ESCAPED_HALF.findall(text))) if "\\u" in text else []
    if not breaks and not halves:
        return text, {}
    escaped = {int(code, 16) for code in _ESCAPED_CHARACTER.findall(text)}
    unused = (code for code in range(0xE000, 0xF900) if chr(code) not in text and code not in escaped)
    restore: dict[str, str] = {}
    stand_ins: dict[str, str] = {}
    for character, code in zip(breaks, unused, strict=False):
        stand_ins[character], restore[chr(code)] = chr(code), character
    for half, code in zip(halves, unused, strict=False):
        stand_ins[half] = f"\\u{code:04x}"
        restore |= {stand_ins[half]: half, chr(code): chr(int(half[2:], 16))}
    pattern = re.compile("|".join(map(re.escape, stand_ins))) if stand_ins else LONE_SURROGATE
    return pattern.sub(lambda match: stand_ins[match[0]], text), restore


class _Composer:
    """Builds the tree of one text; "composing" is YAML's own word for it."""

    def __init__(self, restore: dict[str, str], *, allows_halves: bool) -> None:
        self.restore = restore
        self.hidden = re.compile("|".join(map(re.escape, restore)))
        self.allows_halves = allows_halves
        self.diagnostics: list[YamlProblem] = []
        self.anchors: dict[str, tuple[Node, _Counts] | None] = {}
        self.open: list[_OpenCollection] = []
        # The nodes so far of the innermost collection; the root node where none is open.
        self.nodes: list[Node] = []
        # How many values and bytes there are so far; what an alias repeats counts each time.
        self.values = 0
        self.bytes = 0
        self.aliased_values = 0
        self.resolver: Any = Resolver()
        self.constructor: Any = SafeConstructor()

    def compose(self, loader: Any) -> tuple[Node, list[YamlProblem]]:
        # `yaml.parse` calls the parser twice for each event, and collection spends most of its time here.
        while (event := loader.get_event()) is not None:
            kind = type(event)
            if kind is ScalarEvent:
                self.values += 1
                node = self.scalar(event)
                size = utf8_size(node.text)
                self.bytes += size
                self.nodes.append(node)
                if event.anchor:
                    self.anchors[event.anchor] = (node, _Counts(1, size, 0))
            elif kind is SequenceEndEvent or kind is MappingEndEvent:
                self.end_collection()
            elif kind is SequenceStartEvent or kind is MappingStartEvent:
                self.begin_collection(event, is_mapping=kind is MappingStartEvent)
            elif kind is AliasEvent:
                self.nodes.append(self.alias(str(event.anchor), mark_position(event.start_mark)))
            elif kind is DocumentStartEvent and self.nodes:
                reason = "a second YAML document begins here; only one is allowed in a file"
                raise YamlError(mark_position(event.start_mark), reason)
            if self.values > MAX_VALUES:
                raise YamlError(mark_position(event.start_mark), f"more than {MAX_VALUES:,} values up to here")
        self.diagnostics.sort()
        return self.nodes[0] if self.nodes else Node(_START_MARK, None), self.diagnostics

    def add_problem(self, mark: Any, text: str, kind: type[YamlProblem] = YamlProblem) -> None:
        self.diagnostics.append(kind(mark_position(mark), text))

    def begin_collection(self, event: Any, *, is_mapping: bool) -> None:
        self.check_depth(1, mark_position(event.start_mark))
        if event.tag not in (None, "!"):
            self.add_problem(event.start_mark, f"the YAML tag {_short_tag(event.tag)} is not allowed here")
        if event.anchor:
            self.anchors[event.anchor] = None
        collection = _OpenCollection(event.start_mark, is_mapping, event.anchor, self.values, self.bytes, self.nodes)
        self.open.append(collection)
        self.nodes = []
        self.values += 1

    def end_collection(self) -> None:
        closed = self.open.pop()
        value = self.mapping(self.nodes) if closed.is_mapping else tuple(self.nodes)
        node = Node(closed.mark, value)
        self.nodes = closed.around
        self.nodes.append(node)
        self.note_depth(closed.depth)
        if closed.anchor:
            counts = _Counts(self.values - closed.values_before, self.bytes - closed.bytes_before, closed.depth)
            self.anchors[closed.anchor] = (node, counts)

    def check_depth(self, depth: int, position: Position) -> None:
        if len(self.open) + depth > MAX_FILE_DEPTH:
            raise YamlError(position, f"nested more than {MAX_FILE_DEPTH} levels deep")

    def note_depth(self, depth: int) -> None:
        """Note how many levels the last value of the innermost collection has."""
        if self.open:
            self.open[-1].depth = max(self.open[-1].depth, depth + 1)

    def alias(self, anchor: str, position: Position) -> Node:
        if anchor not in self.anchors:
            raise YamlError(position, f"the alias *{anchor} has no anchor &{anchor} before it; {_IF_TEXT}")
        target = self.anchors[anchor]
        if target is None:
            raise YamlError(position, f"the alias *{anchor} is inside the value that it refers to")
        node, counts = target
        self.check_depth(counts.depth, position)
        self.note_depth(counts.depth)
        self.values += counts.values
        self.aliased_values += counts.values
        if self.aliased_values > MAX_ALIASED_VALUES:
            raise YamlError(position, f"the aliases up to here expand to more than {MAX_ALIASED_VALUES:,} values")
        self.bytes += counts.size
        if self.bytes > MAX_BYTES:
            raise YamlError(position, f"the aliases up to here expand to more than {MAX_BYTES // 1024**2} MiB")
        return node

    def restored(self, event: Any) -> str:
        """The text of a scalar as it was before `_hide`."""
        text = self.hidden.sub(lambda match: self.restore[match[0]], event.value)
        if not LONE_SURROGATE.search(text):
            return text
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        half = LONE_SURROGATE.search(text)
        if half is not None and not self.allows_halves:
            reason = f"\\u{ord(half[0]):04x} is not a whole character; write the character itself"
            self.add_problem(event.start_mark, reason)
        return text

    def scalar(self, event: Any) -> Node:
        tag, mark, text = event.tag, event.start_mark, event.value
        if self.restore:
            text = self.restored(event)
        if tag is not None and tag not in ("!", _STR_TAG):
            self.add_problem(mark, f"the YAML tag {_short_tag(tag)} is not allowed here; {_IF_TEXT}")
        if tag is not None or not event.implicit[0]:
            return Node(mark, text, text)
        resolved = self.resolver.resolve(yaml.ScalarNode, text, (True, False))
        if resolved in _TEXT_TAGS:
            return Node(mark, text, text, is_plain_text=True)
        try:
            return Node(mark, self.construct(resolved, text), text)
        except ValueError as error:
            shown = text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."
            reason = f"{shown} is not a valid YAML value: {error}; put it in quotes"
            self.add_problem(mark, reason, UnexpectedValue)
            return Node(mark, text, text)

    def construct(self, tag: str, text: str) -> Any:
        """The number, date or truth value that a text without quotes is."""
        # Before it is read: base 60, which YAML 1.1 has, takes a time that grows with the square of the digits.
        value = self.constructor.construct_object(yaml.ScalarNode(tag, text)) if len(text) <= _MAX_DIGITS else _LARGEST
        if isinstance(value, int) and abs(value) >= _LARGEST:
            raise ValueError(f"a number of more than {_MAX_DIGITS} digits")
        return value

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
            elif key.value == "<<" and key.is_plain_text:
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


_LINE_BREAK: Final = re.compile(r"\r\n?|\n")
_LINE_START: Final = r"(?:[-?:] +| )*"
_TAB_IN_INDENTATION: Final = re.compile(_LINE_START + r"\t")
_KEY_AND_VALUE: Final = re.compile(_LINE_START + r"[^\s#].*?:\s+\S")
_QUOTES: Final = "text that begins with {character} must be in quotes"
_END_OF_BLOCK: Final = "did not find expected (key|'-')|expected <block end>"
# By words of the problems of libyaml and of PyYAML's own parser: whether the place is where the text around it opens,
# and what to write.
_REMEDIES: Final = (
    ("cannot start any token", False, _QUOTES),
    ("expected alphabetic or numeric character", True, _QUOTES),
    ("sequence entries are not allowed", False, "a list begins on the line below its key; " + _QUOTES),
    ("comment or (a )?line break", False, "after | or > the text begins on the next line; put other text in quotes"),
    ("expected (the )?node content", False, "a value is missing here"),
    (
        "expected ',' or '",
        False,
        "the {kind} that opens on line {line} needs ',' or '{closing}' here; put quotes around text that contains one "
        "of , [ ] {{ }}",
    ),
    ("hex", False, "write \\\\ for a backslash, or use single quotes"),
    (_END_OF_BLOCK, False, "this line is indented unlike those around it"),
    (
        "could not find expected ':'",
        True,
        "this line is neither 'key: value' nor a part of the text above; indent a text of several lines below |",
    ),
    ("found unexpected (end of stream|document)", True, "the quote that opens here is never closed"),
    ("unknown escape character", False, "write \\\\ for a backslash, or use single quotes"),
)


def _explain_syntax_error(error: yaml.MarkedYAMLError, text: str) -> tuple[Position, str]:
    """Where libyaml stopped, and what to write there for the most common mistakes; else libyaml's own words."""
    mark = error.problem_mark or error.context_mark or _START_MARK
    opening = error.context_mark or mark
    # libyaml gives the end of a text a line of its own, and may count more line breaks than we do.
    lines = dict(enumerate(_LINE_BREAK.split(text)))
    line = lines.get(mark.line, "")
    before, problem = line[: mark.column], error.problem or ""
    tab = _TAB_IN_INDENTATION.match(line[: mark.column + 1])
    if tab is not None or line[mark.column : mark.column + 1] == "\t":
        column = mark.column + 1 if tab is None else tab.end()
        return Position(mark.line + 1, column), "indent with spaces, not a tab"
    if "mapping values are not allowed" in problem:
        if _KEY_AND_VALUE.match(before):
            return mark_position(mark), "text that contains ': ' must be in quotes"
        reason = (
            "this line belongs to the text above; indent the key like the key above, and write ': ' behind that one"
        )
        return mark_position(mark), reason
    if re.search(_END_OF_BLOCK, problem) and before.rstrip().endswith(('"', "'", "]", "}")):
        closing = before.rstrip()[-1]
        return mark_position(mark), f"nothing may follow the closing {closing}; put the whole text in quotes"
    for words, is_at_opening, remedy in _REMEDIES:
        if re.search(words, problem):
            place = opening if is_at_opening else mark
            kind, closing = ("list", "]") if "sequence" in str(error.context) else ("mapping", "}")
            character = lines.get(place.line, "")[place.column : place.column + 1]
            names = {"character": character, "kind": kind, "closing": closing, "line": opening.line + 1}
            return mark_position(place), remedy.format(**names)
    return mark_position(mark), ", ".join(part for part in (error.context, problem) if part)


def read_yaml_file(path: Path, root: Path, shown_path: str) -> tuple[str, Node, list[YamlProblem]]:
    """Read and parse a YAML file: its text, and what `parse_yaml` gives.

    Raises:
        EvalFileError: it cannot be read as text, or is not valid YAML.
    """
    try:
        text = read_text(path, root)
        return text, *parse_yaml(text)
    except TextFileError as error:
        raise EvalFileError([Diagnostic(shown_path, error.line, error.column, f"this file {error}")]) from error
    except YamlError as error:
        raise EvalFileError([Diagnostic(shown_path, *error.problem.position, error.problem.text)]) from error
