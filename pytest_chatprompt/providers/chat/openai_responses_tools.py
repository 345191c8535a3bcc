"""Tools and response formats in the shape of OpenAI's Responses: each definition beside its type.

What an eval file says, in either of OpenAI's shapes, comes in; the body's fields come out. What has this shape already
is kept as it is. Pure; `openai_responses` calls it.
Source: the package `openai` (`types/responses/tool_param.py`, `response_create_params.py`,
`response_format_text_config_param.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def responses_tools(tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The body's `tools`. OpenAI's own tools, such as `web_search`, are kept as they are."""
    return [_flat(tool) for tool in tools]


def responses_tool_choice(choice: str | Mapping[str, Any]) -> str | dict[str, Any]:
    """Make the body's `tool_choice`."""
    if isinstance(choice, str):
        return choice
    flat = _flat(choice)
    if flat["type"] == "allowed_tools":
        return {**flat, "tools": [_flat(tool) for tool in flat["tools"]]}
    return flat


def responses_text_format(response_format: Mapping[str, Any]) -> dict[str, Any]:
    """The `format` in the body's `text`."""
    return _flat(response_format)


def _flat(data: Mapping[str, Any]) -> dict[str, Any]:
    """A tool, a choice or a format with its definition beside its type, as Responses has it."""
    kind = data["type"]
    nested = data.get(kind)
    flat = {"type": kind, **nested} if isinstance(nested, Mapping) else dict(data)
    form = flat.get("format")
    if kind == "custom" and isinstance(form, Mapping) and isinstance(form.get("grammar"), Mapping):
        # The grammar of a custom tool stands beside its type too.
        flat["format"] = {"type": "grammar", **form["grammar"]}
    return flat
