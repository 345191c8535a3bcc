"""Shards: whether a run is one of several, and what it knows of unused snapshots for the run that they are together.

The configuration, eval files and the notes about ordinary tests come in; records come out, as data that a worker of
pytest-xdist can send. A report has them as `SnapshotUses`. `unused_snapshots` calls it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

import pytest

from pytest_chatprompt.items.file import EvalFile
from pytest_chatprompt.items.own_snapshot_uses import OwnSnapshotUses
from pytest_chatprompt.snapshots.unused import unused_snapshots
from pytest_chatprompt.wording import shown_path

# The files of tests, each with what `left_out` and `unused` of its `SnapshotUses` are.
Uses = dict[str, dict[str, list[str]]]


def is_shard(config: pytest.Config) -> bool:
    """Whether pytest-split (`--splits`) or pytest-shard (`--num-shards`) gave this run a part of the tests."""
    return bool(config.getoption("splits", None)) or (config.getoption("num_shards", None) or 1) > 1


def uses_of_eval_files(files: Iterable[tuple[EvalFile, Collection[str]]], root: Path) -> Uses:
    """What the run did not use of the snapshots of eval files.

    Args:
        files: each with the node ids of the items that were selected.
        root: pytest's root folder.
    """
    uses: Uses = {}
    for file, selected in files:
        if file.is_complete:
            unused = unused_snapshots(file.snapshot_folder, file.stems)
            uses[file.nodeid] = _uses(file.nodeid, file.node_ids.difference(selected), unused, root)
    return uses


def uses_of_modules(own_uses: OwnSnapshotUses, root: Path) -> Uses:
    """What the run did not use of the snapshots of ordinary tests.

    Args:
        own_uses: what these tests did, in all processes.
        root: pytest's root folder.
    """
    return {path: _uses(path, left_out, unused, root) for path, left_out, unused in own_uses.find_uses()}


def _uses(path: str, left_out: Iterable[str], unused: Iterable[Path], root: Path) -> dict[str, list[str]]:
    names = sorted(node_id.removeprefix(f"{path}::") for node_id in left_out)
    return {"left_out": names, "unused": [shown_path(each, root) for each in unused]}


def existing_uses(uses: Uses, root: Path) -> Uses:
    """The same without snapshots that are gone: an update has removed or moved them."""
    return {
        path: {**each, "unused": [name for name in each["unused"] if (root / name).exists()]}
        for path, each in uses.items()
    }


def keep_for_reports(config: pytest.Config, uses: Uses) -> None:
    """Hand the records over to the reports of the run."""
    # Only a run that writes reports needs pydantic for them.
    from pytest_chatprompt.reports.report_files import snapshot_uses_key  # noqa: PLC0415
    from pytest_chatprompt.results.snapshot_uses import SnapshotUses, merge_uses  # noqa: PLC0415

    config.stash[snapshot_uses_key] = merge_uses(
        SnapshotUses(path=path, left_out=tuple(each["left_out"]), unused=tuple(each["unused"]))
        for path, each in uses.items()
    )
