"""The text of a snapshot in lines, which need not be joined to be compared with a file.

`serializer` lays the lines out; `extension` and `stored_data` compare them with the bytes of a snapshot's file. Most
snapshots are equal, and then nothing has to be decoded. Lines that many snapshots share are encoded once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pytest_chatprompt.text.files import TextFileError, holds_bytes
from pytest_chatprompt.text.yaml import MAX_BYTES


class SharedLines(str):
    """Lines that are the same object in many snapshots."""

    @cached_property
    def encoded(self) -> bytes:
        """The lines as UTF-8."""
        return self.encode()


@dataclass(frozen=True, slots=True)
class SnapshotText:
    """The text of a snapshot; `str` gives it as one.

    Args:
        lines: without the line break at their ends; one of them may be several lines of a document. None for `""`.
    """

    lines: Sequence[str]

    def __str__(self) -> str:
        return "\n".join([*self.lines, ""])

    def encoded(self) -> Iterator[bytes]:
        """The text as UTF-8, in pieces; shared lines are pieces of their own."""
        others: list[str] = []
        for line in self.lines:
            if isinstance(line, SharedLines):
                yield "\n".join([*others, ""]).encode()
                yield line.encoded
                # The line break at their end.
                others = [""]
            else:
                others.append(line)
        yield "\n".join([*others, ""]).encode()

    def is_in(self, path: Path) -> bool:
        """Whether a file holds just this text; one that holds the same data in another form does not.

        Args:
            path: the file; one that cannot be read holds nothing.
        """
        try:
            return holds_bytes(path, self.encoded(), MAX_BYTES)
        except TextFileError:
            return False
