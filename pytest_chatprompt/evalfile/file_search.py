"""The search for a file that an eval file names, inside the root folder only (rules F1 and F2).

In: a path as an author wrote it, and the folder of the eval file. Out: where the file is. Nothing is read here.
`prompt.file_reader` finds attached files with it, `dataset` the rows of a case.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pytest_chatprompt.wording import shown_path


class FileSearchError(Exception):
    """There is no such file, or it is outside the root folder."""


class ResolvedFile(NamedTuple):
    """The location of a file that an eval file names.

    Args:
        path: absolute, with `..` resolved and links not followed.
        root_path: the same relative to the root folder, with `/`; guideline patterns are matched against it.
    """

    path: Path
    root_path: str


def find_file(name: str, folder: Path, root: Path) -> ResolvedFile:
    """Find a file that an eval file names.

    Args:
        name: the path as the author wrote it, with `/`; a leading `/` stands for the root folder.
        folder: the eval file's folder, where the search begins; it goes on in each folder above, up to the root.
        root: pytest's root folder, absolute.

    Raises:
        FileSearchError: there is no such file, or it is outside the root folder.
    """
    candidates = [Path(os.path.normpath(start / name.lstrip("/"))) for start in _start_folders(name, folder, root)]
    for candidate in candidates:
        if os.path.lexists(candidate):
            return ResolvedFile(candidate, _root_path(candidate, name, root))
    tried = ", ".join(dict.fromkeys(_shown_candidate(candidate, root) for candidate in candidates))
    raise FileSearchError(f"file {name} not found; tried {tried}")


def _start_folders(name: str, folder: Path, root: Path) -> Iterator[Path]:
    if name.startswith("/"):
        yield root
        return
    yield folder
    if folder.is_relative_to(root):
        yield from (parent for parent in folder.parents if parent.is_relative_to(root))


def _root_path(path: Path, name: str, root: Path) -> str:
    # Not `Path.resolve`, which raises an error for a link to itself; opening the file reports that.
    real_path, real_root = Path(os.path.realpath(path)), Path(os.path.realpath(root))
    if not real_path.is_relative_to(real_root):
        raise FileSearchError(
            f"file {name} is outside the root folder; only files inside it can be sent, so copy it there"
        )
    # A path that leaves the root folder may lead back into it through a link.
    return shown_path(path, root) if path.is_relative_to(root) else shown_path(real_path, real_root)


def _shown_candidate(path: Path, root: Path) -> str:
    # Outside the root folder only the name is shown: a message must not reveal the folders of this machine.
    return shown_path(path, root) if path.is_relative_to(root) else path.name
