"""The file reader: finds and reads the files that cases name, inside the root folder only (rules A4 and F).

In: a path as an author wrote it, and the folder of the eval file. Out: where the file is, and its text or bytes.
One reader serves a whole run and reads each file once. The session of a run makes it; `attachment_reading`,
`request_options` and `grading.parsing` read with it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pytest_chatprompt.evalfile.file_search import FileSearchError, ResolvedFile, find_file
from pytest_chatprompt.evalfile.text_file import TextFileError, read_bytes, read_text
from pytest_chatprompt.prompt.shared_texts import SharedTexts

# What is kept of media; texts are kept all.
_MAX_KEPT_BYTES: Final = 64 * 1024 * 1024


class AttachmentError(Exception):
    """A file that a case names is missing, outside the root folder, or not text.

    Args:
        text: what is wrong, and what to do.
        media_type: of a file that is an image, a document or an audio file, and no text; else `""`.
    """

    def __init__(self, text: str, media_type: str = "") -> None:
        self.media_type = media_type
        super().__init__(text)


@dataclass(slots=True)
class FileReader:
    """Finds and reads the files of one run.

    Args:
        root: pytest's root folder, absolute.
        shared: the long texts that it has read.
    """

    root: Path
    shared: SharedTexts = field(default_factory=SharedTexts)
    # Each text without the line breaks at its end, and these.
    _texts: dict[Path, tuple[str, str]] = field(default_factory=dict)
    _contents: dict[Path, bytes] = field(default_factory=dict)
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
        try:
            found = find_file(name, folder, self.root)
        except FileSearchError as error:
            raise AttachmentError(str(error)) from error
        self._found_files[name, folder] = found
        return found

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
        return self._read_text(path, name)[0]

    def read_verbatim(self, path: Path, name: str) -> str:
        """Do as `read` does, and keep the line breaks at the very end (rule A8)."""
        return "".join(self._read_text(path, name))

    def read_bytes(self, path: Path, name: str) -> bytes:
        """Read a file of any content that `find` found.

        Args:
            path: the file.
            name: the path as the author wrote it, for error messages.

        Raises:
            AttachmentError: it cannot be read.
        """
        if path not in self._contents:
            try:
                content = read_bytes(path, self.root)
            except TextFileError as error:
                raise AttachmentError(f"file {name} {error}") from error
            # A run over thousands of images must not hold all of them; one that is needed again is read again.
            while self._contents and sum(map(len, self._contents.values())) + len(content) > _MAX_KEPT_BYTES:
                del self._contents[next(iter(self._contents))]
            self._contents[path] = content
        return self._contents[path]

    def _read_text(self, path: Path, name: str) -> tuple[str, str]:
        if path not in self._texts:
            try:
                text = read_text(path, self.root).replace("\r\n", "\n")
            except TextFileError as error:
                raise AttachmentError(f"file {name} {error}", error.media_type) from error
            stripped = text.rstrip("\n")
            self._texts[path] = stripped, text[len(stripped) :]
            self.shared.add(stripped)
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
