"""Which snapshots of an eval file are unused."""

from __future__ import annotations

from pathlib import Path

from pytest_chatprompt.snapshots.unused import unused_snapshots


def create_files(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).touch()


def test_a_snapshot_whose_name_is_not_defined_is_unused(tmp_path: Path) -> None:
    create_files(tmp_path, "a[azure].yaml", "a[gemini].yaml", "b[azure].yaml")
    unused = unused_snapshots(tmp_path, ["a[azure]"])
    assert [path.name for path in unused] == ["a[gemini].yaml", "b[azure].yaml"]


def test_further_assertions_of_a_case_are_used_if_the_case_is_defined(tmp_path: Path) -> None:
    create_files(tmp_path, "a[azure].1.yaml", "a[azure][named].yaml", "b[azure].1.yaml")
    assert [path.name for path in unused_snapshots(tmp_path, ["a[azure]"])] == ["b[azure].1.yaml"]


def test_files_that_are_not_snapshots_are_never_unused(tmp_path: Path) -> None:
    create_files(tmp_path, "notes.yaml", "x[azure].json", "x[azure].ambr", ".123-x[azure].yaml")
    assert unused_snapshots(tmp_path, []) == []


def test_a_name_that_differs_in_case_or_encoding_of_accents_is_in_use(tmp_path: Path) -> None:
    create_files(tmp_path, "Case[azure].yaml", "e\u0301[azure].yaml")
    assert unused_snapshots(tmp_path, ["case[azure]", "é[azure]"]) == []


def test_a_missing_folder_has_no_unused_snapshots(tmp_path: Path) -> None:
    assert unused_snapshots(tmp_path / "gone", []) == []
