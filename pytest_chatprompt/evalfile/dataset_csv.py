"""Rows from CSV, as RFC 4180 and spreadsheets write it: commas, double quotes, a header. All values are strings.

In: a file. Out: a `RawRow` for each record below the header; blank lines are skipped. `dataset` calls it.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pytest_chatprompt.evalfile.rows import RawRow
from pytest_chatprompt.evalfile.text_file import MAX_BYTES, TextFileError, read_lines
from pytest_chatprompt.evalfile.variables import find_problem
from pytest_chatprompt.evalfile.yaml_tree import Position

MAX_CSV_BYTES: Final = 1024**3
_HINTS: Final = {";": "semicolons", "\t": "tabs"}


def read_csv(path: Path, root: Path) -> Iterator[RawRow]:
    """Read a row from each record below the header.

    Raises:
        TextFileError: the file cannot be read, its quotes do not match, or its header is not a list of variables.
    """
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
            raise TextFileError(f"is not valid CSV: {_explain(error)}", line) from error
        finally:
            csv.field_size_limit(limit)
        if values is None:
            return
        if values:
            yield line, values


def _explain(error: csv.Error) -> str:
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
