"""A comparison that failed: the snapshot, what is sent, and how they differ.

The path and both texts come in; the difference and the text of the failure come out, each made once. Pure; `items` and
`assertion` make one where a test fails.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_chatprompt.snapshots.files import SnapshotFileError
from pytest_chatprompt.snapshots.stored_data import read_data, written_anew

if TYPE_CHECKING:
    from pytest_chatprompt.snapshots.difference import Difference


class Comparison:
    """What a test compared with a snapshot that is not the same, or does not exist.

    Args:
        path: the snapshot's file.
        stored: its text; `None` if there is none.
        sent: the text of what is sent, written by `serializer`.
        has_data: whether both texts show data as `serializer` writes it; else they are what syrupy's `diff` or
            another of its extensions writes.
    """

    def __init__(self, path: Path, stored: str | None, sent: str, *, has_data: bool = True) -> None:
        self.path = path
        self.stored = stored
        self.sent = sent
        self.has_data = has_data

    @cached_property
    def problem(self) -> str:
        """Why the data of the snapshot cannot be read, such as `cannot be read: line 1, ...`; `""` if it can."""
        try:
            read_data(self.stored or "")
        except SnapshotFileError as error:
            return f"{error}; put the file back, as with git checkout, or accept what is sent"
        return ""

    @cached_property
    def difference(self) -> Difference:
        """What changed; empty where there is no snapshot."""
        # An update only hashes the texts.
        from pytest_chatprompt.snapshots.changes import compare_snapshots, compare_texts  # noqa: PLC0415
        from pytest_chatprompt.snapshots.difference import Difference  # noqa: PLC0415

        if self.stored is None:
            return Difference((), ())
        return (compare_snapshots if self.has_data else compare_texts)(self.stored, self.sent)


def data_sha256(text: str) -> str:
    """The hash of the data of a snapshot; its formatting does not matter.

    Args:
        text: of its file; one that cannot be read is hashed as it is.
    """
    with suppress(SnapshotFileError, TypeError, AttributeError):
        text = written_anew(text)
    return written_sha256(text)


def written_sha256(text: str) -> str:
    """What `data_sha256` gives for a text that `serializer` wrote; there is nothing to read.

    Args:
        text: as written.
    """
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
