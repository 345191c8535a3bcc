"""The reports of shards as the report of one run."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt.report_commands import MergeError, merge_runs
from pytest_chatprompt.reports.run_commands import accept_all
from pytest_chatprompt.results.records import RunResults, SnapshotResult
from tests.reports.results import answered


def shard(number: int, *command: str, **more: Any) -> RunResults:
    return RunResults(command=command, results=(answered(f"c{number}"),), **more)


def test_all_results_are_in_the_merged_run_in_the_order_of_the_shards() -> None:
    merged = merge_runs([("b", shard(2)), ("a", shard(1)), ("c", RunResults())])
    assert [result.case_id for result in merged.results] == ["c2", "c1"]
    assert merged == RunResults(results=merged.results)


def test_a_command_that_all_shards_share_is_that_of_the_merged_run() -> None:
    shards = [shard(number, "evals", "--chatprompt-live", f"--chatprompt-report={number}.json") for number in range(2)]
    merged = merge_runs([(f"{number}.json", run) for number, run in enumerate(shards)])
    assert merged.command == ("evals", "--chatprompt-live")
    assert merged.shards == ()
    assert accept_all(merged, merged.results) == "pytest evals --snapshot-update"


def test_of_different_commands_the_options_that_decide_what_is_sent_are_kept_and_cases_are_named() -> None:
    differing = SnapshotResult(path="s", state="new")
    shards = [
        shard(number, "-k", f"c{number}", "--rootdir", "x", "--chatprompt-live", is_live=number == 1, folder="evals")
        for number in range(2)
    ]
    merged = merge_runs([(f"{number}.json", run) for number, run in enumerate(shards)])
    assert merged.command == ("--rootdir", "x", "--chatprompt-live")
    assert merged.shards == tuple(run.command for run in shards)
    assert (merged.is_live, merged.folder) == (True, "evals")
    results = [result.model_copy(update={"snapshot": differing}) for result in merged.results]
    assert accept_all(merged, results) == (
        "pytest '../a.eval.yaml::c0[openai]' '../a.eval.yaml::c1[openai]' --rootdir x --snapshot-update"
    )
    # Merged once more, with one that was started elsewhere and with other options.
    again = merge_runs([("all.json", merged), ("2.json", shard(2, "-c", "y.ini"))])
    assert again.shards == (*merged.shards, ("-c", "y.ini"))
    assert (again.command, again.folder) == ((), ".")


def test_a_test_in_two_shards_is_a_conflict_whatever_it_came_to() -> None:
    one = RunResults(results=tuple(answered(f"c{number}") for number in range(7)))
    with pytest.raises(MergeError) as conflict:
        merge_runs([("a.json", one), ("b.json", one)])
    lines = str(conflict.value).splitlines()
    assert lines[0] == ("7 tests are in more than one report; merge reports of shards, each of which ran other tests:")
    assert lines[1] == "  a.eval.yaml::c0[openai] in a.json and b.json"
    assert lines[6:] == ["  and 2 more"]
    with pytest.raises(MergeError, match=r"^a test is in more than one report; .*\n  a\.eval\.yaml::c1"):
        merge_runs([("a.json", shard(1)), ("b.json", shard(1))])
    # A report that has a test twice is of a run that ran it twice.
    twice = RunResults(results=(answered("x", outcome="failed"), answered("x")))
    assert len(merge_runs([("a.json", twice)]).results) == 2


def test_runs_that_compared_with_different_snapshots_are_not_merged() -> None:
    with pytest.raises(MergeError) as conflict:
        merge_runs([("a.json", shard(1, against="main")), ("b.json", shard(2))])
    assert str(conflict.value) == (
        "the reports compare with different snapshots: a.json with main, b.json with the files on disk"
    )
