"""Lines about unused snapshots: what `merge` prints of the snapshots that no shard uses."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Final

from pytest_chatprompt.results.snapshot_uses import SnapshotUses
from pytest_chatprompt.snapshots.unused_removal import Removal
from pytest_chatprompt.wording import count, shown_path

_NO_TEST: Final = "no test of these reports uses"


def unused_lines(names: Sequence[str], gone: Collection[str]) -> Iterator[str]:
    """The lines about snapshots that are unused; nothing for none.

    Args:
        names: of them.
        gone: those of them that `--snapshot-update` removes.
    """
    yield from _listed(names, "unused")
    if names:
        option = "--snapshot-update" if gone and len(gone) == len(names) else "--chatprompt-remove-unused"
        yield f"Merge with {option} in pytest's root folder to remove {'it' if len(names) == 1 else 'them'}."


def removal_lines(removal: Removal, root: Path) -> Iterator[str]:
    """The lines about unused snapshots that were removed, moved or kept; nothing for none.

    Args:
        removal: of a merge.
        root: pytest's root folder.
    """
    yield from _listed([shown_path(path, root) for path in removal.removed], "removed")
    for old, new in removal.moved:
        yield f"Its requests are sent by another test now: moved {shown_path(old, root)} to {shown_path(new, root)}"
    for path in removal.kept:
        yield f"Its requests are still sent, or it cannot be read: kept {shown_path(path, root)}"


def unsettled_lines(files: Sequence[SnapshotUses]) -> Iterator[str]:
    """The line about files of which no report has some test; nothing for none."""
    if files:
        first = files[0]
        tests = count(sum(len(each.left_out) for each in files), "test")
        yield (
            f"The unused snapshots of {count(len(files), 'file')} are not known: {tests} ran in none of these reports, "
            f"or did not pass, such as {first.path}::{first.left_out[0]}"
        )


def _listed(names: Sequence[str], state: str) -> Iterator[str]:
    if names:
        yield f"{count(len(names), 'snapshot')} {state}: {_NO_TEST} {'it' if len(names) == 1 else 'them'}."
    yield from (f"  {name}" for name in names)
