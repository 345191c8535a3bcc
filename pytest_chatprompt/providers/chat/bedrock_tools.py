"""Tools and response formats in the shape of Bedrock's Converse API.

What an eval file says, in OpenAI's shape, comes in; the body's fields come out, with what could not be kept. `bedrock`
calls it. Source: the model of the API in botocore (`data/bedrock-runtime`: `ToolConfiguration`, `ToolSpecification`,
`ToolChoice`, `OutputConfig`, `JsonSchemaDefinition`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pytest_chatprompt.errors import PayloadError
from pytest_chatprompt.prompt.tool_definitions import FunctionTool, output_schema, read_tool_choice, require_functions
from pytest_chatprompt.providers.chat.payload import Payload

_NO_ARGUMENTS: Final[Mapping[str, Any]] = {"type": "object", "properties": {}}


def bedrock_tools(tools: Sequence[Mapping[str, Any]], vendor: str) -> list[dict[str, Any]]:
    """The `tools` in the body's `toolConfig`.

    Raises:
        PayloadError: a tool is not a function.
    """
    return [{"toolSpec": _specification(tool)} for tool in require_functions(tools, vendor)]


def _specification(tool: FunctionTool) -> dict[str, Any]:
    # The API refuses an empty description.
    description = {"description": tool.description} if tool.description else {}
    schema = {"json": _NO_ARGUMENTS if tool.parameters is None else tool.parameters}
    strict = {} if tool.strict is None else {"strict": tool.strict}
    return {"name": tool.name, **description, "inputSchema": schema, **strict}


def bedrock_tool_choice(choice: str | Mapping[str, Any], vendor: str) -> dict[str, Any]:
    """The `toolChoice` in the body's `toolConfig`.

    Raises:
        PayloadError: it chooses something other than a function, allows several, or is `none`.
    """
    read = read_tool_choice(choice, vendor)
    if read.is_list:
        raise PayloadError(
            f"{vendor} has no allowed_tools; write auto, required or the name of one function",
            location=("tool_choice",),
        )
    if read.mode == "none":
        raise PayloadError(
            f"{vendor} has no tool_choice 'none'; leave out the tools and the choice", location=("tool_choice",)
        )
    if read.names:
        return {"tool": {"name": read.names[0]}}
    return {"any" if read.mode == "required" else "auto": {}}


def bedrock_output_format(response_format: Mapping[str, Any], vendor: str) -> Payload:
    """The body's `outputConfig` with the format, if it has a schema; the schema is JSON text.

    Raises:
        PayloadError: it is JSON without a schema.
    """
    schema = output_schema(response_format)
    if schema is not None:
        optional = {"name": schema.name, "description": schema.description}
        definition = {
            "schema": json.dumps(schema.schema, ensure_ascii=False),
            **{key: value for key, value in optional.items() if value is not None},
        }
        text_format = {"type": "json_schema", "structure": {"jsonSchema": definition}}
        adjustments = () if schema.strict is None else (f"response_format: strict left out, {vendor} has none",)
        return Payload({"outputConfig": {"textFormat": text_format}}, adjustments)
    if response_format["type"] == "json_object":
        raise PayloadError(
            f"{vendor} has no JSON without a schema; write a json_schema, or ask for JSON in a message",
            location=("response_format",),
        )
    # Text is what the API answers with by default.
    return Payload({})
