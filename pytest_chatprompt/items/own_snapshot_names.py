"""Snapshot names: where the snapshots of an ordinary test are, and what their files are called.

A test comes in; a folder and the stem of file names come out, as an eval item has them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest

from pytest_chatprompt.options import snapshot_dirname
from pytest_chatprompt.snapshots.files import normalized_name, refuse_folder_outside_root, snapshot_stem_of_test


def snapshot_folder(item: pytest.Item) -> Path:
    """The folder of the snapshots of an ordinary test; need not exist."""
    return item.path.parent / snapshot_dirname(item.config) / item.path.stem


def checked_snapshot_folder(item: pytest.Item) -> Path:
    """The folder of the snapshots of an ordinary test, in which files may be written.

    Raises:
        SnapshotError: a link leads it out of the root folder.
    """
    folder = snapshot_folder(item)
    refuse_folder_outside_root(folder, item.config.rootpath)
    return folder


class SnapshotStems:
    """The stems of the snapshots of ordinary tests: the same for each selection of tests in a module.

    Args:
        session: the session, after collection.
    """

    def __init__(self, session: pytest.Session) -> None:
        names = {(item.path, test_name(item)) for item in session.items}
        self._tests = Counter((path, normalized_name(name)) for path, name in names)
        self._files: dict[Path, _Stems] = {}

    @classmethod
    def of(cls, session: pytest.Session) -> SnapshotStems:
        """The stems of a run."""
        if _stems_key not in session.stash:
            session.stash[_stems_key] = cls(session)
        return session.stash[_stems_key]

    def find(self, item: pytest.Item) -> str:
        """The stem of a test's snapshot."""
        name = test_name(item)
        if name == normalized_name(name):
            # Of the names that some file systems take for one, the normalized one needs no digest.
            return snapshot_stem_of_test(name)
        stem, unique = snapshot_stem_of_test(name), snapshot_stem_of_test(name, with_digest=True)
        if self._tests[item.path, normalized_name(name)] > 1:
            return unique
        # A run of this test alone does not know the others, but their files are there.
        files = self._list(snapshot_folder(item))
        return unique if unique in files.stems or files.has_other(stem) else stem

    def _list(self, folder: Path) -> _Stems:
        """The files of a folder, when it was first asked for."""
        if folder not in self._files:
            self._files[folder] = _Stems(path.stem for path in folder.glob("*.yaml"))
        return self._files[folder]


class _Stems:
    """The stems of the files of a folder."""

    def __init__(self, stems: Iterable[str]) -> None:
        self.stems = frozenset(stems)
        self._normalized = Counter(map(normalized_name, self.stems))

    def has_other(self, stem: str) -> bool:
        """Whether there is another stem that some file systems take for this one."""
        return self._normalized[normalized_name(stem)] > (stem in self.stems)


_stems_key: Final = pytest.StashKey[SnapshotStems]()


def test_name(item: pytest.Item) -> str:
    """The name of a test with its classes: `TestGreeting.test_name[Ada]`."""
    classes = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
    return ".".join((*classes, item.name))
