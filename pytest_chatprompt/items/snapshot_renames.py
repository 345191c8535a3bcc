"""Snapshot renames: which snapshots show now what others showed before, since their case or test has another name.

The snapshots that a run wrote, or what its failed tests sent without having one, come in; what to say of an unused
snapshot, and of snapshots that were exchanged, comes out. `unused_snapshots` keeps one for the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_chatprompt.wording import shown_path

_MOST_LINES: Final = 20


@dataclass(eq=False)
class SnapshotRenames:
    """The new names of snapshots: other snapshots, or tests without one, that show the same.

    Args:
        written: for each snapshot that this run wrote the hashes of its data before (`None` if there was none) and now.
    """

    written: dict[Path, tuple[str | None, str]] = field(default_factory=dict)
    _names: dict[Path, str] = field(default_factory=dict)
    _exchanged: list[tuple[Path, Path]] = field(default_factory=list)

    def note_written(self, path: Path, before: str | None, now: str) -> None:
        """Note that a snapshot was written.

        Args:
            path: its file.
            before: its text until now; `None` if there was none.
            now: its text.
        """
        from pytest_chatprompt.snapshots.stored import data_sha256, written_sha256  # noqa: PLC0415

        first = None if before is None else data_sha256(before)
        # A test that ran twice has written it twice.
        first, _ = self.written.get(path, (first, ""))
        self.written[path] = first, written_sha256(now)

    def as_data(self) -> dict[str, Any]:
        """What `merge` takes, for another process."""
        return {str(path): hashes for path, hashes in self.written.items()}

    def merge(self, data: dict[str, Any]) -> None:
        """Add what a worker of pytest-xdist wrote."""
        self.written.update({Path(path): (before, now) for path, (before, now) in data.items()})

    def find_written(self, unused: Iterable[Path], root: Path) -> None:
        """Find the snapshots that show what another one showed before this run; recordings do not count.

        Args:
            unused: they still exist.
            root: pytest's root folder.
        """
        places: dict[str, Path] = {}
        for path, (_, now) in sorted(self.written.items()):
            places.setdefault(now, path)
        self._find(unused, {sha256: shown_path(path, root) for sha256, path in places.items()})
        self._exchanged = [
            (path, places[before])
            for path, (before, _) in sorted(self.written.items())
            if before is not None and places.get(before, path) != path
        ]

    def find_sent(self, unused: Iterable[Path], reporter: pytest.TerminalReporter) -> None:
        """Match unused snapshots with equal data that a test without a snapshot sends.

        Args:
            unused: they still exist.
            reporter: has the results of the run.
        """
        from pytest_chatprompt.reports.terminal_hooks import failed_results  # noqa: PLC0415

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

    def exchanged_lines(self, root: Path, *, lists_all: bool) -> Iterator[str]:
        """What to say of snapshots that still exist, and whose data another one shows now; nothing for none.

        Args:
            root: pytest's root folder.
            lists_all: whether all are listed, however many they are.
        """
        if not self._exchanged:
            return
        count = len(self._exchanged)
        nouns, each = ("snapshot", "it") if count == 1 else ("snapshots", "each")
        yield f"{count} {nouns} renamed: what {each} showed, another one shows now."
        shown = self._exchanged if lists_all else self._exchanged[:_MOST_LINES]
        for old, new in shown:
            yield f"  {shown_path(old, root)}, renamed to {shown_path(new, root)}"
        if len(shown) < count:
            yield f"  and {count - len(shown)} more (-v lists them)"
