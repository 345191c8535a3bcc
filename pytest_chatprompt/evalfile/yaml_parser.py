"""The one way in which this package reads YAML: by libyaml's events, with limits, and with the position of every value.

In: a text. Out: a tree of `Node`s, and the problems that did not stop the parser (a repeated key, a key that is not a
string, a tag), or from `load_yaml` plain data. Eval files, datasets, AgentV's files, snapshots and recordings are read
with it.

The tree is built from events without recursion. An alias shares its target instead of copying it, and depth, values and
bytes are counted as they are once aliases are expanded, so a hostile file is refused before it takes memory or time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
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

from pytest_chatprompt.evalfile.json_data import MAX_FILE_DEPTH, MAX_VALUES
from pytest_chatprompt.evalfile.text_file import utf8_size
from pytest_chatprompt.evalfile.yaml_tree import (
    Entry,
    Node,
    Position,
    UnexpectedValue,
    YamlError,
    YamlProblem,
    mark_position,
)

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
_HALF: Final = re.compile("[\ud800-\udfff]")


class _Counts(NamedTuple):
    """How much there is in a value, what aliases repeat counted each time."""

    values: int
    size: int
    depth: int


@dataclass(eq=False, slots=True)
class _OpenCollection:
    """A mapping or sequence whose end the parser has not reached yet.

    Args:
        mark: where it begins.
        is_mapping: whether it is a mapping.
        anchor: its anchor, if it has one.
        values_before: how many values there were before it.
        bytes_before: how many bytes their texts had.
        around: the nodes so far of the collection around it.
        depth: how many levels it has so far, itself included.
    """

    mark: Any
    is_mapping: bool
    anchor: str | None
    values_before: int
    bytes_before: int
    around: list[Node]
    depth: int = 1


def load_yaml(text: str) -> Any:
    """Read a text that this package or a tool has written, such as a snapshot, as plain data.

    Args:
        text: the whole text of a file.

    Returns:
        `dict`, `list` and scalars; `None` for an empty text. A text in it may have half characters.

    Raises:
        YamlError: as for `parse_yaml`, and for each problem that does not stop that.
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
        from pytest_chatprompt.evalfile.syntax_errors import explain_syntax_error  # noqa: PLC0415 - most files have none

        position, reason = explain_syntax_error(error, text)
        raise YamlError(position, f"not valid YAML: {reason}") from error
    except (yaml.reader.ReaderError, UnicodeEncodeError) as error:
        # Both parsers refuse the same characters, but one counts bytes and one characters, so look for it again.
        before = yaml.reader.Reader.NON_PRINTABLE.split(text)[0]
        position = Position(before.count("\n") + 1, len(before) - before.rfind("\n"))
        reason = f"not valid YAML: the character U+{ord(text[len(before)]):04X} is not allowed"
        raise YamlError(position, reason) from error


def _hide(text: str) -> tuple[str, dict[str, str]]:
    r"""Replace what libyaml does not read as YAML 1.2 does by private characters that the text does not have.

    Args:
        text: any text.

    Returns:
        A text of the same length, and what each replacement stands for: a former line break for a private character;
        the escape of half a character for one of a private character (`\ud83d` for `\ue000`), and the half itself for
        that character. It is empty for most texts.
    """
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
    pattern = re.compile("|".join(map(re.escape, stand_ins))) if stand_ins else _HALF
    return pattern.sub(lambda match: stand_ins[match[0]], text), restore


class _Composer:
    """Builds the tree of one text; "composing" is YAML's own word for it.

    Args:
        restore: what was hidden from libyaml, by what stands for it.
        allows_halves: whether half a character is no problem.
    """

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
        if not _HALF.search(text):
            return text
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        half = _HALF.search(text)
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
