"""Small files of each format for the tests of media: a whole PNG, and the first bytes of the others."""

from __future__ import annotations

import base64
from typing import Final

# One pixel.
PNG: Final = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PNG_SHOWN: Final = "image/png, 70 bytes, sha256:6b7fa434f92a8b80"
JPEG: Final = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + bytes(20)
GIF: Final = b"GIF89a\x01\x00\x01\x00" + bytes(20)
WEBP: Final = b"RIFF\x24\x00\x00\x00WEBPVP8 " + bytes(20)
PDF: Final = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + bytes(20)
WAV: Final = b"RIFF\x24\x00\x00\x00WAVEfmt " + bytes(20)
MP3: Final = b"\xff\xfb\x90\x64" + bytes(30)
TAGGED_MP3: Final = b"ID3\x04\x00" + bytes(30)
FORMATS: Final = {
    "image/png": PNG,
    "image/jpeg": JPEG,
    "image/gif": GIF,
    "image/webp": WEBP,
    "application/pdf": PDF,
    "audio/wav": WAV,
    "audio/mpeg": MP3,
}


def in_base64(content: bytes) -> str:
    """The bytes in base64."""
    return base64.b64encode(content).decode("ascii")


def data_url(content: bytes, media_type: str = "image/png") -> str:
    """The bytes as a `data:` URL."""
    return f"data:{media_type};base64,{in_base64(content)}"
