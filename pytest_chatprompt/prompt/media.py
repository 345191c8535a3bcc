"""Media: an image, a document or an audio file in a message, with its bytes or its URL.

In: a part as the author wrote it, and its file if it names one. Out: a `Media`, which goes unchanged to the module of
the API. `attachment_reading` makes them, users may make their own; chat providers put them into the shape of their API.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from pytest_chatprompt.evalfile.media_types import (
    FORMATS,
    MEDIA_TYPES,
    MediaKind,
    decode_base64,
    describe_bytes,
    kind_of_media_type,
    kind_with_article,
    media_type_of_url,
    sniff_media_type,
    split_data_url,
)

# Two letters at least: one is a drive of Windows.
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(?=:)")


class MediaError(Exception):
    """A part is not an image, document or audio file that can be sent."""


@dataclass(frozen=True, slots=True)
class Media:
    """An image, a document or an audio file.

    Args:
        kind: `image`, `document` or `audio`.
        source: the path as the author wrote it, or the https URL; `""` for a `data:` URL.
        media_type: such as `image/png`; `""` for a URL that does not say it.
        content: the bytes; `None` for an https URL, which the API reads itself.
        place: the 1-based numbers of the message and of the part in it, for error messages; ignored when media are
            compared; `None` if it comes from no case.
    """

    kind: MediaKind
    source: str
    media_type: str = ""
    content: bytes | None = field(default=None, repr=False)
    place: tuple[int, int] | None = field(default=None, compare=False, repr=False)

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

    def as_dict(self) -> dict[str, str]:
        """The media as JSON data, in the shape of an eval file: its type, and its URL as value."""
        return {"type": self.kind, "value": self.url}


def media_of_url(kind: MediaKind, value: str) -> Media | None:
    """Make media of a URL.

    Args:
        kind: what the part says that it is.
        value: as the author wrote it.

    Returns:
        The media; `None` if the value is a path.

    Raises:
        MediaError: it is a URL that cannot be sent, or it holds something else.
    """
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
            media_type = _media_type(kind, content, "the data: URL")
            if parts[0].lower() != media_type:
                said = parts[0] or "no type"
                raise MediaError(f"the data: URL says {said}, but holds {media_type}; write data:{media_type};base64,")
            return Media(kind, "", media_type, content)
    raise MediaError(f"{scheme[0]}: URLs are not sent; name a file of the project, or write an https: or a data: URL")


def media_of_file(kind: MediaKind, name: str, content: bytes) -> Media:
    """Make media of a file.

    Args:
        kind: what the part says that it is.
        name: its path as the author wrote it.
        content: its bytes.

    Raises:
        MediaError: it is something else.
    """
    return Media(kind, name, _media_type(kind, content, f"file {name}"), content)


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


def _media_type(kind: MediaKind, content: bytes, subject: str) -> str:
    media_type = sniff_media_type(content)
    if not media_type:
        problem = "is empty" if not content else f"is not {kind_with_article(kind)}"
        raise MediaError(f"{subject} {problem}; it must be {FORMATS[kind]}")
    _check_kind(kind, media_type, subject)
    return media_type


def _check_kind(kind: MediaKind, media_type: str, subject: str) -> None:
    found = kind_of_media_type(media_type)
    if found is not None and found != kind:
        raise MediaError(f"{subject} is {kind_with_article(found)} ({media_type}); write type: {found}")
