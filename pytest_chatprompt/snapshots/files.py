"""Read, replace and delete the files of snapshots and recordings.

Paths and texts come in; the functions touch no other file. The modules of this room and `live` call them, and `items`
to remove unused snapshots.
"""

from __future__ import annotations

import os
from pathlib import Path


def read_snapshot(path: Path) -> str | None:
    """Read the text of a snapshot, with LF line breaks: a git checkout may have turned them into CRLF.

    Args:
        path: the snapshot's file.

    Returns:
        The text, with invalid UTF-8 as backslash escapes; `None` if there is no file.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    return content.decode(errors="backslashreplace").replace("\r\n", "\n")


def atomic_write(path: Path, text: str) -> None:
    """Replace a file as a whole: if writing fails, the old file stays as it was.

    Args:
        path: the file; its folder must exist.
        text: the new text, written as UTF-8.
    """
    temporary = path.with_name(f".{os.getpid()}-{path.name}")
    try:
        temporary.write_bytes(text.encode())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def remove_snapshot(path: Path) -> None:
    """Delete a snapshot, and its folder if it is empty then.

    Args:
        path: the snapshot's file; it may be gone already, its folder must exist.
    """
    path.unlink(missing_ok=True)
    if not any(path.parent.iterdir()):
        path.parent.rmdir()
