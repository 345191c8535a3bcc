"""Media types: what bytes are an image, a document or audio, and how messages and snapshots name them."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Final, Literal
from urllib.parse import urlsplit

MediaKind = Literal["image", "document", "audio"]

# By kind of media: the media types that APIs take which take the kind.
MEDIA_TYPES: Final[dict[MediaKind, tuple[str, ...]]] = {
    "image": ("image/png", "image/jpeg", "image/webp", "image/gif"),
    "document": ("application/pdf",),
    "audio": ("audio/wav", "audio/mpeg"),
}
# How the formats are called, in the order of the media types above.
FORMATS: Final[dict[MediaKind, str]] = {
    "image": "PNG, JPEG, WebP or GIF",
    "document": "PDF, DOCX, XLSX, DOC, XLS, CSV, HTML, Markdown or plain text",
    "audio": "WAV or MP3",
}

# What the bytes of each format begin with: https://mimesniff.spec.whatwg.org/#matching-a-mime-type-pattern
_SIGNATURES: Final = (
    (rb"\x89PNG\r\n\x1a\n", "image/png"),
    (rb"\xff\xd8\xff", "image/jpeg"),
    (rb"RIFF.{4}WEBPVP", "image/webp"),
    (rb"GIF8[79]a", "image/gif"),
    (rb"%PDF-", "application/pdf"),
    (rb"RIFF.{4}WAVE", "audio/wav"),
    # Tags, or a frame of MPEG-1 or MPEG-2, layer III, with a valid bit rate and sampling rate.
    (rb"ID3|\xff[\xf2\xf3\xfa\xfb][\x10-\xeb]", "audio/mpeg"),
)
# What the names of their files end in: mostly what the media type ends in.
_SUFFIXES: Final = {f".{each.rpartition('/')[2]}": each for types in MEDIA_TYPES.values() for each in types} | {
    ".jpg": "image/jpeg",
    ".mp3": "audio/mpeg",
}
# Documents that do not say themselves what they are: the suffix of the name does, and what the bytes begin with.
_ZIP: Final = b"PK\x03\x04"
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OFFICE: Final = "application/vnd.openxmlformats-officedocument"
NAMED_DOCUMENTS: Final = {
    ".docx": (f"{_OFFICE}.wordprocessingml.document", _ZIP),
    ".xlsx": (f"{_OFFICE}.spreadsheetml.sheet", _ZIP),
    ".doc": ("application/msword", _OLE),
    ".xls": ("application/vnd.ms-excel", _OLE),
    ".csv": ("text/csv", b""),
    ".html": ("text/html", b""),
    ".htm": ("text/html", b""),
    ".md": ("text/markdown", b""),
    ".txt": ("text/plain", b""),
}
_DATA_URL: Final = re.compile(r"data:([^,]*?)(;base64)?,", re.IGNORECASE)
_HASH_DIGITS: Final = 16
_URL_SAFE: Final = "URL-safe"
# The end of a description of bytes, and what may come before it.
_DESCRIPTION_END: Final = re.compile(rf"(\d+) bytes, sha256:([0-9a-f]{{{_HASH_DIGITS}}})(, {_URL_SAFE})?>\Z", re.ASCII)
# Longer than the end of any description; so a long text is not searched.
_LONGEST_END: Final = 80


def sniff_media_type(content: bytes) -> str:
    """The media type that the bytes say they are; `""` for none that is known."""
    return next((media_type for signature, media_type in _SIGNATURES if re.match(signature, content, re.DOTALL)), "")


def document_type(named_type: str, content: bytes) -> str:
    """The media type of a document by a suffix such as `.csv`, or by its type; `""` if the bytes do not fit."""
    name = named_type.lower()
    for suffix, (media_type, start) in NAMED_DOCUMENTS.items():
        if name in (suffix, media_type) and content.startswith(start):
            return media_type if start or _is_text(content) else ""
    return ""


def _is_text(content: bytes) -> bool:
    with suppress(UnicodeDecodeError):
        return bool(content.decode())
    return False


def kind_of_media_type(media_type: str) -> MediaKind | None:
    """The kind of media to which a media type belongs; `None` for none that is known."""
    return next((kind for kind, types in MEDIA_TYPES.items() if media_type in types), None)


def kind_with_article(kind: MediaKind) -> str:
    """A kind of media as messages name it: `an image`, `a document`, `an audio file`."""
    return {"image": "an image", "document": "a document", "audio": "an audio file"}[kind]


def media_type_of_url(url: str) -> str:
    """The media type that the path of a URL says by its suffix; `""` if it says none that is known."""
    return _SUFFIXES.get(PurePosixPath(urlsplit(url).path).suffix.lower(), "")


def split_data_url(text: str) -> tuple[str, str] | None:
    """The media type and the base64 text of a `data:` URL; `None` if it is not one, or its data is not base64."""
    head = _DATA_URL.match(text)
    return None if head is None or head[2] is None else (head[1], text[head.end() :])


def decode_base64(text: str) -> bytes | None:
    """Decode base64, of either alphabet, with line breaks and without padding too; `None` if it is something else."""
    if not text.isascii():
        return None
    if "-" in text or "_" in text:
        text = text.replace("-", "+").replace("_", "/")
    if "\n" in text or "\r" in text:
        text = text.replace("\r", "").replace("\n", "")
    # Digits come in groups of four.
    missing = -len(text) % 4
    try:
        return base64.b64decode(text + "=" * missing if missing else text, validate=True)
    except binascii.Error:
        return None


def has_digest(content: bytes, digest: str) -> bool:
    """Whether bytes are those that a description has hashed."""
    return hashlib.sha256(content).hexdigest().startswith(digest)


def describe_bytes(media_type: str, content: bytes) -> str:
    """Describe bytes in place of them: `image/png, 34123 bytes, sha256:1f2e3d4c5b6a7988`."""
    return f"{media_type or 'no media type'}, {_size_and_hash(content)}"


def _size_and_hash(content: bytes) -> str:
    return f"{len(content)} bytes, sha256:{hashlib.sha256(content).hexdigest()[:_HASH_DIGITS]}"


def describe_base64(digits: str, media_type: str = "") -> str | None:
    """Describe base64 text by its bytes, so that another text has another description.

    Such as `<image/png, 34123 bytes, sha256:1f2e3d4c5b6a7988>`, with `, URL-safe` at its end where the text has that
    alphabet; `None` for a text that could be written in another way: with line breaks or without padding.
    """
    content = decode_base64(digits)
    if not content:
        return None
    encoded = digits.encode("ascii")
    for encode, alphabet in ((base64.b64encode, ""), (base64.urlsafe_b64encode, f", {_URL_SAFE}")):
        if encode(content) == encoded:
            return f"<{f'{media_type}, ' if media_type else ''}{_size_and_hash(content)}{alphabet}>"
    return None


def described_size(text: str) -> int | None:
    """How many bytes a description, or a `data:` URL that ends with one, stands for; `None` for other texts."""
    end = _DESCRIPTION_END.search(text[-_LONGEST_END:]) if text.startswith(("<", "data:", "Data:", "DATA:")) else None
    return None if end is None else int(end[1])


def undescribed(text: str, find: Callable[[int, str], bytes]) -> str:
    """The text in whose place a snapshot shows a text; `find` gives the bytes with a size and a hash."""
    end = _DESCRIPTION_END.search(text[-_LONGEST_END:])
    if end is None or described_size(text.lstrip("\\")) is None:
        return text
    if text.startswith("\\"):
        return text[1:]
    encode = base64.urlsafe_b64encode if end[3] else base64.b64encode
    return text[: text.rindex("<")] + encode(find(int(end[1]), end[2])).decode()


def escape_description(text: str) -> str:
    """A text with a backslash in front if it looks like a description, escaped or not, else the text itself."""
    return text if described_size(text.lstrip("\\")) is None else f"\\{text}"
