"""Find unused snapshots: those whose case or provider the eval file no longer defines.

A snapshot folder and the names that the eval file defines come in; the paths of unused snapshots come out, and nothing
is deleted. `items.session` calls it, for files that a run selected completely.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pytest_chatprompt.snapshots.names import normalized_name


def unused_snapshots(folder: Path, stems: Iterable[str]) -> list[Path]:
    """List the snapshots in a folder that no case of the eval file uses.

    Args:
        folder: the snapshots of one eval file; it need not exist.
        stems: the file names, without extension, that the eval file defines.

    Returns:
        Sorted paths; files that are not named as this plugin names snapshots are ignored.
    """
    # Casefolded: on some file systems a name that differs in upper case is the same file, and in use.
    defined = {normalized_name(stem) for stem in stems}
    paths = sorted(folder.glob("*.yaml")) if folder.is_dir() else []
    return [
        path for path in paths if "]" in path.stem and not path.name.startswith(".") and _case_stem(path) not in defined
    ]


def _case_stem(path: Path) -> str:
    """The normalized stem without the suffix of a further assertion: `name[azure]` for `name[azure].1.yaml`."""
    case, bracket, rest = path.stem.partition("[")
    return normalized_name(f"{case}{bracket}{rest.partition(']')[0]}]")
