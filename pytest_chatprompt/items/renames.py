"""Renames: which case had another id when its snapshot was written.

A case without a snapshot comes in; the id of a case that is gone, and whose snapshot shows the same, comes out.
`case_runner` asks for it, and `snapshot_renames` for snapshots by their data.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import pytest

from pytest_chatprompt.items.against import revision_of
from pytest_chatprompt.items.item import EvalItem
from pytest_chatprompt.snapshots.diff import Comparison
from pytest_chatprompt.snapshots.files import SnapshotFileError, is_recording, read_snapshot
from pytest_chatprompt.snapshots.stored import data_sha256
from pytest_chatprompt.snapshots.unused import unused_of, unused_snapshots

_old_names_key: Final[pytest.StashKey[dict[Path, dict[str, Path]]]] = pytest.StashKey()


def find_old_name(item: EvalItem, comparison: Comparison) -> str | None:
    """The id that a case had when its snapshot was written; `None` if there is no such snapshot.

    Args:
        item: a case without a snapshot.
        comparison: what it sends.
    """
    folders = item.session.stash.setdefault(_old_names_key, {})
    folder = item.snapshot_folder
    if folder not in folders:
        file: Any = item.parent
        revision = revision_of(item.config)
        if revision is None:
            folders[folder] = snapshots_by_data(unused_snapshots(folder, file.stems))
        else:
            unused = unused_of(revision.yaml_files(folder), file.stems)
            folders[folder] = snapshots_by_data(unused, revision.read)
    path = folders[folder].get(data_sha256(comparison.sent))
    return None if path is None else old_name(path, item.snapshot_stem)


def snapshots_by_data(paths: list[Path], read: Callable[[Path], str | None] = read_snapshot) -> dict[str, Path]:
    """Snapshots by the hash of their data; of equal ones the first.

    Args:
        paths: of snapshots, recordings among them.
        read: gives the text of one; `None` if there is none.
    """
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
