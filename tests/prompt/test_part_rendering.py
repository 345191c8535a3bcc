"""How each type of part is written (rules A2, A3 and A8)."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_chatprompt import Attachment, FilePart, TextPart
from pytest_chatprompt.cases.message import DocumentPart, ImagePart, Part
from pytest_chatprompt.prompt.chat_prompt import Media
from pytest_chatprompt.prompt.conversion import render_part
from tests.media import PNG

ATTACHMENTS = {
    "./x.py": Attachment("./x.py", Path("/project/x.py"), "x = 1\ny = 2"),
    "empty": Attachment("empty", Path("/project/empty"), ""),
    "x.txt": Attachment("x.txt", Path("/project/x.txt"), verbatim="x\n\n"),
    "a.png": Attachment("a.png", Path("/project/a.png"), media=Media("image", "a.png", "image/png", PNG)),
    "../a.md": Attachment("../a.md", Path("/a.md"), "Be brief.", pattern="**/*.md"),
}


@pytest.mark.parametrize(
    ("part", "text"),
    [
        pytest.param(TextPart(type="text", value=" <a>\n"), " <a>\n", id="a text is written unchanged"),
        pytest.param(
            FilePart(type="file", value="./x.py"), "=== ./x.py ===\nx = 1\ny = 2", id="a file follows its path"
        ),
        pytest.param(FilePart(type="file", value="empty"), "=== empty ===\n", id="an empty file is its path"),
        pytest.param(FilePart(type="file", value="../a.md"), "<Attached: ../a.md>", id="a guideline is a reference"),
        pytest.param(TextPart(file="x.txt"), "x\n\n", id="a text in a file is written unchanged"),
    ],
)
def test_a_part_is_written_by_its_type(part: Part, text: str) -> None:
    assert render_part(part, ATTACHMENTS) == text


def test_media_stay_media() -> None:
    assert render_part(ImagePart(value="a.png"), ATTACHMENTS) == Media("image", "a.png", "image/png", PNG)
    url = "https://x.example/r.pdf"
    assert render_part(DocumentPart(value=url), ATTACHMENTS) == Media("document", url, "application/pdf")


def test_media_that_were_read_as_text_are_an_error() -> None:
    with pytest.raises(LookupError, match=r"^\./x\.py is attached as text, not as image$"):
        render_part(ImagePart(value="./x.py"), ATTACHMENTS)
