"""Text files: what is read, and what is refused."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from pytest_chatprompt.text.files import (
    MAX_BYTES,
    TextFileError,
    read_regular_file,
    read_text,
)
from tests.media import PNG


def test_text_is_decoded_as_utf8_without_the_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes("\ufeffä\r\n".encode())
    assert read_text(path, Path("/")) == "ä\r\n"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        pytest.param("/dev/zero", "is not a regular file", id="an endless device"),
        pytest.param("/dev/null", "is not a regular file", id="an empty device"),
        pytest.param("/", "is a folder; name a file in it", id="a folder"),
        pytest.param("/nowhere", "cannot be read: No such file or directory", id="a missing file"),
    ],
)
def test_a_path_that_is_not_a_regular_file_is_refused(path: str, reason: str) -> None:
    with pytest.raises(TextFileError) as caught:
        read_text(Path(path), Path("/"))
    assert (str(caught.value), caught.value.line, caught.value.column) == (reason, 1, 1)


def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TextFileError, match="is not a regular file"):
        read_text(tmp_path / "pipe", Path("/"))


def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(TextFileError, match="is larger than 20 MiB"):
        read_text(path, Path("/"))


def test_a_file_without_a_size_is_read_no_further_than_the_limit() -> None:
    # The files in /proc report no size; the limit is below the length of one of them.
    with pytest.raises(TextFileError, match="is larger than"):
        read_text(Path("/proc/self/status"), Path("/"), 10)


def test_of_a_file_that_hides_its_size_no_more_than_the_limit_is_in_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with (tmp_path / "x").open("wb") as file:
        file.truncate(64 * 1024**2)
    status = Path("/proc/self/status").stat()
    monkeypatch.setattr("os.fstat", lambda _: status)
    tracemalloc.start()
    try:
        with pytest.raises(TextFileError, match="is larger than 1 MiB"):
            read_regular_file(tmp_path / "x", 1024**2)
        assert tracemalloc.get_traced_memory()[1] < 8 * 1024**2
    finally:
        tracemalloc.stop()


def test_a_file_may_be_as_large_as_the_limit(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"0123456789")
    assert read_regular_file(tmp_path / "x", 10) == b"0123456789"
    with pytest.raises(TextFileError, match="is larger than"):
        read_regular_file(tmp_path / "x", 9)


@pytest.mark.parametrize(
    ("content", "line", "column"),
    [
        pytest.param(b"\xff", 1, 1, id="the first byte"),
        pytest.param(b"ab\ncd\xff", 2, 3, id="on the second line"),
        pytest.param(b"\nab\xffcd\n", 2, 3, id="below an empty line"),
        pytest.param(b"\na\nb\ncd\xff\xff", 4, 3, id="below several lines"),
    ],
)
def test_an_invalid_byte_is_reported_at_its_position(tmp_path: Path, content: bytes, line: int, column: int) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(TextFileError, match=r"^is not valid UTF-8 \(byte 0xFF\)$") as caught:
        read_text(tmp_path / "x", Path("/"))
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    ("content", "media_type"), [pytest.param(PNG, "image/png", id="an image"), pytest.param(b"\xff", "", id="no media")]
)
def test_what_is_not_text_is_reported_with_its_media_type(tmp_path: Path, content: bytes, media_type: str) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(TextFileError) as caught:
        read_text(tmp_path / "x", Path("/"))
    assert caught.value.media_type == media_type


def test_a_link_that_leads_out_of_the_root_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to("../secret")
    with pytest.raises(TextFileError) as caught:
        read_text(tmp_path / "root" / "link", tmp_path / "root")
    assert str(caught.value) == "is a link that leads out of the root folder; copy its target into the root folder"
    assert read_text(tmp_path / "root" / "link", tmp_path) == "x"
    assert read_text(tmp_path / "secret", tmp_path / "root") == "x"


def test_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("link")
    with pytest.raises(TextFileError, match="cannot be read: Too many levels of symbolic links"):
        read_text(tmp_path / "link", tmp_path)


def test_a_file_without_a_size_is_read_completely() -> None:
    assert read_text(Path("/proc/self/cmdline"), Path("/")).split("\0")[0]


def test_a_root_folder_that_is_a_link_contains_its_files(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "x").write_text("x")
    (tmp_path / "real" / "out").symlink_to("../secret")
    (tmp_path / "secret").write_text("x")
    root = tmp_path / "root"
    root.symlink_to("real")
    assert read_text(root / "x", root) == "x"
    with pytest.raises(TextFileError, match="is a link that leads out of the root folder"):
        read_text(root / "out", root)
