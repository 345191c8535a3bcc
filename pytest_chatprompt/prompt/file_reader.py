"""The file reader: finds and reads the files that cases name, inside the root folder only (rules A4 and F).

In: a path as an author wrote it, and the folder of the eval file. Out: where the file is, and its text.
One reader serves a whole run and reads each file once. `attachments` calls it; the session of a run makes it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pytest_chatprompt.evalfile.text_file import TextFileError, read_text
from pytest_chatprompt.wording import shown_path


class AttachmentError(Exception):
    """A file that a case names is missing, outside the root folder, or not text."""


class ResolvedFile(NamedTuple):
    """Where a file is that a case names.

    Args:
        path: absolute, with `..` resolved and links not followed.
        root_path: the same relative to the root folder, with `/`; guideline patterns are matched against it.
    """

    path: Path
    root_path: str


@dataclass(slots=True)
class FileReader:
    """Finds and reads the files of one run.

    Args:
        root: pytest's root folder, absolute.
    """

    root: Path
    _texts: dict[Path, str] = field(default_factory=dict)
    # Looking for a file and following its links takes longer than the rest of converting a short case.
    _found_files: dict[tuple[str, Path], ResolvedFile] = field(default_factory=dict)
    _parsed: dict[Hashable, Any] = field(default_factory=dict)

    def find(self, name: str, folder: Path) -> ResolvedFile:
        """Find a file that a case names.

        Args:
            name: the path as the author wrote it, with `/`; a leading `/` stands for the root folder.
            folder: the eval file's folder, where the search begins; it goes on in each folder above, up to the root.

        Raises:
            AttachmentError: there is no such file, or it is outside the root folder.
        """
        if (name, folder) in self._found_files:
            return self._found_files[name, folder]
        candidates = [Path(os.path.normpath(start / name.lstrip("/"))) for start in self._start_folders(name, folder)]
        for candidate in candidates:
            if os.path.lexists(candidate):
                found = ResolvedFile(candidate, self._root_path(candidate, name))
                self._found_files[name, folder] = found
                return found
        tried = ", ".join(dict.fromkeys(self._shown_candidate(candidate) for candidate in candidates))
        raise AttachmentError(f"file {name} not found; tried {tried}")

    def read(self, path: Path, name: str) -> str:
        """Read a file that `find` found.

        Args:
            path: the file.
            name: the path as the author wrote it, for error messages.

        Returns:
            Its text by rule A4: decoded as UTF-8, CRLF as LF, without line breaks at the very end.

        Raises:
            AttachmentError: it cannot be read as text.
        """
        if path not in self._texts:
            try:
                text = read_text(path, self.root)
            except TextFileError as error:
                raise AttachmentError(f"file {name} {error}") from error
            self._texts[path] = text.replace("\r\n", "\n").rstrip("\n")
        return self._texts[path]

    def parse_once(self, key: Hashable, parse: Callable[[], Any]) -> Any:
        """What a file holds as data, which is parsed on first use.

        Args:
            key: the file, and what it is read for.
            parse: parses its text; raises an error each time that it is called if the text is invalid.
        """
        if key not in self._parsed:
            self._parsed[key] = parse()
        return self._parsed[key]

    def _start_folders(self, name: str, folder: Path) -> Iterator[Path]:
        if name.startswith("/"):
            yield self.root
            return
        yield folder
        if folder.is_relative_to(self.root):
            yield from (parent for parent in folder.parents if parent.is_relative_to(self.root))

    def _root_path(self, path: Path, name: str) -> str:
        # Not `Path.resolve`, which raises an error for a link to itself; opening the file reports that.
        real_path, real_root = Path(os.path.realpath(path)), Path(os.path.realpath(self.root))
        if not real_path.is_relative_to(real_root):
            raise AttachmentError(
                f"file {name} is outside the root folder; only files inside it can be sent, so copy it there"
            )
        # A path that leaves the root folder may lead back into it through a link.
        return shown_path(path, self.root) if path.is_relative_to(self.root) else shown_path(real_path, real_root)

    def _shown_candidate(self, path: Path) -> str:
        # Outside the root folder only the name is shown: a message must not reveal the folders of this machine.
        return shown_path(path, self.root) if path.is_relative_to(self.root) else path.name
