"""Where a character of a text stands in its file: in each of the ways in which YAML writes texts."""

from __future__ import annotations

import pytest

from pytest_chatprompt.cases.origin import YamlSource
from pytest_chatprompt.cases.templates import position_in_scalar


@pytest.mark.parametrize(
    ("document", "position"),
    [
        pytest.param("a: x {{ n }}", (1, 9), id="plain"),
        pytest.param("a: 'x {{ n }}'", (1, 10), id="single-quoted"),
        pytest.param("a: 'it''s {{ n }}'", (1, 14), id="single-quoted with an escape"),
        pytest.param('a: "x {{ n }}"', (1, 10), id="double-quoted"),
        pytest.param('a: "\\u00e4\\" {{ n }}"', (1, 17), id="double-quoted with escapes before"),
        pytest.param('a: "\\u00e4 {{\\u0020n }}" # {{ n }}', (1, 20), id="double-quoted with an escape in it"),
        pytest.param('a: "{{ \\u006e }}" # {{ n }}', (1, 4), id="double-quoted and escaped itself"),
        pytest.param("a: |\n  x {{ m }}\n\n    y {{ n }}\n", (4, 10), id="a block"),
        pytest.param("a: &anchor |-\n  x {{ n }}\n", (2, 8), id="a block with an anchor"),
        pytest.param("a: >\n  folded\n  x {{ n }}\n  more\n", (3, 8), id="a folded block"),
        pytest.param("a: some\n  folded {{ n }}\n  text", (2, 13), id="plain on several lines"),
        pytest.param("a: 'some\n  folded {{ n }}\n  text'", (2, 13), id="quoted on several lines"),
        pytest.param("a: >\n  folded {{ n\n  + 1 }}\n", (2, 13), id="a tag on several lines"),
        pytest.param("b: '{{ n }}'\r\na: |\r\n  ä {{ n }}\r\n", (3, 8), id="CRLF, after an equal text"),
        pytest.param("a: '{{ m }} {{ n }}'\nb: '{{ n }}'", (1, 16), id="before an equal text"),
        pytest.param("a: |\n  {{ m\n  {{ m\n  {{ n\n  {{ n", (4, 6), id="among equal lines"),
    ],
)
def test_a_character_is_found(document: str, position: tuple[int, int]) -> None:
    source = YamlSource(document)
    node = source.root.find(("a",))
    offset = node.value.index("n", node.value.index("{{"))
    assert position_in_scalar(source, node, node.value, offset) == position


def test_the_second_of_two_equal_lines_is_found() -> None:
    source = YamlSource("a: |\n  {{ n }}\n  {{ n }}\n")
    node = source.root.find(("a",))
    assert position_in_scalar(source, node, node.value, node.value.rindex("n")) == (3, 6)


def test_an_empty_line_has_the_position_of_its_text() -> None:
    source = YamlSource("a: |\n  x\n\n  y\n")
    node = source.root.find(("a",))
    assert position_in_scalar(source, node, node.value, 2) == (1, 4)


def test_the_end_of_a_line_that_the_file_escapes_has_the_position_of_its_text() -> None:
    source = YamlSource('a: "\\u0078" # x')
    node = source.root.find(("a",))
    assert position_in_scalar(source, node, node.value, 1) == (1, 4)
