"""What `merge` prints of unused snapshots."""

from __future__ import annotations

from pathlib import Path

from pytest_chatprompt.report_commands import removal_lines, unsettled_lines, unused_lines
from pytest_chatprompt.results.records import SnapshotUses
from pytest_chatprompt.snapshots.unused import Removal

HINT = "Merge with {} in pytest's root folder to remove {}."


def test_unused_snapshots_are_named_with_what_removes_them() -> None:
    assert list(unused_lines(["a.yaml"], ["a.yaml"])) == [
        "1 snapshot unused: no test of these reports uses it.",
        "  a.yaml",
        HINT.format("--snapshot-update", "it"),
    ]
    first, *_, last = unused_lines(["a.yaml", "b.yaml"], ["a.yaml"])
    assert first == "2 snapshots unused: no test of these reports uses them."
    assert last == HINT.format("--chatprompt-remove-unused", "them")
    assert list(unused_lines([], [])) == []


def test_removed_moved_and_kept_ones_are_told_apart(tmp_path: Path) -> None:
    a, b, c, d, e = (tmp_path / name for name in "abcde")
    assert list(removal_lines(Removal((a, b), (), (c,), ((d, e),)), tmp_path)) == [
        "2 snapshots removed: no test of these reports uses them.",
        "  a",
        "  b",
        "Its requests are sent by another test now: moved d to e",
        "Its requests are still sent, or it cannot be read: kept c",
    ]
    assert list(removal_lines(Removal(), tmp_path)) == []


def test_files_that_no_reports_have_whole_are_one_line_with_an_example() -> None:
    files = [SnapshotUses(path=path, left_out=("x", "y"), unused=("x.yaml",)) for path in ("a.eval.yaml", "b.py")]
    assert list(unsettled_lines(files)) == [
        "The unused snapshots of 2 files are not known: 4 tests ran in none of these reports, "
        "or did not pass, such as a.eval.yaml::x"
    ]
    (line,) = unsettled_lines([files[0].model_copy(update={"left_out": ("x",)})])
    assert line.startswith("The unused snapshots of 1 file are not known: 1 test ran in none of these reports, ")
    assert list(unsettled_lines([])) == []
