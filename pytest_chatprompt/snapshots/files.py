"""The files of snapshots and recordings: their names, and how they are read, replaced and deleted."""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from pytest_chatprompt.errors import SnapshotError
from pytest_chatprompt.text.files import TextFileError, read_regular_file
from pytest_chatprompt.text.yaml import MAX_BYTES
from pytest_chatprompt.wording import shown_path

# `::` separates the parts of a node id, CI takes `##[` for a command, and control characters would change the line.
_NOT_IN_NODE_ID: Final = re.compile(
    r"%|:(?=:)|(?<=:):|#(?=#(?:[vV][sS][oO])?\[)"
    r"|[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
# Characters that some file systems refuse, and brackets, which enclose the provider; a leading dot would hide the file.
_NOT_IN_FILE_NAME: Final = re.compile(r'[%<>:"/\\|?*\[\]\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]|^\.')
# Common file systems allow 255 bytes; this leaves room for a suffix and for the prefix of a temporary file.
_LONGEST_STEM_BYTES: Final = 200
_DIGEST_CHARACTERS: Final = 12
# What follows the stem of a snapshot in the name of its recording.
RECORDING_SUFFIX: Final = ".recording.yaml"


def node_name(case_id: str) -> str:
    """The name of a case in pytest's node ids."""
    return _NOT_IN_NODE_ID.sub(_percent_encode, case_id)


def snapshot_stems(names: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The file names, without extension, of an eval file's snapshots, by ids and the texts for the brackets.

    They are different even on a file system that ignores case or the encoding of accents.
    """
    stems = [_stem(case_id, label) for case_id, label in names]
    # Compare ids, not whole stems, so that a snapshot has the same name with any providers.
    sharing_ids = Counter(normalized_name(case_id) for case_id in {case_id for case_id, _ in names})
    sharing_stems = Counter(map(normalized_name, stems))
    return tuple(
        _with_digest(stem, case_id, label)
        if (sharing_ids[normalized_name(case_id)] > 1 and case_id != normalized_name(case_id))
        or (sharing_stems[normalized_name(stem)] > 1 and stem != normalized_name(stem))
        else stem
        for stem, (case_id, label) in zip(stems, names, strict=True)
    )


def snapshot_stem_of_test(name: str, *, with_digest: bool = False) -> str:
    """The file name, without extension, of the snapshot of an ordinary test."""
    base, parameters = split_test_name(name)
    stem = escaped_name(base) + (f"[{escaped_name(parameters)}]" if parameters is not None else "")
    if len(stem.encode()) <= _LONGEST_STEM_BYTES and not with_digest:
        return stem
    return _with_digest(stem if parameters is not None else f"{stem}[]", base, parameters or "").removesuffix("[]")


def split_test_name(name: str) -> tuple[str, str | None]:
    """The name of a test without its parameters, and the parameters; `None` for none."""
    base, bracket, parameters = name.partition("[")
    return (base, parameters.removesuffix("]")) if bracket and name.endswith("]") else (name, None)


def is_recording(path: Path) -> bool:
    """Whether a file is a recording, by its name."""
    return path.name.endswith(RECORDING_SUFFIX)


def escaped_name(name: str) -> str:
    """A name in which the characters that a file name cannot have are percent-encoded, and brackets too."""
    return _NOT_IN_FILE_NAME.sub(_percent_encode, name)


def _stem(case_id: str, label: str) -> str:
    stem = f"{escaped_name(case_id)}[{escaped_name(label)}]"
    return stem if len(stem.encode()) <= _LONGEST_STEM_BYTES else _with_digest(stem, case_id, label)


def _with_digest(stem: str, case_id: str, label: str) -> str:
    """Make a stem unique and short enough: truncate it, and put a digest of the id and label before the bracket."""
    digest = hashlib.sha256(f"{case_id}\0{label}".encode(errors="surrogatepass")).hexdigest()[:_DIGEST_CHARACTERS]
    case_part, _, label_part = stem.rpartition("[")
    bracket = _truncate(f"[{label_part.removesuffix(']')}", _LONGEST_STEM_BYTES // 2) + "]"
    case_part_bytes = _LONGEST_STEM_BYTES - len(bracket.encode()) - _DIGEST_CHARACTERS - 1
    return f"{_truncate(case_part, case_part_bytes)}~{digest}{bracket}"


def _truncate(text: str, size_bytes: int) -> str:
    return text.encode()[:size_bytes].decode(errors="ignore")


def normalized_name(name: str) -> str:
    """Fold a name, so that names which a file system may take for the same are equal."""
    return unicodedata.normalize("NFC", name).casefold()


def _percent_encode(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode(errors="surrogatepass"))


class SnapshotFileError(Exception):
    """The file of a snapshot or recording cannot be read or written; the text says why, to be put after its name.

    Attributes:
        remedy: what to do if its text is no snapshot.
        advice: what to do if the file itself cannot be read or written.
    """

    remedy = "put the file back, as with git checkout, or accept what is sent"
    advice = "remove it, or put the file back"


class MergeConflictError(SnapshotFileError):
    """The file holds what git writes where it cannot merge."""

    remedy = "merge the prompts first, then accept what is sent: --snapshot-update replaces the file as a whole"


class UnwritableFileError(SnapshotFileError):
    """The operating system does not let the file be written."""

    advice = "make room for it, or make it writable, and run again"


# What a snapshot holds itself is indented.
_CONFLICT: Final = re.compile(r"^<<<<<<< .*?^=======$.*?^>>>>>>> ", re.MULTILINE | re.DOTALL)


def conflict_line(text: str) -> int | None:
    """The line, from 1, of the first conflict of a merge in the text of a snapshot; `None` if it has none."""
    found = _CONFLICT.search(text)
    return None if found is None else text.count("\n", 0, found.start()) + 1


def read_snapshot(path: Path) -> str | None:
    """Read the text of a snapshot, with LF line breaks: a git checkout may have turned them into CRLF.

    It is `None` if there is no file.
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
    """The text of a snapshot's file, with LF line breaks, and with U+FFFD for bytes that are no UTF-8."""
    text = content.decode(errors="replace")
    # Looking for two characters takes far longer than for one.
    return text.replace("\r\n", "\n") if "\r" in text else text


def shown_snapshot(path: Path, root: Path, revision: str | None = None) -> str:
    """The path of a snapshot as messages show it; that of a git revision as git writes it: `main:evals/a.yaml`."""
    shown = shown_path(path, root)
    return shown if revision is None else f"{revision}:{shown}"


def refuse_folder_outside_root(folder: Path, root: Path) -> None:
    """Refuse a folder of snapshots that a link leads out of the root folder: nothing is written or deleted there."""
    if leads_out_of_root(folder, root):
        raise SnapshotError(
            f"its snapshots are in {shown_path(folder, root)}, which a link leads out of the root folder; replace the "
            "link by a folder"
        )


def leads_out_of_root(folder: Path, root: Path) -> bool:
    """Whether a link leads a folder, which need not exist, out of the root folder."""
    return folder.is_relative_to(root) and not Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(root))


def atomic_write(path: Path, text: str) -> None:
    """Replace a file as a whole, as UTF-8: if writing fails, the old file stays as it was."""
    temporary = path.with_name(f".{os.getpid()}-{path.name}")
    try:
        temporary.write_bytes(text.encode())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def remove_snapshot(path: Path) -> None:
    """Delete a snapshot, which may be gone already, and its folder if it is empty then and can be removed."""
    path.unlink(missing_ok=True)
    # An empty folder that stays is nothing to git.
    with suppress(OSError):
        path.parent.rmdir()
