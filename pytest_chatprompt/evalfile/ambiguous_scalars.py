"""Scalars that YAML 1.1 and 1.2 read as different values, such as `yes`, `12:30` and `1e3`.

In: the nodes of data that is sent. Out: the position of each such scalar, and what to write instead. Pure; `loader`
calls it: what is sent must not depend on who reads the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from pytest_chatprompt.evalfile.yaml_tree import Node, Position

# As YAML 1.2 reads numbers, except octal ones, which have another form there.
_NUMBER: Final = re.compile(
    r"[-+]?(?:0|[1-9][0-9]*|0x[0-9a-fA-F]+|(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)"
)
_SHORT_NUMBER: Final = re.compile(r"[-+]?0[0-9]+")
# As YAML 1.2 reads numbers. YAML 1.1 takes some of them for text: `1e3`, `-.5`, `0o17`, `089`.
_NUMBER_OF_YAML_12: Final = re.compile(r"0o[0-7]+|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


def find_ambiguous_scalars(node: Node) -> Iterator[tuple[Position, str]]:
    """Find the scalars that another reader of YAML takes for something else.

    Args:
        node: of JSON data.
    """
    if isinstance(node.value, dict):
        for entry in node.value.values():
            yield from find_ambiguous_scalars(entry.node)
    elif isinstance(node.value, tuple):
        for item in node.value:
            yield from find_ambiguous_scalars(item)
    elif node.is_plain_text:
        if _NUMBER_OF_YAML_12.fullmatch(node.text):
            hint = "put it in quotes if you mean that, or write the number in digits"
            yield node.position, f"{node.text} is read as text here; {hint}"
    elif _is_ambiguous(node):
        value = json.dumps(node.value)
        yield node.position, f"{node.text} is read as {value} here; put it in quotes if you mean text, or write {value}"


def _is_ambiguous(node: Node) -> bool:
    if isinstance(node.value, bool):
        return node.text.lower() not in ("true", "false")
    if isinstance(node.value, int | float):
        return not _NUMBER.fullmatch(node.text) or _SHORT_NUMBER.fullmatch(node.text) is not None
    return False
