"""Which files in a folder of snapshots are this plugin's."""

from __future__ import annotations

from pathlib import Path

from pytest_chatprompt.snapshots.unused import is_written_file, unused_test_snapshots


def test_files_are_known_by_their_names_and_first_keys(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("requests:\n")
    (tmp_path / "b.yaml").write_text("value: 1\n")
    (tmp_path / "c.yaml").mkdir()
    names = ["a.yaml", "b.yaml", "c.yaml", "d[x].yaml", "e.recording.yaml"]
    assert [is_written_file(tmp_path / name) for name in names] == [True, False, False, True, True]


def test_temporary_files_are_not_unused(tmp_path: Path) -> None:
    (tmp_path / ".1-a.yaml").write_text("requests:\n")
    (tmp_path / "b.yaml").write_text("requests:\n")
    assert unused_test_snapshots(tmp_path, (), ()) == [tmp_path / "b.yaml"]
    assert unused_test_snapshots(tmp_path / "none", (), ()) == []
