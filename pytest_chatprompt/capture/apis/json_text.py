"""Write any data as JSON, including data that `json.dumps` refuses.

Data of any kind comes in, text comes out, and never an exception. Pure functions; the modules of this room call them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def json_text(value: Any) -> str:
    """Write data as JSON text, with characters other than ASCII as they are.

    Args:
        value: JSON data of any depth; what JSON does not know is written as its `repr`, in quotes.
    """
    try:
        return json.dumps(value, ensure_ascii=False, default=_as_json)
    except (ValueError, TypeError, RecursionError):
        return _written_in_steps(value)


def _as_json(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else repr(value)


def _written_in_steps(value: Any) -> str:
    """`json.dumps` without recursion: a body may be nested deeper than Python's stack."""
    written: list[str] = []
    # What is left to write, the next one last: text as a tuple of one, anything else as it is.
    pending: list[Any] = [value]
    while pending:
        current = pending.pop()
        if isinstance(current, _Text):
            written.append(current)
        elif isinstance(current, Mapping):
            steps: list[Any] = [_Text("{")]
            for index, (key, item) in enumerate(current.items()):
                steps += [_Text(f"{', ' if index else ''}{_scalar(str(key))}: "), item]
            pending += reversed([*steps, _Text("}")])
        elif isinstance(current, list | tuple):
            steps = [_Text("[")]
            for index, item in enumerate(current):
                steps += [_Text(", "), item] if index else [item]
            pending += reversed([*steps, _Text("]")])
        else:
            written.append(_scalar(current))
    return "".join(written)


class _Text(str):
    """Text that is JSON already."""

    __slots__ = ()


def _scalar(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=repr)
    except ValueError:
        # An integer of more digits than Python writes in decimal.
        return json.dumps(hex(value))
