"""Reads the body of a reply, up to a limit of bytes, also once it is decompressed.

An httpx reply that streams comes in; its decoded bytes come out, or an error that says that the body is too long.
Whether bytes came after the end of the reply is asked here too. `HTTPClient` calls it.
"""

from __future__ import annotations

import zlib
from typing import Any, Final

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
# Where httpx and httpcore keep the HTTP/1.1 state of the connection on which a reply came.
_PATH_TO_H11: Final = ("_stream", "_httpcore_stream", "_stream", "_connection", "_h11_state")


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
    # Not `iter_raw`, which closes the reply at its end: its connection is looked at before.
    for chunk in reply.stream:  # type: ignore[union-attr]
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


def has_surplus(reply: httpx.Response) -> bool:
    """Whether bytes came after the end of a reply; the next request on the connection would take them for its reply.

    Args:
        reply: read to its end, and not closed yet.

    Returns:
        Also `True` if it cannot be known, with another version of httpx or httpcore.
    """
    part: Any = reply.stream
    for name in _PATH_TO_H11:
        part = getattr(part, name, None)
    return part is None or bool(part.trailing_data[0])
