"""Snapshot names: where the snapshots of an ordinary test are, and what their files are called.

A test comes in; a folder and the stem of file names come out, as an eval item has them. `own_snapshots` and
`snapshot_uses` call it.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Final

import pytest

from pytest_chatprompt.options import snapshot_dirname
from pytest_chatprompt.snapshots.names import normalized_name, snapshot_stem_of_test


def snapshot_folder(item: pytest.Item) -> Path:
    """The folder of the snapshots of an ordinary test; need not exist."""
    return item.path.parent / snapshot_dirname(item.config) / item.path.stem


class SnapshotStems:
    """The stems of the snapshots of ordinary tests: the same whichever tests of a module a run has selected.

    Args:
        session: the session, after collection.
    """

    def __init__(self, session: pytest.Session) -> None:
        self._names: dict[Path, list[str]] = defaultdict(list)
        for item in session.items:
            self._names[item.path].append(_test_name(item))
        self._files: dict[Path, set[str]] = {}

    @classmethod
    def of(cls, session: pytest.Session) -> SnapshotStems:
        """The stems of a run."""
        if _stems_key not in session.stash:
            session.stash[_stems_key] = cls(session)
        return session.stash[_stems_key]

    def find(self, item: pytest.Item) -> str:
        """The stem of a test's snapshot."""
        name = _test_name(item)
        if name == normalized_name(name):
            # Others that are the same to some file systems get a digest, and this one does not.
            return snapshot_stem_of_test(name)
        stem = snapshot_stem_of_test(name, self._names[item.path])
        unique = snapshot_stem_of_test(name, (normalized_name(name),))
        # A run of this test alone does not know the others, but their files are there.
        files = self._list(snapshot_folder(item))
        is_taken = unique in files or any(normalized_name(other) == normalized_name(stem) for other in files - {stem})
        return unique if is_taken else stem

    def _list(self, folder: Path) -> set[str]:
        """The stems of the files of a folder, when it was first asked for."""
        if folder not in self._files:
            self._files[folder] = {path.stem for path in folder.glob("*.yaml")} if folder.is_dir() else set()
        return self._files[folder]


_stems_key: Final = pytest.StashKey[SnapshotStems]()


def _test_name(item: pytest.Item) -> str:
    """The name of a test with its classes: `TestGreeting.test_name[Ada]`."""
    classes = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
    return ".".join((*classes, item.name))
