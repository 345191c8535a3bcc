"""Unused snapshots and recordings: those that no case and no test uses, by their names. Nothing is deleted here.

What an eval file no longer defines is gone: the file says so. Of all else, the snapshots of ordinary tests and of
parameters of fixtures, Python code decides, and that nothing used it in one run is no proof.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

from pytest_chatprompt.snapshots.files import CASE_FILE_SUFFIXES, RECORDING_SUFFIX, is_recording, normalized_name

# How the snapshots of ordinary tests begin, and nothing that other tools write into the same folders.
_FIRST_KEYS: Final = (b"requests:", b"eval_case_id:", b"question:", b"messages:")
_DIGEST: Final = re.compile("~[0-9a-f]{12}$")


def unused_snapshots(folder: Path, stems: Iterable[str]) -> list[Path]:
    """List the snapshots in a folder that no case of the eval file uses."""
    return unused_of(sorted(folder.glob("*.yaml")) if folder.is_dir() else [], stems)


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
    paths = sorted(folder.glob("*.yaml")) if folder.is_dir() else []
    return [
        path
        for path in paths
        if not path.name.startswith(".") and (is_recording(path) or _begins_with(path, first_keys))
    ]


def holds_written_file(folder: Path) -> bool:
    """Whether a folder of the folders of snapshots holds a file of this plugin: then syrupy finds no YAML unused."""
    return any(map(is_written_file, folder.glob("*/*.yaml")))


def is_written_file(path: Path) -> bool:
    """Whether a file in a folder of snapshots looks like a snapshot or a recording that this plugin wrote."""
    return path.name.endswith(CASE_FILE_SUFFIXES) or is_test_snapshot(path)


def is_test_snapshot(path: Path) -> bool:
    """Whether a file looks like the snapshot of an ordinary test that this plugin wrote."""
    return _begins_with(path, _FIRST_KEYS)


def _begins_with(path: Path, keys: tuple[bytes, ...]) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(max(map(len, keys))).startswith(keys)
    except OSError:
        return False
