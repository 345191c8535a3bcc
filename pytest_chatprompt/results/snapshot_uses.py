"""Snapshot uses: which snapshots the tests of a run did not use, and which tests it left out.

A shard that selects a part of a file cannot call a snapshot unused: another shard may use it. What all shards know
together, they can.
"""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict


class SnapshotUses(BaseModel):
    """What a run did not use of the snapshots of one file.

    Args:
        path: of the eval file or the module, relative to pytest's root folder.
        left_out: the tests of the file without which nothing of it can be called unused, by what follows `path::` in
            their node ids: cases that were not selected, or whose provider is not known; tests that did not pass.
        unused: the snapshots and recordings of the file that no selected test uses, relative to the root folder.
        gone: the snapshots among them whose case, provider or row an eval file no longer defines.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    left_out: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


def merge_uses(uses: Iterable[SnapshotUses]) -> tuple[SnapshotUses, ...]:
    """What several runs together know: a test was left out, and a snapshot is unused, if that holds in each of them.

    Args:
        uses: of all runs. A run has no record of a file of which it selected no test.

    Returns:
        One record for each file, in the order of their paths; none for a file of which every test was selected and
        every snapshot is used.
    """
    by_path: dict[str, SnapshotUses] = {}
    for each in uses:
        first = by_path.setdefault(each.path, each)
        if first is not each:
            by_path[each.path] = SnapshotUses(
                path=each.path,
                left_out=_in_both(first.left_out, each.left_out),
                unused=_in_both(first.unused, each.unused),
                gone=_in_both(first.gone, each.gone),
            )
    return tuple(each for _, each in sorted(by_path.items()) if each.left_out or each.unused)


def unused_snapshots(uses: Iterable[SnapshotUses]) -> list[str]:
    """The snapshots and recordings that nothing uses, of the files of which no test was left out; sorted paths."""
    return sorted(path for each in uses if not each.left_out for path in each.unused)


def gone_snapshots(uses: Iterable[SnapshotUses]) -> list[str]:
    """Those of `unused_snapshots` whose case, provider or row is gone."""
    return sorted(path for each in uses if not each.left_out for path in each.gone)


def unsettled_files(uses: Iterable[SnapshotUses]) -> list[SnapshotUses]:
    """The files of which some test was left out, and that have snapshots that no selected test uses."""
    return [each for each in uses if each.left_out and each.unused]


def _in_both(one: Iterable[str], other: Iterable[str]) -> tuple[str, ...]:
    others = set(other)
    return tuple(name for name in one if name in others)
