"""The files that cases name: found, checked, read (rulings A4 and F)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_chatprompt import EvalFileError
from pytest_chatprompt.attachments import Attachment, FileReader, UnusableFileError, read_attachments

from .conftest import Project


def text_of(project: Project, content: bytes) -> str:
    path = project.write("x.txt", content)
    return FileReader(project.root).read(path, "x.txt")


def attached(project: Project, *names: str, patterns: str = "[]") -> dict[str, Attachment]:
    parts = "".join(f"\n      - {{type: file, value: '{name}'}}" for name in names)
    case = project.case(f"guideline_patterns: {patterns}\ninput_messages:\n  - role: user\n    content:{parts}")
    return dict(read_attachments(case, FileReader(project.root)))


def told(project: Project, *names: str) -> list[str]:
    with pytest.raises(EvalFileError) as caught:
        attached(project, *names)
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param(b"", "", id="empty"),
        pytest.param(b"a\nb\n", "a\nb", id="the last line break"),
        pytest.param(b"a\n\n\n", "a", id="several line breaks at the end"),
        pytest.param(b"\n\na", "\n\na", id="line breaks at the start stay"),
        pytest.param(b"a\r\nb\r\n", "a\nb", id="CRLF becomes LF"),
        pytest.param(b"a\rb", "a\rb", id="a lone CR stays"),
        pytest.param(b"\xef\xbb\xbfa", "a", id="the byte-order mark"),
        pytest.param(b" a \t\n", " a \t", id="blanks stay"),
        pytest.param("ä€😀".encode(), "ä€😀", id="UTF-8"),
    ],
)
def test_content_is_utf8_with_lf_and_no_line_breaks_at_its_end(project: Project, content: bytes, text: str) -> None:
    assert text_of(project, content) == text


def test_a_file_is_looked_for_from_the_eval_files_folder_up_to_the_root(project: Project) -> None:
    project.write("top.md", "top")
    project.write("evals/near.md", "near")
    project.write("both.md", "far")
    project.write("evals/both.md", "near")
    found = attached(project, "top.md", "./near.md", "both.md")
    assert {name: one.content for name, one in found.items()} == {
        "top.md": "top",
        "./near.md": "near",
        "both.md": "near",
    }


def test_a_leading_slash_stands_for_the_root(project: Project) -> None:
    project.write("prompts/tone.md", "kind")
    project.write("evals/prompts/tone.md", "another")
    assert attached(project, "/prompts/tone.md")["/prompts/tone.md"].content == "kind"


def test_the_machines_root_cannot_be_named(project: Project) -> None:
    assert told(project, "/etc/hostname") == [
        "evals/a.eval.yaml:8:33: case 'a': file /etc/hostname not found; tried etc/hostname"
    ]


def test_a_path_is_shown_with_slashes_on_every_platform(project: Project) -> None:
    project.write("evals/sub/x.md", "x")
    assert attached(project, r".\sub\x.md")[r".\sub\x.md"].name == "./sub/x.md"


def test_a_guideline_is_known_by_its_path_from_the_root_or_as_written(project: Project) -> None:
    project.write("guide/x.md", "x")
    project.write("evals/y.md", "y")
    found = attached(project, "../guide/x.md", "./y.md", patterns='["guide/**"]')
    assert [one.pattern for one in found.values()] == ["guide/**", None]
    assert [one.is_guideline for one in found.values()] == [True, False]
    assert attached(project, "./y.md", patterns='["./*.md"]')["./y.md"].is_guideline


def test_missing_files_are_all_told_at_their_parts(project: Project) -> None:
    assert told(project, "nope.md", "sub/gone.md", "nope.md") == [
        "evals/a.eval.yaml:8:33: case 'a': file nope.md not found; tried evals/nope.md, nope.md",
        "evals/a.eval.yaml:9:33: case 'a': file sub/gone.md not found; tried evals/sub/gone.md, sub/gone.md",
        "evals/a.eval.yaml:10:33: case 'a': file nope.md not found; tried evals/nope.md, nope.md",
    ]


def test_a_folder_is_no_file(project: Project) -> None:
    (project.root / "evals" / "sub").mkdir(parents=True)
    assert told(project, "sub") == ["evals/a.eval.yaml:8:33: case 'a': file sub is a folder; name a file in it"]


def test_a_binary_file_is_told(project: Project) -> None:
    project.write("evals/x.png", b"\x89PNG")
    assert told(project, "x.png") == ["evals/a.eval.yaml:8:33: case 'a': file x.png is no UTF-8 text (byte 0x89)"]


def test_a_pipe_is_not_read(project: Project) -> None:
    (project.root / "evals").mkdir()
    os.mkfifo(project.root / "evals" / "pipe")
    assert told(project, "pipe") == ["evals/a.eval.yaml:8:33: case 'a': file pipe is no regular file"]


def test_a_file_that_cannot_be_read_is_told(project: Project) -> None:
    (project.root / "evals").mkdir()
    (project.root / "evals" / "x").symlink_to("gone")
    assert told(project, "x") == ["evals/a.eval.yaml:8:33: case 'a': file x cannot be read: No such file or directory"]


def test_nothing_outside_of_the_root_is_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("key")
    project = Project(tmp_path / "repo")
    project.write("evals/link", "")
    (project.root / "evals" / "link").unlink()
    (project.root / "evals" / "link").symlink_to(tmp_path / "secret")
    outside = "lies outside of the root folder; only files below it can be sent, so copy it there"
    assert told(project, "link", "../../secret") == [
        f"evals/a.eval.yaml:8:33: case 'a': file link {outside}",
        f"evals/a.eval.yaml:9:33: case 'a': file ../../secret {outside}",
    ]


def test_a_path_that_leaves_the_root_and_finds_nothing_tells_no_more_than_its_name(project: Project) -> None:
    assert told(project, "../../../nope") == [
        "evals/a.eval.yaml:8:33: case 'a': file ../../../nope not found; tried nope"
    ]


def test_a_link_within_the_root_is_followed(project: Project) -> None:
    project.write("shared/x.md", "x")
    (project.root / "evals").mkdir()
    (project.root / "evals" / "x.md").symlink_to("../shared/x.md")
    assert attached(project, "x.md")["x.md"].content == "x"


def test_a_way_out_of_the_root_that_leads_back_is_taken(tmp_path: Path) -> None:
    project = Project(tmp_path / "repo")
    project.write("guide/x.md", "x")
    (tmp_path / "link").symlink_to(project.root / "guide")
    found = attached(project, "../../link/x.md", patterns='["guide/*"]')
    assert found["../../link/x.md"].pattern == "guide/*"


def test_each_file_is_read_once_in_a_run(project: Project) -> None:
    path = project.write("x.md", "before")
    reader = FileReader(project.root)
    assert reader.read(reader.find("x.md", project.root), "x.md") == "before"
    path.write_text("after")
    assert reader.read(reader.find("x.md", project.root), "x.md") == "before"


def test_an_eval_file_outside_of_the_root_finds_nothing_there(project: Project, tmp_path: Path) -> None:
    project.write("outside/x.md", "x")
    with pytest.raises(UnusableFileError, match="lies outside of the root folder"):
        FileReader(tmp_path / "inside").find("x.md", tmp_path / "outside")
