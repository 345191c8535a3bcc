"""Renames: which snapshots show now what others showed before, since their case or test has another name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import pytest

from pytest_chatprompt.snapshots.files import SnapshotFileError, is_recording, read_snapshot
from pytest_chatprompt.snapshots.unused import unused_of, unused_snapshots
from pytest_chatprompt.wording import shown_path

if TYPE_CHECKING:
    from pytest_chatprompt.snapshots.diff import Comparison
    from pytest_chatprompt.snapshots.revision import Revision

_MOST_LINES: Final = 20
_old_names_key: Final[pytest.StashKey[dict[Path, dict[str, Path]]]] = pytest.StashKey()


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
        """Find the snapshots that show what another one showed before this run; recordings do not count."""
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
        """Match unused snapshots with equal data that a test without a snapshot sends."""
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


def find_old_name(item: Any, comparison: Comparison, revision: Revision | None) -> str | None:
    """The id that a case had when its snapshot was written; `None` if there is no such snapshot.

    Args:
        item: the item of a case without a snapshot.
        comparison: what it sends.
        revision: the git revision whose snapshots count; `None` for the files on disk.
    """
    from pytest_chatprompt.snapshots.stored import data_sha256  # noqa: PLC0415

    folders = item.session.stash.setdefault(_old_names_key, {})
    folder = item.snapshot_folder
    if folder not in folders:
        if revision is None:
            folders[folder] = snapshots_by_data(unused_snapshots(folder, item.parent.stems))
        else:
            unused = unused_of(revision.yaml_files(folder), item.parent.stems)
            folders[folder] = snapshots_by_data(unused, revision.read)
    path = folders[folder].get(data_sha256(comparison.sent))
    return None if path is None else old_name(path, item.snapshot_stem)


def snapshots_by_data(paths: list[Path], read: Callable[[Path], str | None] = read_snapshot) -> dict[str, Path]:
    """Snapshots by the hash of their data; of equal ones the first.

    Args:
        paths: of snapshots, recordings among them.
        read: gives the text of one; `None` if there is none.
    """
    from pytest_chatprompt.snapshots.stored import data_sha256  # noqa: PLC0415

    found: dict[str, Path] = {}
    for path in paths:
        try:
            text = None if is_recording(path) else read(path)
        except SnapshotFileError:
            continue
        if text is not None:
            found.setdefault(data_sha256(text), path)
    return found


def old_name(path: Path, new_stem: str) -> str:
    """How to call the case of a snapshot: by its id, and by its bracket too if that is another one now."""
    name, bracket, label = path.stem.rpartition("[")
    is_same = label == new_stem.rpartition("[")[2]
    return unquote(name if is_same else path.stem) if bracket else path.stem
