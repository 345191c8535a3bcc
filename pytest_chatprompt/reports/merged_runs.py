"""Merged runs: the reports of the shards of a run, as the report of one run.

Several `RunResults` come in; one comes out. Pure; the command line reads and writes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pytest_chatprompt.reports.run_commands import common_words, without_report
from pytest_chatprompt.results.run_results import RunResults
from pytest_chatprompt.results.snapshot_uses import merge_uses

_SHOWN: Final = 5


class MergeError(Exception):
    """What cannot be merged; the text says why."""


def merge_runs(runs: Sequence[tuple[str, RunResults]]) -> RunResults:
    """Merge the runs of shards.

    Args:
        runs: each with the name of its file, at least one.

    Returns:
        A run with all of their results, in the order of the shards, and with the snapshots that none of them uses.

    Raises:
        MergeError: a test is in several of them, or they compared with different snapshots.
    """
    first: dict[str, str] = {}
    twice: dict[str, tuple[str, str]] = {}
    for name, run in runs:
        for node_id in {result.node_id: None for result in run.results}:
            if node_id in first:
                twice[node_id] = first[node_id], name
            first[node_id] = name
    if twice:
        raise MergeError(_about_twice(twice))
    if len({run.against for _, run in runs}) > 1:
        compared = ", ".join(f"{name} with {run.against or 'the files on disk'}" for name, run in runs)
        raise MergeError(f"the reports compare with different snapshots: {compared}")
    # A report may be that of shards itself.
    commands = [command for _, run in runs for command in (run.shards or (run.command,))]
    is_one = len({tuple(without_report(command)) for command in commands}) == 1
    folders = {run.folder for _, run in runs}
    return RunResults(
        command=common_words(commands),
        shards=() if is_one else tuple(commands),
        folder=folders.pop() if len(folders) == 1 else ".",
        is_live=any(run.is_live for _, run in runs),
        against=runs[0][1].against,
        results=tuple(result for _, run in runs for result in run.results),
        snapshots=merge_uses(each for _, run in runs for each in run.snapshots),
    )


def _about_twice(twice: Mapping[str, tuple[str, str]]) -> str:
    shown = [f"{node_id} in {one} and {other}" for node_id, (one, other) in list(twice.items())[:_SHOWN]]
    more = [f"and {len(twice) - _SHOWN} more"] if len(twice) > _SHOWN else []
    tests = "a test is" if len(twice) == 1 else f"{len(twice)} tests are"
    return "\n  ".join(
        (f"{tests} in more than one report; merge reports of shards, each of which ran other tests:", *shown, *more)
    )
