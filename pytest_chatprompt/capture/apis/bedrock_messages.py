"""The messages of a request to Bedrock's Converse API, read back into turns.

The decoded body comes in, its turns come out. Pure functions; `bedrock` calls `read_messages`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pytest_chatprompt.capture.apis.conversation import ConversationTurn, Media, Part, Thought, ToolResult
from pytest_chatprompt.capture.apis.json_text import json_text
from pytest_chatprompt.capture.apis.reading import (
    as_items,
    as_mapping,
    as_text,
    read_base64,
    read_call,
    read_message,
    read_parts,
    result_parts,
)

# The media types of documents by format; images, audio and videos have their kind in front.
_DOCUMENTS: Final = {
    "pdf": "application/pdf",
    "csv": "text/csv",
    "html": "text/html",
    "txt": "text/plain",
    "md": "text/markdown",
}


def read_messages(body: Mapping[str, Any]) -> tuple[ConversationTurn, ...]:
    """Read `system` and `messages`.

    Args:
        body: of the request.
    """
    turns: list[ConversationTurn] = []
    if as_items(body.get("system")):
        turns.append(ConversationTurn("system", read_parts(body["system"], _read_block)))
    for message in as_items(body.get("messages")):
        turns += read_message(message, _read_block)
    return tuple(turns)


def _read_block(block: Any) -> Iterable[Part]:
    # A block is a union: its only key says what it is.
    kind, value = next(iter(as_mapping(block).items()), (None, None))
    if kind == "text":
        yield as_text(value)
    elif kind == "json":
        yield json_text(value)
    elif kind in ("image", "document", "audio", "video") and isinstance(value, Mapping):
        yield _read_media(str(kind), value)
    elif kind == "toolUse" and isinstance(value, Mapping):
        yield read_call(value.get("name"), value.get("input"), value.get("toolUseId"))
    elif kind == "toolResult" and isinstance(value, Mapping):
        parts = result_parts(read_parts(value.get("content"), _read_block))
        yield ToolResult(parts, as_text(value.get("toolUseId")))
    elif kind == "guardContent" and isinstance(text := as_mapping(value).get("text"), Mapping):
        yield as_text(text.get("text"))
    elif kind == "reasoningContent":
        yield Thought(as_text(as_mapping(as_mapping(value).get("reasoningText")).get("text")))
    elif kind != "cachePoint":
        yield json_text(block)


def _read_media(kind: str, value: Mapping[str, Any]) -> Part:
    source = as_mapping(value.get("source"))
    extension, name = as_text(value.get("format")), as_text(value.get("name"))
    media_type = _DOCUMENTS.get(extension, "") if kind == "document" else f"{kind}/{extension}" if extension else ""
    if "bytes" in source:
        return read_base64(source["bytes"], media_type, kind, name)
    if source.get("text") is not None:
        return as_text(source["text"])
    if source.get("content") is not None:
        return "\n".join(map(str, read_parts(source["content"], _read_block)))
    return Media(kind, media_type, source=as_text(as_mapping(source.get("s3Location")).get("uri")) or name)
