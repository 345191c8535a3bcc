"""The value of syrupy's fixture `snapshot` for an eval item: one that syrupy learns of when somebody uses it.

An eval item comes in; a `LateAssertion` comes out, unless syrupy could find something unused in the folder of the
item's snapshots: then the fixture has to tell it to look there. `own_fixtures` calls it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.amber import AmberSnapshotExtension
from syrupy.location import PyTestLocation

from pytest_chatprompt.snapshots.late_assertion import LateAssertion
from pytest_chatprompt.snapshots.unused import holds_own_file

# Of this package's snapshots. Syrupy finds no file unused that ends so, if one of them is a snapshot of this package.
_SUFFIX: Final = ".yaml"
# Whether syrupy could find something unused, by folder.
_foreign_folders: Final = pytest.StashKey[dict[Path, bool]]()


def late_snapshot(item: pytest.Item, folder: Path) -> SnapshotAssertion | None:
    """The assertion that `snapshot` gives, but syrupy does not know it yet.

    Args:
        item: an eval item whose project does not override the fixture.
        folder: where syrupy looks for unused snapshots beside it.

    Returns:
        `None` if syrupy has to know it from the beginning.
    """
    config: Any = item.config
    option = config.option
    foreign = config.stash.setdefault(_foreign_folders, {})
    if folder not in foreign:
        foreign[folder] = bool(option.default_extension) or _holds_foreign_files(folder)
    if foreign[folder]:
        return None
    return LateAssertion(
        session=config._syrupy,
        extension_class=AmberSnapshotExtension,
        test_location=PyTestLocation(item),
        update_snapshots=option.update_snapshots,
        update_new_snapshots_only=option.update_new_snapshots_only,
    )


def _holds_foreign_files(folder: Path) -> bool:
    """Whether a folder of snapshots, or a folder in it, holds files of others; syrupy passes over hidden ones."""
    names = [name for _, _, names in os.walk(folder) for name in names if not name.startswith(".")]
    return not all(name.endswith(_SUFFIX) for name in names) or (bool(names) and not holds_own_file(folder))
