"""A dataset: the file whose rows `parametrize` names, in one of several formats."""

from __future__ import annotations

import csv
import json
import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Final, NoReturn

from pytest_chatprompt.cases.diagnostics import describe_value
from pytest_chatprompt.cases.rows import InvalidRow, RawRow, Row, describe_data, find_problem, make_rows
from pytest_chatprompt.errors import Diagnostic, EvalFileError
from pytest_chatprompt.text.files import MAX_BYTES, FileSearchError, TextFileError, find_file, read_lines, read_text
from pytest_chatprompt.text.json_data import MAX_DEPTH, check_bounds
from pytest_chatprompt.text.yaml import Node, Position, YamlError, YamlProblem, parse_yaml
from pytest_chatprompt.wording import shown_path

MAX_JSONL_BYTES: Final = 1024**3
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
    for number, line in enumerate(read_lines(path, root, MAX_JSONL_BYTES), start=1):
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


MAX_CSV_BYTES: Final = 1024**3
_HINTS: Final = {";": "semicolons", "\t": "tabs"}


def read_csv(path: Path, root: Path) -> Iterator[RawRow]:
    """Read a row from each record below the header."""
    # Bytes that are not UTF-8 become surrogates, so that they are an error of their row.
    # As in attached files, CRLF becomes LF: Git may write either, and what is sent must not depend on it.
    lines = (
        line.replace(b"\r\n", b"\n").decode(errors="surrogateescape") for line in read_lines(path, root, MAX_CSV_BYTES)
    )
    records = _records(csv.reader(lines, strict=True))
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
            raise TextFileError(f"is not valid CSV: {_explain_csv(error)}", line) from error
        finally:
            csv.field_size_limit(limit)
        if values is None:
            return
        if values:
            yield line, values


def _explain_csv(error: csv.Error) -> str:
    if "unexpected end of data" in str(error):
        return "the quote that opens in this row is never closed"
    return f"{error}; a quote inside a quoted value must be doubled"


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
        count = "1 value" if len(values) == 1 else f"{len(values)} values"
        hint = "; put a value that contains commas in quotes" if len(values) > len(names) else ""
        return f"this row has {count}, but the header has {len(names)} columns{hint}"
    for name, value in zip(names, values, strict=True):
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError as error:
                return f"the value of {name!r} is not valid UTF-8 (byte 0x{ord(value[error.start]) - 0xDC00:02X})"
    return ""


def read_yaml(path: Path, root: Path) -> Iterator[RawRow]:
    """Read the rows of a list."""
    document, problems = parse_yaml(read_text(path, root))
    if document.value is None:
        return
    if not isinstance(document.value, tuple):
        text = f"must be a list of rows, but is {describe_value(document)}"
        raise TextFileError(text, *document.position)
    starts = [row.position for row in document.value]
    by_row: dict[int, YamlProblem] = {}
    for problem in problems:
        if not starts or problem.position < starts[0]:
            raise YamlError(*problem)
        by_row.setdefault(bisect_right(starts, problem.position) - 1, problem)
    for index, row in enumerate(read_nodes(document.value)):
        problem_of_row = by_row.get(index)
        if problem_of_row is None:
            yield row
        else:
            yield row._replace(problem=problem_of_row.text, problem_position=problem_of_row.position)


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
