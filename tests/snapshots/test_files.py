"""Files of snapshots: read within bounds, written as a whole, deleted together with their folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_chatprompt.snapshots import files
from pytest_chatprompt.snapshots.files import (
    SnapshotFileError,
    read_snapshot,
    remove_snapshot,
    remove_temporary_files,
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


def test_temporary_files_of_processes_that_ended_are_deleted(tmp_path: Path) -> None:
    process = os.posix_spawn("/bin/true", ["true"], {})
    os.waitpid(process, 0)
    stale = tmp_path / f".{process}-a[x].yaml"
    impossible = tmp_path / f".{10**30}-a[x].yaml"
    kept = [
        tmp_path / f".{os.getpid()}-a[x].yaml",
        tmp_path / ".1-b[x].yaml",
        tmp_path / ".hidden.yaml",
        tmp_path / "c[x].yaml",
    ]
    for path in (stale, impossible, *kept):
        path.touch()
    remove_temporary_files(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(kept)
    remove_temporary_files(tmp_path / "missing")


def test_a_process_of_somebody_else_counts_as_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    path = tmp_path / ".77-a[x].yaml"
    path.touch()
    monkeypatch.setattr(os, "kill", refuse)
    remove_temporary_files(tmp_path)
    assert path.exists()
