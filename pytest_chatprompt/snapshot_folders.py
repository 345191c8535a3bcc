"""Folders of snapshots: they are not searched for tests.

A folder in which pytest looks for tests comes in; a collector that finds none comes out, if the folder holds nothing
but snapshots and recordings of eval cases. Pytest would ask all plugins about each of these files, twice, and there is
one for each case. `plugin` asks for each folder in a folder of snapshots.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from pytest_chatprompt.snapshots.files import CASE_FILE_SUFFIXES


class SnapshotFolder(pytest.Directory):
    """A folder that holds the snapshots of one eval file, and no tests."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Find no tests."""
        return ()


def collect_snapshot_folder(path: Path, parent: pytest.Collector) -> SnapshotFolder | None:
    """A collector for a folder of snapshots.

    Args:
        path: a folder in a folder of snapshots.
        parent: the collector of the folder that it is in.

    Returns:
        `None` if there may be something to collect: a file of another name, a folder, or what the command line names;
        also if the folder cannot be read, which pytest reports.
    """
    if parent.session.isinitpath(path, with_parents=True):
        return None
    try:
        with os.scandir(path) as entries:
            if not all(entry.name.endswith(CASE_FILE_SUFFIXES) and entry.is_file() for entry in entries):
                return None
    except OSError:
        return None
    return SnapshotFolder.from_parent(parent, path=path)
