"""HTTP/1.1 as bytes: requests that `http.client` has written, and files to read replies from."""

from __future__ import annotations

import httpx
import pytest

from pytest_chatprompt.capture.clients.wire import (
    RawReply,
    own_error,
    parse_request,
    reply_file,
)
from tests.capture.clients.client import Parts


@pytest.mark.parametrize(
    ("data", "parsed"),
    [
        (
            b"POST /a?b=1 HTTP/1.1\r\nHost: api.example\r\nX-One:  a: b \r\n\r\nHello\r\n\r\nthere",
            ("POST", "/a?b=1", [(b"Host", b"api.example"), (b"X-One", b"a: b")], b"Hello\r\n\r\nthere"),
        ),
        (
            b"PUT /a HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nHello\r\nA;x=1\r\n\r\n there\r\n\r\n0\r\n\r\n",
            ("PUT", "/a", [(b"Transfer-Encoding", b"Chunked")], b"Hello\r\n there\r\n"),
        ),
        (b"GET / HTTP/1.1\r\n\r\n", ("GET", "/", [], b"")),
    ],
    ids=["a length", "chunks", "nothing"],
)
def test_a_request_is_parsed(data: bytes, parsed: tuple[object, ...]) -> None:
    assert parse_request(data) == parsed


def test_a_file_gives_the_whole_reply_and_closes_it() -> None:
    parts = Parts([b"Hello"])
    file = reply_file(RawReply(httpx.Response(200, stream=parts), "GET"))
    assert file.read() == b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nHello\r\n0\r\n\r\n"
    file.close()
    file.raw.close()
    assert parts.is_closed


@pytest.mark.parametrize(
    ("error", "own"),
    [
        (httpx.ReadTimeout("a"), TimeoutError),
        (httpx.ConnectError("a"), ConnectionRefusedError),
        (httpx.ReadError("a"), ConnectionResetError),
    ],
)
def test_errors(error: httpx.TransportError, own: type[OSError]) -> None:
    assert type(own_error(error)) is own
