"""JSON that chat providers send and read: whole bodies, and the arguments of tool calls.

Data comes in; data or bytes come out. What JSON cannot hold is a `PayloadError`, before anything is sent. Pure
functions; the modules of this room call them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from pytest_chatprompt.errors import PayloadError
from pytest_chatprompt.evalfile.message import FunctionCall, ToolCall
from pytest_chatprompt.prompt.chat_prompt import ChatMessage


def parse_arguments(call: ToolCall, message: ChatMessage) -> dict[str, Any]:
    """Parse the arguments of a tool call, for an API that takes them as data.

    Args:
        call: its `function.arguments` are JSON text.
        message: the message that makes the call; errors name it.

    Raises:
        PayloadError: they are not a JSON object.
    """
    arguments: Any
    try:
        arguments = json.loads(call.function.arguments, parse_constant=_finite_float, parse_float=_finite_float)
    except (ValueError, RecursionError) as error:
        arguments = error
    if not isinstance(arguments, dict):
        raise PayloadError(
            f"the arguments of the tool call {call.id!r} are not a JSON object: {call.function.arguments!r}; "
            "write one, such as '{}'",
            message_number=message.number,
        )
    return arguments


def _finite_float(text: str) -> float:
    """Read a number of JSON, which has neither NaN nor infinity, although Python reads both."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"JSON has no {text}")
    return number


def make_tool_call(call_id: str, name: str, arguments: Mapping[str, Any]) -> ToolCall:
    """Make a tool call out of the response of an API that gives the arguments as data.

    Args:
        call_id: the call's id.
        name: the function's name.
        arguments: JSON data; written as JSON text.
    """
    return ToolCall(id=call_id, function=FunctionCall(name=name, arguments=json.dumps(arguments, ensure_ascii=False)))


def encode_json(body: dict[str, Any]) -> bytes:
    """Encode a body as compact JSON in UTF-8.

    Raises:
        PayloadError: it holds something that JSON or UTF-8 cannot express.
    """
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError as error:
        surrogate = ord(error.object[error.start])
        raise PayloadError(
            f"the text contains half a character (the surrogate U+{surrogate:04X}), which UTF-8 cannot encode"
        ) from error
    except (TypeError, ValueError) as error:
        raise PayloadError(f"the body cannot be encoded as JSON: {error}") from error
