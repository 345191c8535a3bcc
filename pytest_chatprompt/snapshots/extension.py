"""The syrupy extension of this plugin: each assertion is one YAML file.

The data of `snapshot_data` or `asserted_data` comes in; syrupy reads and writes the files through this class. The
folder and the name of a file are those that the item gives as its attributes `snapshot_folder` and `snapshot_stem`.
Where it has none, as with syrupy's `snapshot.use_extension(...)`, they are syrupy's own. `assertion` uses it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from syrupy.data import SnapshotCollection, SnapshotCollections
from syrupy.extensions.base import AbstractSyrupyExtension
from syrupy.extensions.single_file import SingleFileSnapshotExtension
from syrupy.location import PyTestLocation
from syrupy.types import SnapshotIndex

from pytest_chatprompt.snapshots.files import atomic_write, is_damaged, read_snapshot
from pytest_chatprompt.snapshots.names import escaped_name
from pytest_chatprompt.snapshots.serializer import lay_out

if TYPE_CHECKING:
    from collections.abc import Callable

    from syrupy.types import PropertyFilter, PropertyMatcher, SerializableData, SerializedData

    from pytest_chatprompt.prompt.shared_texts import SharedTexts
    from pytest_chatprompt.snapshots.snapshot_text import SnapshotText

# What syrupy compares in place of two equal texts.
_EQUAL: Final = ""


class ChatPromptSnapshotExtension(SingleFileSnapshotExtension):
    """Store each assertion as exact and readable YAML in a file of its own.

    Attributes:
        is_filtered: whether the next assertion has a matcher or leaves keys out.
        read_committed: reads a snapshot of a git revision by its path; `None` to compare with the files on disk.
        shared: long texts that are part of the data of many snapshots.
    """

    file_extension = "yaml"
    is_filtered = True
    read_committed: Callable[[Path], str | None] | None = None
    shared: SharedTexts | None = None
    # The file that was read last.
    _read: Path | None = None
    # What the next assertion compares, its text, and whether the file of its snapshot holds just this text.
    _expected: Any = None
    _text: SnapshotText | None = None
    _is_in_file = False

    def expect(self, data: SerializableData | None) -> None:
        """Compare the bytes of the next file with the text of this data: if they are equal, syrupy needs neither text.

        Args:
            data: what is asserted next, if nothing is going to change it; else `None`, also to free the last data.
        """
        self._expected, self._text, self._is_in_file = data, None, False

    def serialize(
        self,
        data: SerializableData,
        *,
        exclude: PropertyFilter | None = None,
        include: PropertyFilter | None = None,
        matcher: PropertyMatcher | None = None,
    ) -> str:
        """Convert the asserted value to the text of a snapshot; one that is not a dict goes under the key `value`."""
        if self._is_in_file:
            return _EQUAL
        if self._text is not None:
            return str(self._text)
        if self.is_filtered:
            from pytest_chatprompt.snapshots.syrupy_filters import Filters  # noqa: PLC0415

            data = Filters(matcher, exclude, include).apply(data)
        return str(self._lay_out(data))

    @classmethod
    def get_snapshot_name(cls, *, test_location: PyTestLocation, index: SnapshotIndex = 0) -> str:
        """The name of a snapshot in syrupy's report: the name of the test, not of the file."""
        return AbstractSyrupyExtension.get_snapshot_name(test_location=test_location, index=index)

    @classmethod
    def get_location(cls, *, test_location: PyTestLocation, index: SnapshotIndex) -> str:
        """The path of a snapshot's file; syrupy asks for it three times for each assertion."""
        folder = getattr(test_location.item, "snapshot_folder", None)
        stem = getattr(test_location.item, "snapshot_stem", None)
        if cls is not ChatPromptSnapshotExtension or folder is None or stem is None:
            return str(super().get_location(test_location=test_location, index=index))
        # Syrupy makes a path of the two, and a text of the path, though the item gives names without any `/` or `..`.
        basename = cls.get_file_basename(test_location=test_location, index=index)
        return os.path.join(folder, f"{basename}.{cls.file_extension}")  # noqa: PTH118 - see above

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        """The folder of a test's snapshots: given by the item, or syrupy's own."""
        folder = getattr(test_location.item, "snapshot_folder", None)
        return str(super().dirname(test_location=test_location) if folder is None else folder)

    @classmethod
    def discovery_dirname(cls, *, test_location: PyTestLocation) -> str:
        """The folder where syrupy looks for unused snapshots; see `discover_snapshots`."""
        if cls is not ChatPromptSnapshotExtension:
            return str(super().discovery_dirname(test_location=test_location))
        # Nothing is discovered in any folder. Syrupy asks twice for each assertion, and takes paths apart for it.
        return cls.dirname(test_location=test_location)

    @classmethod
    def get_file_basename(cls, *, test_location: PyTestLocation, index: SnapshotIndex) -> str:
        """The file name without extension: given by the item, or syrupy's own."""
        stem = getattr(test_location.item, "snapshot_stem", None)
        if stem is None:
            return str(super().get_snapshot_name(test_location=test_location, index=index))
        suffix = f"[{escaped_name(index)}]" if isinstance(index, str) else f".{index}" if index else ""
        return f"{stem}{suffix}"

    @classmethod
    def matches_test_location(cls, *, test_location: PyTestLocation, snapshot_location: str) -> bool:
        """Whether a file is a snapshot of a test, by its name."""
        stem = getattr(test_location.item, "snapshot_stem", None)
        if stem is None:
            return super().matches_test_location(test_location=test_location, snapshot_location=snapshot_location)
        return Path(snapshot_location).name.startswith(stem)

    def discover_snapshots(
        self, *, test_location: PyTestLocation, ignore_extensions: list[str] | None = None
    ) -> SnapshotCollections:
        """Report no files, so that syrupy finds none of them unused.

        Syrupy matches file names to tests by rules for Python identifiers; `unused` decides for these snapshots.
        """
        del test_location, ignore_extensions
        return SnapshotCollections()

    def read_snapshot_data_from_location(
        self, *, snapshot_location: str, snapshot_name: str, session_id: str
    ) -> str | None:
        """The text of a snapshot, with LF line breaks; `None` if there is no file."""
        del snapshot_name, session_id
        self._read = Path(snapshot_location)
        if self.read_committed is not None:
            return self.read_committed(self._read)
        if self._expected is not None:
            self._text = self._lay_out(self._expected)
            self._is_in_file = self._text.is_in(self._read)
        return _EQUAL if self._is_in_file else read_snapshot(self._read)

    def _lay_out(self, data: Any) -> SnapshotText:
        return lay_out(data if isinstance(data, dict) else {"value": data}, shared=self.shared)

    def matches(self, *, serialized_data: SerializedData, snapshot_data: SerializedData) -> bool:
        """Whether a snapshot shows what is sent: the same text, or another one with the same data."""
        stored, sent = str(snapshot_data), str(serialized_data)
        if stored == sent:
            return self.read_committed is not None or not self._is_damaged(stored)
        from pytest_chatprompt.snapshots.stored_data import shows_the_same  # noqa: PLC0415

        return not self._is_damaged(stored) and shows_the_same(stored, sent)

    def _is_damaged(self, text: str) -> bool:
        """Whether the text of a snapshot may not be what its file holds, because that is not valid UTF-8."""
        if self.read_committed is None:
            return self._read is not None and is_damaged(self._read, text)
        # What is not valid UTF-8 was read as such escapes: then the text has to be the same.
        return "\\x" in text

    @classmethod
    def write_snapshot_collection(
        cls, *, snapshot_collection: SnapshotCollection, name_order: dict[str, int] | None = None
    ) -> None:
        """Write a snapshot, replacing its file as a whole."""
        del name_order
        atomic_write(Path(snapshot_collection.location), str(next(iter(snapshot_collection)).data))
