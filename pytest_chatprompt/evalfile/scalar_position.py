"""Where a character of a text stands in its YAML file, for every way in which YAML writes texts.

In: the node of a text, and the index of one of its characters. Out: a line and a column of the file. Pure.
Only `template_rendering` calls it, for the errors of templates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from pytest_chatprompt.evalfile.yaml_file import YamlSource
from pytest_chatprompt.evalfile.yaml_tree import Node, Position

# A quoted text ends at its quote, however many lines it has.
_QUOTED: Final = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\'\'|[^\'])*\'', re.DOTALL)
_WORDS: Final = re.compile(r"\{?[{%#]?\s*[\w.]+|\S+")


def position_in_scalar(source: YamlSource, node: Node, text: str, offset: int) -> Position:
    """Find a character of a text in the file.

    Args:
        source: the file.
        node: the node of the text.
        text: the text.
        offset: the 0-based index of the character.

    Returns:
        Its position; that of the node if YAML writes the text with escapes, or breaks it within a word.
    """
    start = source.offset(node.position)
    quoted = _QUOTED.match(source.text, start)
    end = len(source.text) if quoted is None else quoted.end()
    for begin, fragment in _fragments(text, offset):
        # Without escapes the file has the same fragments in the same order.
        index = start - 1
        for _ in range(text.count(fragment, 0, begin) + 1):
            index = source.text.find(fragment, index + 1, end)
            if index < 0:
                break
        if index >= 0:
            return source.position(index + offset - begin)
    return node.position


def _fragments(text: str, offset: int) -> Iterator[tuple[int, str]]:
    """What to look for in the file: the line around the character, what follows it there, the word that it begins."""
    line_start = text.rfind("\n", 0, offset) + 1
    line_end = text.find("\n", offset)
    line_end = len(text) if line_end < 0 else line_end
    if line_end > line_start:
        yield line_start, text[line_start:line_end]
        word = _WORDS.match(text, offset, line_end)
        if word is not None:
            yield offset, text[offset:line_end]
            yield offset, word[0]
