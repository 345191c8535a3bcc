"""The syrupy extension: one YAML file for each case and provider.

Data of `payload` comes in; the file is laid out as syrupy's single-file snapshots are, under the
name that the item has for it. Files are replaced whole. What is unused is not syrupy's to say: its matching
of names is made for Python identifiers, so this extension tells it of no file, and `unused` decides.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from syrupy.data import SnapshotCollection, SnapshotCollections
from syrupy.extensions.base import AbstractSyrupyExtension
from syrupy.extensions.single_file import SingleFileSnapshotExtension
from syrupy.location import PyTestLocation
from syrupy.types import SnapshotIndex

from pytest_chatprompt.snapshot_yaml import dump


class ChatPromptSnapshotExtension(SingleFileSnapshotExtension):
    """Exact and readable YAML, one file for each assertion."""

    file_extension = "yaml"

    def serialize(self, data: Any, **_: Any) -> str:
        """Write data as the text of a snapshot."""
        return dump(data) if isinstance(data, dict) else dump({"value": data})

    @classmethod
    def get_snapshot_name(cls, *, test_location: PyTestLocation, index: SnapshotIndex = 0) -> str:
        """The name by which syrupy's report calls it."""
        return AbstractSyrupyExtension.get_snapshot_name(test_location=test_location, index=index)

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        """The folder: the eval file's, which knows it, or for an ordinary test what syrupy makes of it."""
        folder = getattr(test_location.item, "snapshot_folder", None)
        return str(super().dirname(test_location=test_location) if folder is None else folder)

    @classmethod
    def get_file_basename(cls, *, test_location: PyTestLocation, index: SnapshotIndex) -> str:
        """The file's name without extension: the item's own, or for an ordinary test what syrupy makes of it."""
        stem = getattr(test_location.item, "snapshot_stem", None)
        if stem is None:
            return str(super().get_snapshot_name(test_location=test_location, index=index))
        suffix = f"[{index}]" if isinstance(index, str) else f".{index}" if index else ""
        return f"{stem}{suffix}"

    @classmethod
    def matches_test_location(cls, *, test_location: PyTestLocation, snapshot_location: str) -> bool:
        """Whether a file holds a snapshot of a test."""
        stem = getattr(test_location.item, "snapshot_stem", None)
        if stem is None:
            return super().matches_test_location(test_location=test_location, snapshot_location=snapshot_location)
        return Path(snapshot_location).name.startswith(stem)

    def discover_snapshots(
        self, *, test_location: PyTestLocation, ignore_extensions: list[str] | None = None
    ) -> SnapshotCollections:
        """Nothing: see the head of this module."""
        del test_location, ignore_extensions
        return SnapshotCollections()

    def read_snapshot_data_from_location(
        self, *, snapshot_location: str, snapshot_name: str, session_id: str
    ) -> str | None:
        """The text of a snapshot, whatever line breaks a checkout gave it; `None` if there is none."""
        del snapshot_name, session_id
        return saved_text(Path(snapshot_location))

    @classmethod
    def write_snapshot_collection(
        cls, *, snapshot_collection: SnapshotCollection, name_order: dict[str, int] | None = None
    ) -> None:
        """Write a snapshot beside its file and rename it, so that the file is the old or the new one, never half."""
        del name_order
        write_whole(Path(snapshot_collection.location), str(next(iter(snapshot_collection)).data))


def saved_text(path: Path) -> str | None:
    """The text of a snapshot's file, whatever line breaks a checkout gave it; `None` if there is none."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    return content.decode(errors="backslashreplace").replace("\r\n", "\n")


def write_whole(path: Path, text: str) -> None:
    """Write a file beside itself and rename it, so that it is the old or the new one, never half."""
    beside = path.with_name(f".{os.getpid()}-{path.name}")
    try:
        beside.write_bytes(text.encode())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
