"""Tools and response formats in the shape of Google's Gemini API.

What an eval file says, in OpenAI's shape, comes in; the body's fields come out, with what could not be kept. `gemini`
calls it. Source: https://ai.google.dev/api/caching#FunctionDeclaration, https://ai.google.dev/api/generate-content and
the package `google-genai` (`types.py`: `FunctionDeclaration`, `FunctionCallingConfig`, `GenerateContentConfig`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pytest_chatprompt.errors import PayloadError
from pytest_chatprompt.prompt.tool_definitions import FunctionTool, output_schema, read_tool_choice, require_functions
from pytest_chatprompt.providers.chat.payload import Payload

_MODES: Final = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
_JSON: Final = "application/json"


def gemini_tools(tools: Sequence[Mapping[str, Any]], vendor: str) -> Payload:
    """The body's `tools`: one tool with all functions.

    Raises:
        PayloadError: a tool is not a function.
    """
    functions = require_functions(tools, vendor)
    adjustments = tuple(
        f"tool {function.name}: strict left out, {vendor} has none"
        for function in functions
        if function.strict is not None
    )
    return Payload({"tools": [{"functionDeclarations": [_declaration(tool) for tool in functions]}]}, adjustments)


def _declaration(tool: FunctionTool) -> dict[str, Any]:
    fields = {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}
    return {key: value for key, value in fields.items() if value is not None}


def gemini_tool_config(choice: str | Mapping[str, Any], vendor: str) -> dict[str, Any]:
    """Make the body's `toolConfig`.

    Raises:
        PayloadError: it chooses something other than functions, or allows some without demanding one.
    """
    read = read_tool_choice(choice, vendor)
    if read.is_list and read.mode == "auto":
        raise PayloadError(
            f"{vendor} has allowed_tools with the mode 'required' only; leave out the tools that are not allowed",
            location=("tool_choice",),
        )
    config: dict[str, Any] = {"mode": _MODES[read.mode]}
    if read.names:
        config["allowedFunctionNames"] = list(read.names)
    return {"functionCallingConfig": config}


def gemini_response_format(response_format: Mapping[str, Any], vendor: str) -> Payload:
    """The fields of the body's `generationConfig` with the format."""
    schema = output_schema(response_format)
    if schema is not None:
        left_out = [key for key in ("name", "description", "strict") if getattr(schema, key) is not None]
        config = {"responseMimeType": _JSON, "responseJsonSchema": schema.schema}
        adjustments = (f"response_format: {', '.join(left_out)} left out, {vendor} has none",)
        return Payload({"generationConfig": config}, adjustments)
    # Text is what the API answers with by default.
    return Payload(
        {"generationConfig": {"responseMimeType": _JSON}} if response_format["type"] == "json_object" else {}
    )
