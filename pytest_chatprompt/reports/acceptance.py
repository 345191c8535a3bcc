"""Acceptance: writes the changes of a run that a reader accepts into the snapshots that have them, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from pytest_chatprompt.errors import SnapshotError
from pytest_chatprompt.reports.review import Content, Review
from pytest_chatprompt.results.records import CaseResult, SnapshotResult
from pytest_chatprompt.snapshots.diff import accept_changes
from pytest_chatprompt.snapshots.files import (
    SnapshotFileError,
    atomic_write,
    read_snapshot,
    refuse_folder_outside_root,
)
from pytest_chatprompt.snapshots.layout import dump
from pytest_chatprompt.snapshots.stored import data_sha256, read_data, written_sha256
from pytest_chatprompt.wording import count

# The ids of what is no change of a snapshot: those that do not exist yet, and those of cases that exchanged their names.
NEW: Final = "new"
RENAMED: Final = "renamed"
# Shorter ones would be guesses.
_LEAST_CHARACTERS: Final = 4


class Acceptance:
    """What can be accepted of a run, by id, and what was.

    Args:
        review: of the run.
        root: pytest's root folder.
    """

    def __init__(self, review: Review, root: Path) -> None:
        self.review = review
        self._root = root
        self._contents: dict[str, Content] = {distinct.id: distinct.change.content for distinct in review.changes}
        self._results: dict[str, Sequence[CaseResult]] = {distinct.id: distinct.results for distinct in review.changes}
        renamed = [result for result in review.results if result.node_id in review.renamed]
        self._results |= {name: found for name, found in ((RENAMED, renamed), (NEW, review.new)) if found}
        # The ids of what is not accepted yet, by the tests that have it; and the data of each snapshot on disk.
        self._left: dict[str, set[str]] = {}
        for change_id, results in self._results.items():
            for result in results:
                self._left.setdefault(result.node_id, set()).add(change_id)
        self._hashes: dict[str, str | None] = {}

    @property
    def ids(self) -> list[str]:
        """The ids of all that differs, those of the most snapshots first."""
        return list(self._results)

    @property
    def left(self) -> list[str]:
        """The ids of what was not accepted, or not in each of its snapshots."""
        return [each for each in self._results if any(each in left for left in self._left.values())]

    def is_settled(self, node_id: str) -> bool:
        """Whether all that differs in a test is accepted."""
        return not self._left.get(node_id)

    def find(self, asked: str) -> str | None:
        """The id of a change by what a user typed: the id, or more of its digest; `None` if no change has it."""
        if asked in self._results:
            return asked
        found = [each.id for each in self.review.changes if each.digest.startswith(asked)]
        return found[0] if len(found) == 1 and len(asked) >= _LEAST_CHARACTERS else None

    def describe(self, change_id: str) -> str:
        """A change in a few words: `change 3f2a in 37 snapshots`."""
        noun = "snapshot" if change_id in self._contents else f"{change_id} snapshot"
        numbers = count(len(self._results[change_id]), noun)
        return f"change {change_id} in {numbers}" if change_id in self._contents else numbers

    def accept(self, change_id: str) -> list[str]:
        """Write a change into every snapshot that has it; each as a whole, whatever happens meanwhile.

        Returns:
            Why it could not be written, a line for each such snapshot.
        """
        problems = []
        for result in self._results[change_id]:
            if change_id not in self._left[result.node_id] or result.snapshot is None:
                continue
            try:
                self._write(result.snapshot, self._contents.get(change_id))
            except (OSError, SnapshotError, SnapshotFileError) as error:
                reason = error.strerror if isinstance(error, OSError) and error.strerror else error
                problems.append(f"{result.snapshot.path}: not written, {reason}")
            else:
                self._left[result.node_id].remove(change_id)
        return problems

    def _write(self, snapshot: SnapshotResult, content: Content | None) -> None:
        """Write a snapshot with one change of it, or as it is sent."""
        path = self._root / snapshot.path
        refuse_folder_outside_root(path.parent, self._root)
        stored = read_snapshot(path)
        known = self._hashes.get(snapshot.path, snapshot.stored_sha256)
        if (None if stored is None else data_sha256(stored)) != known:
            raise SnapshotFileError("it is not what the run compared with any more; run again")
        data = snapshot.sent
        if stored is not None and content is not None:
            data = accept_changes(read_data(stored), data, content)
        text = dump(data)
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, text)
        self._hashes[snapshot.path] = written_sha256(text)
