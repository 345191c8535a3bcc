"""Syntax errors of YAML in words that an author understands: what is wrong, and what to write instead.

In: the error of libyaml, and the text. Out: a position and a sentence. Pure; only `yaml_parser` calls it.

The parser speaks of tokens and scalars. What it names is rarely the mistake: mostly a text needs quotes, or a line is
indented in another way than its author thinks.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

import yaml

from pytest_chatprompt.evalfile.yaml_tree import Position, mark_position

_START: Final = yaml.Mark("", 0, 0, 0, "", 0)
_LINE_BREAK: Final = re.compile(r"\r\n?|\n")
_LINE_START: Final = r"(?:[-?:] +| )*"
_INDENTATION: Final = re.compile(_LINE_START)
_KEY_AND_VALUE: Final = re.compile(_LINE_START + r"[^\s#].*?:\s+\S")
_KEY_WITHOUT_SPACE: Final = re.compile(_LINE_START + r"[\w$-]+:\S")
_ESCAPE: Final = re.compile(r"\\(?:u\w{4}|U\w{8}|.?)")


class _Place(NamedTuple):
    """Where a parser stopped.

    Args:
        mark: its position.
        line: the whole line.
        above: the line before it; `""` for none.
        opening: the position of what the parser was reading, such as the opening quote.
        opening_line: the line of that position, from there on.
        context: what the parser was reading, in its words.
    """

    mark: Any
    line: str
    above: str
    opening: Any
    opening_line: str
    context: str

    @property
    def before(self) -> str:
        return self.line[: self.mark.column]

    @property
    def character(self) -> str:
        return self.line[self.mark.column : self.mark.column + 1]


def explain_syntax_error(error: yaml.MarkedYAMLError, text: str) -> tuple[Position, str]:
    """Say what is wrong with a YAML text, where, and what to write instead.

    Args:
        error: what libyaml raised.
        text: the text that was parsed.
    """
    mark = error.problem_mark or error.context_mark or _START
    opening = error.context_mark or mark
    lines = _LINE_BREAK.split(text)
    line, above, opening_line = (_line(lines, index) for index in (mark.line, mark.line - 1, opening.line))
    place = _Place(mark, line, above, opening, opening_line[opening.column :], str(error.context))
    tab = _position_of_tab(place)
    if tab is not None:
        return tab, "indent with spaces, not a tab"
    problem = error.problem or ""
    explain = next((explain for words, explain in _EXPLANATIONS if words in problem), None)
    if explain is None:
        return mark_position(mark), ", ".join(part for part in (error.context, problem) if part)
    return explain(place)


def _line(lines: list[str], index: int) -> str:
    """A line, or `""`: libyaml gives the end of a text a line of its own, and may count more line breaks than we do."""
    return lines[index] if 0 <= index < len(lines) else ""


def _position_of_tab(place: _Place) -> Position | None:
    """The position of a tab that the parser stopped at, or that indents the line."""
    indentation = len(_INDENTATION.match(place.line)[0])  # type: ignore[index] # it matches an empty text
    for column in (place.mark.column, indentation):
        if place.line[column : column + 1] == "\t" and column <= place.mark.column:
            return Position(place.mark.line + 1, column + 1)
    return None


def _explain_colon(place: _Place) -> tuple[Position, str]:
    if _KEY_AND_VALUE.match(place.before):
        text = "text that contains ': ' must be in quotes"
    elif _KEY_WITHOUT_SPACE.match(place.above):
        text = "a key and its value must be separated by ': '; the line above has no space after the colon"
    else:
        text = "this line is indented as if it belonged to the text above; indent the key like the key above"
    return mark_position(place.mark), text


def _explain_first_character(place: _Place) -> tuple[Position, str]:
    return mark_position(place.mark), f"text that begins with {place.character} must be in quotes"


def _explain_name(place: _Place) -> tuple[Position, str]:
    return mark_position(place.opening), f"text that begins with {place.opening_line[:1]} must be in quotes"


def _explain_list(place: _Place) -> tuple[Position, str]:
    return mark_position(
        place.mark
    ), "a list begins on the line below its key; put quotes around text that begins with -"


def _explain_block_text(place: _Place) -> tuple[Position, str]:
    text = "after | or > the text begins on the next line; put quotes around text that begins with | or >"
    return mark_position(place.mark), text


def _explain_missing_value(place: _Place) -> tuple[Position, str]:
    character = place.character.strip()
    hint = f"; put quotes around text that begins with {character}" if character else ""
    return mark_position(place.mark), f"a value is missing here{hint}"


def _explain_flow(place: _Place) -> tuple[Position, str]:
    kind, closing = ("list", "]") if "sequence" in place.context else ("mapping", "}")
    text = (
        f"the {kind} that opens on line {place.opening.line + 1} needs ',' or '{closing}' here; "
        "put quotes around text that contains one of , [ ] { }"
    )
    return mark_position(place.mark), text


def _explain_end_of_block(place: _Place) -> tuple[Position, str]:
    before = place.before.rstrip()
    if before.strip(" -"):
        return mark_position(place.mark), f"nothing may follow the closing {before[-1]}; put the whole text in quotes"
    if place.character == ":":
        return mark_position(place.mark), "a key is missing before the colon; put quotes around text that begins with :"
    return mark_position(place.mark), "this line is indented less than the lines above, but more than those around them"


def _explain_key(place: _Place) -> tuple[Position, str]:
    text = "this line is neither 'key: value' nor a part of the text above; indent a text of several lines below |"
    return mark_position(place.opening), text


def _explain_quote(place: _Place) -> tuple[Position, str]:
    return mark_position(place.opening), "the quote that opens here is never closed"


def _explain_escape(place: _Place) -> tuple[Position, str]:
    start = place.line[: place.mark.column + 1].rfind("\\")
    text = f"{place.line[start : start + 2]} is not an escape of YAML; write \\\\ for a backslash, or use single quotes"
    return Position(place.mark.line + 1, start + 1), text


def _explain_code_point(place: _Place) -> tuple[Position, str]:
    position, _ = _explain_escape(place)
    escape = _ESCAPE.findall(place.line, position.column - 1)[0]
    return position, f"{escape} is not a whole character; write the character itself"


# By words of libyaml's problems.
_EXPLANATIONS: Final = (
    ("mapping values are not allowed", _explain_colon),
    ("cannot start any token", _explain_first_character),
    ("expected alphabetic or numeric character", _explain_name),
    ("sequence entries are not allowed", _explain_list),
    ("comment or line break", _explain_block_text),
    ("expected node content", _explain_missing_value),
    ("expected ',' or '", _explain_flow),
    ("did not find expected key", _explain_end_of_block),
    ("did not find expected '-' indicator", _explain_end_of_block),
    ("could not find expected ':'", _explain_key),
    ("found unexpected end of stream", _explain_quote),
    ("found unexpected document", _explain_quote),
    ("Unicode character escape", _explain_code_point),
    ("unknown escape character", _explain_escape),
    ("hexdecimal number", _explain_escape),
)
