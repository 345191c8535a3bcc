"""Removal of unused snapshots: those that no shard of a run uses, by the names that its reports give them.

Names and pytest's root folder come in; files are removed, and recordings of tests that have another name now are moved
there. What is not a snapshot in that folder is refused: reports come from other machines. The command line calls it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_chatprompt.capture.recording.recorded_exchange import request_sha256
from pytest_chatprompt.snapshots.files import remove_snapshot
from pytest_chatprompt.snapshots.moved_recordings import RecordingIndex
from pytest_chatprompt.snapshots.names import is_recording
from pytest_chatprompt.snapshots.unused import is_own_file


class RemovalError(Exception):
    """Something cannot be removed; the text says why. Nothing was removed then."""


@dataclass(frozen=True, slots=True)
class Removal:
    """What became of unused snapshots, by their names.

    Args:
        removed: those that are gone now.
        kept: recordings whose requests some test still sends.
        moved: recordings that a test has under another name now, each with that name.
    """

    removed: tuple[str, ...]
    kept: tuple[str, ...]
    moved: tuple[tuple[str, str], ...]


def remove_unused(names: Sequence[str], root: Path, used: Iterable[str], sent: Iterable[Any]) -> Removal:
    """Remove unused snapshots as a run of all tests with `--snapshot-update` does.

    Args:
        names: of unused snapshots and recordings, relative to the root folder, at least one; some may be gone already.
        root: pytest's root folder, absolute.
        used: the names of the snapshots that tests have compared with.
        sent: what ordinary tests sent: mappings with `endpoint` and `request`, as a snapshot shows them. It stays
            recorded, whether or not the test has a snapshot.

    Raises:
        RemovalError: a name is not that of a snapshot in the root folder.
        OSError: a file cannot be removed or moved.
    """
    paths = [_checked(name, root) for name in names]
    existing = [path for path in paths if path.exists()]
    kept, moved = set[Path](), dict[Path, Path]()
    recordings = [path for path in existing if is_recording(path)]
    if recordings:
        folders = {(root / name).parent for name in (*names, *used)}
        # Reports do not say where such a test has its recording. A place that exists lets a recording stay.
        hashes = {request_sha256(each["endpoint"], each["request"], each.get("headers")) for each in sent}
        index = RecordingIndex(folders, {str(root): hashes}, paths)
        for path in recordings:
            place = index.new_place(path, root)
            if place == path:
                kept.add(path)
            elif place is not None:
                moved[path] = path.rename(place)
    removed = [path for path in existing if path not in kept and path not in moved]
    for path in removed:
        remove_snapshot(path)
    return Removal(
        tuple(_names(removed, root)), tuple(_names(sorted(kept), root)), tuple(_pairs(sorted(moved.items()), root))
    )


def _checked(name: str, root: Path) -> Path:
    path = root / name
    is_inside = Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))
    is_snapshot = path.suffix == ".yaml" and ("]" in path.stem or is_own_file(path) or not path.exists())
    if not (is_inside and is_snapshot) or ".." in path.parts:
        raise RemovalError(f"{name}: not a snapshot in {root}; nothing was removed")
    return path


def _names(paths: Iterable[Path], root: Path) -> Iterator[str]:
    return (path.relative_to(root).as_posix() for path in paths)


def _pairs(paths: Iterable[tuple[Path, Path]], root: Path) -> Iterator[tuple[str, str]]:
    return ((old.relative_to(root).as_posix(), new.relative_to(root).as_posix()) for old, new in paths)
