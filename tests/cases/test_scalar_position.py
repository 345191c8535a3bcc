"""Where a line of a text stands in its file, in each of the ways in which YAML writes texts."""

from __future__ import annotations

import pytest

from pytest_chatprompt.cases.origin import YamlSource
from pytest_chatprompt.cases.templates import line_position


@pytest.mark.parametrize(
    ("document", "position"),
    [
        pytest.param("a: |\n  x\n    y\n", (3, 5), id="a block"),
        pytest.param("a: &anchor |-\n  x\n  y\n", (3, 3), id="a block with an anchor"),
        pytest.param("b: 1\r\na: |\r\n  x\r\n  y\r\n", (4, 3), id="CRLF"),
        pytest.param("a: >\n  x\n\n  y\n", (1, 4), id="a folded block"),
        pytest.param('a: "x\\n| y"', (1, 4), id="quoted"),
        pytest.param("a: x\n\n  y", (1, 4), id="plain"),
    ],
)
def test_the_line_of_a_literal_block_is_found_other_texts_have_one_place(
    document: str, position: tuple[int, int]
) -> None:
    source = YamlSource(document)
    assert line_position(source, source.root.find(("a",)), 2) == position
