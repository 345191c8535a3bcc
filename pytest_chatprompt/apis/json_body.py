"""JSON of requests and replies: bodies and arguments of tool calls, written and read, and counts of tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pytest_chatprompt.cases.message import FunctionCall, ToolCall
from pytest_chatprompt.errors import PayloadError
from pytest_chatprompt.prompt.chat_prompt import ChatMessage
from pytest_chatprompt.providers.response import TokenUsage


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
        arguments = json.loads(call.function.arguments)
    except (ValueError, RecursionError) as error:
        arguments = error
    if not isinstance(arguments, dict):
        raise PayloadError(
            f"the arguments of the tool call {call.id!r} are not a JSON object: {call.function.arguments!r}; "
            "write one, such as '{}'",
            message_number=message.number,
        )
    return arguments


def make_tool_call(call_id: str, name: str, arguments: Any) -> ToolCall:
    """Make a tool call out of the response of an API, which gives the arguments as JSON text or as data."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(id=call_id, function=FunctionCall(name=name, arguments=written))


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


# The names of the common APIs. Some count what concerns their cache, or thinking, beside the other tokens.
_COUNTS: Final[Mapping[str, str]] = {
    name: kind
    for kind, names in {
        "input": "input_tokens prompt_tokens inputTokens promptTokenCount prompt_eval_count",
        "output": "output_tokens completion_tokens outputTokens candidatesTokenCount eval_count",
        "read": "cached_tokens cachedContentTokenCount",
        "written": "cache_write_tokens",
        "thoughts": "reasoning_tokens thinking_tokens",
        "read beside": "cache_read_input_tokens cacheReadInputTokens",
        "written beside": "cache_creation_input_tokens cacheWriteInputTokens",
        "tools beside": "toolUsePromptTokenCount",
        "thoughts beside": "thoughtsTokenCount",
        "written for an hour": "ephemeral_1h_input_tokens",
    }.items()
    for name in names.split()
}


def read_usage(data: Any) -> TokenUsage:
    """The tokens that a reply says it used; `None` where it does not say.

    Args:
        data: the usage, the whole body, or the list of the events of a stream.
    """
    found: dict[str, int] = {}
    _find_counts(data, found)

    def total(*kinds: str) -> int | None:
        known = [found[kind] for kind in kinds if kind in found]
        return sum(known) if known else None

    return TokenUsage(
        input_tokens=total("input", "read beside", "written beside", "tools beside"),
        output_tokens=total("output", "thoughts beside"),
        cache_read_tokens=total("read", "read beside"),
        cache_write_tokens=total("written", "written beside"),
        cache_write_1h_tokens=total("written for an hour"),
        reasoning_tokens=total("thoughts", "thoughts beside"),
    )


def _find_counts(data: Any, found: dict[str, int]) -> None:
    """Note the highest count of each kind: streams report how many it was so far."""
    for item in data if isinstance(data, list) else ():
        _find_counts(item, found)
    for key, value in data.items() if isinstance(data, Mapping) else ():
        kind = _COUNTS.get(key)
        if kind is not None and _is_count(value):
            found[kind] = max(value, found.get(kind, 0))
        elif key == "cacheDetails" and isinstance(value, list):
            # Parts of what Bedrock wrote to its cache, by how long it keeps them.
            kept = [value_at(entry, ["inputTokens"]) for entry in value if value_at(entry, ["ttl"]) == "1h"]
            found.update({"written for an hour": sum(filter(_is_count, kept))} if kept else {})
        elif key != "iterations":
            # Those are parts of these counts too, under the same names.
            _find_counts(value, found)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
