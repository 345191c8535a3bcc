"""Tools and response formats in the shape of OpenAI's chat completions.

What an eval file says, in that shape or in the one of Responses, comes in; the body's fields come out. `openai` calls
it. Source: the package `openai` (`types/chat/chat_completion_tool_union_param.py`,
`types/chat/chat_completion_tool_choice_option_param.py`, `types/shared_params/response_format_json_schema.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pytest_chatprompt.errors import PayloadError

# The types that chat completions have; Responses has more.
_TOOL_TYPES: Final = ("function", "custom")


def chat_tools(tools: Sequence[Mapping[str, Any]], vendor: str) -> list[dict[str, Any]]:
    """Make the body's `tools`.

    Raises:
        PayloadError: there is a tool that only Responses has.
    """
    for index, tool in enumerate(tools):
        if tool["type"] not in _TOOL_TYPES:
            raise PayloadError(
                f"{vendor}'s chat completions have no tool of the type {tool['type']!r}; "
                f"the types are {' and '.join(_TOOL_TYPES)}",
                location=("tools", index),
            )
    return [_nested(tool) for tool in tools]


def chat_tool_choice(choice: str | Mapping[str, Any], vendor: str) -> str | dict[str, Any]:
    """Make the body's `tool_choice`.

    Raises:
        PayloadError: it chooses a tool that only Responses has.
    """
    if isinstance(choice, str):
        return choice
    if choice["type"] == "allowed_tools":
        nested = _nested(choice)
        allowed = nested["allowed_tools"]
        tools = [chat_tool_choice(tool, vendor) for tool in allowed["tools"]]
        return {**nested, "allowed_tools": {**allowed, "tools": tools}}
    if choice["type"] not in _TOOL_TYPES:
        raise PayloadError(
            f"{vendor}'s chat completions cannot choose a tool of the type {choice['type']!r}; choose a function",
            location=("tool_choice",),
        )
    return _nested(choice)


def chat_response_format(response_format: Mapping[str, Any]) -> dict[str, Any]:
    """Make the body's `response_format`."""
    return _nested(response_format) if response_format["type"] == "json_schema" else dict(response_format)


def _nested(data: Mapping[str, Any]) -> dict[str, Any]:
    """A tool, a choice or a format with its definition below the name of its type, as chat completions have it."""
    kind = data["type"]
    nested = dict(data) if kind in data else {"type": kind, kind: {k: v for k, v in data.items() if k != "type"}}
    form = nested[kind].get("format")
    if kind == "custom" and isinstance(form, Mapping) and form.get("type") == "grammar" and "grammar" not in form:
        # The grammar of a custom tool is nested too.
        grammar = {key: value for key, value in form.items() if key != "type"}
        nested[kind] = {**nested[kind], "format": {"type": "grammar", "grammar": grammar}}
    return nested
