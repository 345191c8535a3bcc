r"""Media in snapshots: what stands there in place of the bytes of images, documents and audio.

JSON data comes in, as it was sent; the same data comes out with a description in place of each base64 text that holds
media: `<image/png, 34123 bytes, sha256:1f2e3d4c5b6a7988>`, `data:image/png;base64,<34123 bytes, sha256:...>`. Other
texts give other descriptions: other bytes have another hash, the URL-safe alphabet is named, base64 with line breaks or
without padding stays as it is, and a text that is no media and looks like a description gets a backslash in front.

Base64 text is media if it is a `data:` URL, if the mapping around it names its type, or if its first bytes are those of
a known format. All else, such as an embedding or a signature, stays as it is.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any, Final

from pytest_chatprompt.text.media_types import (
    decode_base64,
    describe_base64,
    escape_description,
    sniff_media_type,
    split_data_url,
)

# No media is shorter, and what is stays readable as it is.
_MIN_LENGTH: Final = 16
# What base64 of the known formats begins with: PNG, JPEG, GIF, PDF, RIFF (WebP and WAV), and MP3 with tags.
_PREFIXES: Final = ("iVBORw0KG", "/9j/", "_9j_", "R0lGOD", "JVBERi", "UklGR", "SUQz")
# MP3 without tags. So do paths and names, but none of them is as long as an audio file.
_MP3_PREFIXES: Final = ("//", "__")
_MIN_LENGTH_OF_MP3: Final = 1024
_STARTS: Final = (*_PREFIXES, *_MP3_PREFIXES, "data:", "Data:", "DATA:")
# The keys of the mapping around the base64 text that name its type: Anthropic's, Gemini's (two).
_TYPE_KEYS: Final = ("media_type", "mimeType", "mime_type")
_TYPE_PREFIXES: Final = ("image/", "audio/", "video/", "application/pdf")
# The values of OpenAI's key `format`, which stands beside audio alone.
_AUDIO_FORMATS: Final = frozenset({"wav", "mp3", "flac", "aac", "opus", "pcm16"})
# The keys of Bedrock's blocks: under each a mapping with the format, and with the bytes in `source`. A text stays.
_BLOCK_KEYS: Final = frozenset({"image", "document", "audio", "video"})
_TEXT_FORMATS: Final = frozenset({"csv", "html", "txt", "md"})
# Enough base64 for the first bytes of every format.
_HEAD: Final = 64


def elide_media(data: Any) -> Any:
    """Put a description in place of media.

    Args:
        data: JSON data as it was sent, without descriptions of media; it is not changed.

    Returns:
        New data, or the same object if it holds no media.
    """
    if isinstance(data, str):
        # Most strings are short, and neither begin as media do nor end as descriptions do.
        if len(data) >= _MIN_LENGTH and data.startswith(_STARTS):
            return _elided_text(data)
        return escape_description(data) if data.endswith(">") else data
    if isinstance(data, (dict, Mapping)):
        return _elided_mapping(data)
    if isinstance(data, (list, tuple)):
        items = [elide_media(item) for item in data]
        return data if all(map(operator.is_, items, data)) else items
    return data


def _elided_mapping(mapping: Mapping[str, Any]) -> Mapping[str, Any]:
    changed: dict[str, Any] = {}
    for key, value in mapping.items():
        new = elide_media(value)
        if new is value and key == "data" and isinstance(value, str):
            new = _elided_by_type(value, mapping)
        if new is value and key in _BLOCK_KEYS and isinstance(value, Mapping):
            new = _elided_block(key, value)
        if new is not value:
            changed[key] = new
    # In the order of the mapping.
    return {**mapping, **changed} if changed else mapping


def _elided_text(text: str) -> str:
    """A text that holds media by itself: a `data:` URL, or base64 whose first bytes are those of a known format."""
    if text.startswith(_PREFIXES) or (len(text) >= _MIN_LENGTH_OF_MP3 and text.startswith(_MP3_PREFIXES)):
        head = decode_base64(text[:_HEAD].rstrip("="))
        media_type = "" if head is None else sniff_media_type(head)
        return _described(text, media_type) if media_type else text
    parts = split_data_url(text)
    shown = None if parts is None else describe_base64(parts[1])
    if parts is None or shown is None:
        return escape_description(text)
    return f"{text.removesuffix(parts[1])}{shown}"


def _elided_by_type(text: str, mapping: Mapping[str, Any]) -> str:
    """The base64 text under `data` of a mapping that says of what type it is."""
    if len(text) < _MIN_LENGTH:
        return text
    if mapping.get("format") in _AUDIO_FORMATS:
        return _described(text, f"audio/{mapping['format']}")
    types = [value for key in _TYPE_KEYS if isinstance(value := mapping.get(key), str)]
    return _described(text, types[0]) if types and types[0].startswith(_TYPE_PREFIXES) else text


def _elided_block(kind: str, block: Mapping[str, Any]) -> Mapping[str, Any]:
    """A block of Bedrock whose bytes are of a format that only the block names."""
    block_format, source = block.get("format"), block.get("source")
    if not isinstance(block_format, str) or block_format in _TEXT_FORMATS or not isinstance(source, Mapping):
        return block
    digits = source.get("bytes")
    if not isinstance(digits, str) or len(digits) < _MIN_LENGTH:
        return block
    shown = _described(digits, f"{kind}/{block_format}")
    return block if shown is digits else {**block, "source": {**source, "bytes": shown}}


def _described(digits: str, media_type: str) -> str:
    shown = describe_base64(digits, media_type)
    return digits if shown is None else shown
