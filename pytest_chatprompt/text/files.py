"""Text files, read safely: every file that this package reads for a case goes through here."""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from pytest_chatprompt.text.media_types import sniff_media_type
from pytest_chatprompt.wording import shown_path

# More than any API accepts in one request, and small enough to be read at once.
MAX_BYTES: Final = 20 * 1024 * 1024
# Of all texts and media of one case, as often as they are sent: several times what any API accepts in one request.
MAX_CASE_BYTES: Final = 100 * 1024 * 1024
TOO_LARGE_CASE: Final = (
    f"with this the case holds more than {MAX_CASE_BYTES // 1024**2} MiB of text and media; use smaller files, or "
    "fewer: a file that is attached twice is sent twice"
)
# Opening a pipe waits for a writer. Windows does not have this flag.
_WITHOUT_WAITING: Final = getattr(os, "O_NONBLOCK", 0)


class TextFileError(Exception):
    """A file cannot be read as text.

    Args:
        reason: why, to be put after the file's name, such as `is a folder`.
        line: 1-based; 1 unless one position of the file is to blame.
        column: 1-based, in bytes.
        media_type: of its content, if that is an image, a document or an audio file; else `""`.
    """

    def __init__(self, reason: str, line: int = 1, column: int = 1, media_type: str = "") -> None:
        self.line = line
        self.column = column
        self.media_type = media_type
        super().__init__(reason)


def read_text(path: Path, root: Path) -> str:
    """Read a text file.

    Args:
        path: the file. If it is inside the root folder, the target of its links must be inside too.
        root: pytest's root folder.

    Returns:
        The text, without a byte-order mark.

    Raises:
        TextFileError: the file is a folder, a device or a pipe, is larger than `MAX_BYTES`, cannot be opened, is not
            valid UTF-8, or is a link that leads out of the root folder.
    """
    content = read_bytes(path, root)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
        reason = f"is not valid UTF-8 (byte 0x{content[error.start]:02X})"
        raise TextFileError(reason, line, column, sniff_media_type(content)) from error


def read_bytes(path: Path, root: Path) -> bytes:
    """Read a file of any content.

    Args:
        path: the file. If it is inside the root folder, the target of its links must be inside too.
        root: pytest's root folder.

    Raises:
        TextFileError: as in `read_text`, but any content is valid.
    """
    _refuse_link_outside(path, root)
    return read_regular_file(path, MAX_BYTES)


def read_regular_file(path: Path, max_bytes: int) -> bytes:
    """Read a file that must be a regular one, without waiting and within bounds.

    Raises:
        TextFileError: the file is a folder, a device or a pipe, is larger, or cannot be opened.
    """
    with _open_regular_file(path, max_bytes) as (file, size):
        content = file.read(size + 1)
        if len(content) > size:
            # The file is growing, or reports no size, as the files in /proc do.
            content += file.read(max_bytes - size)
    if len(content) > max_bytes:
        raise TextFileError(_too_large(max_bytes))
    return content


def utf8_size(text: str) -> int:
    """How many bytes a text has as UTF-8."""
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def read_lines(path: Path, root: Path, max_bytes: int) -> Iterator[bytes]:
    """Read a file line by line, without keeping the lines before.

    Args:
        path: the file. If it is inside the root folder, the target of its links must be inside too.
        root: pytest's root folder.
        max_bytes: the largest size of the file; a line may have `MAX_BYTES`.

    Yields:
        The lines with their line breaks, without a byte-order mark.

    Raises:
        TextFileError: as in `read_text`, or a line is too long.
    """
    _refuse_link_outside(path, root)
    with _open_regular_file(path, max_bytes) as (file, _):
        number, line = 1, file.readline(MAX_BYTES + 1).removeprefix(codecs.BOM_UTF8)
        while line:
            if len(line) > MAX_BYTES:
                raise TextFileError(f"has a line that {_too_large(MAX_BYTES)}", number)
            yield line
            number, line = number + 1, file.readline(MAX_BYTES + 1)


@contextmanager
def _open_regular_file(path: Path, max_bytes: int) -> Iterator[tuple[BinaryIO, int]]:
    """Open a file for reading if it is a regular one that is not too large; gives its size too."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _WITHOUT_WAITING)
    except OSError as error:
        raise TextFileError(f"cannot be read: {error.strerror}") from error
    try:
        size = _checked_size(os.fstat(descriptor), max_bytes)
        with open(descriptor, "rb", closefd=False) as file:
            yield file, size
    finally:
        os.close(descriptor)


def _refuse_link_outside(path: Path, root: Path) -> None:
    if path.is_relative_to(root) and _links_outside(path, root):
        raise TextFileError("is a link that leads out of the root folder; copy its target into the root folder")


def _links_outside(path: Path, root: Path) -> bool:
    real = os.path.realpath(path)
    return real != str(path) and not Path(real).is_relative_to(os.path.realpath(root))


def _checked_size(status: os.stat_result, max_bytes: int) -> int:
    if stat.S_ISDIR(status.st_mode):
        raise TextFileError("is a folder; name a file in it")
    if not stat.S_ISREG(status.st_mode):
        raise TextFileError("is not a regular file")
    if status.st_size > max_bytes:
        raise TextFileError(_too_large(max_bytes))
    return status.st_size


def _too_large(max_bytes: int) -> str:
    return f"is larger than {max_bytes // 1024**2} MiB"


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


def find_agentv_file(name: str, folder: Path, root: Path) -> Path | None:
    """Find a file of AgentV in the nearest folder `.agentv` that has it; `None` if there is none.

    Args:
        name: the file's name.
        folder: where to look first; then each folder above it, up to the root folder.
        root: pytest's root folder.
    """
    depth = len(folder.parts) - len(root.parts) if folder.is_relative_to(root) else 0
    paths = (candidate / ".agentv" / name for candidate in (folder, *folder.parents[:depth]))
    return next((path for path in paths if path.is_file()), None)
