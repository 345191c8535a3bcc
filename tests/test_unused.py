"""Which snapshots are unused."""

from __future__ import annotations

from pathlib import Path

from pytest_chatprompt.unused import remove, unused_snapshots


def written(folder: Path, *names: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).touch()


def test_a_snapshot_without_a_name_that_accounts_for_it_is_unused(tmp_path: Path) -> None:
    written(tmp_path, "a[azure].yaml", "a[gemini].yaml", "b[azure].yaml")
    unused = unused_snapshots(tmp_path, ["a[azure]"])
    assert [path.name for path in unused] == ["a[gemini].yaml", "b[azure].yaml"]


def test_second_assertions_belong_to_the_first_ones_name(tmp_path: Path) -> None:
    written(tmp_path, "a[azure].1.yaml", "a[azure][named].yaml", "b[azure].1.yaml")
    assert [path.name for path in unused_snapshots(tmp_path, ["a[azure]"])] == ["b[azure].1.yaml"]


def test_other_files_are_nobodys_to_judge(tmp_path: Path) -> None:
    written(tmp_path, "notes.yaml", "x[azure].json", "x[azure].ambr", ".123-x[azure].yaml")
    assert unused_snapshots(tmp_path, []) == []


def test_a_name_in_other_case_or_accents_may_be_the_same_file(tmp_path: Path) -> None:
    written(tmp_path, "Case[azure].yaml", "e\u0301[azure].yaml")
    assert unused_snapshots(tmp_path, ["case[azure]", "é[azure]"]) == []


def test_a_folder_that_is_not_there_holds_none(tmp_path: Path) -> None:
    assert unused_snapshots(tmp_path / "gone", []) == []


def test_the_last_removed_snapshot_takes_its_folder_along(tmp_path: Path) -> None:
    written(tmp_path / "s", "a[x].yaml", "b[x].yaml")
    remove(tmp_path / "s" / "a[x].yaml")
    assert (tmp_path / "s").is_dir()
    remove(tmp_path / "s" / "b[x].yaml")
    assert not (tmp_path / "s").exists()
