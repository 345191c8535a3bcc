"""Attachments: which files a case may name, and what is reported about the others (rules A3, B1 and F)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_chatprompt import EvalFileError
from pytest_chatprompt.prompt.attachments import Attachment, FileReader, read_attachments
from pytest_chatprompt.prompt.chat_prompt import Media
from tests.conftest import Project
from tests.media import PDF, PNG, data_url


def attached(project: Project, *names: str, patterns: str = "[]") -> dict[str, Attachment]:
    parts = "".join(f"\n      - {{type: file, value: '{name}'}}" for name in names)
    case = project.case(f"guideline_patterns: {patterns}\ninput_messages:\n  - role: user\n    content:{parts}")
    return dict(read_attachments(case, FileReader(project.root)))


def problems(project: Project, *names: str) -> list[str]:
    with pytest.raises(EvalFileError) as caught:
        attached(project, *names)
    return str(caught.value).splitlines()


def test_f1_a_file_is_searched_for_from_the_eval_files_folder_up_to_the_root(project: Project) -> None:
    project.write("top.md", "top")
    project.write("evals/near.md", "near")
    project.write("both.md", "far")
    project.write("evals/both.md", "near")
    attachments = attached(project, "top.md", "./near.md", "both.md")
    assert {name: attachment.content for name, attachment in attachments.items()} == {
        "top.md": "top",
        "./near.md": "near",
        "both.md": "near",
    }


def test_a_file_that_a_case_names_twice_is_read_once(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write("a.md", "a")
    read: list[Path] = []

    def read_file(path: Path, _root: Path) -> str:
        read.append(path)
        return path.read_text(encoding="utf-8")

    monkeypatch.setattr("pytest_chatprompt.prompt.attachments.read_text", read_file)
    assert list(attached(project, "a.md", "./a.md", "a.md")) == ["a.md", "./a.md"]
    assert read == [project.root / "a.md"]


def test_f1_a_leading_slash_stands_for_the_root_folder(project: Project) -> None:
    project.write("prompts/tone.md", "kind")
    project.write("evals/prompts/tone.md", "another")
    assert attached(project, "/prompts/tone.md")["/prompts/tone.md"].content == "kind"


def test_f1_several_leading_slashes_stand_for_the_root_folder_too(project: Project) -> None:
    project.write("Xprompts/tone.md", "kind")
    assert attached(project, "//Xprompts/tone.md")["//Xprompts/tone.md"].content == "kind"
    assert attached(project, "Xprompts/tone.md")["Xprompts/tone.md"].content == "kind"


def test_b1_a_link_is_matched_by_its_own_path_not_by_that_of_its_target(project: Project) -> None:
    project.write("shared/x.md", "x")
    (project.root / "guide").mkdir()
    (project.root / "guide" / "x.md").symlink_to("../shared/x.md")
    assert attached(project, "/guide/x.md", patterns='["guide/*"]')["/guide/x.md"].pattern == "guide/*"
    assert attached(project, "/guide/x.md", patterns='["shared/*"]')["/guide/x.md"].pattern is None


def test_f1_a_leading_slash_never_stands_for_the_root_of_the_machine(project: Project) -> None:
    assert problems(project, "/etc/hostname") == [
        "evals/a.eval.yaml:8:33: case 'a': file /etc/hostname not found; tried etc/hostname"
    ]


def test_a3_a_path_has_forward_slashes_on_every_platform(project: Project) -> None:
    project.write("evals/sub/x.md", "x")
    assert attached(project, r".\sub\x.md")[r".\sub\x.md"].name == "./sub/x.md"


def test_b1_a_pattern_matches_the_path_from_the_root_or_the_path_as_written(project: Project) -> None:
    project.write("guide/x.md", "x")
    project.write("evals/y.md", "y")
    attachments = attached(project, "../guide/x.md", "./y.md", patterns='["guide/**"]')
    assert [attachment.pattern for attachment in attachments.values()] == ["guide/**", None]
    assert [attachment.is_guideline for attachment in attachments.values()] == [True, False]
    assert attached(project, "./y.md", patterns='["./*.md"]')["./y.md"].is_guideline


def test_f3_every_missing_file_is_reported_at_its_part(project: Project) -> None:
    assert problems(project, "nope.md", "sub/gone.md", "nope.md") == [
        "evals/a.eval.yaml:8:33: case 'a': file nope.md not found; tried evals/nope.md, nope.md",
        "evals/a.eval.yaml:9:33: case 'a': file sub/gone.md not found; tried evals/sub/gone.md, sub/gone.md",
        "evals/a.eval.yaml:10:33: case 'a': file nope.md not found; tried evals/nope.md, nope.md",
    ]


def test_f3_a_folder_is_an_error(project: Project) -> None:
    (project.root / "evals" / "sub").mkdir(parents=True)
    assert problems(project, "sub") == ["evals/a.eval.yaml:8:33: case 'a': file sub is a folder; name a file in it"]


def test_f3_a_binary_file_is_an_error(project: Project) -> None:
    project.write("evals/x.png", b"\x89PNG")
    assert problems(project, "x.png") == ["evals/a.eval.yaml:8:33: case 'a': file x.png is not valid UTF-8 (byte 0x89)"]


def test_f3_a_pipe_is_an_error(project: Project) -> None:
    (project.root / "evals").mkdir()
    os.mkfifo(project.root / "evals" / "pipe")
    assert problems(project, "pipe") == ["evals/a.eval.yaml:8:33: case 'a': file pipe is not a regular file"]


def test_f3_a_file_that_cannot_be_opened_is_an_error(project: Project) -> None:
    (project.root / "evals").mkdir()
    (project.root / "evals" / "x").symlink_to("gone")
    assert problems(project, "x") == [
        "evals/a.eval.yaml:8:33: case 'a': file x cannot be read: No such file or directory"
    ]


def test_f2_no_file_outside_the_root_is_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("key")
    project = Project(tmp_path / "repo")
    project.write("evals/link", "")
    (project.root / "evals" / "link").unlink()
    (project.root / "evals" / "link").symlink_to(tmp_path / "secret")
    outside = "is outside the root folder; only files inside it can be sent, so copy it there"
    assert problems(project, "link", "../../secret") == [
        f"evals/a.eval.yaml:8:33: case 'a': file link {outside}",
        f"evals/a.eval.yaml:9:33: case 'a': file ../../secret {outside}",
    ]


def test_a_missing_file_outside_the_root_is_reported_without_its_folders(project: Project) -> None:
    assert problems(project, "../../../nope") == [
        "evals/a.eval.yaml:8:33: case 'a': file ../../../nope not found; tried nope"
    ]


def test_f2_a_link_inside_the_root_is_followed(project: Project) -> None:
    project.write("shared/x.md", "x")
    (project.root / "evals").mkdir()
    (project.root / "evals" / "x.md").symlink_to("../shared/x.md")
    assert attached(project, "x.md")["x.md"].content == "x"


def test_f2_a_path_that_leaves_the_root_and_leads_back_by_a_link_is_followed(tmp_path: Path) -> None:
    project = Project(tmp_path / "repo")
    project.write("guide/x.md", "x")
    (tmp_path / "link").symlink_to(project.root / "guide")
    attachments = attached(project, "../../link/x.md", patterns='["guide/*"]')
    assert attachments["../../link/x.md"].pattern == "guide/*"


# --- media, and texts that stand in files


def read_parts(project: Project, *parts: str) -> Mapping[str, Attachment]:
    """Read the files that the parts of one message name, in YAML's flow style."""
    content = "".join(f"      - {part}\n" for part in parts)
    case = project.case(f"input_messages:\n  - role: user\n    content:\n{content}")
    return read_attachments(case, FileReader(project.root))


def errors_of(project: Project, *parts: str) -> list[str]:
    with pytest.raises(EvalFileError) as caught:
        read_parts(project, *parts)
    return str(caught.value).splitlines()


def test_media_are_found_as_other_files_are(project: Project) -> None:
    screen, report = project.write("media/x.png", PNG), project.write("evals/r.pdf", PDF)
    attachments = read_parts(
        project,
        "{type: image, value: /media/x.png}",
        "{type: document, value: r.pdf}",
        "{type: image, value: /media/x.png}",
    )
    assert attachments == {
        "/media/x.png": Attachment("/media/x.png", screen, media=Media("image", "/media/x.png", "image/png", PNG)),
        "r.pdf": Attachment("r.pdf", report, media=Media("document", "r.pdf", "application/pdf", PDF)),
    }


def test_urls_are_no_files(project: Project) -> None:
    parts = ("{type: image, value: 'https://x.example/a.png'}", f"{{type: image, value: '{data_url(PNG)}'}}")
    assert read_parts(project, *parts) == {}


def test_one_file_may_be_a_text_an_attachment_and_a_document(project: Project) -> None:
    ascii_pdf = b"%PDF-1.7\n\n"
    path = project.write("evals/a.pdf", ascii_pdf)
    parts = ("{type: text, file: a.pdf}", "{type: document, value: a.pdf}", "{type: file, value: a.pdf}")
    media = Media("document", "a.pdf", "application/pdf", ascii_pdf)
    expected = Attachment("a.pdf", path, "%PDF-1.7", None, "%PDF-1.7\n\n", media)
    assert read_parts(project, *parts) == {"a.pdf": expected}
    assert read_parts(project, *reversed(parts)) == {"a.pdf": expected}


def test_a_text_from_a_file_is_no_guideline(project: Project) -> None:
    project.write("evals/a.md", "A\n")
    case = project.case(
        'guideline_patterns: ["**/*.md"]\ninput_messages: [{role: user, content: [{type: text, file: a.md}]}]'
    )
    assert not read_attachments(case, FileReader(project.root))["a.md"].is_guideline


def test_f3_each_file_that_cannot_be_sent_is_reported_at_its_part(project: Project) -> None:
    project.write("evals/a.png", PNG)
    project.write("evals/a.txt", "hello")
    project.write("evals/b.txt", b"\xff")
    os.mkfifo(project.root / "evals" / "pipe")
    (project.root / "evals" / "loop").symlink_to("loop")
    with (project.root / "evals" / "large.png").open("wb") as file:
        file.truncate(20 * 1024 * 1024 + 1)
    assert errors_of(
        project,
        "{type: image, value: nope.png}",
        "{type: image, value: a.txt}",
        "{type: document, value: ./a.png}",
        "{type: audio, value: ..}",
        "{type: audio, value: pipe}",
        "{type: image, value: loop}",
        "{type: image, value: large.png}",
        "{type: image, value: 'http://x.example/a.png'}",
        "{type: text, file: nope.txt}",
        "{type: text, file: b.txt}",
        "{type: text, file: a.png}",
        "{type: file, value: a.png}",
    ) == [
        f"evals/a.eval.yaml:{line}: case 'a': {text}"
        for line, text in (
            ("7:34", "file nope.png not found; tried evals/nope.png, nope.png"),
            ("8:34", "file a.txt is not an image; it must be PNG, JPEG, WebP or GIF"),
            ("9:37", "file ./a.png is an image (image/png); write type: image"),
            ("10:34", "file .. is a folder; name a file in it"),
            ("11:34", "file pipe is not a regular file"),
            ("12:34", "file loop cannot be read: Too many levels of symbolic links"),
            ("13:34", "file large.png is larger than 20 MiB"),
            ("14:34", "http: URLs are not sent; name a file of the project, or write an https: or a data: URL"),
            ("15:32", "file nope.txt not found; tried evals/nope.txt, nope.txt"),
            ("16:32", "file b.txt is not valid UTF-8 (byte 0xFF)"),
            ("17:32", "file a.png is not valid UTF-8 (byte 0x89)"),
            ("18:33", "file a.png is not valid UTF-8 (byte 0x89); to send it as an image, write type: image"),
        )
    ]


PERSONA = """vars: {who: Ada, note: "{{ who }}"}
input_messages:
  - role: user
    content: [{type: text, file: persona.md}, {type: file, value: attached.md}]
"""


def test_a9_the_file_of_a_text_is_a_template_and_an_attached_file_is_not(project: Project) -> None:
    project.write("evals/persona.md", "You are {{ who }}. {{ note }}\n")
    project.write("evals/attached.md", "{{ who }}")
    read = read_attachments(project.case(PERSONA), FileReader(project.root))
    assert (read["persona.md"].verbatim, read["attached.md"].content) == ("You are Ada. {{ who }}\n", "{{ who }}")
    project.write("evals/persona.md", "You are Eve.")
    assert read_attachments(project.case(PERSONA), FileReader(project.root))["persona.md"].verbatim == "You are Eve."
    project.write("evals/persona.md", "You are {{ who }}. {{ note }}\n")
    without = project.case(PERSONA.partition("\n")[2])
    assert (
        read_attachments(without, FileReader(project.root))["persona.md"].verbatim == "You are {{ who }}. {{ note }}\n"
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("You are\n a {{ whom }}.", "persona.md, line 2: unknown variable 'whom'; did you mean 'who'?"),
        ("{% if who %}", "persona.md, line 1: not a valid template: "),
    ],
)
def test_a9_a_text_that_cannot_be_rendered_is_reported_by_its_place(project: Project, text: str, problem: str) -> None:
    project.write("evals/persona.md", text)
    project.write("evals/attached.md", "")
    with pytest.raises(EvalFileError) as caught:
        read_attachments(project.case(PERSONA), FileReader(project.root))
    assert str(caught.value).startswith(f"evals/a.eval.yaml:7:38: case 'a': {problem}")


def test_a9_a_problem_in_a_text_names_the_row_too(project: Project) -> None:
    project.write("evals/persona.md", "{{ whom }}")
    (case,) = project.cases(
        "evalcases:\n  - id: a\n    parametrize: [{id: x, who: Ada}]\n"
        "    input_messages: [{role: user, content: [{type: text, file: persona.md}]}]\n"
    )
    with pytest.raises(EvalFileError, match=r"persona\.md, line 1: .* \(row at "):
        read_attachments(case, FileReader(project.root))


def test_a_path_that_is_empty_once_its_variables_are_filled_in_is_no_file(project: Project) -> None:
    parts = '{type: file, value: "{{ empty }}"}, {type: image, value: " {{ empty }}"}'
    case = project.case(f"vars: {{empty: ''}}\ninput_messages: [{{role: user, content: [{parts}]}}]")
    with pytest.raises(EvalFileError) as caught:
        read_attachments(case, FileReader(project.root))
    assert str(caught.value).splitlines() == [
        "evals/a.eval.yaml:5:65: case 'a': file  is a folder; name a file in it",
        "evals/a.eval.yaml:5:102: case 'a': file   not found; tried evals/ ,  ",
    ]
