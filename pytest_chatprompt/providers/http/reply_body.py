"""Reads the body of a reply, up to a limit of bytes, also once it is decompressed.

An httpx reply that streams comes in; its decoded bytes come out, or an error that says that the body is too long.
`HTTPClient` calls it.
"""

from __future__ import annotations

import zlib
from typing import Final

import httpx

# No answer is that long: most are some kilobytes, an answer with images or audio in base64 some megabytes.
MAX_REPLY_BYTES: Final = 64 * 1024 * 1024
# What a request says that it accepts. Brotli and Zstandard, which httpx would add if they are installed, have no way
# to bound what comes out.
ACCEPT_ENCODING: Final = "gzip, deflate"
# zlib's names for the formats: one window size each.
_GZIP: Final = 16 + zlib.MAX_WBITS
_ZLIB: Final = zlib.MAX_WBITS
_RAW_DEFLATE: Final = -zlib.MAX_WBITS


class ReplyTooLongError(Exception):
    """The body of a reply is longer than `MAX_REPLY_BYTES`, as it comes or decompressed."""

    def __str__(self) -> str:
        return f"more than {MAX_REPLY_BYTES // 1024**2} MiB"


def read_body(reply: httpx.Response) -> bytes:
    """Read the body of a reply, and decompress it.

    Args:
        reply: a reply that streams; a mock's, which has its body already, is read too.

    Raises:
        ReplyTooLongError: there is more than `MAX_REPLY_BYTES`; the rest is not read.
        httpx.RequestError: the body did not come as a whole, or cannot be decompressed.
    """
    if reply.is_stream_consumed:
        return reply.content
    encoding = reply.headers.get("content-encoding", "").strip().lower()
    decoder = _Decompressor(encoding) if encoding in ("gzip", "x-gzip", "deflate") else None
    received, body = 0, bytearray()
    for chunk in reply.iter_raw():
        received += len(chunk)
        room = MAX_REPLY_BYTES - len(body)
        body += chunk if decoder is None else decoder.decompress(chunk, room)
        if received > MAX_REPLY_BYTES or len(body) > MAX_REPLY_BYTES:
            raise ReplyTooLongError
    return bytes(body)


class _Decompressor:
    """Decompresses gzip and deflate, no more than it is asked for.

    Args:
        encoding: `gzip`, `x-gzip` or `deflate`; the last is zlib's format, and for some servers raw deflate.
    """

    def __init__(self, encoding: str) -> None:
        self._object = zlib.decompressobj(_ZLIB if encoding == "deflate" else _GZIP)
        self._may_be_raw = encoding == "deflate"

    def decompress(self, chunk: bytes, room: int) -> bytes:
        """Decompress the next chunk.

        Args:
            chunk: as it came.
            room: how many bytes may come out; one more shows that there are too many.

        Raises:
            httpx.DecodingError: it is not in this format.
        """
        is_first, self._may_be_raw = self._may_be_raw, False
        try:
            return self._object.decompress(chunk, room + 1)
        except zlib.error as error:
            if not is_first:
                raise httpx.DecodingError(str(error)) from error
            self._object = zlib.decompressobj(_RAW_DEFLATE)
            return self.decompress(chunk, room)
