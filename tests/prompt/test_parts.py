"""How each type of part is written (rules A2 and A3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_chatprompt import Attachment, FilePart, TextPart
from pytest_chatprompt.evalfile.message import PART_MODELS, Part
from pytest_chatprompt.prompt.parts import PART_RENDERERS, render_part

ATTACHMENTS = {
    "./x.py": Attachment("./x.py", Path("/project/x.py"), "x = 1\ny = 2"),
    "empty": Attachment("empty", Path("/project/empty"), ""),
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
    ],
)
def test_a_part_is_written_by_its_type(part: Part, text: str) -> None:
    assert render_part(part, ATTACHMENTS) == text


def test_every_type_of_part_can_be_written() -> None:
    assert set(PART_RENDERERS) == set(PART_MODELS.values())
