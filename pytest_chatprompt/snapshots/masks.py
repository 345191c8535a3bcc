"""Masks: what a snapshot shows in place of what differs from run to run, and of the bytes of media.

Base64 text is media if it is a `data:` URL, if the mapping around it names its type, or if its first bytes are those of
a known format; all else, such as an embedding, stays. A text that looks like a description gets a backslash in front.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from pytest_chatprompt.errors import MaskError
from pytest_chatprompt.text.json_data import with_scalars
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
_AUDIO_FORMATS: Final = ("wav", "mp3", "flac", "aac", "opus", "pcm16")
# The keys of Bedrock's blocks: under each a mapping with the format, and with the bytes in `source`. A text stays.
_BLOCK_KEYS: Final = frozenset({"image", "document", "audio", "video"})
_TEXT_FORMATS: Final = frozenset({"csv", "html", "txt", "md"})
# Enough base64 for the first bytes of every format.
_HEAD: Final = 64


def elide_media(data: Any) -> Any:
    """Put a description in place of media in JSON data; gives the same object if it holds none."""
    if isinstance(data, str):
        # Most strings are short, and neither begin as media do nor end as descriptions do.
        if len(data) >= _MIN_LENGTH and data.startswith(_STARTS):
            return _elided_text(data)
        return escape_description(data) if data.endswith(">") else data
    if isinstance(data, dict | Mapping):
        return _elided_mapping(data)
    if isinstance(data, list | tuple):
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
        return describe_base64(text, media_type) or text if media_type else text
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
        media_type = f"audio/{mapping['format']}"
    else:
        media_type = next((value for key in _TYPE_KEYS if isinstance(value := mapping.get(key), str)), "")
    return describe_base64(text, media_type) or text if media_type.startswith(_TYPE_PREFIXES) else text


def _elided_block(kind: str, block: Mapping[str, Any]) -> Mapping[str, Any]:
    """A block of Bedrock whose bytes are of a format that only the block names."""
    block_format, source = block.get("format"), block.get("source")
    if not isinstance(block_format, str) or block_format in _TEXT_FORMATS or not isinstance(source, Mapping):
        return block
    digits = source.get("bytes")
    if not isinstance(digits, str) or len(digits) < _MIN_LENGTH:
        return block
    shown = describe_base64(digits, f"{kind}/{block_format}")
    return block if shown is None else {**block, "source": {**source, "bytes": shown}}


Replacement = str | Callable[[re.Match[str]], str]

_EXAMPLE: Final = r'{r"\d{4}-\d\d-\d\d": "<date>"}'


class Masks(NamedTuple):
    """Regular expressions, each with what to show for what it matches; they are applied in order."""

    patterns: tuple[tuple[re.Pattern[str], Replacement], ...] = ()

    @classmethod
    def from_mapping(cls, masks: object) -> Masks:
        """Read what the fixture `eval_masks` gives."""
        if not isinstance(masks, Mapping):
            raise MaskError(
                f"eval_masks is {type(masks).__name__}; it must be a mapping of regular expressions to what to show "
                f"for them, such as {_EXAMPLE}"
            )
        return cls(tuple(_parsed(pattern, shown) for pattern, shown in masks.items()))

    def apply(self, data: Any) -> Any:
        """Describe media and mask every string value of JSON data; gives the same object if there is neither."""
        data = elide_media(data)
        return with_scalars(data, self._mask) if self.patterns else data

    def find_shown(self, masked: Iterable[str], texts: Iterable[str]) -> str | None:
        """What a mask shows in texts that were masked before, by what it shows now in `texts`; `None` for nothing."""
        texts, masked = list(texts), list(masked)
        for pattern, shown in self.patterns:
            given = {_substitute(pattern, shown, match[0]) for text in texts for match in pattern.finditer(text)}
            if isinstance(shown, str) and shown and "\\" not in shown:
                given.add(shown)
            found = next((each for each in sorted(given) if any(each in text for text in masked)), None)
            if found is not None:
                return found
        return None

    def _mask(self, value: Any) -> Any:
        for pattern, shown in self.patterns if isinstance(value, str) else ():
            value = _substitute(pattern, shown, value)
        return value


def _parsed(pattern: Any, shown: object) -> tuple[re.Pattern[str], Replacement]:
    try:
        compiled = re.compile(pattern)
        compiled.search("")
    except (re.error, TypeError) as error:
        raise MaskError(f"eval_masks: {pattern!r} is not a valid regular expression ({error})") from None
    if not isinstance(shown, str) and not callable(shown):
        raise MaskError(
            f"eval_masks: the value for {compiled.pattern!r} is {type(shown).__name__}; "
            "it must be a text, or a function of the match, as re.sub takes it"
        )
    return compiled, shown


def _substitute(pattern: re.Pattern[str], shown: Replacement, text: str) -> str:
    try:
        return pattern.sub(shown, text)
    except (re.error, IndexError, TypeError) as error:
        # A text that refers to a group that there is not, or a function that returned something other than a text.
        raise MaskError(f"eval_masks: the value for {pattern.pattern!r} does not fit its match: {error}") from error
