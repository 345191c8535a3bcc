"""A stored snapshot, read back as data and compared with what is sent."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from pytest_chatprompt.snapshots.files import MergeConflictError, SnapshotFileError, conflict_line, read_snapshot
from pytest_chatprompt.snapshots.layout import dump
from pytest_chatprompt.text.yaml import YamlError, load_yaml


# A comparison that fails asks several times for what it stored and what it sent.
@lru_cache(maxsize=2)
def read_data(text: str) -> Any:
    """Read the data of a snapshot or a recording, for nobody to change; `None` for an empty text."""
    try:
        return load_yaml(text)
    except YamlError as error:
        conflict = conflict_line(text)
        if conflict is not None:
            raise MergeConflictError(f"holds the conflict of a merge, in line {conflict}") from None
        (line, column), _ = error.problems[0]
        raise SnapshotFileError(f"cannot be read: line {line}, column {column}: {error}") from None


def stored_data(path: Path) -> Mapping[str, Any]:
    """The data of a snapshot; empty if there is none, or if it cannot be read."""
    try:
        data = read_data(read_snapshot(path) or "")
    except SnapshotFileError:
        return {}
    return data if isinstance(data, Mapping) else {}


DataPath = tuple[str | int, ...]


def requests_in(data: Any) -> dict[DataPath, Mapping[str, Any]]:
    """The HTTP requests that the data of a snapshot shows, by their paths, each with its `endpoint` and `request`."""
    shown = data if isinstance(data, Mapping) else {}
    entries: dict[DataPath, Any] = {(): shown}
    if isinstance(shown.get("requests"), list):
        entries = {("requests", index): entry for index, entry in enumerate(shown["requests"])}
    return {
        path: entry
        for path, entry in entries.items()
        if isinstance(entry, Mapping) and isinstance(entry.get("endpoint"), str) and "request" in entry
    }


def shows_the_same(stored: str, sent: str) -> bool:
    """Whether two texts of snapshots hold the same data; comments, quotes, indentation and anchors do not count."""
    try:
        # As text types and the order of keys count, NaN is the same as itself, and 0.0 is not -0.0.
        return repr(read_data(stored)) == repr(read_data(sent))
    except SnapshotFileError:
        return False


# The id of a change has at least so many digits of its digest.
ID_DIGITS: Final = 4
# The id of all snapshots that do not exist yet.
NEW: Final = "new"
# What a change removes, adds and moves.
Content = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Change:
    """One change: lines that were removed, added or moved, in one place.

    Args:
        place: the path in the data: `request.messages[0].content`.
        removed: the lines that were removed, as text without YAML; key and value where it is a setting.
        added: those that were added.
        moved: the lines of what only changed its place; then nothing was removed or added.
        characters: how many more of the prompt are sent than before; fewer if negative.
    """

    place: str
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    characters: int = 0

    @property
    def sides(self) -> dict[str, tuple[str, ...]]:
        """What it removes, adds and moves, by these words."""
        return {"removed": self.removed, "added": self.added, "moved": self.moved}

    @property
    def content(self) -> Content:
        """What changed, wherever it stands: equal for changes that are shown as one."""
        return self.removed, self.added, self.moved

    @property
    def digest(self) -> str:
        """The hash of its content, with which its id begins: the same in every run."""
        return hashlib.sha256(json.dumps(self.content).encode()).hexdigest()

    def is_named(self, asked: str) -> bool:
        """Whether a user who types this may mean it: an id, or more of its digest."""
        return len(asked) >= ID_DIGITS and self.digest.startswith(asked)


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines of a diff that stand together.

    Args:
        place: of its first change.
        lines: removed ones begin with `- `, added ones with `+ `, moved ones with `> `, others with two blanks.
        changes: the numbers of its changes in the `Difference`.
    """

    place: str
    lines: tuple[str, ...]
    changes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """How two snapshots differ; both are empty if they hold the same.

    Args:
        changes: in the order of the file.
        hunks: what people read.
    """

    changes: tuple[Change, ...]
    hunks: tuple[Hunk, ...]


def data_sha256(text: str) -> str:
    """The hash of the data of a snapshot, whatever its formatting; a text that cannot be read is hashed as it is."""
    with suppress(SnapshotFileError, TypeError, AttributeError):
        text = dump(read_data(text))
    return written_sha256(text)


def written_sha256(text: str) -> str:
    """What `data_sha256` gives for a text that `dump` wrote; there is nothing to read."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
