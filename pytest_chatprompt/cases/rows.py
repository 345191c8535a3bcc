"""Rows: the entries of `parametrize`, each with its name and its place."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final, NamedTuple

from pytest_chatprompt.cases.fields import SchemaKeywords, characters_pattern, pattern
from pytest_chatprompt.text.json_data import MAX_DEPTH
from pytest_chatprompt.text.yaml import Node, Position

# What Jinja reads as something else than a variable.
_RESERVED: Final = frozenset(
    {"and", "else", "if", "in", "is", "not", "or", "true", "false", "none", "True", "False", "None", "self"}
)
_QUOTES: Final = "; put it in quotes if you mean text"
_SIMPLE: Final = (str, int, bool, type(None))


def variable_name_pattern() -> str:
    """A pattern of the names that a variable may have, for the JSON Schema; letters outside of ASCII all match."""
    first = characters_pattern(str.isidentifier)
    later = characters_pattern(lambda character: f"a{character}".isidentifier())
    return f"^(?!({'|'.join(sorted(_RESERVED))})$){first}{later}*$"


VariableName = Annotated[str, pattern(variable_name_pattern)]
Variables = Mapping[VariableName, Any]


class VariableProblem(NamedTuple):
    """What is wrong with a variable: with its name, or with its value."""

    key: str
    is_name: bool
    text: str


def find_problem(variables: Mapping[Any, Any]) -> VariableProblem | None:
    """Find the first variable that no template could use."""
    for name, value in variables.items():
        if not isinstance(name, str):
            return VariableProblem(str(name), True, f"the key {name} is not a string; put it in quotes")
        if not name.isidentifier():
            text = f"{name!r} cannot name a variable; use letters, digits and _, and do not begin with a digit"
            return VariableProblem(name, True, text)
        if name in _RESERVED:
            text = f"{name!r} cannot name a variable, because templates read it as something else; rename it"
            return VariableProblem(name, True, text)
        if type(value) in _SIMPLE and (not isinstance(value, str) or value.isascii()):
            continue
        text = _problem_of_value(value, depth=1)
        if text:
            return VariableProblem(name, False, f"the value of {name!r} {text}")
    return None


def _problem_of_value(value: Any, depth: int) -> str:
    """What is wrong with a value, to be put after its name; `""` for nothing."""
    if depth > MAX_DEPTH:
        return f"is nested more than {MAX_DEPTH} levels deep"
    match value:
        case str():
            return "" if _is_unicode(value) else "has half of a character: a surrogate without its other half"
        case float():
            return "" if math.isfinite(value) else f"is not a finite number ({value}){_QUOTES}"
        case dict():
            key = next((key for key in value if not isinstance(key, str)), None)
            if key is not None:
                return f"has the key {key}, which is not a string; put it in quotes"
            return next(filter(None, (_problem_of_value(inner, depth + 1) for inner in (*value, *value.values()))), "")
        case list() | tuple():
            return next(filter(None, (_problem_of_value(inner, depth + 1) for inner in value)), "")
        case None | bool() | int():
            return ""
        case other:
            return f"is {describe_data(other)}{_QUOTES}"


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def describe_data(value: Any) -> str:
    """Describe plain data, such as `the number 3`, `'text'`, `a list` or `null`."""
    match value:
        case None:
            return "null"
        case bool():
            return f"the boolean {str(value).lower()}"
        case int() | float():
            return f"the number {value}"
        case str():
            return repr(value)
        case dict():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case other:
            return f"the {type(other).__name__} {other}"


# A row as an author writes it, for the JSON Schema; `_id_of` and `_problem_of` check it.
RowData = Annotated[
    Variables,
    SchemaKeywords(
        lambda: {"properties": {"id": {"anyOf": [{"type": "string", "pattern": r"\S"}, {"type": "integer"}]}}}
    ),
]


class RawRow(NamedTuple):
    """A row as a reader found it, with what is wrong with it, if the reader knows; its node if it was read from YAML.

    `values` are any data, `None` if nothing of it can be read.
    """

    position: Position
    values: Any
    problem: str = ""
    problem_position: Position | None = None
    node: Node | None = None


class Row(NamedTuple):
    """A row: the variables of one item.

    Args:
        id: its `id`, else its number, counted from 0.
        path: the file that it stands in, as messages show it.
        line: the 1-based line on which it begins.
        column: the 1-based column at which it begins.
        values: its variables, plain JSON data by name.
    """

    id: str
    path: str
    line: int
    column: int
    values: dict[str, Any]

    @property
    def place(self) -> str:
        """Where it stands, as messages show it: `cities.csv:3:1`."""
        return f"{self.path}:{self.line}:{self.column}"


class InvalidRow(NamedTuple):
    """A row that cannot be used, and why.

    Its id is its `id` if no other row has that, else its number or, if a row has that, a name made of it.
    """

    id: str
    path: str
    position: Position
    text: str


def make_rows(raw_rows: Iterable[RawRow], path: str) -> list[Row | InvalidRow]:
    """Name and check the rows of a dataset; all get different ids."""
    rows: list[Row | InvalidRow] = []
    first_uses: dict[str, Row | InvalidRow] = {}
    unnamed: list[int] = []
    for number, raw in enumerate(raw_rows):
        row_id, id_problem = _id_of(raw.values, number)
        problem, position = _problem_of(raw, id_problem)
        first = first_uses.get(row_id) if row_id is not None else None
        if not problem and first is not None:
            problem = _repeated(row_id, first)
        row: Row | InvalidRow
        if problem:
            row = InvalidRow(row_id or "", path, position, problem)
        else:
            row = Row(row_id or "", path, raw.position.line, raw.position.column, raw.values)
        if row_id is None or first is not None:
            unnamed.append(number)
        else:
            first_uses[row_id] = row
        rows.append(row)
    for number in unnamed:
        name = str(number)
        while name in first_uses:
            name = f"row-{name}"
        rows[number] = first_uses[name] = rows[number]._replace(id=name)
    return rows


def _id_of(values: Any, number: int) -> tuple[str | None, str]:
    """The id of a row, or what is wrong with it; without one its number, if anything of the row can be read."""
    if not isinstance(values, dict):
        return None, ""
    row_id = values.get("id", number)
    if isinstance(row_id, str) and row_id.strip():
        return row_id, ""
    if isinstance(row_id, int) and not isinstance(row_id, bool):
        return str(row_id), ""
    description = describe_data(row_id)
    return None, f"the id of a row must be a string that is not blank, or a whole number, but is {description}"


def _problem_of(raw: RawRow, id_problem: str) -> tuple[str, Position]:
    """What is wrong with a row, and where; `""` for nothing."""
    position = raw.problem_position or raw.position
    if raw.problem:
        return raw.problem, position
    if not isinstance(raw.values, dict):
        description = describe_data(raw.values)
        return f"a row must be a mapping of variables to their values, but is {description}", position
    if id_problem:
        return id_problem, _position_of_value(raw, "id")
    problem = find_problem(raw.values)
    if problem is None:
        return "", position
    if problem.is_name:
        return problem.text, position if raw.node is None else raw.node.key_position(problem.key)
    return problem.text, _position_of_value(raw, problem.key)


def _position_of_value(raw: RawRow, key: str) -> Position:
    return raw.position if raw.node is None else raw.node.find((key,)).position


def _repeated(row_id: str | None, first: Row | InvalidRow) -> str:
    line = first.line if isinstance(first, Row) else first.position.line
    return f"the row id {row_id!r} is used twice, first at {first.path}:{line}; give each row an id of its own"
