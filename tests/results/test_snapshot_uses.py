"""What the runs of shards know together of the snapshots of their files."""

from __future__ import annotations

import itertools

import pytest

from pytest_chatprompt.results.records import (
    SnapshotUses,
    gone_snapshots,
    merge_uses,
    unsettled_files,
    unused_snapshots,
)


def uses(path: str, left_out: str, unused: str) -> SnapshotUses:
    names = tuple(unused.split())
    return SnapshotUses(path=path, left_out=tuple(left_out.split()), unused=names, gone=names[-1:])


SHARDS = (
    uses("a", "y z", "y.yaml z.yaml gone.yaml"),
    uses("a", "x z", "x.yaml z.yaml gone.yaml"),
    uses("a", "x y", "x.yaml y.yaml gone.yaml"),
)


@pytest.mark.parametrize("shards", list(itertools.permutations(SHARDS)))
def test_a_snapshot_is_unused_if_no_shard_uses_it_in_whatever_order_they_are_merged(
    shards: tuple[SnapshotUses, ...],
) -> None:
    merged = merge_uses(shards)
    assert merged == (uses("a", "", "gone.yaml"),)
    assert unused_snapshots(merged) == gone_snapshots(merged) == ["gone.yaml"]
    assert unsettled_files(merged) == []
    # A merged report can be merged again.
    assert merge_uses((*merge_uses(shards[:2]), *merge_uses(shards[2:]))) == merged


def test_while_a_test_is_in_no_shard_nothing_of_its_file_is_unused() -> None:
    merged = merge_uses(SHARDS[:2])
    assert merged == (uses("a", "z", "z.yaml gone.yaml"),)
    assert unused_snapshots(merged) == gone_snapshots(merged) == []
    assert unsettled_files(merged) == list(merged)


def test_a_file_whose_left_out_tests_have_no_snapshot_yet_is_not_worth_a_word() -> None:
    assert unsettled_files([uses("a", "x", "")]) == []


def test_files_are_settled_each_by_itself_and_those_that_are_used_whole_have_no_record() -> None:
    merged = merge_uses((uses("b", "", "b.yaml"), uses("c", "x", "x.yaml"), uses("c", "y", "y.yaml"), *SHARDS[:1]))
    assert [each.path for each in merged] == ["a", "b"]
    assert unused_snapshots(merged) == ["b.yaml"]
    assert merge_uses(()) == ()
