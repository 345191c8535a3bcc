"""Tools and response formats in the shape of Anthropic's messages API.

What an eval file says, in OpenAI's shape, comes in; the body's fields come out, with what could not be kept.
`anthropic` calls it. Source: the package `anthropic` (`types/tool_param.py`, `types/tool_choice_param.py`,
`types/output_config_param.py`) and https://platform.claude.com/docs/en/build-with-claude/structured-outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pytest_chatprompt.errors import PayloadError
from pytest_chatprompt.prompt.tool_definitions import FunctionTool, output_schema, read_tool_choice, require_functions
from pytest_chatprompt.providers.chat.payload import Payload

_NO_ARGUMENTS: Final[Mapping[str, Any]] = {"type": "object", "properties": {}}


def anthropic_tools(tools: Sequence[Mapping[str, Any]], vendor: str) -> list[dict[str, Any]]:
    """Make the body's `tools`.

    Raises:
        PayloadError: a tool is not a function.
    """
    return [_tool(tool) for tool in require_functions(tools, vendor)]


def _tool(tool: FunctionTool) -> dict[str, Any]:
    optional = {"description": tool.description, "strict": tool.strict}
    return {
        "name": tool.name,
        **{key: value for key, value in optional.items() if value is not None},
        "input_schema": _NO_ARGUMENTS if tool.parameters is None else tool.parameters,
    }


def anthropic_tool_choice(choice: str | Mapping[str, Any], vendor: str) -> dict[str, Any]:
    """Make the body's `tool_choice`.

    Raises:
        PayloadError: it chooses something other than a function, or allows several.
    """
    read = read_tool_choice(choice, vendor)
    if read.is_list:
        raise PayloadError(
            f"{vendor} has no allowed_tools; write auto, none, required or the name of one function",
            location=("tool_choice",),
        )
    if read.names:
        return {"type": "tool", "name": read.names[0]}
    return {"type": "any" if read.mode == "required" else read.mode}


def anthropic_output_format(response_format: Mapping[str, Any], vendor: str) -> Payload:
    """The body's `output_config` with the format, if it has a schema.

    Raises:
        PayloadError: it is JSON without a schema.
    """
    schema = output_schema(response_format)
    if schema is not None:
        left_out = [key for key in ("name", "description") if getattr(schema, key) is not None]
        left_out += ["strict"] if schema.strict is False else []
        adjustments = (f"response_format: {', '.join(left_out)} left out, {vendor} has none",)
        return Payload({"output_config": {"format": {"type": "json_schema", "schema": schema.schema}}}, adjustments)
    if response_format["type"] == "json_object":
        raise PayloadError(
            f"{vendor} has no JSON without a schema; write a json_schema, or ask for JSON in a message",
            location=("response_format",),
        )
    # Text is what the API answers with by default.
    return Payload({})
