"""The chat prompt: the list of messages that a chat API gets, as data."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any, Final, cast
from urllib.parse import urlsplit

from pytest_chatprompt.cases.message import Role, ToolCall
from pytest_chatprompt.text.json_data import to_json_text
from pytest_chatprompt.text.media_types import (
    FORMATS,
    MEDIA_TYPES,
    MediaKind,
    decode_base64,
    describe_bytes,
    document_type,
    kind_of_media_type,
    kind_with_article,
    media_type_of_url,
    sniff_media_type,
    split_data_url,
)
from pytest_chatprompt.wording import numbered

# Two letters at least: one is a drive of Windows.
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(?=:)")


# The 1-based numbers of a message and of a part in it.
Place = tuple[int, int]


class MediaError(Exception):
    """A part is not an image, document or audio file that can be sent."""


@dataclass(frozen=True)
class Media:
    """An image, a document or an audio file.

    Args:
        kind: `image`, `document` or `audio`.
        source: the path as the author wrote it, or the https URL; `""` for a `data:` URL.
        media_type: such as `image/png`; `""` for a URL that does not say it.
        content: the bytes; `None` for an https URL, which the API reads itself.
        detail: how closely the model looks at it, in OpenAI's words; `None` if it is not set.
        cache_control: Anthropic's mark of where a prefix that is cached ends; `None` for none.
        place: the 1-based numbers of the message and of the part in it, for error messages; ignored when media are
            compared; `None` if it comes from no case.
    """

    kind: MediaKind
    source: str
    media_type: str = ""
    content: bytes | None = field(default=None, repr=False)
    detail: str | None = field(default=None, repr=False)
    cache_control: Mapping[str, Any] | None = field(default=None, repr=False)
    place: Place | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        """The line that stands for it in transcripts: `<Image: ./screen.png>`."""
        shown = self.source or describe_bytes(self.media_type, self.content or b"")
        return f"<{self.kind.capitalize()}: {shown}>"

    @property
    def base64(self) -> str:
        """The bytes in base64; `""` if it has none."""
        return base64.b64encode(self.content or b"").decode("ascii")

    @property
    def url(self) -> str:
        """Its https URL, or a `data:` URL with the bytes."""
        return self.source if self.content is None else f"data:{self.media_type};base64,{self.base64}"

    @property
    def file_name(self) -> str:
        """The last part of its path or URL; without either, its kind with the suffix of its type: `document.pdf`."""
        name = self.source.partition("?")[0].rpartition("/")[2]
        return name or f"{self.kind}.{self.media_type.rpartition('/')[2]}"

    def as_dict(self) -> dict[str, Any]:
        """The media as JSON data, in the shape of an eval file: its type, and its URL as value."""
        optional = {"detail": self.detail, "cache_control": self.cache_control}
        return {"type": self.kind, "value": self.url, **{key: value for key, value in optional.items() if value}}


def media_of_url(kind: MediaKind, value: str) -> Media | None:
    """Make media of a URL; `None` if the value is a path; a `MediaError` if the URL cannot be sent."""
    scheme = _SCHEME.match(value)
    if scheme is None:
        return None
    match scheme[0].lower():
        case "https":
            _check_host(value)
            media_type = media_type_of_url(value)
            if media_type:
                _check_kind(kind, media_type, "the URL")
            return Media(kind, value, media_type)
        case "data":
            parts = split_data_url(value)
            content = None if parts is None else decode_base64(parts[1])
            if parts is None or content is None:
                text = f"write data:{MEDIA_TYPES[kind][0]};base64, and the bytes in base64"
                raise MediaError(f"the data: URL is not valid base64; {text}")
            media_type = _media_type(kind, content, "the data: URL", parts[0])
            if parts[0].lower() != media_type:
                said = parts[0] or "no type"
                raise MediaError(f"the data: URL says {said}, but holds {media_type}; write data:{media_type};base64,")
            return Media(kind, "", media_type, content)
    raise MediaError(f"{scheme[0]}: URLs are not sent; name a file of the project, or write an https: or a data: URL")


def media_of_file(kind: MediaKind, name: str, content: bytes) -> Media:
    """Make media of a file; a `MediaError` if it is something else."""
    return Media(kind, name, _media_type(kind, content, f"file {name}", PurePosixPath(name).suffix), content)


def _check_host(url: str) -> None:
    try:
        parts = urlsplit(url)
    except ValueError:
        # Such as `https://[x`.
        parts = None
    if parts is None or not parts.hostname:
        raise MediaError("the URL names no host; write https://HOST/PATH")
    if "@" in parts.netloc:
        raise MediaError(
            "the URL holds a user's name or a password, which do not belong in an eval file; write it without them"
        )


def _media_type(kind: MediaKind, content: bytes, subject: str, named_type: str) -> str:
    media_type = sniff_media_type(content) or (document_type(named_type, content) if kind == "document" else "")
    if not media_type:
        problem = "is empty" if not content else f"is not {kind_with_article(kind)}"
        raise MediaError(f"{subject} {problem}; it must be {FORMATS[kind]}")
    _check_kind(kind, media_type, subject)
    return media_type


def _check_kind(kind: MediaKind, media_type: str, subject: str) -> None:
    found = kind_of_media_type(media_type)
    if found is not None and found != kind:
        raise MediaError(f"{subject} is {kind_with_article(found)} ({media_type}); write type: {found}")


@dataclass(frozen=True)
class MarkedText:
    """A text that stays apart from those around it, since a prefix that the API caches ends with it.

    Args:
        text: the text.
        cache_control: Anthropic's mark.
        place: see `Media`.
    """

    text: str
    cache_control: Mapping[str, Any]
    place: Place | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return self.text

    def as_dict(self) -> dict[str, Any]:
        """The text as JSON data, in the shape of an eval file."""
        return {"type": "text", "value": self.text, "cache_control": self.cache_control}


@dataclass(frozen=True)
class JSONResult:
    """The result of a tool as data, for APIs that take it; for the others it is text (rule A7)."""

    data: Mapping[str, Any]

    def __str__(self) -> str:
        return to_json_text(self.data)

    def as_dict(self) -> dict[str, Any]:
        """The data as text, in the shape of an eval file."""
        return {"type": "text", "value": str(self)}


@dataclass(frozen=True)
class RawContent:
    """A part, or a whole message, that is sent to one vendor as it is, and that the others lack.

    Args:
        by_provider: what is sent, by the names of providers.
        place: see `Media`.
    """

    by_provider: Mapping[str, Any]
    place: Place | None = field(default=None, compare=False, repr=False)

    @property
    def data(self) -> Mapping[str, Any]:
        """What is sent to the first of them."""
        return cast("Mapping[str, Any]", next(iter(self.by_provider.values())))

    def __str__(self) -> str:
        return f"<Raw: {', '.join(self.by_provider)}>"

    def as_dict(self) -> dict[str, Any]:
        """The part as JSON data, in the shape of an eval file."""
        return {"type": "raw", **self.by_provider}


ContentPart = str | Media | MarkedText | JSONResult | RawContent
# A text; or parts in order, at least one of them no plain text; or nothing beside tool calls.
Content = str | tuple[ContentPart, ...] | None


def join_parts(parts: Iterable[ContentPart], separator: str) -> str | tuple[ContentPart, ...]:
    """Join texts that follow each other (rule A1); all else stays apart. Of nothing but texts it is one text."""
    joined: list[ContentPart] = []
    for is_text, group in groupby(parts, key=lambda part: isinstance(part, str)):
        run = list(group)
        joined += [separator.join(map(str, run))] if is_text else run
    # Texts that follow each other are one by now.
    if any(not isinstance(part, str) for part in joined):
        return tuple(joined)
    return str(joined[0]) if joined else ""


def content_parts(content: Content) -> tuple[ContentPart, ...]:
    """The parts of a content; none for an empty text."""
    if isinstance(content, tuple):
        return content
    return (content,) if content else ()


def content_text(content: Content) -> str:
    """A content as text, with a line in place of each of the media; `""` for none."""
    return "\n".join(map(str, content)) if isinstance(content, tuple) else content or ""


DEFAULT_SYSTEM_PROMPT: Final = "You are a careful assistant."


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message of a chat prompt, in the shape of OpenAI's chat completions.

    Args:
        role: who speaks: `system`, `developer`, `user`, `assistant` or `tool`; `raw` for a message that is sent as it
            is, with one `RawContent` as its content.
        content: the text; a tuple of texts and other parts if there are others; `None` only beside `tool_calls` or
            `tool_call_id`.
        name: the speaker's name, for APIs that accept one.
        tool_calls: the calls that an assistant message makes; empty for none.
        tool_call_id: the id of the call that a tool message answers.
        number: 1-based number of the case's message that it comes from, for error messages; ignored when messages are
            compared; `None` if it comes from none, or from several.
        is_error: whether the content of a tool message is the tool's error.
    """

    role: Role
    content: Content
    name: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    number: int | None = field(default=None, compare=False, repr=False)
    is_error: bool = False

    @property
    def text(self) -> str:
        """The content as text, with a line such as `<Image: ./screen.png>` for each of the media; `""` for none."""
        return content_text(self.content)

    @property
    def media(self) -> tuple[Media, ...]:
        """The images, documents and audio in the content."""
        return tuple(part for part in content_parts(self.content) if isinstance(part, Media))

    def as_dict(self) -> dict[str, Any]:
        """The message as JSON data: `role` and `content` always, the other fields only if they are set.

        A content with other parts than text is a list of parts, in the shape of an eval file.
        """
        content: Any = self.content
        if isinstance(content, tuple) and self.role == "raw":
            return dict(content[0].as_dict())
        if isinstance(content, tuple) and all(isinstance(part, JSONResult) for part in content):
            content = self.text
        if isinstance(content, tuple):
            content = [{"type": "text", "value": part} if isinstance(part, str) else part.as_dict() for part in content]
        optional = {
            "name": self.name,
            "tool_calls": [call.model_dump() for call in self.tool_calls],
            "tool_call_id": self.tool_call_id,
            "is_error": self.is_error,
        }
        given = {key: value for key, value in optional.items() if value not in (None, [], False)}
        return {"role": self.role, "content": content, **given}


ChatPrompt = tuple[ChatMessage, ...]


def describe_messages(messages: Sequence[ChatMessage]) -> str:
    """Refer to messages by their numbers, or by their role where they have none: `message 2`, `tool messages`."""
    numbers = [message.number for message in messages if message.number is not None]
    if numbers:
        return numbered("message", numbers)
    return messages[0].role + (" messages" if len(messages) > 1 else " message")
