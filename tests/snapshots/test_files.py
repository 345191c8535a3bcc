"""Files of snapshots: deleted together with their folder."""

from __future__ import annotations

from pathlib import Path

from pytest_chatprompt.snapshots.files import remove_snapshot


def test_removing_the_last_snapshot_removes_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    for name in ("a[x].yaml", "b[x].yaml"):
        (folder / name).touch()
    remove_snapshot(folder / "a[x].yaml")
    assert folder.is_dir()
    remove_snapshot(folder / "b[x].yaml")
    assert not folder.exists()
