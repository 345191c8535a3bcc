"""The files that cases name: found, checked and read (rulings A4, B1 and F).

A case comes in; what it names comes out as `Attachment`s by the path as written. Nothing outside of the
root folder is ever read, each file is read once in a run, and only when a case that names it runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_chatprompt.case import EvalCase
from pytest_chatprompt.errors import ChatPromptError, EvalFileError, Problem
from pytest_chatprompt.eval_message import FilePart
from pytest_chatprompt.guidelines import matching_pattern
from pytest_chatprompt.text_file import UnreadableTextError, read_text


class UnusableFileError(ChatPromptError):
    """A named file is missing, outside of the root folder, or no text."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that a case names.

    Args:
        name: its path as the author wrote it, with `/`.
        path: where it was found, absolute.
        content: its text, after ruling A4.
        pattern: the pattern that makes it a guideline; `None` if it is none.
    """

    name: str
    path: Path
    content: str
    pattern: str | None = None

    @property
    def is_guideline(self) -> bool:
        """Whether its content goes to the system message."""
        return self.pattern is not None


@dataclass(slots=True)
class FileReader:
    """Finds and reads the files of one run.

    Args:
        root: pytest's root folder, absolute.
    """

    root: Path
    _contents: dict[Path, str] = field(default_factory=dict)
    # To look for a file and follow its links takes longer than all else that is done to convert a short case.
    _found: dict[tuple[str, Path], Path] = field(default_factory=dict)

    def find(self, name: str, folder: Path) -> Path:
        """Where a file is that an eval file in a folder names.

        Args:
            name: the path as written; a leading `/` stands for the root folder.
            folder: the eval file's folder; each folder above it up to the root folder is tried after it.

        Returns:
            The absolute path, `..` resolved, links not followed.

        Raises:
            UnusableFileError: there is none, or it lies outside of the root folder.
        """
        if (name, folder) in self._found:
            return self._found[name, folder]
        candidates = [Path(os.path.normpath(place / name.lstrip("/"))) for place in self._places(name, folder)]
        for candidate in candidates:
            if os.path.lexists(candidate):
                self._check_inside(candidate, name)
                self._found[name, folder] = candidate
                return candidate
        tried = ", ".join(dict.fromkeys(self._shown(candidate) for candidate in candidates))
        raise UnusableFileError(f"file {name} not found; tried {tried}")

    def read(self, path: Path, name: str) -> str:
        """The text of a file that `find` found, after ruling A4: UTF-8, LF, no line breaks at its very end.

        Raises:
            UnusableFileError: it cannot be read as text.
        """
        if path not in self._contents:
            try:
                content = read_text(path, self.root)
            except UnreadableTextError as error:
                raise UnusableFileError(f"file {name} {error}") from error
            self._contents[path] = content.replace("\r\n", "\n").rstrip("\n")
        return self._contents[path]

    def relative(self, path: Path) -> str:
        """A path that `find` found, relative to the root folder and with `/`."""
        if path.is_relative_to(self.root):
            return path.relative_to(self.root).as_posix()
        return path.resolve().relative_to(self.root.resolve()).as_posix()

    def _places(self, name: str, folder: Path) -> Iterator[Path]:
        if name.startswith("/"):
            yield self.root
            return
        yield folder
        if folder.is_relative_to(self.root):
            yield from (parent for parent in folder.parents if parent.is_relative_to(self.root))

    def _check_inside(self, path: Path, name: str) -> None:
        if not path.resolve().is_relative_to(self.root.resolve()):
            raise UnusableFileError(
                f"file {name} lies outside of the root folder; only files below it can be sent, so copy it there"
            )

    def _shown(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else path.name


def read_attachments(case: EvalCase, reader: FileReader) -> Mapping[str, Attachment]:
    """Read every file that the `input_messages` of a case name.

    Args:
        case: a case that was read from an eval file.
        reader: the run's reader.

    Returns:
        The attachments by the path as written, in the order of first mention; empty if no file is named.

    Raises:
        EvalFileError: files cannot be used; all of them, each at its part's place.
    """
    attachments: dict[str, Attachment] = {}
    problems: list[Problem] = []
    for message_index, message in enumerate(case.input_messages):
        for part_index, part in enumerate(message.parts):
            if not isinstance(part, FilePart) or part.value in attachments:
                continue
            try:
                attachments[part.value] = _attachment(part.value, case, reader)
            except UnusableFileError as error:
                origin = case.origin
                place = origin.find("input_messages", message_index, "content", part_index, "value")
                problems.append(Problem(origin.shown_path, place.line, place.column, str(error), case_id=case.id))
    if problems:
        raise EvalFileError(problems)
    return attachments


def _attachment(written: str, case: EvalCase, reader: FileReader) -> Attachment:
    name = written.replace("\\", "/")
    path = reader.find(name, case.path.parent)
    pattern = matching_pattern((reader.relative(path), name), case.guideline_patterns or ())
    return Attachment(name, path, reader.read(path, name), pattern)
