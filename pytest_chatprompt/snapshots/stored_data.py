"""Stored text: the text of a snapshot on disk, read back as data.

The text of a file comes in; its data comes out, or whether it holds the data of another text. Pure; `extension` and
`live` ask whether a snapshot that was formatted anew is still the same; `changes`, `comparison` and `items` read it.

Two texts hold the same data if this reader reads the same values of the same types in the same order, keys included.
Comments, quotes, indentation, anchors and how a number is written do not count. A repeated key does: readers disagree
on which of its values holds, and the file shows both.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from pytest_chatprompt.snapshots.files import SnapshotFileError, is_damaged, read_snapshot
from pytest_chatprompt.snapshots.serializer import dump
from pytest_chatprompt.snapshots.snapshot_text import SnapshotText
from pytest_chatprompt.text.yaml import YamlError, load_yaml


def read_data(text: str) -> Any:
    """Read the data that the text of a snapshot or a recording shows.

    Args:
        text: of the whole file.

    Returns:
        The data, which nobody may change: whoever asks for the same text may get the same object; `None` for an empty
        text.

    Raises:
        SnapshotFileError: it is not valid YAML, repeats a key, is nested too deeply, or holds too much.
    """
    data, problem = _read(text)
    if problem:
        raise SnapshotFileError(problem)
    return data


# A comparison that fails asks several times for what it stored and what it sent.
@lru_cache(maxsize=2)
def _read(text: str) -> tuple[Any, str]:
    """The data of a text, or why it cannot be read."""
    try:
        return load_yaml(text), ""
    except YamlError as error:
        line, column = error.problem.position
        return None, f"cannot be read: line {line}, column {column}: {error}"


@lru_cache(maxsize=1)
def written_anew(text: str) -> str:
    """The text of a snapshot as the serializer writes its data.

    Args:
        text: of the whole file.

    Raises:
        SnapshotFileError: see `read_data`.
        TypeError, AttributeError: a snapshot cannot hold its data.
    """
    return dump(read_data(text))


def shows_the_same(stored: str, sent: str) -> bool:
    """Whether two texts of snapshots hold the same data.

    Args:
        stored: the text of a file, perhaps reformatted.
        sent: a text that `serializer` wrote.
    """
    if stored == sent:
        return True
    try:
        return _is_same(read_data(stored), read_data(sent))
    except SnapshotFileError:
        return False


def file_shows(path: Path, sent: SnapshotText) -> bool:
    """Whether the file of a snapshot holds the data of what is sent.

    Args:
        path: the file; need not exist.
        sent: a text that `serializer` wrote.

    Raises:
        SnapshotFileError: it cannot be opened.
    """
    if sent.is_in(path):
        return True
    stored = read_snapshot(path)
    return stored is not None and not is_damaged(path, stored) and shows_the_same(stored, str(sent))


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values are the same, their types and the order of their keys included."""
    if type(one) is not type(other):
        return False
    if isinstance(one, Mapping):
        return (
            len(one) == len(other)
            and all(map(_is_same, one, other))
            and all(map(_is_same, one.values(), other.values()))
        )
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    # As text: NaN is the same as itself, and 0.0 is not -0.0.
    return repr(one) == repr(other) if isinstance(one, float) else bool(one == other)
