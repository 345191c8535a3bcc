"""Names made from case ids and the names of tests: the name in pytest's node id, and the file name of the snapshot.

Strings come in, strings come out. A name is the id itself where possible; characters that are not allowed are
percent-encoded as in a URL (`%2F`), so that two ids never get the same name. `items` and this room's modules call it.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

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
OLD_RECORDING_SUFFIX: Final = ".answer.yaml"
# Of the snapshots of eval cases, and of recordings. The snapshot of an ordinary test may have any name.
CASE_FILE_SUFFIXES: Final = ("].yaml", RECORDING_SUFFIX)


def node_name(case_id: str) -> str:
    """The name of a case in pytest's node ids.

    Args:
        case_id: the id as written in the eval file.
    """
    return _NOT_IN_NODE_ID.sub(_percent_encode, case_id)


def snapshot_stems(names: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The file names, without extension, of the snapshots of one eval file.

    Args:
        names: pairs of a case id and the text for the brackets (`anthropic`, `anthropic-hot`), all different.

    Returns:
        One stem for each pair, in the same order. They are different even on a file system that ignores case or
        the encoding of accents.
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
    """The file name, without extension, of the snapshot of an ordinary test.

    Args:
        name: the test's name with its classes and parameters: `TestGreeting.test_name[Ada]`.
        with_digest: whether a digest sets it apart from those that differ only in case or the encoding of accents.
    """
    base, parameters = split_test_name(name)
    stem = escaped_name(base) + (f"[{escaped_name(parameters)}]" if parameters is not None else "")
    if len(stem.encode()) <= _LONGEST_STEM_BYTES and not with_digest:
        return stem
    return _with_digest(stem if parameters is not None else f"{stem}[]", base, parameters or "").removesuffix("[]")


def split_test_name(name: str) -> tuple[str, str | None]:
    """The name of a test without its parameters, and the parameters; `None` for none."""
    base, bracket, parameters = name.partition("[")
    return (base, parameters.removesuffix("]")) if bracket and name.endswith("]") else (name, None)


def recording_path(folder: Path, stem: str) -> Path:
    """The file of a test's recording.

    Args:
        folder: of its snapshot.
        stem: the file name of its snapshot, without extension.
    """
    return folder / f"{stem}{RECORDING_SUFFIX}"


def is_recording(path: Path) -> bool:
    """Whether a file is a recording, by its name."""
    return path.name.endswith((RECORDING_SUFFIX, OLD_RECORDING_SUFFIX))


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
    """Fold a name, so that names which a file system may treat as the same are equal.

    Args:
        name: a file name; upper and lower case, and the two encodings of an accent, count as equal.
    """
    return unicodedata.normalize("NFC", name).casefold()


def _percent_encode(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode(errors="surrogatepass"))
