"""Rows from JSON: one a line (JSONL), or a list of them.

In: a file. Out: a `RawRow` for each row; what is wrong with one row does not stop the others. `dataset` calls it.
JSONL is read line by line, so the file may be large. A syntax error in a list ends the reading of it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NoReturn

from pytest_chatprompt.evalfile.json_data import MAX_DEPTH, check_bounds
from pytest_chatprompt.evalfile.rows import RawRow
from pytest_chatprompt.evalfile.text_file import TextFileError, read_lines, read_text
from pytest_chatprompt.evalfile.variables import describe_data
from pytest_chatprompt.evalfile.yaml_tree import Position

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
    """Read a row from each line that is not blank.

    Raises:
        TextFileError: the file cannot be read.
    """
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
            yield RawRow(Position(number, column), None, _explain(error))


def read_json(path: Path, root: Path) -> Iterator[RawRow]:
    """Read the rows of a list.

    Raises:
        TextFileError: the file cannot be read, is not valid JSON, or is not a list.
    """
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
        problem = _explain(error)
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
        raise TextFileError(f"is not valid JSON: {_explain(error)}") from error
    raise TextFileError(f"must be a list of rows, but is {describe_data(value)}")


def _explain(error: ValueError | RecursionError) -> str:
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
