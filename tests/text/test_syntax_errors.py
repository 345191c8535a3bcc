"""Syntax errors of YAML: each at its place and, for the most common mistakes, in words that say what to write."""

from __future__ import annotations

import pytest
import yaml

from pytest_chatprompt.text.yaml import YamlError, parse_yaml

TAB = "indent with spaces, not a tab"
COLON = "text with ': ' must be in quotes, or this line is indented wrongly"
UNINDENTED = "this line is indented unlike those around it, or there is text behind a closing quote or bracket"
SIGN = "text that begins with this sign must be in quotes"
OPEN = "a comma or a closing bracket is missing before this; put quotes around text that contains one of , [ ] { }"
BLOCK_TEXT = "after | or > the text begins on the next line; put other text in quotes"
MISSING = "a value is missing here"
BACKSLASH = "write \\\\ for a backslash, or use single quotes"
NEVER_CLOSED = "the quote that opens here is never closed"
PARSERS = [
    pytest.param(loader, id=loader.__name__)
    for loader in dict.fromkeys([getattr(yaml, "CSafeLoader", yaml.SafeLoader), yaml.SafeLoader])
]


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize(
    ("text", "line", "column", "reason"),
    [
        pytest.param("a:\n\tb: 1\n", 2, 1, TAB, id="a tab before a key"),
        pytest.param("a:\n  - b: 1\n\t- c: 2\n", 3, 1, TAB, id="a tab before a list item"),
        pytest.param("a:\n  \tb: 1\n", 2, 3, TAB, id="a tab behind spaces"),
        pytest.param("a: |\n\tx\n", 2, 1, TAB, id="a tab before a block text"),
        pytest.param("a: 1\n\t\nb: 2\n", 2, 1, TAB, id="a tab in an empty line"),
        pytest.param("content: Note: x\n", 1, 14, COLON, id="a colon in a value"),
        pytest.param("- role: user\n  content: Note: x\n", 2, 16, COLON, id="a colon in a value of a list item"),
        pytest.param("- - a: b c: d\n", 1, 11, COLON, id="a colon in a value of a list in a list"),
        pytest.param("a:x\nb: y\n", 2, 2, COLON, id="no space after a colon"),
        pytest.param("a: x\n b: y\n", 2, 3, COLON, id="a key below a text"),
        pytest.param("a: @x\n", 1, 4, SIGN, id="an at sign"),
        pytest.param("a: `x`\n", 1, 4, SIGN, id="a backtick"),
        pytest.param("a: %x\n", 1, 4, SIGN, id="a percent sign"),
        pytest.param("a: *b* x\n", 1, 4, SIGN, id="bold in Markdown"),
        pytest.param("a: & x\n", 1, 4, SIGN, id="an ampersand"),
        pytest.param("a: - x\n", 1, 4, f"a list begins on the line below its key; {SIGN}", id="a dash"),
        pytest.param("a: | x\n", 1, 6, BLOCK_TEXT, id="text behind |"),
        pytest.param("a: > 3\n", 1, 6, BLOCK_TEXT, id="text behind >"),
        pytest.param("a: ]\n", 1, 4, MISSING, id="a bracket"),
        pytest.param("a: [x,\n", 2, 1, MISSING, id="a list that ends in a comma"),
        pytest.param("a: [x\nb: y\n", 2, 2, OPEN, id="an open list"),
        pytest.param("a: {x: y\nb: {z\n", 2, 2, OPEN, id="an open mapping"),
        pytest.param('a: "x" y\n', 1, 8, UNINDENTED, id="a quote"),
        pytest.param("a: 'it's'\n", 1, 8, UNINDENTED, id="it's"),
        pytest.param("a: [x] y\n", 1, 8, UNINDENTED, id="a list"),
        pytest.param("a:\n    b: 1\n  c: 2\n", 3, 3, UNINDENTED, id="a key between two indentations"),
        pytest.param("a:\n  - b\n - c\n", 3, 2, UNINDENTED, id="a list item between two indentations"),
        pytest.param("a: x\nbcd\ne: f\n", 2, 1, "this line is neither 'key: value' nor a part of the text above; indent a text of several lines below |", id="a line without a key"),
        pytest.param('a: "x\nb: y\n', 1, 4, NEVER_CLOSED, id="an open quote"),
        pytest.param('a: "x\n---\n', 1, 4, NEVER_CLOSED, id="a quote over documents"),
        pytest.param('a: "\\d"\n', 1, None, BACKSLASH, id="an unknown escape"),
        pytest.param('a: "C:\\Users"\n', 1, 9, BACKSLASH, id="a path of Windows"),
    ],
)  # fmt: skip
def test_a_syntax_error_says_what_to_write(
    text: str, line: int, column: int | None, reason: str, parser: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_chatprompt.text.yaml._Loader", parser)
    with pytest.raises(YamlError) as caught:
        parse_yaml(text)
    position, shown = caught.value.problem
    # The parsers differ by one in where an escape is.
    assert (position.line, position.column, shown) == (line, column or position.column, f"not valid YAML: {reason}")


@pytest.mark.parametrize("text", ["%x\n", 'a: "\\U00110000"\n'])
def test_another_syntax_error_has_the_words_of_the_parser(text: str) -> None:
    with pytest.raises(YamlError) as caught:
        parse_yaml(text)
    assert caught.value.problem.text.startswith("not valid YAML: while ")


def test_an_error_of_a_text_with_more_lines_for_yaml_1_1_is_explained() -> None:
    private = "".join(map(chr, range(0xE000, 0xF900)))
    with pytest.raises(YamlError) as caught:
        parse_yaml(f"# {private}\u2028\n# \u2028\u2028\na: @\n")
    assert caught.value.problem.text.startswith("not valid YAML: ")


def test_an_error_behind_the_last_line_is_one_of_an_empty_line() -> None:
    # libyaml gives the end of a text without a line break a line of its own.
    with pytest.raises(YamlError, match=MISSING):
        parse_yaml("a: [x,")
