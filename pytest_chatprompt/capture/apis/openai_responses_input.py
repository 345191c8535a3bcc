"""The input of a request to OpenAI's Responses API, read back into turns.

The decoded body comes in, its turns come out. Pure functions; `openai_responses` calls `read_input`.
Source: the package `openai` (`types/responses/response_input_item.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pytest_chatprompt.capture.apis.conversation import ConversationTurn, Media, Part, Thought, ToolResult
from pytest_chatprompt.capture.apis.json_text import json_text
from pytest_chatprompt.capture.apis.openai_chat import read_chat_part, read_file
from pytest_chatprompt.capture.apis.reading import (
    as_items,
    as_mapping,
    as_text,
    read_call,
    read_parts,
    read_role,
    read_url,
    result_parts,
)

_CALLS: Final = {"function_call": "arguments", "custom_tool_call": "input"}
_RESULTS: Final = ("function_call_output", "custom_tool_call_output")


def read_input(body: Mapping[str, Any]) -> tuple[ConversationTurn, ...]:
    """Read `instructions`, `prompt` and `input`.

    Args:
        body: of the request.
    """
    turns: list[ConversationTurn] = []
    if (instructions := body.get("instructions")) is not None:
        if isinstance(instructions, str):
            turns.append(ConversationTurn("system", (instructions,)))
        else:
            turns += _read_items(instructions, "system")
    if body.get("prompt") is not None:
        # A prompt that is stored at OpenAI: its text is not in the request.
        turns.append(ConversationTurn("system", (json_text({"prompt": body["prompt"]}),)))
    return (*turns, *_read_items(body.get("input"), "user"))


def _read_items(items: Any, role: str) -> list[ConversationTurn]:
    turns: list[ConversationTurn] = []
    # Calls and thoughts are items of their own; they belong to the turn of the assistant that they follow.
    is_open = False
    for item in as_items(items):
        kind = as_mapping(item).get("type")
        if not isinstance(item, Mapping) or kind in (None, "message"):
            turn = _read_message(item, role)
            only_thoughts = is_open and all(isinstance(part, Thought) for part in turns[-1].parts)
            if turn.role == "assistant" and only_thoughts:
                turns[-1] = ConversationTurn(turn.role, (*turns[-1].parts, *turn.parts))
            else:
                turns.append(turn)
            is_open = turn.role == "assistant"
        elif kind in _RESULTS:
            turns.append(ConversationTurn("tool", (_read_result(item),)))
            is_open = False
        elif kind in _CALLS or kind == "reasoning":
            part = _read_reasoning(item) if kind == "reasoning" else _read_call(item)
            if is_open and not (kind == "reasoning" and turns[-1].tool_calls):
                turns[-1] = ConversationTurn("assistant", (*turns[-1].parts, part))
            else:
                turns.append(ConversationTurn("assistant", (part,)))
            is_open = True
        else:
            turns.append(ConversationTurn(_role_of(kind, role), (json_text(item),)))
            is_open = False
    return turns


def _role_of(kind: Any, role: str) -> str:
    """The role of an item other than a message: calls of OpenAI's own tools, and their results."""
    name = str(kind)
    if name.startswith("input_"):
        return role
    return "tool" if name.endswith("_output") else "assistant"


def _read_message(message: Any, role: str) -> ConversationTurn:
    if not isinstance(message, Mapping):
        return ConversationTurn(role, (as_text(message),))
    found = read_role(message.get("role"))
    if found == "unknown":
        return ConversationTurn(found, (json_text(message),))
    return ConversationTurn(found, read_parts(message.get("content"), _read_part))


def _read_part(part: Any) -> Iterable[Part]:
    kind = as_mapping(part).get("type")
    if kind == "input_image":
        name = part.get("file_id")
        yield (
            Media("image", source=as_text(name))
            if part.get("image_url") is None
            else read_url(part["image_url"], "image")
        )
    elif kind == "input_file":
        yield read_file(part)
    else:
        yield from read_chat_part(part)


def _read_call(item: Mapping[str, Any]) -> Part:
    return read_call(item.get("name"), item.get(_CALLS[item["type"]]), item.get("call_id"))


def _read_reasoning(item: Mapping[str, Any]) -> Part:
    texts = [as_mapping(part).get("text") for key in ("summary", "content") for part in as_items(item.get(key))]
    return Thought("\n".join(as_text(text) for text in texts))


def _read_result(item: Mapping[str, Any]) -> ToolResult:
    return ToolResult(result_parts(read_parts(item.get("output"), _read_part)), as_text(item.get("call_id")))
