"""Which files are eval files, and which folders hold nothing but snapshots."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from fnmatch import fnmatch
from pathlib import Path

import pytest


def is_eval_file(path: Path, patterns: Sequence[str], root: Path) -> bool:
    """Whether a file's name says that it is an eval file.

    Args:
        path: the file.
        patterns: globs as in pytest's `python_files`: matched with the name, or with the end of the path if they
            contain a `/`. `**` stands for any number of folders below pytest's root folder, as in `Path.rglob`.
        root: pytest's root folder.
    """
    return any(_matches(path, pattern, root) for pattern in patterns)


def _matches(path: Path, pattern: str, root: Path) -> bool:
    if "/" not in pattern:
        return fnmatch(path.name, pattern)
    globs = pattern.removeprefix("./").split("/")
    if "**" not in globs:
        return path.match(pattern)
    # Folders above the root do not count: whether a file is collected must not depend on where the project lies.
    below = path.relative_to(root) if path.is_relative_to(root) else path
    return _end_matches(below.parts, globs if globs[-1] != "**" else [*globs, "*"])


def _end_matches(parts: Sequence[str], globs: Sequence[str]) -> bool:
    """Whether the end of a path matches the globs of its folders and its name."""
    if not globs:
        return True
    if globs[-1] == "**":
        return any(_end_matches(parts[:end], globs[:-1]) for end in range(len(parts) + 1))
    return bool(parts) and fnmatch(parts[-1], globs[-1]) and _end_matches(parts[:-1], globs[:-1])


class SnapshotFolder(pytest.Directory):
    """A folder that holds the snapshots of one eval file, and no tests."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """Find no tests."""
        return ()


def collect_snapshot_folder(path: Path, parent: pytest.Collector) -> SnapshotFolder | None:
    """A collector for a folder of snapshots.

    Returns:
        `None` if there may be something to collect: a file of another name, a folder, or what the command line names;
        also if the folder cannot be read, which pytest reports.
    """
    if parent.session.isinitpath(path, with_parents=True):
        return None
    from pytest_chatprompt.snapshots.files import CASE_FILE_SUFFIXES  # noqa: PLC0415

    try:
        with os.scandir(path) as entries:
            if not all(entry.name.endswith(CASE_FILE_SUFFIXES) and entry.is_file() for entry in entries):
                return None
    except OSError:
        return None
    return SnapshotFolder.from_parent(parent, path=path)
