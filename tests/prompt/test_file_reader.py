"""The file reader: where a file is searched for, and how its text is read (rules A4 and F)."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_chatprompt.prompt.attachments import FileReader
from pytest_chatprompt.text.files import NamedFileError
from tests.conftest import Project


def text_of(project: Project, content: bytes) -> str:
    path = project.write("x.txt", content)
    return FileReader(project.root).read(path, "x.txt")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param(b"", "", id="empty"),
        pytest.param(b"a\nb\n", "a\nb", id="the last line break is dropped"),
        pytest.param(b"a\n\n\n", "a", id="several line breaks at the end are dropped"),
        pytest.param(b"\n\na", "\n\na", id="line breaks at the start stay"),
        pytest.param(b"a\r\nb\r\n", "a\nb", id="CRLF becomes LF"),
        pytest.param(b"a\rb", "a\rb", id="a lone CR stays"),
        pytest.param(b"\xef\xbb\xbfa", "a", id="a byte-order mark is dropped"),
        pytest.param("\ufeff\ufeffa\ufeff\nb\ufeff".encode(), "\ufeffa\ufeff\nb\ufeff", id="only one, at the start"),
        pytest.param(b"a\n\r\n", "a", id="CRLF and LF at the end are dropped"),
        pytest.param(b"a\n\r", "a\n\r", id="a lone CR at the end stays, and what is before it"),
        pytest.param("a\u2028\n".encode(), "a\u2028", id="no other line break is dropped"),
        pytest.param(b"XaX\n", "XaX", id="letters at the end stay"),
        pytest.param(b" a \t\n", " a \t", id="blanks stay"),
        pytest.param("ä€😀".encode(), "ä€😀", id="UTF-8"),
    ],
)
def test_a4_text_is_utf8_with_lf_and_without_line_breaks_at_its_end(
    project: Project, content: bytes, text: str
) -> None:
    assert text_of(project, content) == text


def test_f4_each_file_is_read_once_in_a_run(project: Project) -> None:
    path = project.write("x.md", "before")
    reader = FileReader(project.root)
    assert reader.read(reader.find("x.md", project.root).path, "x.md") == "before"
    path.write_text("after")
    assert reader.read(reader.find("x.md", project.root).path, "x.md") == "before"


def test_as_many_bytes_as_the_limit_are_kept_those_that_were_read_last(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_chatprompt.prompt.attachments._MAX_KEPT_BYTES", 6)
    reader = FileReader(project.root)
    first, second, third = (project.write(name, b"old") for name in ("1.png", "2.png", "3.png"))
    assert [reader.read_bytes(path, path.name) for path in (first, second)] == [b"old", b"old"]
    for path in (first, second, third):
        path.write_bytes(b"new")
    assert [reader.read_bytes(path, path.name) for path in (first, second, third)] == [b"old", b"old", b"new"]
    assert [reader.read_bytes(path, path.name) for path in (second, third, first)] == [b"old", b"new", b"new"]


def test_f2_an_eval_file_outside_the_root_cannot_name_files_beside_it(project: Project, tmp_path: Path) -> None:
    project.write("outside/x.md", "x")
    with pytest.raises(NamedFileError, match="is outside the root folder"):
        FileReader(tmp_path / "inside").find("x.md", tmp_path / "outside")


def test_a8_a_text_may_be_read_with_the_line_breaks_at_its_end(project: Project) -> None:
    path = project.write("x.md", b"\xef\xbb\xbfa\r\nb\n\r\n \n")
    reader = FileReader(project.root)
    assert reader.read_verbatim(path, "x.md") == "a\nb\n\n \n"
    assert reader.read(path, "x.md") == "a\nb\n\n "


def test_f4_bytes_are_read_once_in_a_run(project: Project) -> None:
    path = project.write("x.png", b"before")
    reader = FileReader(project.root)
    assert reader.read_bytes(path, "x.png") == b"before"
    path.write_bytes(b"after")
    assert reader.read_bytes(path, "x.png") == b"before"


def test_a_run_over_many_images_does_not_keep_all_of_them(project: Project) -> None:
    reader = FileReader(project.root)
    paths = [project.write(f"{number}.png", bytes(16 * 1024 * 1024)) for number in range(5)]
    for path in paths:
        reader.read_bytes(path, path.name)
    for path in paths:
        path.write_bytes(b"changed")
    assert [reader.read_bytes(path, path.name) for path in (paths[4], paths[0])] == [
        bytes(16 * 1024 * 1024),
        b"changed",
    ]
