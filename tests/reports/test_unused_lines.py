"""What `merge` prints of unused snapshots."""

from __future__ import annotations

from pytest_chatprompt.reports.unused_lines import removal_lines, unsettled_lines, unused_lines
from pytest_chatprompt.results.snapshot_uses import SnapshotUses
from pytest_chatprompt.snapshots.unused_removal import Removal

HINT = "Merge with --snapshot-update in pytest's root folder to remove them."


def test_unused_snapshots_are_named_with_what_removes_them() -> None:
    assert list(unused_lines(["a.yaml"])) == ["1 snapshot unused: no test of these reports uses it.", "  a.yaml", HINT]
    assert next(unused_lines(["a.yaml", "b.yaml"])) == "2 snapshots unused: no test of these reports uses them."


def test_removed_moved_and_kept_ones_are_told_apart() -> None:
    assert list(removal_lines(Removal(("a", "b"), ("c",), (("d", "e"),)))) == [
        "2 snapshots removed: no test of these reports uses them.",
        "  a",
        "  b",
        "Its requests are sent by another test now: moved d to e",
        "Its requests are still sent, or it cannot be read: kept c",
    ]
    assert list(removal_lines(Removal((), (), ()))) == []


def test_files_that_no_reports_have_whole_are_one_line_with_an_example() -> None:
    files = [SnapshotUses(path=path, left_out=("x", "y"), unused=("x.yaml",)) for path in ("a.eval.yaml", "b.py")]
    assert list(unsettled_lines(files)) == [
        "The unused snapshots of 2 files are not known: 4 tests are in none of these reports, such as a.eval.yaml::x"
    ]
    (line,) = unsettled_lines([files[0].model_copy(update={"left_out": ("x",)})])
    assert line.startswith("The unused snapshots of 1 file are not known: 1 test is in none of these reports, ")
    assert list(unsettled_lines([])) == []
