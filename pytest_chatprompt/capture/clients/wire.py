"""Requests and replies between a client and its interceptor: as httpx has them, and as bytes of HTTP/1.1."""

from __future__ import annotations

import io
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import BinaryIO, Final

import httpx

from pytest_chatprompt.providers.http.client import parsed_url

_ORIGIN: Final = re.compile(r"[^:/?#]+://[^/?#]*")


def build_request(method: str, url: str, headers: Iterable[tuple[bytes, bytes]], content: bytes) -> httpx.Request:
    """Build the request that the interceptor gets, its body whole; no header is added.

    Where httpx would write path and query in another way, the extension `target` has them as the client wrote them.
    """
    # With `content`, httpx would add headers of its own.
    stream = httpx.ByteStream(content)
    request = httpx.Request(method, parsed_url(url), headers=list(headers), stream=stream)
    request.read()
    target = written_target(url)
    if target != request.url.raw_path:
        # https://www.encode.io/httpcore/extensions/#target
        request.extensions["target"] = target
    return request


def written_target(url: str) -> bytes:
    """Path and query of a URL as they are written in it."""
    return (_ORIGIN.sub("", url, count=1) or "/").encode("latin-1")


def join_url(scheme: str, host: str, port: int | None, target: str) -> str:
    """The URL of a request; a target that is a whole URL, as clients send it to a proxy, is that URL."""
    if not target.startswith("/") and "://" in target:
        return target
    authority = f"[{host}]" if ":" in host else host
    return f"{scheme}://{authority}{'' if port is None else f':{port}'}{target}"


# Makes the error of a library, which its callers recognise, of one of httpx.
ConvertError = Callable[[httpx.TransportError], Exception]
_NO_BODY: Final = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
_LAST_CHUNK: Final = b"0\r\n\r\n"


class RawReply:
    """An HTTP response as the bytes that a server would send, and an iterable of the parts of its body.

    Those of a stream come one by one, and `body` is `None` then. Errors of httpx on the way are converted.
    """

    def __init__(self, response: httpx.Response, method: str, convert: ConvertError) -> None:
        self.status = response.status_code
        self.reason = response.extensions.get("reason_phrase") or response.reason_phrase.encode("ascii")
        self.headers = httpx.Headers(response.headers.raw)
        self.headers.pop("transfer-encoding", None)
        self.body: bytes | None = None
        self._response = response
        self._convert = convert
        if method == "HEAD" or self.status in _NO_BODY:
            self.body = b""
        elif isinstance(response.stream, httpx.ByteStream):
            self._set_body(b"".join(response.stream))
        elif response.is_stream_consumed:
            # It was read before, and only its decoded content is left.
            self.headers.pop("content-encoding", None)
            self._set_body(response.content)

    def _set_body(self, body: bytes) -> None:
        self.body = body
        if self.headers.get("content-length") != str(len(body)):
            self.headers["Content-Length"] = str(len(body))

    def __iter__(self) -> Iterator[bytes]:
        stream = self._response.stream
        if self.body is not None:
            yield self.body
        elif isinstance(stream, httpx.SyncByteStream):
            with converted_errors(self._convert):
                yield from stream
        else:
            raise TypeError("a sync client cannot be answered with an async stream; return a sync one from `handle`")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        stream = self._response.stream
        if self.body is None and isinstance(stream, httpx.AsyncByteStream):
            with converted_errors(self._convert):
                async for chunk in stream:
                    yield chunk
        else:
            for chunk in self:
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

    def head(self) -> bytes:
        """The status line and the headers, as HTTP/1.1."""
        headers = [*self.headers.raw, *([(b"Transfer-Encoding", b"chunked")] if self._is_chunked else [])]
        lines = [b"HTTP/1.1 %d %s" % (self.status, self.reason), *(b"%s: %s" % header for header in headers)]
        return b"\r\n".join([*lines, b"", b""])

    def framed(self) -> Iterator[bytes]:
        """The whole reply, as HTTP/1.1; parts may be empty."""
        yield self.head()
        for chunk in self:
            yield self._frame(chunk)
        yield _LAST_CHUNK if self._is_chunked else b""

    async def async_framed(self) -> AsyncIterator[bytes]:
        """The whole reply, as HTTP/1.1, for async clients."""
        yield self.head()
        async for chunk in self:
            yield self._frame(chunk)
        yield _LAST_CHUNK if self._is_chunked else b""

    @property
    def _is_chunked(self) -> bool:
        return self.body is None and "content-length" not in self.headers

    def _frame(self, chunk: bytes) -> bytes:
        return b"%x\r\n%s\r\n" % (len(chunk), chunk) if chunk and self._is_chunked else chunk


def error_reply(text: str) -> httpx.Response:
    """A reply with an error, in a shape that the SDKs of all vendors show."""
    # Most APIs have `error.message`, AWS and Cohere have `message`.
    data = {"error": {"type": "pytest_chatprompt", "message": text}, "message": text}
    # SDKs show a 404 at once; after an exception and most other errors they send again, some of them for minutes.
    # Clients that do not read the body show the reason.
    return httpx.Response(404, json=data, extensions={"reason_phrase": b"Not Answered (pytest-chatprompt)"})


def parse_request(data: bytes) -> tuple[str, str, list[tuple[bytes, bytes]], bytes]:
    """Parse a request: its method, target, headers and body."""
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    method, target, _ = first.decode("latin-1").split(" ", 2)
    headers = [(name, value.strip()) for name, _, value in (line.partition(b":") for line in lines)]
    if any(name.lower() == b"transfer-encoding" and value.lower() == b"chunked" for name, value in headers):
        body = b"".join(unchunked(io.BytesIO(body)))
    return method, target, headers, body


def unchunked(file: BinaryIO | io.BufferedIOBase) -> Iterator[bytes]:
    """Read the chunks of a body; a `ValueError` if it breaks off."""
    while length := int(file.readline().partition(b";")[0], 16):
        yield file.read(length)
        file.readline()
    # What may follow the last chunk.
    while file.readline().strip():
        pass


@contextmanager
def converted_errors(convert: ConvertError) -> Iterator[None]:
    """Convert errors of httpx to those of a library."""
    try:
        yield
    except httpx.TransportError as error:
        raise convert(error) from error
