"""Diagnostics: validation errors in the words of an eval file's author."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from pytest_chatprompt.cases.fields import StrictModel
from pytest_chatprompt.cases.foreign_keys import explain_foreign_key, find_own_role
from pytest_chatprompt.cases.message import PART_MODELS, ROLES, SHORTHANDS, EvalMessage, ToolCall, is_expanded
from pytest_chatprompt.cases.request_options import (
    ChatTool,
    FlatSchemaFormat,
    FlatTool,
    RequestSettings,
    SchemaDefinition,
)
from pytest_chatprompt.text.yaml import Node, Position
from pytest_chatprompt.wording import did_you_mean

# The models inside a case, by the last step of pydantic's location that leads to them.
_INNER_MODELS: Final[dict[str, type[StrictModel]]] = {
    "input_messages": EvalMessage,
    "tool_calls": ToolCall,
    "settings": RequestSettings,
    "<chat>": ChatTool,
    "<flat>": FlatTool,
    "response_format": FlatSchemaFormat,
    "json_schema": SchemaDefinition,
    **PART_MODELS,
}
# What was expected, by pydantic's type of the error.
_EXPECTED: Final = {
    "string_type": "a string",
    "tuple_type": "a list",
    "list_type": "a list",
    "bool_type": "true or false",
    "model_type": "a mapping",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "model_attributes_type": "a mapping",
}
# Steps of pydantic's location that are not in the file: they name the member of a union that was tried. So do those in
# angle brackets.
_UNION_TAGS: Final = frozenset({"string", "list", "mapping", "null", *PART_MODELS})


def explain_validation_error(
    error: ValidationError, node: Node, model: type[StrictModel] = StrictModel
) -> Iterator[tuple[Position, str]]:
    """Say for each detail of a validation error where it is in the file, and what to write instead.

    Args:
        error: from validating the data of `node`.
        node: the mapping that was validated.
        model: the model that it was validated with; its keys are suggested for a mistyped one.
    """
    for detail in _details(error):
        location = detail["loc"]
        value = node.find(location)
        detail["loc"] = _as_written(location, node)
        match detail["type"]:
            case "extra_forbidden":
                mapping, key = node.find(location[:-1]), str(location[-1])
                owner = _owner(location[:-1], model)
                suggestion = _explain_unknown_key(key, owner)
                yield mapping.key_position(key), f"unknown key {key!r}" + (f"; {suggestion}" if suggestion else "")
            case "union_tag_invalid" | "union_tag_not_found":
                yield _explain_part_type(value)
            case "invalid_metadata" | "invalid_variable":
                yield _position_of_entry(value, **detail["ctx"]), detail["msg"]
            case _:
                yield value.position, _explain_value(detail, value)


def _explain_value(detail: ErrorDetails, value: Node) -> str:
    """What is wrong with a value, for errors at its own position."""
    location = detail["loc"]
    match detail["type"]:
        case "missing":
            return f"missing key {location[-1]!r}"
        case "literal_error" if location[-1] == "role":
            return f"unknown role: {describe_value(value)}; {_suggest_role(value.text, detail['ctx']['expected'])}"
        case "too_short" | "string_too_short":
            return f"{_key_path(location)} is empty"
        # Raised by the validators of our models: the message is already written for the author.
        case "invalid_value":
            return detail["msg"]
        case "unexpected_value":
            return f"{_key_path(location)} {detail['msg']}, but is {describe_value(value)}"
        case error_type if error_type in _EXPECTED:
            description = describe_value(value, with_hint=error_type == "string_type")
            return f"{_key_path(location)} must be {_EXPECTED[error_type]}, but is {description}"
    return f"{_key_path(location)}: {detail['msg']}"


def _suggest_role(role: str, expected: str) -> str:
    """What to write instead of a role where pydantic expects `'user' or 'assistant'`."""
    roles = [each for each in ROLES if repr(each) in expected]
    own_role = find_own_role(role)
    if own_role in roles:
        return f"write {own_role!r}"
    return did_you_mean(role, roles) or f"the roles are {', '.join(roles)}"


def _details(error: ValidationError) -> list[ErrorDetails]:
    # The parser has reported the keys that are not strings.
    return [detail for detail in error.errors(include_url=False) if detail["loc"][-1:] != ("[key]",)]


def _as_written(location: tuple[str | int, ...], node: Node) -> tuple[str | int, ...]:
    """A location with the shorthand in place of the messages that it stands for."""
    names = {shorthand.messages_key: shorthand.key for shorthand in SHORTHANDS if is_expanded(node, shorthand)}
    return tuple(names.get(str(step), step) if index == 0 else step for index, step in enumerate(location))


def _position_of_entry(mapping: Node, key: str, *, is_name: bool | None = None, **_: object) -> Position:
    """The position of an entry of `vars` (of its key if that is invalid), or of `metadata` if `is_name` is `None`."""
    if is_name is None:
        return mapping.find(("metadata", key)).position
    return mapping.key_position(key) if is_name else mapping.find((key,)).position


def _explain_part_type(part: Node) -> tuple[Position, str]:
    if "type" not in part.value:
        *others, last = (part_model.usage for part_model in PART_MODELS.values())
        return part.position, f"a part must be {', '.join(others)} or {last}"
    part_type = part.find(("type",))
    suggestion = did_you_mean(part_type.text, PART_MODELS) or f"the part types are {', '.join(PART_MODELS)}"
    return part_type.position, f"unknown part type: {describe_value(part_type)}; {suggestion}"


def describe_value(node: Node, *, with_hint: bool = False) -> str:
    """Describe a value as YAML read it, such as `the number 3`, `'text'`, `a mapping` or `empty`."""
    hint = "; put it in quotes if you mean text" if with_hint and node.text and not isinstance(node.value, str) else ""
    match node.value:
        case None:
            return f"null ({node.text}){hint}" if node.text else "empty"
        case bool():
            return f"the boolean {str(node.value).lower()} ({node.text}){hint}"
        case int() | float():
            return f"the number {node.text}{hint}"
        case str():
            return repr(node.value)
        case dict():
            return "a mapping"
        case tuple():
            return "a list"
        case other:
            return f"the {type(other).__name__} {node.text}{hint}"


def _owner(location: tuple[str | int, ...], model: type[StrictModel]) -> type[StrictModel]:
    """The model of the mapping at a location of a model."""
    owner = model
    for step in location:
        field = owner.model_fields.get(str(step))
        if step in _INNER_MODELS:
            owner = _INNER_MODELS[str(step)]
        elif field is not None and isinstance(field.annotation, type) and issubclass(field.annotation, StrictModel):
            owner = field.annotation
    return owner


def _explain_unknown_key(key: str, owner: type[StrictModel]) -> str:
    """What to write instead of a key that a model lacks; `""` if nothing is known about it."""
    level = "part" if owner in PART_MODELS.values() else owner.level
    explanation = explain_foreign_key(level, key) if level is not None else ""
    known = {field.alias or name for name, field in owner.model_fields.items()}
    # A key of the other shape of a format is known, and refused all the same.
    return explanation or did_you_mean(key, known - {key})


def _key_path(location: tuple[str | int, ...]) -> str:
    """A location as messages show it, without tags of unions: `('tool_calls', 0, 'id')` is `'tool_calls[0].id'`."""
    path = ""
    for previous, step in pairwise(("", *location)):
        if isinstance(step, int):
            path += f"[{step}]"
        # Behind the type of a part stands one of its keys, which may be called as a type is.
        elif previous in PART_MODELS or (step not in _UNION_TAGS and not step.startswith("<")):
            path += f".{step}"
    return repr(path.removeprefix("."))
