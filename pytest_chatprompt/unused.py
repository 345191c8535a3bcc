"""Which snapshots of an eval file are unused: their case or provider is no longer defined.

The folder of an eval file's snapshots and the names that it defines come in, paths come out. Knows
nothing of pytest; `session` decides when to ask.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pytest_chatprompt.naming import folded


def unused_snapshots(folder: Path, stems: Iterable[str]) -> list[Path]:
    """The snapshots in a folder that no name accounts for.

    Args:
        folder: the snapshots of one eval file; need not exist.
        stems: the file names, without extension, of what the file defines.

    Returns:
        Paths in order. Only files named as this plugin names them are looked at.
    """
    # Rather one unused too few than a file that another name may be the same as.
    defined = {folded(stem) for stem in stems}
    found = sorted(folder.glob("*.yaml")) if folder.is_dir() else []
    return [
        path for path in found if "]" in path.stem and not path.name.startswith(".") and _owner(path) not in defined
    ]


def remove(path: Path) -> None:
    """Remove a snapshot, and its folder if that leaves it empty."""
    path.unlink(missing_ok=True)
    if not any(path.parent.iterdir()):
        path.parent.rmdir()


def _owner(path: Path) -> str:
    """The name that a snapshot belongs to; a second assertion's (`name[azure].1`) belongs to the first one's."""
    start, bracket, rest = path.stem.partition("[")
    return folded(f"{start}{bracket}{rest.partition(']')[0]}]")
