"""The case: what an author wrote, with the file's defaults filled in, as frozen data."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

from pydantic import BeforeValidator, ConfigDict, PrivateAttr, model_validator

from pytest_chatprompt.cases.fields import NonEmptyString, NonEmptyTupleOf, TupleOf, WrittenAs, pattern
from pytest_chatprompt.cases.message import SHORTHANDS, EvalMessage, expand_data, expand_tree, read_expected_messages
from pytest_chatprompt.cases.rows import Row
from pytest_chatprompt.cases.shared_keys import SharedKeys
from pytest_chatprompt.errors import Diagnostic
from pytest_chatprompt.text.yaml import Node, Position, parse_yaml

_LINE_BREAK: Final = re.compile(r"\r\n?|\n")


@dataclass(frozen=True)
class YamlSource:
    """A YAML text that is parsed again when a position in it is needed.

    Keeping the trees of all cases would take most of a run's memory, and few runs need them.
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


class Origin(NamedTuple):
    """The file and the position that a case was read from.

    Args:
        path: the eval file, absolute.
        shown_path: the eval file as messages show it: relative to the root folder, with `/`.
        line: the 1-based line on which the case begins.
        column: the 1-based column at which it begins.
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

    def position_of(self, *location: str | int) -> Position:
        """The position of a value in the case; where there is no such value, of the innermost one around it."""
        return self.source.root.find(("evalcases", self.case_index, *location)).position

    def diagnostic(self, text: str, case_id: str, location: tuple[str | int, ...], position: Position) -> Diagnostic:
        """Report a problem with a value in the case; see `case_diagnostic`."""
        del location  # the position says more
        return Diagnostic(self.shown_path, position.line, position.column, text, case_id=case_id)

    def position_of_option(self, location: tuple[str | int, ...], provider_name: str) -> Position:
        """The position of one of the settings, a tool or a format, in the case or else in the file.

        Settings for the provider, by the name by which it was asked for, win over those for all.
        """
        root = self.source.root
        levels = (root.find(("evalcases", self.case_index)), root)
        if location[0] == "settings":
            locations = (("settings", provider_name, *location[1:]), location)
            known = [level.find_entry(wanted) for wanted in locations for level in levels]
            return next((entry.key.position for entry in known if entry is not None), self.position)
        for level in levels:
            entry = level.find_entry(location[:1])
            if entry is not None and entry.node.value is not None:
                return entry.node.find(location[1:]).position
        return self.position

    def position_of_provider(self, name: str) -> Position | None:
        """The position at which the case, else the file, names a provider; `None` if neither does."""
        root = self.source.root
        for level in (root.find(("evalcases", self.case_index)), root):
            for location in (("provider",), ("execution", "target"), ("target",)):
                named = level.find(location)
                nodes: tuple[Node, ...] = named.value if isinstance(named.value, tuple) else (named,)
                for node in nodes:
                    if node.value == name:
                        return node.position
        return None


INPUT_AS_WRITTEN: Final = WrittenAs(lambda: str | NonEmptyTupleOf[EvalMessage] | EvalMessage | Mapping[str, Any])
EXPECTED_AS_WRITTEN: Final = WrittenAs(lambda: TupleOf[EvalMessage] | Any)


class EvalCase(SharedKeys, defer_build=False):
    """One case of an eval file, with the file's defaults filled in.

    Attributes:
        id: unique in the file.
        outcome: what a good answer does, free text (AgentV: `expected_outcome`).
        provider: the name of the provider, or several names; `None` for the default provider.
        metadata: the file's metadata, overridden key by key by the case's own; `systemPrompt` is the system prompt.
        guideline_patterns: the globs that make a file a guideline; empty for none.
        tags: the file's tags, then the case's own, each once.
        input_messages: the messages to send, at least one.
        expected_messages: a reference answer, never sent: messages, or any other data, frozen.
        input: AgentV's shorthand for `input_messages`: a text, a message, a list of messages, or data to send as JSON.
        expected_output: AgentV's shorthand for `expected_messages`: any data.
        vars: the variables by name, those of the row included; `None` if neither the case nor its file has any.
        parametrize: the rows as the author wrote them, or the path of their dataset; `None` for none.
    """

    level = "case"
    model_config = ConfigDict(
        json_schema_extra={"required": ["id"], "anyOf": [{"required": ["input_messages"]}, {"required": ["input"]}]}
    )

    id: Annotated[NonEmptyString, pattern(lambda: r"\S")]
    outcome: str | None = None
    input_messages: NonEmptyTupleOf[EvalMessage]
    expected_messages: Annotated[tuple[Any, ...], BeforeValidator(read_expected_messages), EXPECTED_AS_WRITTEN] = ()

    # AgentV's shorthands, as the author wrote them; `input_messages` and `expected_messages` have what they stand for.
    input: Annotated[Any, INPUT_AS_WRITTEN] = None
    expected_output: Any = None

    _origin: Origin | None = PrivateAttr(default=None)

    @model_validator(mode="before")
    @classmethod
    def _expand_shorthands(cls, data: Any) -> Any:
        is_short = isinstance(data, dict) and any(shorthand.key in data for shorthand in SHORTHANDS)
        return expand_data(data) if is_short else data

    @property
    def _origin_or_none(self) -> Origin | None:
        # Pydantic finds a private attribute only after all other ways have failed, which takes ten times as long.
        private = self.__pydantic_private__
        return None if private is None else private["_origin"]

    @property
    def has_origin(self) -> bool:
        """Whether the case was read from a file; one that is made in code was not."""
        return self._origin_or_none is not None

    @property
    def origin(self) -> Origin:
        """The file and the position that the case was read from; an `AttributeError` if it was not."""
        origin = self._origin_or_none
        if origin is None:
            raise AttributeError(f"case {self.id!r} was not read from a file")
        return origin

    @property
    def path(self) -> Path:
        """The eval file, absolute."""
        return self.origin.path

    @property
    def line(self) -> int:
        """The 1-based line on which the case begins."""
        return self.origin.line

    @property
    def row_id(self) -> str | None:
        """The id of the row that the case was rendered with; `None` for none."""
        origin = self._origin_or_none
        return None if origin is None or origin.row is None else origin.row.id

    @property
    def full_id(self) -> str:
        """The id with its row, as in the node id: `qa[eiffel]`; the id alone without one."""
        row_id = self.row_id
        return self.id if row_id is None else f"{self.id}[{row_id}]"

    @property
    def system_prompt(self) -> str | None:
        """The author's `metadata.systemPrompt`: `""` to send none, `None` if it is not set."""
        prompt: str | None = self.metadata.get("systemPrompt")
        return prompt


def option_diagnostic(
    case: EvalCase, text: str, location: tuple[str | int, ...], provider_name: str = ""
) -> Diagnostic:
    """Report a problem with one of the settings, a tool or a format, at its place in a case or in the case's file."""
    position = case.origin.position_of_option(location, provider_name)
    return case.origin.diagnostic(text, case.id, location, position)


def case_diagnostic(case: EvalCase, text: str, *location: str | int) -> Diagnostic:
    """Report a problem with a value in a case, at the keys and indexes that lead to it."""
    origin = case.origin
    return origin.diagnostic(
        text + place_of_row(origin.row), case.full_id, location, position=origin.position_of(*location)
    )


def place_of_row(row: Row | None) -> str:
    """The end of an error text that says where the row of a case stands; `""` without a row."""
    return "" if row is None else f" (row at {row.place})"
