"""The files of snapshots: their names, and how they are read and replaced."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from pytest_chatprompt.snapshots import files
from pytest_chatprompt.snapshots.files import (
    SnapshotFileError,
    atomic_write,
    node_name,
    read_snapshot,
    remove_snapshot,
    snapshot_stems,
)


def test_removing_the_last_snapshot_removes_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    for name in ("a[x].yaml", "b[x].yaml"):
        (folder / name).touch()
    remove_snapshot(folder / "a[x].yaml")
    assert folder.is_dir()
    remove_snapshot(folder / "b[x].yaml")
    assert not folder.exists()


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        pytest.param(Path.mkdir, "is a folder", id="a folder"),
        pytest.param(os.mkfifo, "is not a regular file", id="a pipe"),
        pytest.param(lambda path: path.symlink_to("/dev/zero"), "is not a regular file", id="a link to a device"),
        pytest.param(
            lambda path: path.symlink_to(path),
            "cannot be read: Too many levels of symbolic links",
            id="a link to itself",
        ),
    ],
)
def test_what_is_not_a_regular_file_is_an_error(make: Callable[[Path], None], reason: str, tmp_path: Path) -> None:
    make(tmp_path / "a[x].yaml")
    with pytest.raises(SnapshotFileError) as caught:
        read_snapshot(tmp_path / "a[x].yaml")
    assert str(caught.value) == reason


def test_a_file_that_is_too_large_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 1024**2)
    (tmp_path / "a[x].yaml").write_bytes(b"x" * (1024**2 + 1))
    with pytest.raises(SnapshotFileError, match="is larger than 1 MiB"):
        read_snapshot(tmp_path / "a[x].yaml")


def test_a_link_to_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "real.yaml").write_text("a: 1\r\n", newline="")
    (tmp_path / "a[x].yaml").symlink_to(tmp_path / "real.yaml")
    assert read_snapshot(tmp_path / "a[x].yaml") == "a: 1\n"
    assert read_snapshot(tmp_path / "b[x].yaml") is None


def test_two_processes_that_write_a_file_at_once_both_write_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, replace = tmp_path / "a[x].yaml", Path.replace

    def replace_late(temporary: Path, target: Path) -> Path:
        with monkeypatch.context() as other_process:
            other_process.setattr(Path, "replace", replace)
            other_process.setattr(os, "getpid", lambda: -1)
            atomic_write(path, "theirs")
        return replace(temporary, target)

    monkeypatch.setattr(Path, "replace", replace_late)
    atomic_write(path, "ours")
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    assert path.read_text() == "ours"


@pytest.mark.parametrize(
    ("case_id", "name"),
    [
        pytest.param("review-loop", "review-loop", id="an ordinary id"),
        pytest.param("a b/c [d] ü:e", "a b/c [d] ü:e", id="characters that node ids allow"),
        pytest.param("a::b", "a%3A%3Ab", id="the separator of node ids"),
        pytest.param("a\nb\x1b", "a%0Ab%1B", id="control characters"),
        pytest.param("a%3A%3Ab", "a%253A%253Ab", id="an id that looks percent-encoded"),
    ],
)
def test_a_node_name_is_the_id_with_forbidden_characters_encoded(case_id: str, name: str) -> None:
    assert node_name(case_id) == name


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        pytest.param(("review-loop", "anthropic"), "review-loop[anthropic]", id="an ordinary id"),
        pytest.param(("Grüße 1", "azure-hot"), "Grüße 1[azure-hot]", id="blanks, accents, parameters"),
        pytest.param(("a/b:c", "x"), "a%2Fb%3Ac[x]", id="characters that file systems refuse"),
        pytest.param(("a[b]", "x[1]"), "a%5Bb%5D[x%5B1%5D]", id="brackets"),
        pytest.param((".hidden", "x"), "%2Ehidden[x]", id="a leading dot"),
    ],
)
def test_a_stem_is_id_and_label_with_forbidden_characters_encoded(name: tuple[str, str], stem: str) -> None:
    assert snapshot_stems([name]) == (stem,)


def test_a_name_that_differs_from_another_only_in_case_gets_a_digest() -> None:
    stems = snapshot_stems([("Case", "x"), ("case", "x"), ("other", "x")])
    assert re.fullmatch(r"Case~[0-9a-f]{12}\[x\]", stems[0])
    assert stems[1:] == ("case[x]", "other[x]")


def test_ids_that_differ_only_in_case_get_the_same_stems_for_any_providers() -> None:
    together = snapshot_stems([("A", "openai"), ("a", "openai")])
    apart = snapshot_stems([("A", "openai"), ("a", "azure")])
    assert together[0] == apart[0] != "A[openai]"
    assert apart[1] == "a[azure]"
    assert snapshot_stems([("a", "Hot"), ("a", "hot")])[1] == "a[hot]"


def test_a_long_name_is_truncated_and_gets_a_digest() -> None:
    first, second = snapshot_stems([("a" * 300 + "1", "x"), ("a" * 300 + "2", "x")])
    assert first != second
    assert re.fullmatch(r"a+~[0-9a-f]{12}\[x\]", first)
    assert len(first.encode()) <= 200
    (long_label,) = snapshot_stems([("ü" * 300, "é" * 300)])
    assert long_label.endswith("]")
    assert len(long_label.encode()) <= 200


@given(st.lists(st.tuples(st.text(min_size=1), st.sampled_from(["x", "X", "y-1"])), unique=True, max_size=8))
def test_two_names_never_share_a_file_on_any_file_system(names: list[tuple[str, str]]) -> None:
    stems = snapshot_stems(names)
    assert len({unicodedata.normalize("NFC", stem).casefold() for stem in stems}) == len(names)
    assert not any(re.search(r'[<>:"/\\|?*\x00-\x1f]', stem) for stem in stems)
    assert all(len(f"{stem}.yaml".encode()) <= 255 for stem in stems)


@given(st.lists(st.text(min_size=1), unique=True, max_size=8))
def test_two_ids_never_share_a_node_name(ids: list[str]) -> None:
    names = [node_name(case_id) for case_id in ids]
    assert len(set(names)) == len(ids)
    assert not any("::" in name or "\n" in name for name in names)
