"""The names of eval files: which files the globs of `chatprompt_files` collect.

A path and globs come in, whether it matches comes out. `plugin` asks for each file that pytest finds, so this imports
next to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path


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
