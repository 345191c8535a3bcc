"""HTTP/1.1 as bytes: requests that `http.client` has written, and files to read replies from."""

from __future__ import annotations

import io
from collections.abc import Generator

import httpx
import pytest

from pytest_chatprompt.capture.clients.stdlib_http import _own_error, _PartsFile
from pytest_chatprompt.capture.clients.wire import parse_request


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


def test_a_file_takes_parts_as_they_are_read_and_ends_them() -> None:
    ended = []

    def parts() -> Generator[bytes, None, None]:
        try:
            yield from (b"Hello", b"", b" there")
            raise AssertionError("nobody has read so far")
        finally:
            ended.append(True)

    file = io.BufferedReader(_PartsFile(parts()))
    assert file.read(6) == b"Hello "
    file.close()
    file.raw.close()
    assert ended == [True]


def test_a_file_ends_with_its_parts() -> None:
    assert io.BufferedReader(_PartsFile(part for part in (b"Hello", b"", b" there"))).read() == b"Hello there"


@pytest.mark.parametrize(
    ("error", "own"),
    [
        (httpx.ReadTimeout("a"), TimeoutError),
        (httpx.ConnectError("a"), ConnectionRefusedError),
        (httpx.ReadError("a"), ConnectionResetError),
    ],
)
def test_errors(error: httpx.TransportError, own: type[OSError]) -> None:
    assert type(_own_error(error)) is own
