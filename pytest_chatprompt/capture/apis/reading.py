"""Reads parts of a body that may be anything: helpers of the modules that read conversations.

Decoded JSON comes in, of the documented shape or not; texts, media and turns come out, and never an exception: what is
not understood stays as JSON text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from pytest_chatprompt.capture.apis.conversation import (
    ConversationToolCall,
    ConversationTurn,
    Media,
    Part,
    Thought,
    ToolResult,
)
from pytest_chatprompt.capture.apis.json_text import json_text
from pytest_chatprompt.text.media_types import described_size

# The words of the APIs for the four roles of a transcript.
_ROLES: Final = {"developer": "system", "model": "assistant", "chatbot": "assistant", "function": "tool"}
_ROLE: Final = re.compile(r"[A-Za-z][\w-]{0,63}", re.ASCII)
_DATA_URL: Final = re.compile(r"data:([^;,]*)([^,]*),", re.IGNORECASE)
_BASE64_DIGITS_OF_3_BYTES: Final = 4
_KINDS: Final = ("image", "audio", "video")

PartReader = Callable[[Any], Iterable[Part]]


def as_mapping(value: Any) -> Mapping[str, Any]:
    """A mapping as it is; an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def as_items(value: Any) -> Sequence[Any]:
    """A list as it is; nothing for `None`; any other value as the only item."""
    if value is None:
        return ()
    return value if isinstance(value, list | tuple) else (value,)


def as_text(value: Any) -> str:
    """A text as it is; nothing for `None`; anything else as JSON text."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json_text(value)


def first_of(mapping: Mapping[str, Any], *keys: str) -> Any:
    """The value of the first key that the mapping has; some APIs take snake case and camel case."""
    return next((mapping[key] for key in keys if mapping.get(key) is not None), None)


def read_role(value: Any) -> str:
    """The role in the words of transcripts; `unknown` if the value cannot be a role."""
    if not isinstance(value, str) or not _ROLE.fullmatch(value):
        return "unknown"
    return _ROLES.get(value.lower(), value.lower())


def read_parts(value: Any, read: PartReader) -> tuple[Part, ...]:
    """The parts of a content that is a text or a list.

    Args:
        value: the content.
        read: reads one item of the list that is not a text.
    """
    parts: list[Part] = []
    for item in as_items(value):
        parts += (item,) if isinstance(item, str) else read(item)
    return tuple(parts)


def result_parts(parts: Iterable[Part]) -> tuple[str | Media | Thought, ...]:
    """The parts of a tool result; calls and results, which it cannot hold, become JSON text."""
    return tuple(
        part
        if isinstance(part, str | Media | Thought)
        else json_text({"name": part.name, "arguments": part.arguments})
        if isinstance(part, ConversationToolCall)
        else "\n".join(map(str, part.parts))
        for part in parts
    )


def turns_of_parts(role: str, parts: Sequence[Part]) -> list[ConversationTurn]:
    """The turns of one message: its tool results are turns of the tool, as in the eval files."""
    results = [ConversationTurn("tool", (part,)) for part in parts if isinstance(part, ToolResult)]
    rest = tuple(part for part in parts if not isinstance(part, ToolResult))
    return [*results, ConversationTurn(role, rest)] if rest or not results else results


def read_message(message: Any, read: PartReader) -> list[ConversationTurn]:
    """The turns of a message that has a role, and a text or parts as its content; one that has not stays as JSON text.

    Args:
        message: of any shape.
        read: reads one part of the content.
    """
    if not isinstance(message, Mapping):
        return [ConversationTurn("user", (as_text(message),))]
    role = read_role(message.get("role"))
    if role == "unknown":
        return [ConversationTurn(role, (json_text(message),))]
    return turns_of_parts(role, read_parts(message.get("content"), read))


def read_call(name: Any, arguments: Any, call_id: Any = None) -> ConversationToolCall:
    """Read a tool call; arguments other than text are written as JSON."""
    written = arguments if isinstance(arguments, str) else json_text({} if arguments is None else arguments)
    return ConversationToolCall(as_text(name), written, as_text(call_id))


def read_url(url: Any, kind: str = "", name: Any = None) -> Media:
    """A file by its URL, which may hold the bytes.

    Args:
        url: `https:`, `data:` or another.
        kind: of media; by default what the media type says.
        name: the file's name.
    """
    text = as_text(url)
    data = _DATA_URL.match(text)
    if data is None:
        return Media(kind or "file", source=as_text(name) or text)
    content = text[data.end() :]
    size = (
        _base64_size(content)
        if "base64" in data[2].lower()
        else len(unquote_to_bytes(content.encode(errors="replace")))
    )
    return Media(kind or kind_of(data[1]), data[1], size, as_text(name))


def read_base64(data: Any, media_type: Any, kind: str = "", name: Any = None) -> Media:
    """A file by its bytes in base64.

    Args:
        data: the base64 text; for anything else the size is not known.
        media_type: such as `image/png`.
        kind: of media; by default what the media type says.
        name: the file's name.
    """
    written = as_text(media_type)
    size = _base64_size(data) if isinstance(data, str) else None
    return Media(kind or kind_of(written), written, size, as_text(name))


def kind_of(media_type: str) -> str:
    """The kind of media of a media type."""
    kind = media_type.partition("/")[0].lower()
    return kind if kind in _KINDS else "document" if media_type else "file"


def _base64_size(text: str) -> int:
    """The size of bytes that are in base64, or described as in snapshots."""
    described = described_size(text)
    if described is not None:
        return described
    digits = len(text) - text.count("=") - text.count("\n") - text.count("\r")
    return digits * 3 // _BASE64_DIGITS_OF_3_BYTES
