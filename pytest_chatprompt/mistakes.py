"""Mistakes in a case, told in the author's terms.

A validation error of pydantic and the node that was validated come in; places in the file and what to
write instead come out. Pure; `eval_file` calls it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Final

from pydantic import ValidationError

from pytest_chatprompt.eval_message import ROLES, EvalMessage, FilePart, FunctionCall, TextPart, ToolCall
from pytest_chatprompt.strict_model import Strict
from pytest_chatprompt.yaml_tree import Node, Place

_KEYS_AT: Final[dict[str, type[Strict]]] = {
    "input_messages": EvalMessage,
    "expected_messages": EvalMessage,
    "text": TextPart,
    "file": FilePart,
    "tool_calls": ToolCall,
    "function": FunctionCall,
}


_WANTED: Final = {
    "string_type": "a string",
    "tuple_type": "a list",
    "list_type": "a list",
    "model_type": "a mapping",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "model_attributes_type": "a mapping",
}
# Steps of a location that only validation knows: which member of a union was tried.
_UNION_STEPS: Final = ("string", "parts", "null", "text", "file")


def _known_keys(location: tuple[str | int, ...], model: type[Strict]) -> list[str]:
    """The keys that may stand at a location of a model."""
    inner = [step for step in location if isinstance(step, str) and step in _KEYS_AT]
    owner = _KEYS_AT[inner[-1]] if inner else model
    return [field.alias or name for name, field in owner.model_fields.items()]


def explain(error: ValidationError, node: Node, model: type[Strict]) -> Iterator[tuple[Place, str]]:
    """Tell a validation error in the author's terms: the place in the file, and what to write instead."""
    for detail in error.errors(include_url=False):
        location = detail["loc"]
        found = node.find(location)
        match detail["type"]:
            case "extra_forbidden":
                owner, key = node.find(location[:-1]), str(location[-1])
                hint = _did_you_mean(key, _known_keys(location[:-1], model))
                yield owner.key_place(key), f"unknown key {key!r}{hint}"
            case "missing":
                yield found.place, f"missing key {location[-1]!r}"
            case "literal_error" if location[-1] == "role":
                hint = _did_you_mean(found.text, ROLES) or f"; the roles are {', '.join(ROLES)}"
                yield found.place, f"unknown role: {as_read(found)}{hint}"
            case "union_tag_invalid" | "union_tag_not_found":
                yield found.place, "a part is {type: text, value: ...} or {type: file, value: PATH}"
            case "too_short" | "string_too_short":
                yield found.place, f"{_path_of(location)} is empty"
            case "told":
                yield found.place, detail["msg"]
            case "metadata":
                yield found.find(("metadata", detail["ctx"]["key"])).place, detail["msg"]
            case wrong_type if wrong_type in _WANTED:
                yield found.place, f"{_path_of(location)} must be {_WANTED[wrong_type]}, but is {as_read(found)}"
            case _:
                yield found.place, f"{_path_of(location)}: {detail['msg']}"


def _path_of(location: tuple[str | int, ...]) -> str:
    """`('tool_calls', 0, 'id')` as `'tool_calls[0].id'`, without the steps that only validation knows."""
    path = ""
    for step in location:
        if isinstance(step, int):
            path += f"[{step}]"
        elif step not in _UNION_STEPS:
            path += f".{step}"
    return repr(path.removeprefix("."))


def as_read(node: Node) -> str:
    """What YAML made of a value, in words, and how to keep it text."""
    match node.value:
        case None:
            return "empty" if not node.text else f"null ({node.text}); quote it if text is meant"
        case bool():
            return f"the boolean {str(node.value).lower()} ({node.text}); quote it if text is meant"
        case int() | float():
            return f"the number {node.text}; quote it if text is meant"
        case str():
            return repr(node.value)
        case dict():
            return "a mapping"
        case tuple():
            return "a list"
        case other:
            return f"the {type(other).__name__} {node.text}; quote it if text is meant"


def _did_you_mean(word: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
