"""JSON bodies: laid over, written, and the JSON that tool calls hold.

Data comes in, data or bytes come out; what JSON cannot carry is a `PayloadError` before anything is sent. Pure;
`chat` and the APIs' modules call it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from pytest_chatprompt.chat_prompt import ChatMessage
from pytest_chatprompt.errors import PayloadError
from pytest_chatprompt.eval_message import FunctionCall, ToolCall


def arguments_of(call: ToolCall, message: ChatMessage) -> dict[str, Any]:
    """The arguments of a tool call as data, for APIs that take them so.

    Raises:
        PayloadError: they are no JSON object.
    """
    arguments: Any
    try:
        arguments = json.loads(call.function.arguments, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        arguments = error
    if not isinstance(arguments, dict):
        raise PayloadError(
            f"the arguments of the tool call {call.id!r} are no JSON object: {call.function.arguments!r}; "
            "write one, such as '{}'",
            message_number=message.number,
        )
    return arguments


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"JSON has no {text}")
    return number


def tool_call(call_id: str, name: str, arguments: Mapping[str, Any]) -> ToolCall:
    """A call of an answer, of an API that has its arguments as data."""
    return ToolCall(id=call_id, function=FunctionCall(name=name, arguments=json.dumps(arguments, ensure_ascii=False)))


def laid_over(body: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """A body with more laid over it: mapping into mapping, the rest replaced."""
    merged = dict(body)
    for key, value in extra.items():
        below = merged.get(key)
        merged[key] = laid_over(below, value) if isinstance(below, dict) and isinstance(value, Mapping) else value
    return merged


def encoded(body: dict[str, Any]) -> bytes:
    """A body as compact JSON in UTF-8.

    Raises:
        PayloadError: it holds something that this cannot carry.
    """
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError as error:
        surrogate = ord(error.object[error.start])
        raise PayloadError(
            f"the text holds half a character (U+{surrogate:04X}), which JSON in UTF-8 cannot carry"
        ) from error
    except (TypeError, ValueError) as error:
        raise PayloadError(f"the body cannot be written as JSON: {error}") from error
