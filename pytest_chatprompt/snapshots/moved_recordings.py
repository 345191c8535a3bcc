"""Moved recordings: which test sends now what a recording without a test was made for.

The unused recordings of a run and the snapshots and requests of its tests come in; for each recording the place where
it belongs now comes out: a new one, its own, or none if no test sends its requests. Nothing is moved.
`items.unused_snapshots` calls it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from pytest_chatprompt.errors import ReplayError
from pytest_chatprompt.snapshots.names import OLD_RECORDING_SUFFIX, RECORDING_SUFFIX, is_recording
from pytest_chatprompt.snapshots.recording_files import load_recording
from pytest_chatprompt.snapshots.stored_requests import stored_hashes


class RecordingIndex:
    """The tests of a run, by the hashes of what they send.

    Args:
        folders: of the snapshots of the run's tests.
        sent: for tests without a snapshot, the file of their recording and the hashes of what they sent.
        unused: files that do not count: those that no test uses.
    """

    def __init__(self, folders: Iterable[Path], sent: Mapping[str, Iterable[str]], unused: Iterable[Path]) -> None:
        self._recordings: dict[str, Path] = {}
        ignored = set(unused)
        for folder in sorted(set(folders)):
            for path in sorted(folder.glob("*.yaml")) if folder.is_dir() else []:
                if path not in ignored and not is_recording(path) and not path.name.startswith("."):
                    for sha256 in stored_hashes(path):
                        self._recordings.setdefault(sha256, path.with_name(path.stem + RECORDING_SUFFIX))
        for name, hashes in sent.items():
            for sha256 in hashes:
                self._recordings.setdefault(sha256, Path(name))

    def new_place(self, recording: Path, root: Path) -> Path | None:
        """Where a recording belongs now; `None` if no test sends any of its requests.

        Args:
            recording: an unused recording.
            root: pytest's root folder.

        Returns:
            The file that it should be; itself if it has to stay, since a test sends its requests and has a recording
            already, or if it cannot be read.
        """
        try:
            exchanges = load_recording(recording_name(recording), root)
        except ReplayError:
            return recording
        places = [self._recordings.get(exchange.request.sha256) for exchange in exchanges]
        place = next((each for each in places if each is not None), None)
        return recording if place is not None and place.exists() else place


def recording_name(path: Path) -> Path:
    """The name that a recording of an earlier version has today."""
    return path.with_name(
        path.name.removesuffix(OLD_RECORDING_SUFFIX).removesuffix(RECORDING_SUFFIX) + RECORDING_SUFFIX
    )
