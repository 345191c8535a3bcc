"""Find unused snapshots: those whose case, provider or test is gone, and those that no test asserts any more.

A snapshot folder and the names that are in use come in; the paths of unused snapshots come out, and nothing is deleted.
`items` calls it, for eval files and modules that a run selected completely; `plugin` asks `is_own_file`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

from pytest_chatprompt.snapshots.names import CASE_FILE_SUFFIXES, RECORDING_SUFFIX, normalized_name

# How the snapshots of ordinary tests begin, and nothing that other tools write into the same folders.
_FIRST_KEYS: Final = (b"requests:", b"eval_case_id:", b"question:", b"messages:")


def unused_snapshots(folder: Path, stems: Iterable[str]) -> list[Path]:
    """List the snapshots in a folder that no case of the eval file uses.

    Args:
        folder: the snapshots of one eval file; it need not exist.
        stems: the file names, without extension, that the eval file defines.

    Returns:
        Sorted paths; files that are not named as this plugin names snapshots are ignored.
    """
    return unused_of(sorted(folder.glob("*.yaml")) if folder.is_dir() else [], stems)


def unused_of(paths: Iterable[Path], stems: Iterable[str]) -> list[Path]:
    """Those of some snapshots that no case of their eval file uses, as `unused_snapshots` lists them.

    Args:
        paths: YAML files, which need not exist on disk.
        stems: the file names, without extension, that the eval file defines.
    """
    # Casefolded: on some file systems a name that differs in upper case is the same file, and in use.
    defined = {normalized_name(stem) for stem in stems}
    return [
        path for path in paths if "]" in path.stem and not path.name.startswith(".") and _case_stem(path) not in defined
    ]


def _case_stem(path: Path) -> str:
    """The normalized stem without the suffix of a further assertion: `name[azure]` for `name[azure].1.yaml`."""
    case, bracket, rest = path.stem.partition("[")
    return normalized_name(f"{case}{bracket}{rest.partition(']')[0]}]")


def unused_test_snapshots(
    folder: Path, asserted: Collection[Path], tests: Iterable[str], unsure: Iterable[str]
) -> list[Path]:
    """List the snapshots and recordings in a folder that no test of the module uses.

    Args:
        folder: the snapshots of one module; it need not exist.
        asserted: the snapshots that tests have compared with.
        tests: the file names, without extension, of the snapshots of all tests of the module.
        unsure: those of tests that did not pass: what they would have asserted is not known.

    Returns:
        Sorted paths; files that this plugin did not write are ignored.
    """
    used = {normalized_name(path.name) for path in asserted}
    stems = {normalized_name(stem) for stem in tests}
    unsure_stems = [normalized_name(stem) for stem in unsure]
    unused = []
    for path in sorted(folder.glob("*.yaml")) if folder.is_dir() else []:
        if path.name.startswith("."):
            continue
        if path.name.endswith(RECORDING_SUFFIX):
            is_used = normalized_name(path.name.removesuffix(RECORDING_SUFFIX)) in stems
        else:
            is_used = normalized_name(path.name) in used or not is_test_snapshot(path)
        if not is_used and not any(_belongs_to(path, stem) for stem in unsure_stems):
            unused.append(path)
    return unused


def holds_own_file(folder: Path) -> bool:
    """Whether a folder of the folders of snapshots holds a file of this plugin: then syrupy finds no YAML unused."""
    return any(map(is_own_file, folder.glob("*/*.yaml")))


def is_own_file(path: Path) -> bool:
    """Whether a file in a folder of snapshots looks like a snapshot or a recording that this plugin wrote."""
    return path.name.endswith(CASE_FILE_SUFFIXES) or is_test_snapshot(path)


def is_test_snapshot(path: Path) -> bool:
    """Whether a file looks like the snapshot of an ordinary test that this plugin wrote."""
    try:
        with path.open("rb") as file:
            return file.read(max(map(len, _FIRST_KEYS))).startswith(_FIRST_KEYS)
    except OSError:
        return False


def _belongs_to(path: Path, stem: str) -> bool:
    """Whether a snapshot is the first or a further one of a test, by the test's normalized stem."""
    return normalized_name(path.name).startswith((f"{stem}.", f"{stem}["))
