"""JSON of requests and replies: bodies and arguments of tool calls, written and read, and counts of tokens."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_chatprompt.cases.message import FunctionCall, ToolCall
from pytest_chatprompt.errors import PayloadError
from pytest_chatprompt.prompt.chat_prompt import ChatMessage


def json_text(value: Any) -> str:
    """Write data as JSON text, with characters other than ASCII as they are; what JSON does not know as its `repr`."""
    try:
        return json.dumps(value, ensure_ascii=False, default=_as_json)
    except (ValueError, TypeError, RecursionError):
        # Nested deeper than Python's stack, a number of thousands of digits, a key that is no text.
        return '"(what JSON cannot hold)"'


def _as_json(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else repr(value)


def parse_arguments(call: ToolCall, message: ChatMessage) -> dict[str, Any]:
    """Parse the arguments of a tool call, for an API that takes them as data."""
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
    """Make a tool call out of the response of an API that gives the arguments as data."""
    return ToolCall(id=call_id, function=FunctionCall(name=name, arguments=json.dumps(arguments, ensure_ascii=False)))


def encode_json(body: dict[str, Any]) -> bytes:
    """Encode a body as compact JSON in UTF-8."""
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError as error:
        surrogate = ord(error.object[error.start])
        raise PayloadError(
            f"the text contains half a character (the surrogate U+{surrogate:04X}), which UTF-8 cannot encode"
        ) from error
    except (TypeError, ValueError) as error:
        raise PayloadError(f"the body cannot be encoded as JSON: {error}") from error


def value_at(data: Any, path: Sequence[str]) -> Any:
    """The value at a path of keys in decoded JSON; `None` if there is none."""
    for key in path:
        data = data.get(key) if isinstance(data, Mapping) else None
    return data


def count_at(usage: Any, *path: str) -> int | None:
    """The count at a path of keys; `None` if there is none."""
    count = value_at(usage, path)
    return count if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else None


def total(*counts: int | None) -> int | None:
    """The sum of the counts that are known; `None` if none is."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
