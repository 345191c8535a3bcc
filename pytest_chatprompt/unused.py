"""Which snapshots of an eval file are unused: their case or provider is no longer defined.

The folder of an eval file's snapshots and the names that it defines come in, paths come out. Knows
nothing of pytest; `session` decides when to ask.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from pathlib import Path


def unused_snapshots(folder: Path, stems: Iterable[str]) -> list[Path]:
    """The snapshots in a folder that no name accounts for.

    Args:
        folder: the snapshots of one eval file; need not exist.
        stems: the file names, without extension, of what the file defines.

    Returns:
        Paths in order. Only files named as this plugin names them are looked at.
    """
    defined = {_folded(stem) for stem in stems}
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
    return _folded(f"{start}{bracket}{rest.partition(']')[0]}]")


def _folded(stem: str) -> str:
    """As a file system may see it that takes no notice of upper case: rather one too few than one too many."""
    return unicodedata.normalize("NFC", stem).casefold()
