"""Syntax errors of YAML: each at its place, in the words of the parser."""

from __future__ import annotations

import pytest
import yaml

from pytest_chatprompt.text.yaml import Position, YamlError, parse_yaml


def problem_of(text: str) -> tuple[Position, str]:
    with pytest.raises(YamlError) as caught:
        parse_yaml(text)
    (problem,) = caught.value.problems
    return problem


@pytest.mark.parametrize(
    ("text", "line", "column", "reason"),
    [
        pytest.param("content: Note: x\n", 1, 14, "mapping values are not allowed in this context", id="a colon in a value"),
        pytest.param("a:\n  \tb: 1\n", 2, 3, "found character '\\t' that cannot start any token, while scanning for the next token on line 2", id="a tab"),
        pytest.param("a: b\n\tc: d\n", 2, 1, "found a tab character that violates indentation, while scanning a plain scalar on line 1", id="a tab in front of a key"),
        pytest.param("a: @x\n", 1, 4, "found character '@' that cannot start any token, while scanning for the next token on line 1", id="a sign"),
        pytest.param("a:\n    b: 1\n  c: 2\n", 3, 3, "did not find expected key, while parsing a block mapping on line 1", id="a key between two indentations"),
        pytest.param("a: [x\nb: y\n", 2, 2, "did not find expected ',' or ']', while parsing a flow sequence on line 1", id="an open list"),
        pytest.param("a: [x,", 2, 1, "did not find expected node content, while parsing a flow node on line 2", id="a list that ends with the text"),
        pytest.param('a: "x\nb: y\n', 3, 1, "found unexpected end of stream, while scanning a quoted scalar on line 1", id="an open quote, at its end with the line where it begins"),
    ],
)  # fmt: skip
def test_a_syntax_error_has_its_place_and_the_words_of_the_parser(
    text: str, line: int, column: int, reason: str
) -> None:
    assert problem_of(text) == (Position(line, column), f"not valid YAML: {reason}")


def test_without_libyaml_a_syntax_error_has_the_words_of_pyyaml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_chatprompt.text.yaml._Loader", yaml.SafeLoader)
    assert problem_of("content: Note: x\n") == (Position(1, 14), "not valid YAML: mapping values are not allowed here")
    reason = "found character '@' that cannot start any token"
    assert problem_of("a: @x\n") == (Position(1, 4), f"not valid YAML: {reason}")
    reason = "found unexpected end of stream, while scanning a quoted scalar on line 1"
    assert problem_of('a: "x\nb: y\n') == (Position(3, 1), f"not valid YAML: {reason}")


def test_a_syntax_error_of_a_text_with_more_lines_for_yaml_1_1_has_its_line() -> None:
    assert problem_of("# \u2028\n# \u2028\u2028\na: @\n")[0] == Position(3, 4)
