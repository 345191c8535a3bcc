"""A dataset: the file whose rows `parametrize` names, in one of several formats.

In: its path as an author wrote it, and the folder of the eval file. Out: its rows, each valid or with its problem.
Only `row_loader` calls it, once for each dataset of an eval file; `shared_keys` reads the suffixes in the table.

A new format is a reader, which gives a `RawRow` for each row, and one line in the table below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from pytest_chatprompt.errors import Diagnostic, EvalFileError
from pytest_chatprompt.evalfile.dataset_csv import read_csv
from pytest_chatprompt.evalfile.dataset_json import read_json, read_jsonl
from pytest_chatprompt.evalfile.dataset_yaml import read_yaml
from pytest_chatprompt.evalfile.file_search import FileSearchError, find_file
from pytest_chatprompt.evalfile.rows import InvalidRow, RawRow, Row, make_rows
from pytest_chatprompt.evalfile.text_file import TextFileError
from pytest_chatprompt.evalfile.yaml_tree import YamlError
from pytest_chatprompt.wording import shown_path

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
    """Load the rows of a dataset.

    Args:
        name: its path as the author wrote it.
        folder: the eval file's folder, where it is looked for first (rules F1 and F2).
        root: pytest's root folder.

    Returns:
        The rows in their order, at least one, all with different ids.

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
