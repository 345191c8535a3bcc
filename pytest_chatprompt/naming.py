"""Names: how a case is called in a node id, and the file name of its snapshot.

Strings in, strings out. Both are the id itself wherever that can be; what cannot stand there is escaped
as in a URL (`%2F`), so that no two ids share a name.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Final

# `::` separates the parts of a node id; control characters would tear its line.
_NOT_IN_NODE_ID: Final = re.compile(r"%|:(?=:)|(?<=:):|[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
# What some file system refuses, and the brackets, which hold the provider; a dot in front would hide the file.
_NOT_IN_FILE_NAME: Final = re.compile(r'[%<>:"/\\|?*\[\]\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]|^\.')
# 255 bytes are the limit of common file systems; this leaves room for a suffix and a temporary name.
_LONGEST_STEM_BYTES: Final = 200
_DIGEST_CHARACTERS: Final = 12


def node_name(case_id: str) -> str:
    """The name of a case in a node id.

    Args:
        case_id: the id as written.
    """
    return _NOT_IN_NODE_ID.sub(_percent, case_id)


def snapshot_stems(names: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The file names, without extension, of the snapshots of one eval file.

    Args:
        names: pairs of a case's id and what stands in the bracket (`anthropic`, `anthropic-hot`), all different.

    Returns:
        One for each, all different, also where a file system takes no notice of upper case or of how
        an accent is encoded.
    """
    stems = [_stem(case_id, label) for case_id, label in names]
    # Ids alone, so that the providers of one run do not decide what the snapshots of another are called.
    sharing_ids = Counter(folded(case_id) for case_id in {case_id for case_id, _ in names})
    sharing_stems = Counter(map(folded, stems))
    return tuple(
        _marked(stem, (case_id, label))
        if (sharing_ids[folded(case_id)] > 1 and case_id != folded(case_id))
        or (sharing_stems[folded(stem)] > 1 and stem != folded(stem))
        else stem
        for stem, (case_id, label) in zip(stems, names, strict=True)
    )


def _stem(case_id: str, label: str) -> str:
    stem = f"{_NOT_IN_FILE_NAME.sub(_percent, case_id)}[{_NOT_IN_FILE_NAME.sub(_percent, label)}]"
    return stem if len(stem.encode()) <= _LONGEST_STEM_BYTES else _marked(stem, (case_id, label))


def _marked(stem: str, name: tuple[str, str]) -> str:
    """A stem that no other name has: cut to length, with a digest of the name in front of the bracket."""
    case_id, label = name
    digest = hashlib.sha256(f"{case_id}\0{label}".encode(errors="surrogatepass")).hexdigest()[:_DIGEST_CHARACTERS]
    start, _, bracket = stem.rpartition("[")
    bracket = _cut(f"[{bracket.removesuffix(']')}", _LONGEST_STEM_BYTES // 2) + "]"
    room = _LONGEST_STEM_BYTES - len(bracket.encode()) - _DIGEST_CHARACTERS - 1
    return f"{_cut(start, room)}~{digest}{bracket}"


def _cut(text: str, size_bytes: int) -> str:
    return text.encode()[:size_bytes].decode(errors="ignore")


def folded(name: str) -> str:
    """A name as file systems may see it that take no notice of upper case or of how an accent is encoded."""
    return unicodedata.normalize("NFC", name).casefold()


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode(errors="surrogatepass"))
