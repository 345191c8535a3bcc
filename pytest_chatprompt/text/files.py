"""Text files, read safely: every file that this package reads for a case goes through here."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from functools import lru_cache
from io import FileIO
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from pytest_chatprompt.text.media_types import sniff_media_type
from pytest_chatprompt.wording import shown_path

# More than any API accepts in one request, and small enough to be read at once.
MAX_BYTES: Final = 20 * 1024 * 1024
# Opening a pipe waits for a writer. Windows does not have this flag.
_WITHOUT_WAITING: Final = getattr(os, "O_NONBLOCK", 0)
# Shorter texts are read faster than they are remembered.
LONG_TEXT: Final = 65_536
_HEADING: Final = "=== "

T = TypeVar("T")


class TextFileError(Exception):
    """A file cannot be read as text.

    The text goes after the file's name, such as `is a folder`; the position is 1-based, its column in bytes. It has a
    `media_type` if the content is an image, a document or an audio file.
    """

    def __init__(self, reason: str, line: int = 1, column: int = 1, media_type: str = "") -> None:
        self.line = line
        self.column = column
        self.media_type = media_type
        super().__init__(reason)


def read_text(path: Path, root: Path, max_bytes: int = MAX_BYTES) -> str:
    """Read a text file without its byte-order mark; any problem is a `TextFileError`.

    If it is inside the root folder, the target of its links must be inside too.
    """
    content = read_bytes(path, root, max_bytes)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start]
        line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
        reason = f"is not valid UTF-8 (byte 0x{content[error.start]:02X})"
        raise TextFileError(reason, line, column, sniff_media_type(content)) from error


def read_bytes(path: Path, root: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """Read a file of any content, as `read_text` does."""
    real = os.path.realpath(path)
    if path.is_relative_to(root) and real != str(path) and not Path(real).is_relative_to(os.path.realpath(root)):
        raise TextFileError("is a link that leads out of the root folder; copy its target into the root folder")
    return read_regular_file(path, max_bytes)


def read_regular_file(path: Path, max_bytes: int) -> bytes:
    """Read a file that must be a regular one, without waiting and within bounds."""
    try:
        # Not `open`: tests replace it, as with `mock_open`.
        with FileIO(path, opener=lambda name, flags: os.open(name, flags | _WITHOUT_WAITING)) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise TextFileError("is not a regular file")
            size = min(status.st_size, max_bytes)
            content = file.read(size + 1)
            # It is too large, is growing, comes in pieces, or reports no size, as the files in /proc do.
            while len(content) != size and (piece := file.read(max_bytes + 1 - len(content))):
                content += piece
    except IsADirectoryError as error:
        raise TextFileError("is a folder; name a file in it") from error
    except OSError as error:
        raise TextFileError(f"cannot be read: {error.strerror}") from error
    if len(content) > max_bytes:
        raise TextFileError(f"is larger than {max_bytes // 1024**2} MiB")
    return content


class NamedFileError(Exception):
    """A file that an author names does not exist, is outside the root folder, or cannot be read: the whole text.

    It has a `media_type` if it is not text, but an image, a document or an audio file.
    """

    def __init__(self, text: str, media_type: str = "") -> None:
        self.media_type = media_type
        super().__init__(text)


class ResolvedFile(NamedTuple):
    """The location of a file that an eval file names.

    Args:
        path: absolute, with `..` resolved and links not followed.
        root_path: the same relative to the root folder, with `/`; guideline patterns are matched against it.
    """

    path: Path
    root_path: str


def find_file(name: str, folder: Path, root: Path) -> ResolvedFile:
    """Find a file that an eval file names: in its folder, else in those above, up to the root, which `/` stands for."""
    starts = (root,) if name.startswith("/") else _folders_up(folder, root)
    candidates = [Path(os.path.normpath(start / name.lstrip("/"))) for start in starts]
    for candidate in candidates:
        if os.path.lexists(candidate):
            return ResolvedFile(candidate, _root_path(candidate, name, root))
    # Outside the root folder only the name is shown: a message must not reveal the folders of this machine.
    shown = (shown_path(path, root) if path.is_relative_to(root) else path.name for path in candidates)
    tried = ", ".join(dict.fromkeys(shown))
    raise NamedFileError(f"file {name} not found; tried {tried}")


def _folders_up(folder: Path, root: Path) -> list[Path]:
    """A folder and those above it, up to the root; the folder alone where it is outside."""
    return [folder, *(parent for parent in folder.parents if parent.is_relative_to(root))]


def _root_path(path: Path, name: str, root: Path) -> str:
    # Not `Path.resolve`, which raises an error for a link to itself; opening the file reports that.
    real_path, real_root = Path(os.path.realpath(path)), Path(os.path.realpath(root))
    if not real_path.is_relative_to(real_root):
        raise NamedFileError(
            f"file {name} is outside the root folder; only files inside it can be sent, so copy it there"
        )
    # A path that leaves the root folder may lead back into it through a link.
    return shown_path(path, root) if path.is_relative_to(root) else shown_path(real_path, real_root)


# What defines providers, by the name that AgentV 5 has for them, then by that of 4.
TARGETS: Final = ("providers.yaml", "targets.yaml")


def find_agentv_file(folder: Path, root: Path, *names: str) -> Path | None:
    """Find a file of AgentV, by any of its names, in the nearest folder `.agentv`, up to the root, that has it."""
    paths = (each / ".agentv" / name for each in _folders_up(folder, root) for name in names)
    return next((path for path in paths if path.is_file()), None)


def remember_long(function: Callable[[str], T]) -> Callable[[str], T]:
    """Make a function remember its results for the long texts that it got last; safe between threads."""
    # Few, since texts may be large.
    remembering = lru_cache(8)(function)
    return lambda text: (function if len(text) < LONG_TEXT else remembering)(text)


# Equal files are one object: its hash is known, and comparing it with itself takes no time.
_shared: Final = remember_long(str)


def sections(text: str) -> tuple[str, ...]:
    """Split a long text before the heading of each attached file, without the line break; many cases share a file."""
    return (text,) if len(text) < LONG_TEXT else _long_sections(text)


# A case has its text in the question and in what is sent.
@lru_cache(maxsize=2)
def _long_sections(text: str) -> tuple[str, ...]:
    first, *others = text.split(f"\n{_HEADING}")
    return (first, *(_shared(f"{_HEADING}{other}") for other in others))
