"""The contents of a request to Gemini, read back into turns.

The decoded body comes in, its turns come out. Pure functions; `gemini` calls `read_contents`. Google's APIs take the
names of fields in camel case and in snake case (https://protobuf.dev/programming-guides/json/).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pytest_chatprompt.capture.apis.conversation import ConversationTurn, Media, Part, Thought, ToolResult
from pytest_chatprompt.capture.apis.json_text import json_text
from pytest_chatprompt.capture.apis.reading import (
    as_items,
    as_mapping,
    as_text,
    first_of,
    kind_of,
    read_base64,
    read_call,
    read_parts,
    read_role,
    turns_of_parts,
)


def read_contents(body: Mapping[str, Any]) -> tuple[ConversationTurn, ...]:
    """Read `systemInstruction` and `contents`.

    Args:
        body: of the request.
    """
    turns: list[ConversationTurn] = []
    instruction = first_of(body, "systemInstruction", "system_instruction")
    if instruction is not None:
        is_content = isinstance(instruction, Mapping) and "parts" in instruction
        turns.append(
            ConversationTurn("system", read_parts(instruction["parts"] if is_content else instruction, _read_part))
        )
    for content in as_items(body.get("contents")):
        turns += _read_content(content)
    return tuple(turns)


def _read_content(content: Any) -> list[ConversationTurn]:
    if not isinstance(content, Mapping):
        return [ConversationTurn("user", (as_text(content),))]
    # Without a role the content is the user's.
    role = read_role("user" if content.get("role") in (None, "") else content["role"])
    if role == "unknown" or "parts" not in content:
        return [ConversationTurn(role, (json_text(content),))]
    return turns_of_parts(role, read_parts(content["parts"], _read_part))


def _read_part(part: Any) -> Iterable[Part]:
    content = as_mapping(part)
    inline, file = first_of(content, "inlineData", "inline_data"), first_of(content, "fileData", "file_data")
    call = first_of(content, "functionCall", "function_call")
    response = first_of(content, "functionResponse", "function_response")
    if content.get("text") is not None:
        yield Thought(as_text(content["text"])) if content.get("thought") is True else as_text(content["text"])
    elif isinstance(inline, Mapping):
        name = first_of(inline, "displayName", "display_name")
        yield read_base64(inline.get("data"), first_of(inline, "mimeType", "mime_type"), name=name)
    elif isinstance(file, Mapping):
        media_type = as_text(first_of(file, "mimeType", "mime_type"))
        yield Media(kind_of(media_type), media_type, source=as_text(first_of(file, "fileUri", "file_uri")))
    elif isinstance(call, Mapping):
        yield read_call(call.get("name"), call.get("args"), call.get("id"))
    elif isinstance(response, Mapping):
        yield _read_response(response)
    else:
        yield json_text(part)


def _read_response(response: Mapping[str, Any]) -> ToolResult:
    result = response.get("response")
    # The SDK puts other values than mappings under `result` or `output`.
    if isinstance(result, Mapping) and len(result) == 1:
        result = result.get("result", result.get("output", result))
    return ToolResult((as_text(result),), as_text(response.get("id")), as_text(response.get("name")))
