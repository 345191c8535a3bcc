"""Syntax errors of YAML: each at its place and in words that say what to write."""

from __future__ import annotations

import pytest
import yaml

from pytest_chatprompt.text.yaml import YamlError, explain_syntax_error, parse_yaml

TAB = "indent with spaces, not a tab"
COLON = "text that contains ': ' must be in quotes"
UNINDENTED = "this line is indented less than the lines above, but more than those around them"
BLOCK_TEXT = "after | or > the text begins on the next line; put quotes around text that begins with | or >"
FLOW_HINT = "put quotes around text that contains one of , [ ] { }"
BACKSLASH = "is not an escape of YAML; write \\\\ for a backslash, or use single quotes"


@pytest.mark.parametrize(
    ("text", "line", "column", "reason"),
    [
        pytest.param("a:\n\tb: 1\n", 2, 1, TAB, id="a tab before a key"),
        pytest.param("a:\n  - b: 1\n\t- c: 2\n", 3, 1, TAB, id="a tab before a list item"),
        pytest.param("a:\n  \tb: 1\n", 2, 3, TAB, id="a tab behind spaces"),
        pytest.param("a:\n -\tb: 1\n \tc: 1\n", 2, 3, TAB, id="a tab behind a dash"),
        pytest.param("a: |\n\tx\n", 2, 1, TAB, id="a tab before a block text"),
        pytest.param("a: 1\n\t\nb: 2\n", 2, 1, TAB, id="a tab in an empty line"),
        pytest.param("content: Note: x\n", 1, 14, COLON, id="a colon in a value"),
        pytest.param("- role: user\n  content: Note: x\n", 2, 16, COLON, id="a colon in a value of a list item"),
        pytest.param("- - a: b c: d\n", 1, 11, COLON, id="a colon in a value of a list in a list"),
        pytest.param(
            "a:x\nb: y\n",
            2,
            2,
            "a key and its value must be separated by ': '; the line above has no space after the colon",
            id="no space after a colon",
        ),
        pytest.param(
            "a: x\n b: y\n",
            2,
            3,
            "this line is indented as if it belonged to the text above; indent the key like the key above",
            id="a key below a text",
        ),
        pytest.param("a: @x\n", 1, 4, "text that begins with @ must be in quotes", id="an at sign"),
        pytest.param("a: `x`\n", 1, 4, "text that begins with ` must be in quotes", id="a backtick"),
        pytest.param("a: %x\n", 1, 4, "text that begins with % must be in quotes", id="a percent sign"),
        pytest.param("a: *b* x\n", 1, 4, "text that begins with * must be in quotes", id="bold in Markdown"),
        pytest.param("a: & x\n", 1, 4, "text that begins with & must be in quotes", id="an ampersand"),
        pytest.param(
            "a: - x\n",
            1,
            4,
            "a list begins on the line below its key; put quotes around text that begins with -",
            id="a dash",
        ),
        pytest.param("a: | x\n", 1, 6, BLOCK_TEXT, id="text behind |"),
        pytest.param("a: > 3\n", 1, 6, BLOCK_TEXT, id="text behind >"),
        pytest.param(
            "a: ]\n", 1, 4, "a value is missing here; put quotes around text that begins with ]", id="a bracket"
        ),
        pytest.param("a: [x,\n", 2, 1, "a value is missing here", id="a list that ends in a comma"),
        pytest.param(
            "a:\n  - : 1\n",
            2,
            5,
            "a key is missing before the colon; put quotes around text that begins with :",
            id="a colon without a key",
        ),
        pytest.param(
            '["\\ud83d\\ude00"\\ud83d]',
            1,
            16,
            f"the list that opens on line 1 needs ',' or ']' here; {FLOW_HINT}",
            id="half of a character right behind a quoted one",
        ),
        pytest.param(
            "a: [x\nb: y\n",
            2,
            2,
            f"the list that opens on line 1 needs ',' or ']' here; {FLOW_HINT}",
            id="an open list",
        ),
        pytest.param(
            "a: {x: y\nb: {z\n",
            2,
            2,
            f"the mapping that opens on line 1 needs ',' or '}}' here; {FLOW_HINT}",
            id="an open mapping",
        ),
        pytest.param(
            'a: "x" y\n', 1, 8, 'nothing may follow the closing "; put the whole text in quotes', id="a quote"
        ),
        pytest.param("a: 'it's'\n", 1, 8, "nothing may follow the closing '; put the whole text in quotes", id="it's"),
        pytest.param("a: [x] y\n", 1, 8, "nothing may follow the closing ]; put the whole text in quotes", id="a list"),
        pytest.param("a:\n    b: 1\n  c: 2\n", 3, 3, UNINDENTED, id="a key between two indentations"),
        pytest.param("a:\n  - b\n - c\n", 3, 2, UNINDENTED, id="a list item between two indentations"),
        pytest.param("  - b\n - c\n", 2, 2, None, id="a list item before the others"),
        pytest.param(
            "a: x\nbcd\ne: f\n",
            2,
            1,
            "this line is neither 'key: value' nor a part of the text above; indent a text of several lines below |",
            id="a line without a key",
        ),
        pytest.param('a: "x\nb: y\n', 1, 4, "the quote that opens here is never closed", id="an open quote"),
        pytest.param('a: "x\n---\n', 1, 4, "the quote that opens here is never closed", id="a quote over documents"),
        pytest.param('a: "\\d"\n', 1, 5, f"\\d {BACKSLASH}", id="an unknown escape"),
        pytest.param('a: "\\t \\d \\t"\n', 1, 8, f"\\d {BACKSLASH}", id="an unknown escape between others"),
        pytest.param('a: "\\t\\d\\t"\n', 1, 7, f"\\d {BACKSLASH}", id="an unknown escape right between others"),
        pytest.param('"\\d\\t"\n', 1, 2, f"\\d {BACKSLASH}", id="an unknown escape near the start"),
        pytest.param('a: "C:\\Users"\n', 1, 7, f"\\U {BACKSLASH}", id="a path of Windows"),
        pytest.param('a: "\\xZZ"\n', 1, 5, f"\\x {BACKSLASH}", id="an escape without its digits"),
        pytest.param(
            'a: "\\U00110000"\n',
            1,
            5,
            "\\U00110000 is not a whole character; write the character itself",
            id="beyond Unicode",
        ),
        pytest.param(
            'a: "\\UFFFFFFFF"\n',
            1,
            5,
            "\\UFFFFFFFF is not a whole character; write the character itself",
            id="far beyond Unicode",
        ),
        pytest.param("%x\n", 1, 3, None, id="a directive"),
    ],
)
def test_a_syntax_error_says_what_to_write(text: str, line: int, column: int, reason: str | None) -> None:
    with pytest.raises(YamlError) as caught:
        parse_yaml(text)
    position, shown = caught.value.problem
    if reason is None:
        # Nothing better than the parser's own words, as they are.
        assert shown.startswith("not valid YAML: ")
    else:
        assert (position.line, position.column, shown) == (line, column, f"not valid YAML: {reason}")


def test_an_error_behind_the_last_line_is_one_of_an_empty_line() -> None:
    # libyaml gives the end of a text without a line break a line of its own.
    mark = yaml.Mark("", 6, 1, 0, "", 6)
    error = yaml.MarkedYAMLError(problem="did not find expected node content", problem_mark=mark)
    assert explain_syntax_error(error, "a: [x,") == ((2, 1), "a value is missing here")


def test_an_error_on_the_first_line_has_no_line_above() -> None:
    mark = yaml.Mark("", 3, 0, 3, "", 3)
    error = yaml.MarkedYAMLError(problem="mapping values are not allowed here", problem_mark=mark)
    expected = "this line is indented as if it belonged to the text above; indent the key like the key above"
    assert explain_syntax_error(error, "a b: c\nd:e") == ((1, 4), expected)


def test_an_error_of_a_text_with_more_lines_for_yaml_1_1_is_explained() -> None:
    private = "".join(map(chr, range(0xE000, 0xF900)))
    with pytest.raises(YamlError) as caught:
        parse_yaml(f"# {private}\u2028\n# \u2028\u2028\na: @\n")
    assert caught.value.problem.text.startswith("not valid YAML: ")


def test_an_error_that_the_parser_does_not_describe_says_what_was_read() -> None:
    assert explain_syntax_error(yaml.MarkedYAMLError(context="while reading"), "") == ((1, 1), "while reading")


def test_an_error_without_a_position_is_reported_at_the_start() -> None:
    error = yaml.MarkedYAMLError(context="while reading", problem="something is odd")
    assert explain_syntax_error(error, "") == ((1, 1), "while reading, something is odd")
