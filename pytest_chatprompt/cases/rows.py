"""Rows: the entries of `parametrize`, or of the dataset that it names, each with its name and its place."""

from __future__ import annotations

import csv
import json
import math
import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final, NamedTuple, NoReturn

from pytest_chatprompt.cases.fields import SchemaKeywords, characters_pattern, pattern
from pytest_chatprompt.errors import Diagnostic, EvalFileError
from pytest_chatprompt.text.files import MAX_BYTES, FileSearchError, TextFileError, find_file, read_lines, read_text
from pytest_chatprompt.text.json_data import LONE_SURROGATE, MAX_DEPTH, check_bounds, describe_data
from pytest_chatprompt.text.yaml import Node, Position, YamlError, YamlProblem, parse_yaml
from pytest_chatprompt.wording import count, shown_path

# What Jinja reads as something else than a variable.
_RESERVED: Final = frozenset(
    {"and", "else", "if", "in", "is", "not", "or", "true", "false", "none", "True", "False", "None", "self"}
)
_QUOTES: Final = "; put it in quotes if you mean text"


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
            return "has half of a character: a surrogate without its other half" if LONE_SURROGATE.search(value) else ""
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
    line: int
    column: int
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
            place = f"{first.path}:{first.line}"
            problem = f"the row id {row_id!r} is used twice, first at {place}; give each row an id of its own"
        if problem:
            rows.append(InvalidRow(row_id or "", path, *position, problem))
        else:
            rows.append(Row(row_id or "", path, *raw.position, raw.values))
        if row_id is None or first is not None:
            unnamed.append(number)
        else:
            first_uses[row_id] = rows[-1]
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


# Of a file that is read line by line.
MAX_DATASET_BYTES: Final = 1024**3
_WHITE_SPACE: Final = re.compile(r"[ \t\r\n]*")


class _InvalidValueError(ValueError):
    """JSON that cannot be a row: it has a repeated key, or a number such as NaN."""


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # The rows of a dataset share their keys.
    mapping = {sys.intern(key): value for key, value in pairs}
    if len(mapping) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for index, key in enumerate(keys) if key in keys[:index])
        raise _InvalidValueError(f"the key {repeated!r} appears twice")
    return mapping


def _refuse_constant(name: str) -> NoReturn:
    raise _InvalidValueError(f"{name} is not a value of JSON; write null, or a string")


def _within_bounds(value: Any) -> Any:
    """Return a row that is neither nested too deep nor too large."""
    try:
        check_bounds(value)
    except ValueError as error:
        raise _InvalidValueError(str(error)) from None
    return value


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_constant=_refuse_constant)
# Finds the end of a row that `_DECODER` refuses.
_LENIENT_DECODER: Final = json.JSONDecoder()


def read_jsonl(path: Path, root: Path) -> Iterator[RawRow]:
    """Read a row from each line that is not blank."""
    for number, line in enumerate(read_lines(path, root, MAX_DATASET_BYTES), start=1):
        if not line.strip():
            continue
        try:
            yield RawRow(Position(number, 1), _within_bounds(_DECODER.decode(line.decode())))
        except UnicodeDecodeError as error:
            text = f"this line is not valid UTF-8 (byte 0x{line[error.start]:02X})"
            column = len(line[: error.start].decode()) + 1
            yield RawRow(Position(number, column), None, text)
        except (ValueError, RecursionError) as error:
            column = error.colno if isinstance(error, json.JSONDecodeError) else 1
            yield RawRow(Position(number, column), None, _explain_json(error))


def read_json(path: Path, root: Path) -> Iterator[RawRow]:
    """Read the rows of a list."""
    text = read_text(path, root)
    index = _skip(text, 0)
    if text[index : index + 1] != "[":
        _refuse_document(text, index)
    line, line_start, counted = 1, 0, 0
    index = _skip(text, index + 1)
    while text[index : index + 1] != "]":
        line += text.count("\n", counted, index)
        # Zero unless there is a line break since the row before, which keeps a list on one line from being slow.
        line_start, counted = (text.rfind("\n", counted, index) + 1) or line_start, index
        position = Position(line, index - line_start + 1)
        row, index = _read_row(text, index, position)
        yield row
        index = _skip(text, index)
        if text[index : index + 1] == ",":
            index = _skip(text, index + 1)
            if text[index : index + 1] == "]":
                raise _syntax_error(text, index, "a comma before the end of the list; remove it")
        elif text[index : index + 1] != "]":
            raise _syntax_error(text, index, "expected a comma or the end of the list")
    index = _skip(text, index + 1)
    if index < len(text):
        raise _syntax_error(text, index, "more data after the end of the list")


def _read_row(text: str, index: int, position: Position) -> tuple[RawRow, int]:
    """A row of a list, and the index of its end."""
    try:
        value, end = _DECODER.raw_decode(text, index)
        return RawRow(position, _within_bounds(value)), end
    except json.JSONDecodeError as error:
        raise _syntax_error(text, error.pos, error.msg) from error
    except (ValueError, RecursionError) as error:
        problem = _explain_json(error)
        try:
            _, end = _LENIENT_DECODER.raw_decode(text, index)
        except (ValueError, RecursionError):
            raise TextFileError(f"is not valid JSON: {problem}", *position) from error
        return RawRow(position, None, problem), end


def _refuse_document(text: str, index: int) -> NoReturn:
    """Raise the error for a file that is not a list."""
    try:
        value, _ = _LENIENT_DECODER.raw_decode(text, index)
    except json.JSONDecodeError as error:
        raise _syntax_error(text, error.pos, error.msg) from error
    except (ValueError, RecursionError) as error:
        raise TextFileError(f"is not valid JSON: {_explain_json(error)}") from error
    raise TextFileError(f"must be a list of rows, but is {describe_data(value)}")


def _explain_json(error: ValueError | RecursionError) -> str:
    if isinstance(error, _InvalidValueError):
        return str(error)
    if isinstance(error, RecursionError):
        return f"nested more than {MAX_DEPTH} levels deep"
    if isinstance(error, json.JSONDecodeError):
        return f"this line is not valid JSON: {_lower(error.msg)}"
    # Python limits how long a number may be.
    return "a number is too long; put it in quotes"


def _syntax_error(text: str, index: int, reason: str) -> TextFileError:
    line = text.count("\n", 0, index) + 1
    return TextFileError(f"is not valid JSON: {_lower(reason)}", line, index - text.rfind("\n", 0, index))


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _skip(text: str, index: int) -> int:
    """The index of the first character from here on that is not white space."""
    return _WHITE_SPACE.match(text, index).end()  # type: ignore[union-attr] # it matches an empty text


_HINTS: Final = {";": "semicolons", "\t": "tabs"}


def read_csv(path: Path, root: Path) -> Iterator[RawRow]:
    """Read a row from each record below the header."""
    # Bytes that are not UTF-8 become surrogates, so that they are an error of their row.
    # As in attached files, CRLF becomes LF: Git may write either, and what is sent must not depend on it.
    lines = (line.replace(b"\r\n", b"\n") for line in read_lines(path, root, MAX_DATASET_BYTES))
    records = _records(csv.reader((line.decode(errors="surrogateescape") for line in lines), strict=True))
    names = _variable_names(next((header for _, header in records), []))
    for line, values in records:
        row = dict(zip(names, values, strict=False))
        yield RawRow(Position(line, 1), row, _problem(names, values))


def _records(reader: Any) -> Iterator[tuple[int, list[str]]]:
    """The records that are not blank, each with the line on which it begins."""
    while True:
        line = reader.line_num + 1
        # Other code in this process may rely on its own limit.
        limit = csv.field_size_limit(MAX_BYTES)
        try:
            values = next(reader, None)
        except csv.Error as error:
            reason = f"{error}; a quote inside a quoted value must be doubled"
            if "unexpected end of data" in str(error):
                reason = "the quote that opens in this row is never closed"
            raise TextFileError(f"is not valid CSV: {reason}", line) from error
        finally:
            csv.field_size_limit(limit)
        if values is None:
            return
        if values:
            yield line, values


def _variable_names(header: list[str]) -> list[str]:
    if not header:
        raise TextFileError("is empty; its first line must name the columns")
    for column, name in enumerate(header, start=1):
        if not name:
            raise TextFileError(f"has no name for column {column}; name each column in the first line")
        if name in header[: column - 1]:
            raise TextFileError(f"has two columns with the name {name!r}; rename one of them")
    problem = find_problem(dict.fromkeys(header))
    if problem is not None:
        separator = next((_HINTS[character] for character in _HINTS if character in problem.key), None)
        hint = f"; the columns are separated by {separator}, separate them by commas" if separator else ""
        raise TextFileError(f"has a column without a usable name: {problem.text}{hint}")
    return [sys.intern(name) for name in header]


def _problem(names: list[str], values: list[str]) -> str:
    """What is wrong with a record; `""` for nothing."""
    if len(values) != len(names):
        hint = "; put a value that contains commas in quotes" if len(values) > len(names) else ""
        return f"this row has {count(len(values), 'value')}, but the header has {len(names)} columns{hint}"
    for name, value in zip(names, values, strict=True):
        surrogate = LONE_SURROGATE.search(value)
        if surrogate is not None:
            return f"the value of {name!r} is not valid UTF-8 (byte 0x{ord(surrogate[0]) - 0xDC00:02X})"
    return ""


def read_yaml(path: Path, root: Path) -> Iterator[RawRow]:
    """Read the rows of a list."""
    document, problems = parse_yaml(read_text(path, root))
    if document.value is None:
        return
    if not isinstance(document.value, tuple):
        raise TextFileError(f"must be a list of rows, but is {document.describe()}", *document.position)
    starts = [row.position for row in document.value]
    by_row: dict[int, YamlProblem] = {}
    for problem in problems:
        if not starts or problem.position < starts[0]:
            raise YamlError(*problem)
        by_row.setdefault(bisect_right(starts, problem.position) - 1, problem)
    for index, row in enumerate(read_nodes(document.value)):
        position, text = by_row.get(index, (None, ""))
        yield row._replace(problem=text, problem_position=position)


def read_nodes(nodes: tuple[Node, ...]) -> Iterator[RawRow]:
    """Read a row from each node of a list."""
    for node in nodes:
        yield RawRow(node.position, node.data(), node=node)


# By the end of the file's name: the file and pytest's root folder come in.
READERS: Final[dict[str, Callable[[Path, Path], Iterator[RawRow]]]] = {
    ".jsonl": read_jsonl,
    ".csv": read_csv,
    ".yaml": read_yaml,
    ".yml": read_yaml,
    ".json": read_json,
}


class DatasetNameError(Exception):
    """The name of a dataset leads to no file that can be one; the text says why."""


def load_dataset(name: str, folder: Path, root: Path) -> list[Row | InvalidRow]:
    """Load the rows of a dataset: at least one, all with different ids.

    Raises:
        DatasetNameError: there is no such file inside the root folder, or its name has another ending.
        EvalFileError: the file cannot be read, its format is broken as a whole, or it has no rows.
    """
    name = name.replace("\\", "/")
    read = READERS.get(PurePosixPath(name).suffix.lower())
    if read is None:
        endings = ", ".join(READERS)
        raise DatasetNameError(f"rows cannot be read from {name}; name a file that ends in {endings}")
    try:
        path = find_file(name, folder, root).path
    except FileSearchError as error:
        raise DatasetNameError(str(error)) from error
    shown = shown_path(path, root)
    try:
        rows = make_rows(read(path, root), shown)
    except TextFileError as error:
        raise EvalFileError([Diagnostic(shown, error.line, error.column, f"this file {error}")]) from error
    except YamlError as error:
        raise EvalFileError([Diagnostic(shown, *error.problem.position, error.problem.text)]) from error
    if not rows:
        raise EvalFileError([Diagnostic(shown, 1, 1, "this file has no rows")])
    return rows
