"""Lines about unused snapshots: what `merge` prints of the snapshots that no shard uses.

Names of snapshots and records of files come in; lines come out. Pure; the command line prints them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from pytest_chatprompt.results.snapshot_uses import SnapshotUses
from pytest_chatprompt.snapshots.unused_removal import Removal
from pytest_chatprompt.wording import count

_NO_TEST: Final = "no test of these reports uses"


def unused_lines(names: Sequence[str]) -> Iterator[str]:
    """The lines about snapshots that are unused.

    Args:
        names: of them, at least one.
    """
    yield _headline(names, "unused")
    yield from (f"  {name}" for name in names)
    yield "Merge with --snapshot-update in pytest's root folder to remove them."


def removal_lines(removal: Removal) -> Iterator[str]:
    """The lines about unused snapshots that were removed or moved; nothing for none."""
    if removal.removed:
        yield _headline(removal.removed, "removed")
        yield from (f"  {name}" for name in removal.removed)
    for old, new in removal.moved:
        yield f"Its requests are sent by another test now: moved {old} to {new}"
    for name in removal.kept:
        yield f"Its requests are still sent, or it cannot be read: kept {name}"


def unsettled_lines(files: Sequence[SnapshotUses]) -> Iterator[str]:
    """The line about files of which no report has some test; nothing for none."""
    if files:
        first = files[0]
        tests = count(sum(len(each.left_out) for each in files), "test")
        verb = "is" if tests == "1 test" else "are"
        yield (
            f"The unused snapshots of {count(len(files), 'file')} are not known: {tests} {verb} in none of these "
            f"reports, such as {first.path}::{first.left_out[0]}"
        )


def _headline(names: Sequence[str], state: str) -> str:
    return f"{count(len(names), 'snapshot')} {state}: {_NO_TEST} {'it' if len(names) == 1 else 'them'}."
