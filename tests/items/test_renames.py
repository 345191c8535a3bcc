"""Renames: snapshots by their data, and what to call a case that had one."""

from __future__ import annotations

from pathlib import Path

from pytest_chatprompt.items.renames import old_name, snapshots_by_data
from pytest_chatprompt.snapshots.comparison import data_sha256


def test_snapshots_are_found_by_their_data_and_recordings_are_none(tmp_path: Path) -> None:
    texts = {"a[x].yaml": "a: 1\n", "b[x].yaml": "{a: 1}", "c[x].yaml": "{broken", "d.recording.yaml": "a: 2\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "folder[x].yaml").mkdir()
    names = [*texts, "folder[x].yaml", "gone[x].yaml"]
    assert snapshots_by_data([tmp_path / name for name in names]) == {
        data_sha256("a: 1\n"): tmp_path / "a[x].yaml",
        data_sha256("{broken"): tmp_path / "c[x].yaml",
    }


def test_a_case_is_called_by_its_id_and_by_its_bracket_if_that_differs() -> None:
    assert old_name(Path("a%2Fb[azure].yaml"), "new[azure]") == "a/b"
    assert old_name(Path("qa[azure-one].yaml"), "qa[azure-two]") == "qa[azure-one]"
    assert old_name(Path("test_it.yaml"), "test_new") == "test_it"
