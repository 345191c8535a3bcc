"""Unused snapshots and recordings: which they are, by their names and contents, and how they are removed.

An eval file says what it no longer defines. Of all else Python code decides, and that nothing used it in one run is no
proof. A recording was paid for: it stays, or moves, while any test sends its requests.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from pytest_chatprompt.errors import ReplayError
from pytest_chatprompt.snapshots.files import (
    RECORDING_SUFFIX,
    SnapshotFileError,
    conflict_line,
    is_recording,
    normalized_name,
    read_snapshot,
    remove_snapshot,
)
from pytest_chatprompt.wording import shown_path

if TYPE_CHECKING:
    from pytest_chatprompt.capture.recording.recorded_exchange import RecordedExchange
    from pytest_chatprompt.capture.secrets.redaction import Redactor


# How snapshots begin, and nothing that other tools write into the same folders.
_FIRST_KEYS: Final = (b"provider:", b"requests:", b"eval_case_id:", b"question:", b"messages:", b"<<<<<<< ")
_DIGEST: Final = re.compile("~[0-9a-f]{12}$")


def unused_snapshots(paths: Iterable[Path], stems: Iterable[str]) -> list[Path]:
    """Those files of a folder of snapshots that no case of the eval file uses."""
    visible = (path for path in paths if "]" in path.stem and not path.name.startswith("."))
    return without_used(visible, {*stems}, _case_stem)


def without_used(paths: Iterable[Path], used: Collection[str], name: Callable[[Path], str]) -> list[Path]:
    """Those files that have none of the names in use, nor one that the file system takes for one of these."""
    names = {path: name(path) for path in paths}
    # Where it takes two names for one, it holds one of them only.
    others = {*map(normalized_name, used)} - {normalized_name(each) for each in names.values() if each in used}
    return [path for path, each in names.items() if each not in used and normalized_name(each) not in others]


def _case_stem(path: Path) -> str:
    """The stem without the suffix of a further assertion: `name[azure]` for `name[azure].1.yaml`."""
    case, bracket, rest = path.stem.partition("[")
    return f"{case}{bracket}{rest.partition(']')[0]}]"


def gone_snapshots(unused: Iterable[Path], cases: Iterable[str]) -> list[Path]:
    """Those of some unused snapshots whose case, provider or row their eval file no longer defines.

    The others show a parameter that a fixture does not have in this run. Recordings are never among them.
    """
    stems = {*cases}
    defined = {normalized_name(stem.removesuffix("]")) for stem in stems}
    ids = {_DIGEST.sub("", stem.partition("[")[0]) for stem in defined}

    def is_defined(path: Path) -> bool:
        stem = normalized_name(_case_stem(path).removesuffix("]"))
        case_id = stem.partition("[")[0]
        if shortened := _DIGEST.search(case_id):
            # The digest is of all that was cut off, parameters too.
            return any(each.startswith(case_id[: shortened.start()]) for each in ids)
        # The parameters of fixtures stand at the end. Without any, what is unused has another case or other accents.
        words = stem.split("-")
        return _case_stem(path) in stems or any("-".join(words[:count]) in defined for count in range(1, len(words)))

    return [path for path in unused if not is_recording(path) and not is_defined(path)]


def files_of_tests(folder: Path, tests: Iterable[str]) -> list[Path]:
    """The snapshots and recordings in a folder of a module, but for the recordings of its tests."""
    recordings = {f"{stem}{RECORDING_SUFFIX}" for stem in tests}
    return without_used(written_files(folder), recordings, lambda path: path.name)


def written_files(folder: Path) -> list[Path]:
    """The snapshots and recordings in a folder, which need not exist; sorted paths."""
    return list(filter(is_written_file, sorted(folder.glob("*.yaml"))))


def holds_written_file(folder: Path) -> bool:
    """Whether a folder of the folders of snapshots holds a file of this plugin: then syrupy finds no YAML unused."""
    return any(map(is_written_file, folder.glob("*/*.yaml")))


def is_written_file(path: Path) -> bool:
    """Whether a file in a folder of snapshots looks like a snapshot or a recording that this plugin wrote."""
    try:
        with path.open("rb") as file:
            begins_so = file.read(max(map(len, _FIRST_KEYS))).startswith(_FIRST_KEYS)
    except OSError:
        return False
    return not path.name.startswith(".") and (is_recording(path) or begins_so)


def holds_conflict(path: Path) -> bool:
    """Whether a snapshot holds the conflict of a merge; one that cannot be read holds none."""
    with suppress(SnapshotFileError):
        return conflict_line(read_snapshot(path) or "") is not None
    return False


@dataclass
class Removal:
    """What became of unused snapshots and recordings.

    Args:
        removed: those that are gone now.
        left: those that this run may not remove, or cannot.
        kept: recordings whose requests some test still sends, or that cannot be read.
        moved: recordings that another test has now, each with its new place.
        refused: why the operating system did not let go of those that were to be removed or moved.
    """

    removed: list[Path] = field(default_factory=list)
    left: list[Path] = field(default_factory=list)
    kept: list[Path] = field(default_factory=list)
    moved: list[tuple[Path, Path]] = field(default_factory=list)
    refused: dict[Path, str] = field(default_factory=dict)

    def lines_about_others(self, root: Path) -> Iterator[str]:
        """What to say of recordings that were not removed."""
        for old, new in self.moved:
            yield f"Its requests are sent by another test now: moved {shown_path(old, root)} to {shown_path(new, root)}"
        for path in self.kept:
            yield f"Its requests are still sent, or it cannot be read: kept {shown_path(path, root)}"


def remove_unused(
    unused: Iterable[Path],
    removable: Collection[Path],
    root: Path,
    folders: Iterable[Path],
    sent: Mapping[str, Iterable[str]],
) -> Removal:
    """Move the recordings that other tests send now, from `folders` of snapshots, and remove what may be removed.

    `sent` has for ordinary tests the file of their recording and the hashes of what they sent.
    """
    paths = sorted(unused)
    recordings: dict[str, Path] = {}
    if any(map(is_recording, paths)):
        recordings = _recordings_by_hash((*folders, *(path.parent for path in paths)), sent, paths)
    removal = Removal()
    for path in paths:
        try:
            place = _new_place(path, root, recordings) if is_recording(path) else None
            if place == path:
                removal.kept.append(path)
            elif place is not None:
                place.parent.mkdir(parents=True, exist_ok=True)
                removal.moved.append((path, path.rename(place)))
                # Its folder may be empty now.
                remove_snapshot(path)
            elif path in removable:
                remove_snapshot(path)
                removal.removed.append(path)
            else:
                removal.left.append(path)
        except OSError as error:
            action = "removed" if place is None else "moved"
            removal.left.append(path)
            removal.refused[path] = f"is not {action}: {error.strerror or error}"
    return removal


def _recordings_by_hash(
    folders: Iterable[Path], sent: Mapping[str, Iterable[str]], unused: Iterable[Path]
) -> dict[str, Path]:
    """For each hash of what tests send, the file of the recording of the first test that sends it."""
    from pytest_chatprompt.snapshots.recording_files import stored_hashes  # noqa: PLC0415

    # First those that say so: a test may compare with several snapshots, and has one recording.
    recordings = {sha256: Path(name) for name, hashes in sorted(sent.items(), reverse=True) for sha256 in hashes}
    ignored = set(unused)
    for folder in sorted(set(folders)):
        for path in sorted(folder.glob("*.yaml")):
            if path not in ignored and not is_recording(path) and not path.name.startswith("."):
                for sha256 in stored_hashes(path):
                    recordings.setdefault(sha256, path.with_name(path.stem + RECORDING_SUFFIX))
    return recordings


def _new_place(recording: Path, root: Path, recordings: Mapping[str, Path]) -> Path | None:
    """Where an unused recording belongs now; `None` if no test sends any of its requests.

    It stays where it is if a test sends its requests and has a recording already, or if it cannot be read.
    """
    from pytest_chatprompt.snapshots.recording_files import load_recording  # noqa: PLC0415

    try:
        exchanges = load_recording(recording, root)
    except ReplayError:
        return recording
    hashes = (exchange.request.sha256 for exchange in exchanges)
    place = next((recordings[sha256] for sha256 in hashes if sha256 in recordings), None)
    return recording if place is not None and place.exists() else place


def prune_recording(path: Path, used: Iterable[Sequence[Any]], root: Path, redactor: Redactor) -> int:
    """Remove the recorded replies that a replay did not use, by number and hash, and give how many."""
    from pytest_chatprompt.snapshots.recording_files import load_recording, save_recording  # noqa: PLC0415

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


def snapshot_folders_below(root: Path, dirname: str) -> Iterator[Path]:
    """The folders of all snapshots of a project; hidden folders are passed over."""
    for folder, names, _ in os.walk(root):
        names[:] = [name for name in names if not name.startswith(".")]
        if Path(folder).name == dirname:
            yield from (Path(folder) / name for name in names)


def snapshots_by_data(paths: Iterable[Path], read: Callable[[Path], str | None] = read_snapshot) -> dict[str, Path]:
    """Snapshots by the hash of their data; of equal ones the first, and no recordings."""
    from pytest_chatprompt.snapshots.changes import data_sha256  # noqa: PLC0415

    found: dict[str, Path] = {}
    for path in paths:
        with suppress(SnapshotFileError):
            text = None if is_recording(path) else read(path)
            if text is not None:
                found.setdefault(data_sha256(text), path)
    return found


def old_name(path: Path, new_stem: str) -> str:
    """How to call the case of a snapshot: by its id, and by its bracket too if that is another one now."""
    name, bracket, label = path.stem.rpartition("[")
    is_same = label == new_stem.rpartition("[")[2]
    return unquote(name if is_same else path.stem) if bracket else path.stem
