"""Removal of unused snapshots and recordings, and of recorded replies that no request asks for.

A recording whose requests another test sends now is moved to that test, and one whose requests are still sent stays,
whatever may be removed: it was paid for.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_chatprompt.capture.recording.recorded_exchange import RecordedExchange
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.errors import ReplayError
from pytest_chatprompt.snapshots.files import OLD_RECORDING_SUFFIX, RECORDING_SUFFIX, is_recording, remove_snapshot
from pytest_chatprompt.snapshots.recording_files import load_recording, save_recording, stored_hashes
from pytest_chatprompt.snapshots.unused import is_written_file


class RemovalError(Exception):
    """Something cannot be removed; the text says why. Nothing was removed then."""


@dataclass(frozen=True, slots=True)
class Removal:
    """What became of unused snapshots and recordings.

    Args:
        removed: those that are gone now.
        left: those that this run may not remove.
        kept: recordings whose requests some test still sends, or that cannot be read.
        moved: recordings that another test has now, each with its new place.
    """

    removed: tuple[Path, ...] = ()
    left: tuple[Path, ...] = ()
    kept: tuple[Path, ...] = ()
    moved: tuple[tuple[Path, Path], ...] = ()


def remove_unused(  # noqa: PLR0913 - each is a fact of its own
    unused: Iterable[Path],
    removable: Collection[Path],
    root: Path,
    folders: Iterable[Path],
    sent: Mapping[str, Iterable[str]],
    *,
    sent_somewhere: Iterable[str] = (),
) -> Removal:
    """Move the recordings that other tests send now, and remove what may be removed."""
    paths = sorted(unused)
    recordings = [path for path in paths if is_recording(path)]
    folders = (*folders, *(path.parent for path in paths))
    index = _RecordingIndex(folders, sent, frozenset(sent_somewhere), paths) if recordings else None
    removed, left, kept, moved = [], [], [], []
    for path in paths:
        place = index.new_place(path, root) if index is not None and is_recording(path) else None
        if place == path:
            kept.append(path)
        elif place is not None:
            place.parent.mkdir(parents=True, exist_ok=True)
            moved.append((path, path.rename(place)))
        elif path in removable:
            removed.append(path)
        else:
            left.append(path)
    for path in (*removed, *(old for old, _ in moved)):
        remove_snapshot(path)
    return Removal(tuple(removed), tuple(left), tuple(kept), tuple(moved))


class _RecordingIndex:
    """The tests that may send what is recorded, by the hashes of what they send.

    Args:
        folders: of the snapshots of these tests.
        sent: see `remove_unused`.
        sent_somewhere: likewise.
        unused: files that do not count: those that no test uses.
    """

    def __init__(
        self,
        folders: Iterable[Path],
        sent: Mapping[str, Iterable[str]],
        sent_somewhere: Collection[str],
        unused: Iterable[Path],
    ) -> None:
        self._sent_somewhere = sent_somewhere
        self._recordings: dict[str, Path] = {}
        # First, because a test may compare with several snapshots, and has one recording.
        for name, hashes in sorted(sent.items()):
            for sha256 in hashes:
                self._recordings.setdefault(sha256, Path(name))
        ignored = set(unused)
        for folder in sorted(set(folders)):
            for path in sorted(folder.glob("*.yaml")) if folder.is_dir() else []:
                if path not in ignored and not is_recording(path) and not path.name.startswith("."):
                    for sha256 in stored_hashes(path):
                        self._recordings.setdefault(sha256, path.with_name(path.stem + RECORDING_SUFFIX))

    def new_place(self, recording: Path, root: Path) -> Path | None:
        """Where a recording belongs now; `None` if no test sends any of its requests."""
        # The name that a recording of an earlier version has today.
        stem = recording.name.removesuffix(OLD_RECORDING_SUFFIX).removesuffix(RECORDING_SUFFIX)
        try:
            exchanges = load_recording(recording.with_name(stem + RECORDING_SUFFIX), root)
        except ReplayError:
            return recording
        places = [self._recordings.get(exchange.request.sha256) for exchange in exchanges]
        place = next((each for each in places if each is not None), None)
        if place is None:
            is_sent = any(exchange.request.sha256 in self._sent_somewhere for exchange in exchanges)
            return recording if is_sent else None
        return recording if place.exists() else place


def prune_recording(path: Path, used: Iterable[Sequence[Any]], root: Path, redactor: Redactor) -> int:
    """Remove the recorded replies that a replay of all their test's requests did not give."""
    exchanges = load_recording(path, root)
    left = Counter((repeat, sha256) for repeat, sha256 in used)

    def take(exchange: RecordedExchange) -> bool:
        # Equal requests are given their replies in the recorded order.
        key = (exchange.repeat, exchange.request.sha256)
        left[key] -= 1
        return left[key] >= 0

    kept = list(filter(take, exchanges))
    if not kept and exchanges:
        remove_snapshot(path)
    elif len(kept) < len(exchanges):
        save_recording(path, kept, redactor)
    return len(exchanges) - len(kept)


def checked_paths(names: Iterable[str], root: Path) -> list[Path]:
    """The files of unused snapshots that exist, by the names that reports of other machines give them."""
    return [path for path in [_checked(name, root) for name in names] if path.exists()]


def _checked(name: str, root: Path) -> Path:
    path = root / name
    is_inside = Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))
    is_snapshot = path.suffix == ".yaml" and ("]" in path.stem or is_written_file(path) or not path.exists())
    if not (is_inside and is_snapshot) or ".." in path.parts:
        raise RemovalError(f"{name}: not a snapshot in {root}; nothing was removed")
    return path


def snapshot_folders_below(root: Path, dirname: str) -> Iterator[Path]:
    """The folders of all snapshots of a project; hidden folders are passed over."""
    for folder, names, _ in os.walk(root):
        names[:] = [name for name in names if not name.startswith(".")]
        if Path(folder).name == dirname:
            yield from (Path(folder) / name for name in names)
