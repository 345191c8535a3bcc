"""Snapshot renames: unused snapshots whose case or test has another name now, found by their equal data.

The snapshots that a run wrote, or what its failed tests sent without a snapshot, come in; a note for an unused
snapshot comes out. `unused_snapshots` keeps one for the run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pytest_chatprompt.wording import shown_path


@dataclass(eq=False)
class SnapshotRenames:
    """The new names of unused snapshots: those of equal new snapshots, or of tests that send the same.

    Args:
        created: the snapshots that this run wrote and that were not there before.
    """

    created: set[Path] = field(default_factory=set)
    _names: dict[Path, str] = field(default_factory=dict)

    def note_created(self, path: Path) -> None:
        """Note that a snapshot was written that was not there before."""
        self.created.add(path)

    def find_written(self, unused: Iterable[Path], root: Path) -> None:
        """Match unused snapshots with equal snapshots that this run wrote; recordings do not count.

        Args:
            unused: they still exist.
            root: pytest's root folder.
        """
        if self.created:
            from pytest_chatprompt.items.renames import snapshots_by_data  # noqa: PLC0415

            written = snapshots_by_data(sorted(self.created))
            self._find(unused, {sha256: shown_path(path, root) for sha256, path in written.items()})

    def find_sent(self, unused: Iterable[Path], reporter: pytest.TerminalReporter) -> None:
        """Match unused snapshots with equal data that a test without a snapshot sends.

        Args:
            unused: they still exist.
            reporter: has the results of the run.
        """
        from pytest_chatprompt.reports.terminal import failed_results  # noqa: PLC0415

        snapshots = [(result.node_id, result.snapshot) for _, result in failed_results(reporter)]
        sent = {
            snapshot.sent_sha256: node_id
            for node_id, snapshot in snapshots
            if snapshot is not None and snapshot.state == "new" and snapshot.sent_sha256 is not None
        }
        self._find(unused, sent)

    def _find(self, unused: Iterable[Path], names: dict[str, str]) -> None:
        if names:
            from pytest_chatprompt.items.renames import snapshots_by_data  # noqa: PLC0415

            old = snapshots_by_data(sorted(unused))
            self._names = {path: names[sha256] for sha256, path in old.items() if sha256 in names}

    def describe(self, path: Path) -> str:
        """The note to put behind the name of an unused snapshot; `""` if its new name is not known."""
        return f", renamed to {self._names[path]}" if path in self._names else ""
