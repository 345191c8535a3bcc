"""Unused snapshots and recordings: which they are, by their names and contents, and how they are removed.

An eval file says what it no longer defines. Of all else Python code decides, and that nothing used it in one run is no
proof. A recording was paid for: it stays, or moves, while any test sends its requests.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_chatprompt.errors import ReplayError
from pytest_chatprompt.snapshots.files import (
    CASE_FILE_SUFFIXES,
    OLD_RECORDING_SUFFIX,
    RECORDING_SUFFIX,
    is_recording,
    normalized_name,
    remove_snapshot,
)

if TYPE_CHECKING:
    from pytest_chatprompt.capture.recording.recorded_exchange import RecordedExchange
    from pytest_chatprompt.capture.secrets.redaction import Redactor

# How the snapshots of ordinary tests begin, and nothing that other tools write into the same folders.
_FIRST_KEYS: Final = (b"requests:", b"eval_case_id:", b"question:", b"messages:")
_DIGEST: Final = re.compile("~[0-9a-f]{12}$")


def unused_snapshots(folder: Path, stems: Iterable[str]) -> list[Path]:
    """List the snapshots in a folder that no case of the eval file uses."""
    return unused_of(sorted(folder.glob("*.yaml")), stems)


def unused_of(paths: Iterable[Path], stems: Iterable[str]) -> list[Path]:
    """Those of some snapshots that no case of their eval file uses, as `unused_snapshots` lists them."""
    # Casefolded: on some file systems a name that differs in upper case is the same file, and in use.
    defined = {normalized_name(stem) for stem in stems}
    return [
        path for path in paths if "]" in path.stem and not path.name.startswith(".") and _case_stem(path) not in defined
    ]


def _case_stem(path: Path) -> str:
    """The normalized stem without the suffix of a further assertion: `name[azure]` for `name[azure].1.yaml`."""
    case, bracket, rest = path.stem.partition("[")
    return normalized_name(f"{case}{bracket}{rest.partition(']')[0]}]")


def gone_snapshots(unused: Iterable[Path], cases: Iterable[str]) -> list[Path]:
    """Those of some unused snapshots whose case, provider or row their eval file no longer defines.

    The others show a parameter that a fixture does not have in this run. Recordings are never among them.
    """
    defined = {normalized_name(stem.removesuffix("]")) for stem in cases}
    ids = {_DIGEST.sub("", stem.partition("[")[0]) for stem in defined}
    return [path for path in unused if not is_recording(path) and not _may_be_of(_case_stem(path), defined, ids)]


def _may_be_of(stem: str, defined: Collection[str], ids: Collection[str]) -> bool:
    """Whether a snapshot may belong to one of some cases, with parameters of fixtures at the end of its label."""
    case_id, _, label = stem.removesuffix("]").partition("[")
    shortened = _DIGEST.sub("", case_id)
    if shortened != case_id:
        # The digest is of all that was cut off, parameters too.
        return any(shortened.startswith(each) or each.startswith(shortened) for each in ids)
    words = label.split("-")
    return any(f"{case_id}[{'-'.join(words[:count])}" in defined for count in range(1, len(words) + 1))


def unused_test_snapshots(folder: Path, asserted: Collection[Path], tests: Iterable[str]) -> list[Path]:
    """List the snapshots and recordings in a folder that no test of the module uses."""
    used = {normalized_name(path.name) for path in asserted}
    used |= {normalized_name(f"{stem}{RECORDING_SUFFIX}") for stem in tests}
    return [path for path in written_files(folder, _FIRST_KEYS) if normalized_name(path.name) not in used]


def written_files(folder: Path, first_keys: tuple[bytes, ...] = (b"provider:", *_FIRST_KEYS)) -> list[Path]:
    """The snapshots and recordings in a folder, which need not exist; sorted paths."""
    return [
        path
        for path in sorted(folder.glob("*.yaml"))
        if not path.name.startswith(".") and (is_recording(path) or _begins_with(path, first_keys))
    ]


def holds_written_file(folder: Path) -> bool:
    """Whether a folder of the folders of snapshots holds a file of this plugin: then syrupy finds no YAML unused."""
    return any(map(is_written_file, folder.glob("*/*.yaml")))


def is_written_file(path: Path) -> bool:
    """Whether a file in a folder of snapshots looks like a snapshot or a recording that this plugin wrote."""
    return path.name.endswith(CASE_FILE_SUFFIXES) or _begins_with(path, _FIRST_KEYS)


def _begins_with(path: Path, keys: tuple[bytes, ...]) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(max(map(len, keys))).startswith(keys)
    except OSError:
        return False


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
    """Move the recordings that other tests send now, and remove what may be removed.

    Args:
        unused: snapshots and recordings that exist.
        removable: those of them that may be removed.
        root: pytest's root folder, absolute.
        folders: of snapshots of tests that may send what is recorded.
        sent: for ordinary tests, the file of their recording and the hashes of what they sent.
        sent_somewhere: hashes of what tests sent whose recordings are not known.
    """
    paths = sorted(unused)
    has_recordings = any(map(is_recording, paths))
    recordings = (
        _recordings_by_hash((*folders, *(path.parent for path in paths)), sent, paths) if has_recordings else {}
    )
    elsewhere = frozenset(sent_somewhere)
    removed: list[Path] = []
    left: list[Path] = []
    kept, moved = [], []
    for path in paths:
        place = _new_place(path, root, recordings, elsewhere) if is_recording(path) else None
        if place == path:
            kept.append(path)
        elif place is not None:
            place.parent.mkdir(parents=True, exist_ok=True)
            moved.append((path, path.rename(place)))
        else:
            (removed if path in removable else left).append(path)
    for path in (*removed, *(old for old, _ in moved)):
        remove_snapshot(path)
    return Removal(tuple(removed), tuple(left), tuple(kept), tuple(moved))


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


def _new_place(
    recording: Path, root: Path, recordings: Mapping[str, Path], sent_somewhere: Collection[str]
) -> Path | None:
    """Where an unused recording belongs now; `None` if no test sends any of its requests.

    It stays where it is if a test sends its requests and has a recording already, or if it cannot be read.
    """
    from pytest_chatprompt.snapshots.recording_files import load_recording  # noqa: PLC0415

    # The name that a recording of an earlier version has today.
    stem = recording.name.removesuffix(OLD_RECORDING_SUFFIX).removesuffix(RECORDING_SUFFIX)
    try:
        exchanges = load_recording(recording.with_name(stem + RECORDING_SUFFIX), root)
    except ReplayError:
        return recording
    hashes = [exchange.request.sha256 for exchange in exchanges]
    place = next((recordings[sha256] for sha256 in hashes if sha256 in recordings), None)
    if place is None:
        return recording if any(sha256 in sent_somewhere for sha256 in hashes) else None
    return recording if place.exists() else place


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
