"""HTTP/1.1 as bytes: what a client of `http.client` writes to its socket, and what it reads from it.

The bytes of a request come in, and its parts come out; an `RawReply` comes in, and a file to read it from comes
out. The seams of `http.client` and urllib3 call it.
"""

from __future__ import annotations

import http.client
import io
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import httpx

from pytest_chatprompt.capture.clients.raw_reply import RawReply


class ParsedRequest(NamedTuple):
    """The parts of a request.

    Args:
        method: the method.
        target: path and query, or the whole URL.
        headers: names and values.
        content: the body, without the framing of chunks.
    """

    method: str
    target: str
    headers: list[tuple[bytes, bytes]]
    content: bytes


def parse_request(data: bytes) -> ParsedRequest:
    """Parse a request.

    Args:
        data: the whole request, as `http.client` writes it.
    """
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    method, target, _ = first.decode("latin-1").split(" ", 2)
    headers = [(name, value.strip()) for name, _, value in (line.partition(b":") for line in lines)]
    if any(name.lower() == b"transfer-encoding" and value.lower() == b"chunked" for name, value in headers):
        body = b"".join(_unchunked(body))
    return ParsedRequest(method, target, headers, body)


def _unchunked(body: bytes) -> Iterator[bytes]:
    position = 0
    while True:
        end = body.index(b"\r\n", position)
        length = int(body[position:end].partition(b";")[0], 16)
        if not length:
            return
        position = end + 2
        yield body[position : position + length]
        position += length + 2


def read_reply(reply: RawReply, method: str) -> http.client.HTTPResponse:
    """Make a response of `http.client` for a reply; its status and headers have been read.

    Args:
        reply: the reply.
        method: of the request.
    """
    response = http.client.HTTPResponse(_ReplySocket(reply), method=method)  # type: ignore[arg-type]
    response.begin()
    return response


def reply_file(reply: RawReply) -> io.BufferedReader:
    """A file to read a reply from, as it would come from a socket."""
    if reply.body is not None:
        # There is nothing to wait for, and bytes are read faster.
        reply.close()
        return io.BufferedReader(io.BytesIO(b"".join(reply.framed())))
    return io.BufferedReader(_ReplyFile(reply))


class _ReplySocket:
    """As much of a socket as `http.client.HTTPResponse` uses.

    Args:
        reply: the reply.
    """

    def __init__(self, reply: RawReply) -> None:
        self._reply = reply

    def makefile(self, *_: Any) -> io.BufferedReader:
        return reply_file(self._reply)


class _ReplyFile(io.RawIOBase):
    """A file that takes the next part of a reply when it is read, and not earlier.

    Args:
        reply: the reply.
    """

    def __init__(self, reply: RawReply) -> None:
        self._reply = reply
        self._parts = reply.framed()
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            try:
                self._rest = next(self._parts)
            except StopIteration:
                return 0
            except httpx.TransportError as error:
                raise own_error(error) from error
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def close(self) -> None:
        if not self.closed:
            with suppress(ValueError):
                # The generator is running: closed from within.
                self._parts.close()  # type: ignore[attr-defined]
            self._reply.close()
        super().close()


def own_error(error: httpx.TransportError) -> OSError:
    """Convert an httpx transport error to the socket's `OSError`."""
    if isinstance(error, httpx.TimeoutException):
        return TimeoutError(str(error))
    if isinstance(error, httpx.ConnectError):
        return ConnectionRefusedError(str(error))
    return ConnectionResetError(str(error))
