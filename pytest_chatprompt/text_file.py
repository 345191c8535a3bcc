"""Text files, read within bounds.

A path comes in, its text comes out: UTF-8, a byte-order mark dropped. What is no regular file, too large to be
meant, or no text is refused before it is read whole. `eval_file`, `agentv` and `attachments` read through this
module alone.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

# More than any API takes in one request, and little enough to be read at once.
MAX_BYTES: Final = 20 * 1024 * 1024


class UnreadableTextError(Exception):
    """A file cannot be read as text; the text says why.

    Args:
        told: why, to go behind the file's name.
        line: 1-based, where it is one place of the file.
        column: 1-based, in bytes.
    """

    def __init__(self, told: str, line: int = 1, column: int = 1) -> None:
        self.line = line
        self.column = column
        super().__init__(told)


def read_text(path: Path, root: Path) -> str:
    """The text of a file, without a byte-order mark.

    Args:
        path: the file; where it is below the root folder by its name, it has to be so once links are followed.
        root: the root folder.

    Raises:
        UnreadableTextError: it is a folder, a device or a pipe, larger than `MAX_BYTES`, cannot be opened, is not
            UTF-8, or is a link that leads out of the root folder.
    """
    if path.is_relative_to(root) and _leads_out(path, root):
        raise UnreadableTextError("is a link that leads out of the root folder; copy what it leads to there")
    try:
        # A pipe would block until somebody writes, so it is opened without waiting, and looked at first.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        raise UnreadableTextError(f"cannot be read: {error.strerror}") from error
    try:
        size = _checked_size(os.fstat(descriptor))
        with open(descriptor, "rb", closefd=False) as file:
            content = file.read(size + 1)
            if len(content) > size:
                # It grows, or does not say how large it is, as the files of /proc.
                content += file.read(MAX_BYTES - size)
    finally:
        os.close(descriptor)
    if len(content) > MAX_BYTES:
        raise UnreadableTextError(_too_large())
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - content.rfind(b"\n", 0, error.start)
        raise UnreadableTextError(f"is no UTF-8 text (byte 0x{content[error.start]:02X})", line, column) from error


def _leads_out(path: Path, root: Path) -> bool:
    real = os.path.realpath(path)
    return real != str(path) and not Path(real).is_relative_to(os.path.realpath(root))


def _checked_size(status: os.stat_result) -> int:
    if stat.S_ISDIR(status.st_mode):
        raise UnreadableTextError("is a folder; name a file in it")
    if not stat.S_ISREG(status.st_mode):
        raise UnreadableTextError("is no regular file")
    if status.st_size > MAX_BYTES:
        raise UnreadableTextError(_too_large())
    return status.st_size


def _too_large() -> str:
    return f"is larger than {MAX_BYTES // 1024**2} MiB"
