"""A git revision: the snapshots as they were committed, in place of those on disk."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from pytest_chatprompt.snapshots.files import SnapshotFileError, snapshot_text
from pytest_chatprompt.wording import grouped

# Git sets these for its hooks; they name a repository and its files, and override the folder.
_VARIABLES_OF_HOOKS: Final = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR"})


class RevisionError(SnapshotFileError):
    """The revision, or a file of it, cannot be read; the text is for the user."""

    advice = "run where git reaches the remote, or in a clone without --filter"


class Revision:
    """A revision that is open for reading; `open` makes one.

    Its `git cat-file --batch` runs until `close`: during a test no other program may be started. In a partial clone git
    itself fetches what is missing.
    """

    def __init__(self, name: str, commit: str, top: Path, process: subprocess.Popen[bytes]) -> None:
        self.name = name
        self._commit = commit
        self._top = top
        self._process = process

    @classmethod
    def open(cls, name: str, root: Path, option: str = "--chatprompt-against") -> Revision:
        """Open a revision: a branch, a tag, a commit or what else git takes for one; `option` names it in errors."""
        if shutil.which("git") is None:
            raise RevisionError(f"{option} needs git, which is not on PATH")
        top = _run(["rev-parse", "--show-toplevel"], root)
        if top.returncode:
            # Git refuses a folder of another owner, too, and says what to do.
            raise RevisionError(f"{option}: git reads no repository in {root}: {_text(top.stderr)}")
        commit = _run(["rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"], root)
        if not name or commit.returncode:
            raise RevisionError(
                f"{option}: git knows no revision {name!r} in {root}; name a branch, tag or commit, such as main "
                "(a shallow clone lacks other branches: git fetch origin main; and old commits: git fetch --unshallow)"
            )
        process = subprocess.Popen(  # noqa: S603 - git, without a shell
            _command(["cat-file", "--batch"], root), env=_environ(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        return cls(name, _text(commit.stdout), Path(os.path.realpath(_text(top.stdout))), process)

    def read(self, path: Path) -> str | None:
        """The text of a snapshot, as `files.read_snapshot` gives it; `None` if the revision has none."""
        content = self.content(path)
        return None if content is None else snapshot_text(content)

    def content(self, path: Path) -> bytes | None:
        """The bytes of a file; `None` if the revision has none."""
        name = self._name_in_repository(path)
        return None if name is None else self._ask(f"{self._commit}:{name}", b"blob")

    def contents(self, size: int) -> Iterator[bytes]:
        """The contents of its files that have so many bytes."""
        return filter(None, (self._ask(name, b"blob") for name in self._names_by_size.get(size, ())))

    @cached_property
    def _names_by_size(self) -> dict[int, list[str]]:
        """The ids of the contents of its files, by their sizes."""
        # Of what a partial clone lacks it would fetch each file, for nothing but its size.
        listing = _run(["ls-tree", "-r", "-l", "-z", "--full-tree", self._commit], self._top, GIT_NO_LAZY_FETCH="1")
        listed = _text(listing.stdout)
        entries = (entry.partition("\t")[0].split() for entry in filter(None, listed.split("\0")))
        # A submodule has no size, nor has a file that is not fetched.
        return grouped((int(size), name) for _, _, name, size in entries if size.isdecimal())

    def yaml_files(self, folder: Path) -> list[Path]:
        """The YAML files that a folder has in the revision, sorted; none if it has no such folder."""
        name = self._name_in_repository(folder)
        content = (None if name is None else self._ask(f"{self._commit}:{name}", b"tree")) or b""
        names = []
        while content:
            # MODE NAME, a null byte, and the hash as bytes.
            entry, _, content = content.partition(b"\0")
            content = content[len(self._commit) // 2 :]
            names.append(os.fsdecode(entry.partition(b" ")[2]))
        return sorted(folder / name for name in names if name.endswith(".yaml"))

    def close(self) -> None:
        """End the git process."""
        self._process.communicate()

    def _name_in_repository(self, path: Path) -> str | None:
        """The path of a file below the repository's folder; `None` for one that is elsewhere."""
        # A link to the file itself is not a snapshot; a link to a folder above it may lead into the repository.
        place = Path(os.path.realpath(path.parent)) / path.name
        return place.relative_to(self._top).as_posix() if place.is_relative_to(self._top) else None

    def _ask(self, name: str, kind: bytes) -> bytes | None:
        """The content of an object; `None` if there is none of that name, or of another kind."""
        if "\n" in name:
            return None
        stdin: Any = self._process.stdin
        stdout: Any = self._process.stdout
        try:
            stdin.write(os.fsencode(f"{name}\n"))
            stdin.flush()
            # ID TYPE SIZE, or the name and the word `missing`.
            words = stdout.readline().split()
            if words[-1:] == [b"missing"]:
                return None
            _, found, size = words
            content: bytes = stdout.read(int(size) + 1)[:-1]
        except (OSError, ValueError):
            # Such as in a partial clone that cannot fetch what it lacks.
            raise RevisionError(f"cannot be read from {self.name}, as git ended and said why on stderr") from None
        return content if found == kind else None


def _run(arguments: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(  # noqa: S603 - git, without a shell
        _command(arguments, folder), env={**_environ(), **variables}, capture_output=True, check=False
    )


def _text(output: bytes) -> str:
    """What git prints, without the line break at its end."""
    return os.fsdecode(output).rstrip("\n")


def _command(arguments: list[str], folder: Path) -> list[str]:
    return ["git", "-C", str(folder), *arguments]


def _environ() -> dict[str, str]:
    """The environment for git: it finds the repository by its folder, and asks for no password."""
    kept = {name: value for name, value in os.environ.items() if name not in _VARIABLES_OF_HOOKS}
    return {**kept, "GIT_TERMINAL_PROMPT": "0"}
