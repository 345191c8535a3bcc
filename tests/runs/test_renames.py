"""Renames: snapshots by their data, and what to call a case that had one."""

from __future__ import annotations

from pathlib import Path

from pytest_chatprompt.runs.snapshot_renames import SnapshotRenames, old_name, snapshots_by_data
from pytest_chatprompt.snapshots.layout import dump
from pytest_chatprompt.snapshots.stored import data_sha256, written_sha256


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


def test_many_exchanged_snapshots_are_counted(tmp_path: Path) -> None:
    renames = SnapshotRenames()
    for number in range(25):
        renames.note_written(tmp_path / f"{number:02}.yaml", f"a: {number}\n", f"a: {number + 1}\n")
    renames.find_written([], tmp_path)
    first, *names, last = renames.exchanged_lines(tmp_path, lists_all=False)
    assert first == "24 snapshots renamed: what each showed, another one shows now."
    assert names == [f"  {number + 1:02}.yaml, renamed to {number:02}.yaml" for number in range(20)]
    assert last == "  and 4 more (-v lists them)"
    assert len(list(renames.exchanged_lines(tmp_path, lists_all=True))) == 25


def test_a_snapshot_that_was_written_twice_counts_from_the_first_time(tmp_path: Path) -> None:
    renames = SnapshotRenames()
    renames.note_written(tmp_path / "a", "a: 1\n", "a: 2\n")
    renames.note_written(tmp_path / "a", "a: 2\n", "a: 3\n")
    renames.note_written(tmp_path / "b", None, "a: 1\n")
    other = SnapshotRenames()
    other.merge(renames.as_data())
    other.find_written([], tmp_path)
    assert list(other.exchanged_lines(tmp_path, lists_all=False)) == [
        "1 snapshot renamed: what it showed, another one shows now.",
        "  a, renamed to b",
    ]


def test_the_hash_of_a_text_as_written_is_that_of_its_data() -> None:
    for data in ({"a": "x\r\n\ty ", "b": [1.0, None, "1"]}, {"é\0": {"z": "\ud800", "a": []}}):
        assert written_sha256(dump(data)) == data_sha256(dump(data))
