"""The guideline block of a system message (rules B3 and B4)."""

from __future__ import annotations

from pathlib import Path

from pytest_chatprompt.prompt.attachments import Attachment
from pytest_chatprompt.prompt.conversion import guideline_block


def guideline(name: str, content: str) -> Attachment:
    return Attachment(name, Path("/project") / name, content, pattern="*.md")


def test_b4_without_guidelines_there_is_no_block() -> None:
    assert guideline_block(()) == ""


def test_b4_a_guideline_of_white_space_adds_nothing_to_the_block() -> None:
    blank = guideline("blank.md", " \n\t\ufeff\u2003")
    assert guideline_block((blank,)) == ""
    assert guideline_block((blank, blank)) == ""
    assert guideline_block((blank, guideline("a.md", "A"))) == "[[ ## Guidelines ## ]]\n\nA"
    assert guideline_block((guideline("a.md", "A"), blank, guideline("b.md", "B"))) == (
        "[[ ## Guidelines ## ]]\n\n=== a.md ===\nA\n\n=== b.md ===\nB"
    )


def test_b3_a_single_guideline_is_its_content_alone() -> None:
    assert guideline_block((guideline("a.md", "Be brief."),)) == "[[ ## Guidelines ## ]]\n\nBe brief."


def test_b4_the_block_is_a_heading_an_empty_line_and_the_guidelines() -> None:
    assert guideline_block((guideline("a.md", "Be brief.\nBe kind."),)).splitlines() == [
        "[[ ## Guidelines ## ]]",
        "",
        "Be brief.",
        "Be kind.",
    ]


def test_b3_each_of_several_guidelines_has_its_path_as_heading() -> None:
    assert guideline_block((guideline("a.md", "A"), guideline("./b.md", "B"))) == (
        "[[ ## Guidelines ## ]]\n\n=== a.md ===\nA\n\n=== ./b.md ===\nB"
    )
