"""Rows: the entries of `parametrize`, or of the dataset that it names, each with its name and its place."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

from pytest_chatprompt.cases.fields import is_integer
from pytest_chatprompt.cases.origin import Row
from pytest_chatprompt.errors import Diagnostic, EvalFileError
from pytest_chatprompt.text.files import MAX_BYTES, NamedFileError, TextFileError, find_file, read_text
from pytest_chatprompt.text.json_data import describe_data, json_problems, parse_json, unique_keys
from pytest_chatprompt.text.yaml import Node, Position, read_yaml_file
from pytest_chatprompt.wording import count, shown_path

# What Jinja reads as something else than a variable.
RESERVED_NAMES: Final = frozenset(
    {"and", "else", "if", "in", "is", "not", "or", "true", "false", "none", "True", "False", "None", "self"}
)


def find_problem(variables: Mapping[str, Any]) -> tuple[str, str] | None:
    """Find the first variable that no template could use: its name, and what is wrong with it or with its value."""
    for name, value in variables.items():
        if not name.isidentifier():
            text = f"{name!r} cannot name a variable; use letters, digits and _, and do not begin with a digit"
            return name, text
        if name in RESERVED_NAMES:
            return name, f"{name!r} cannot name a variable, because templates read it as something else; rename it"
        for _, error in json_problems(value, (name,)):
            return name, f"the value of {name!r}: {error.message()}"
    return None


class RawRow(NamedTuple):
    """A row as a reader found it, any data, with what is wrong with it, if the reader knows."""

    position: Position
    values: Any
    problem: str = ""


def make_rows(raw_rows: Iterable[RawRow], path: str) -> list[Row]:
    """Name and check the rows of a dataset; all get different ids."""
    rows: dict[str, Row] = {}
    for number, (position, values, found) in enumerate(raw_rows):
        written_id = values.get("id", number) if isinstance(values, dict) else number
        row_id = str(written_id if _is_id(written_id) else number)
        problem = found or _problem_of(values)
        if not problem and row_id in rows:
            place = rows[row_id].place
            problem = f"the row id {row_id!r} is used twice, first at {place}; give each row an id of its own"
        while row_id in rows:
            row_id = f"row-{row_id}"
        rows[row_id] = Row(row_id, path, *position, values, problem)
    return list(rows.values())


def _is_id(value: Any) -> bool:
    return bool(value.strip()) if isinstance(value, str) else is_integer(value)


def _problem_of(values: Any) -> str:
    """What is wrong with the values of a row; `""` for nothing."""
    if not isinstance(values, dict):
        return f"a row must be a mapping of variables to their values, but is {describe_data(values)}"
    row_id = values.get("id", 0)
    if not _is_id(row_id):
        expected = "a string that is not blank, or a whole number"
        return f"the id of a row must be {expected}, but is {describe_data(row_id)}"
    _, problem = find_problem(values) or ("", "")
    return problem


# Of a file with a row on each line.
MAX_DATASET_BYTES: Final = 256 * 1024**2


def read_jsonl(path: Path, root: Path) -> Iterator[RawRow]:
    """Read a row from each line that is not blank."""
    for number, line in enumerate(read_text(path, root, MAX_DATASET_BYTES).split("\n"), start=1):
        if line.strip():
            yield _json_row(number, line)


def _json_row(number: int, line: str) -> RawRow:
    try:
        return RawRow(Position(number, 1), parse_json(line, object_pairs_hook=unique_keys))
    except json.JSONDecodeError as error:
        return RawRow(Position(number, error.colno), None, f"this line is not valid JSON: {error.msg}")
    except ValueError as error:
        return RawRow(Position(number, 1), None, str(error))


def read_json(path: Path, root: Path) -> Iterator[RawRow]:
    """Read the rows of a list."""
    try:
        rows = parse_json(read_text(path, root), object_pairs_hook=unique_keys)
    except json.JSONDecodeError as error:
        raise TextFileError(f"is not valid JSON: {error.msg}", error.lineno, error.colno) from error
    except ValueError as error:
        raise TextFileError(f"is not valid JSON: {error}") from error
    if not isinstance(rows, list):
        raise TextFileError(f"must be a list of rows, but is {describe_data(rows)}")
    for row in rows:
        yield RawRow(Position(0, 0), row)


def read_csv(path: Path, root: Path) -> Iterator[RawRow]:
    """Read a row from each record below the header."""
    records = read_records(path, root)
    names = _variable_names(records[0][1] if records else [])
    for line, values in records[1:]:
        row = dict(zip(names, values, strict=False))
        yield RawRow(Position(line, 1), row, _problem(names, values))


def read_records(path: Path, root: Path) -> list[tuple[int, list[str]]]:
    """Read the records that are not blank, each with the line on which it begins."""
    # As in attached files, CRLF becomes LF: Git may write either, and what is sent must not depend on it.
    text = read_text(path, root, MAX_DATASET_BYTES).replace("\r\n", "\n")
    reader = csv.reader(io.StringIO(text, newline="\n"), strict=True)
    records, line = [], 1
    # Other code in this process may rely on its own limit.
    limit = csv.field_size_limit(MAX_BYTES)
    try:
        for values in reader:
            if values:
                records.append((line, values))
            line = reader.line_num + 1
    except csv.Error as error:
        reason = f"is not valid CSV: {error}; a quote inside a quoted value must be doubled"
        raise TextFileError(reason, line) from error
    finally:
        csv.field_size_limit(limit)
    return records


def _variable_names(header: list[str]) -> list[str]:
    if not header:
        raise TextFileError("is empty; its first line must name the columns")
    for index, name in enumerate(header):
        if name in header[:index]:
            raise TextFileError(f"has two columns with the name {name!r}; rename one of them")
    problem = find_problem(dict.fromkeys(header))
    if problem is not None:
        _, text = problem
        raise TextFileError(f"has a column without a usable name: {text}")
    return [sys.intern(name) for name in header]


def _problem(names: list[str], values: list[str]) -> str:
    """What is wrong with a record; `""` for nothing."""
    if len(values) == len(names):
        return ""
    hint = "; put a value that contains commas in quotes" if len(values) > len(names) else ""
    return f"this row has {count(len(values), 'value')}, but the header has {len(names)} columns{hint}"


def read_yaml(path: Path, root: Path, data: Callable[[Node], Any] = Node.data) -> Iterator[RawRow]:
    """Read the rows of a list."""
    _, document = read_yaml_file(path, root, shown_path(path, root))
    if not isinstance(document.value, tuple | None):
        raise TextFileError(f"must be a list of rows, but is {document.describe()}", *document.position)
    yield from read_nodes(document.value or (), data)


def read_nodes(nodes: tuple[Node, ...], data: Callable[[Node], Any] = Node.data) -> Iterator[RawRow]:
    """Read a row from each node of a list."""
    for node in nodes:
        yield RawRow(node.position, data(node))


# By the end of the file's name: the file and pytest's root folder come in.
READERS: Final[dict[str, Callable[[Path, Path], Iterator[RawRow]]]] = {
    ".jsonl": read_jsonl,
    ".csv": read_csv,
    ".yaml": read_yaml,
    ".yml": read_yaml,
    ".json": read_json,
}


def load_dataset(name: str, folder: Path, root: Path) -> list[Row]:
    """Load the rows of a dataset, at least one: a `NamedFileError` is about its name, an `EvalFileError` about it."""
    name = name.replace("\\", "/")
    read = READERS.get(PurePosixPath(name).suffix.lower())
    if read is None:
        endings = ", ".join(READERS)
        raise NamedFileError(f"rows cannot be read from {name}; name a file that ends in {endings}")
    path = find_file(name, folder, root).path
    shown = shown_path(path, root)
    try:
        rows = make_rows(read(path, root), shown)
    except TextFileError as error:
        raise EvalFileError([Diagnostic(shown, error.line, error.column, f"this file {error}")]) from error
    if not rows:
        raise EvalFileError([Diagnostic(shown, 1, 1, "this file has no rows")])
    return rows
