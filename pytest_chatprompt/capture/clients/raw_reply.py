"""The reply to a client: an `httpx.Response` as the bytes that a server would send.

A response of the interceptor comes in; status, headers and the encoded body come out, whole or lazily, also with the
framing of HTTP/1.1. Seams call it, and so does the server, whose framing is h11's.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from http import HTTPStatus
from typing import Final

import httpx

_Headers = list[tuple[bytes, bytes]]
_NO_BODY: Final = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
_LAST_CHUNK: Final = b"0\r\n\r\n"


class RawReply:
    """An HTTP response as the bytes that a server would send.

    Args:
        response: what the interceptor returned.
        method: of the request.

    Attributes:
        status: the status code.
        reason: the reason phrase.
        headers: with the length that the body really has.
        body: the whole body; `None` if it is a stream.
        closes_connection: whether the client is asked to send its next request on a connection of its own.
    """

    def __init__(self, response: httpx.Response, method: str) -> None:
        self.status = response.status_code
        self.reason = response.extensions.get("reason_phrase") or response.reason_phrase.encode("ascii")
        self.headers: _Headers = [each for each in response.headers.raw if each[0].lower() != b"transfer-encoding"]
        self.body: bytes | None = None
        self.closes_connection = False
        self._response = response
        if method == "HEAD" or self.status in _NO_BODY:
            self.body = b""
        elif isinstance(response.stream, httpx.ByteStream):
            self._set_body(b"".join(response.stream))
        elif response.is_stream_consumed:
            # It was read before, and only its decoded content is left.
            self._drop_headers(b"content-encoding")
            self._set_body(response.content)

    def _set_body(self, body: bytes) -> None:
        self.body = body
        length = (b"Content-Length", str(len(body)).encode("ascii"))
        if not any(name.lower() == b"content-length" and value == length[1] for name, value in self.headers):
            self._drop_headers(b"content-length")
            self.headers.append(length)

    def _drop_headers(self, name: bytes) -> None:
        self.headers = [each for each in self.headers if each[0].lower() != name]

    def chunks(self) -> Iterator[bytes]:
        """The parts of a stream, as they come.

        Raises:
            TypeError: the response streams asynchronously.
        """
        stream = self._response.stream
        if not isinstance(stream, httpx.SyncByteStream):
            raise TypeError("a sync client cannot be answered with an async stream; return a sync one from `handle`")
        yield from stream

    async def async_chunks(self) -> AsyncIterator[bytes]:
        """The parts of a stream, as they come; of a sync one too."""
        stream = self._response.stream
        if isinstance(stream, httpx.AsyncByteStream):
            async for chunk in stream:
                yield chunk
        else:
            for chunk in self.chunks():
                yield chunk

    def close(self) -> None:
        """Close the response, read or not."""
        if isinstance(self._response.stream, httpx.SyncByteStream):
            self._response.close()

    async def aclose(self) -> None:
        """Close the response, read or not."""
        if isinstance(self._response.stream, httpx.AsyncByteStream):
            await self._response.aclose()
        else:
            self.close()

    def close_connection(self) -> None:
        """Ask the client to send its next request on a connection of its own."""
        self.closes_connection = True

    def head(self) -> bytes:
        """The status line and the headers, as HTTP/1.1."""
        headers = self.headers
        if self.closes_connection:
            headers = [*(each for each in headers if each[0].lower() != b"connection"), (b"Connection", b"close")]
        if self._is_chunked:
            headers = [*headers, (b"Transfer-Encoding", b"chunked")]
        lines = [b"HTTP/1.1 %d %s" % (self.status, self.reason), *(b"%s: %s" % header for header in headers)]
        return b"\r\n".join([*lines, b"", b""])

    def framed(self) -> Iterator[bytes]:
        """The whole reply, as HTTP/1.1."""
        if self.body is not None:
            yield self.head() + self.body
            return
        yield self.head()
        for chunk in self.chunks():
            if chunk:
                yield self._frame(chunk)
        if self._is_chunked:
            yield _LAST_CHUNK

    async def async_framed(self) -> AsyncIterator[bytes]:
        """A reply that is a stream, as HTTP/1.1."""
        yield self.head()
        async for chunk in self.async_chunks():
            if chunk:
                yield self._frame(chunk)
        if self._is_chunked:
            yield _LAST_CHUNK

    @property
    def _is_chunked(self) -> bool:
        return self.body is None and all(name.lower() != b"content-length" for name, _ in self.headers)

    def _frame(self, chunk: bytes) -> bytes:
        return b"%x\r\n%s\r\n" % (len(chunk), chunk) if self._is_chunked else chunk
