"""Read, replace and delete the files of snapshots and recordings.

Paths and texts come in; the functions touch no other file. The modules of this room call them, `items` to read and
remove snapshots and what a killed run left behind, and `reports` to write a report.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from pytest_chatprompt.errors import SnapshotError
from pytest_chatprompt.text.files import TextFileError, read_regular_file
from pytest_chatprompt.text.yaml import MAX_BYTES
from pytest_chatprompt.wording import shown_path

_TEMPORARY_NAME: Final = re.compile(r"\.(\d+)-.*\.yaml")


class SnapshotFileError(Exception):
    """The file of a snapshot or recording cannot be read; the text says why, to be put after its name."""


def read_snapshot(path: Path) -> str | None:
    """Read the text of a snapshot, with LF line breaks: a git checkout may have turned them into CRLF.

    Args:
        path: the snapshot's file.

    Returns:
        The text, with invalid UTF-8 as backslash escapes; `None` if there is no file.

    Raises:
        SnapshotFileError: it is not a regular file, or cannot be opened.
    """
    try:
        content = read_regular_file(path, MAX_BYTES)
    except TextFileError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return None
        # What follows the reason is advice about attached files.
        raise SnapshotFileError(str(error).partition(";")[0]) from error
    return snapshot_text(content)


def snapshot_text(content: bytes) -> str:
    """The text of a snapshot's file, with LF line breaks, and with invalid UTF-8 as backslash escapes."""
    text = content.decode(errors="backslashreplace")
    # Looking for two characters takes far longer than for one.
    return text.replace("\r\n", "\n") if "\r" in text else text


def is_damaged(path: Path, text: str) -> bool:
    r"""Whether a file is not valid UTF-8, so that what `read_snapshot` gives for it is not what it holds.

    Args:
        path: the file.
        text: what `read_snapshot` gave: `\xff` in it may have been written so, or stand for a byte.
    """
    if "\\x" not in text:
        return False
    try:
        read_regular_file(path, MAX_BYTES).decode()
    except (TextFileError, UnicodeDecodeError):
        return True
    return False


def shown_snapshot(path: Path, root: Path, revision: str | None = None) -> str:
    """The path of a snapshot as messages show it.

    Args:
        path: absolute.
        root: pytest's root folder.
        revision: the git revision whose snapshots count; the path is as git writes it then: `main:evals/a.yaml`.
    """
    shown = shown_path(path, root)
    return shown if revision is None else f"{revision}:{shown}"


def refuse_folder_outside_root(folder: Path, root: Path) -> None:
    """Refuse a folder of snapshots that a link leads out of the root folder: nothing is written or deleted there.

    Args:
        folder: the folder, which need not exist; one that is outside without a link is allowed.
        root: pytest's root folder.

    Raises:
        SnapshotError: a link leads out.
    """
    if leads_out_of_root(folder, root):
        raise SnapshotError(
            f"its snapshots are in {shown_path(folder, root)}, which a link leads out of the root folder; replace the "
            "link by a folder"
        )


def leads_out_of_root(folder: Path, root: Path) -> bool:
    """Whether a link leads a folder out of the root folder.

    Args:
        folder: the folder, which need not exist.
        root: pytest's root folder.
    """
    return folder.is_relative_to(root) and not Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(root))


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


def remove_temporary_files(folder: Path) -> None:
    """Delete the temporary files of runs that were killed while they wrote.

    Args:
        folder: a folder of snapshots; need not exist. Files of processes that are still running are kept.
    """
    for path in folder.glob(".*.yaml"):
        match = _TEMPORARY_NAME.fullmatch(path.name)
        if match is not None and not _is_running(int(match[1])):
            path.unlink(missing_ok=True)


def _is_running(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        # It runs, and belongs to another user.
        return True
    return True


def remove_snapshot(path: Path) -> None:
    """Delete a snapshot, and its folder if it is empty then.

    Args:
        path: the snapshot's file; it, and its folder too, may be gone already.
    """
    path.unlink(missing_ok=True)
    if path.parent.is_dir() and not any(path.parent.iterdir()):
        path.parent.rmdir()
