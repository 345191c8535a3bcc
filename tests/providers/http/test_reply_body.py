"""The body of a reply: its limit in bytes, compressed or not, and the bytes after its end."""

from __future__ import annotations

import gzip
import re
import socket
import threading
import tracemalloc
import zlib
from collections.abc import Callable, Iterator

import pytest

from pytest_chatprompt import (
    APIConnectionError,
    APIStatusError,
    ChatMessage,
    OpenAIProvider,
    ProviderRequest,
    UnreadableReplyError,
)
from pytest_chatprompt.providers.http import client as reply_body
from tests.raw_server import RawServer, chat_body, http_reply, read_request

HI = ProviderRequest(chat_prompt=(ChatMessage("user", "hi"),))
MEGABYTE = 1024 * 1024


@pytest.fixture
def provider(raw_server: RawServer) -> Iterator[OpenAIProvider]:
    """Sends to the raw server, once."""
    provider = OpenAIProvider(base_url=raw_server.url, api_key="k", max_retries=0, timeout_seconds=30)
    yield provider
    provider.close()


def always(reply: bytes) -> Callable[[socket.socket, int], None]:
    """Give every request of every connection the same reply."""

    def talk(connection: socket.socket, _: int) -> None:
        while read_request(connection):
            connection.sendall(reply)

    return talk


def raw_deflate(data: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush()


each_encoding = pytest.mark.parametrize(
    ("encoding", "compress"),
    [
        pytest.param("gzip", gzip.compress, id="gzip"),
        pytest.param("deflate", zlib.compress, id="deflate"),
        pytest.param("deflate", raw_deflate, id="raw deflate"),
    ],
)


@each_encoding
def test_a_compressed_reply_is_decompressed(
    raw_server: RawServer, provider: OpenAIProvider, encoding: str, compress: Callable[[bytes], bytes]
) -> None:
    raw_server.talk = always(http_reply(compress(chat_body("short" * 50_000)), f"content-encoding: {encoding}"))
    assert [provider.send(HI).text for _ in range(2)] == ["short" * 50_000] * 2


def test_a_small_reply_that_is_decompressed_to_more_than_the_limit_is_an_error(
    raw_server: RawServer, provider: OpenAIProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reply_body, "MAX_REPLY_BYTES", 4 * MEGABYTE)
    bomb = raw_deflate(b"[" + b" " * (200 * MEGABYTE))
    assert len(bomb) < MEGABYTE
    for encoding, head in (("gzip", gzip.compress(b"")[:10]), ("deflate", zlib.compress(b"")[:2]), ("deflate", b"")):
        raw_server.talk = always(http_reply(head + bomb, f"content-encoding: {encoding}"))
        tracemalloc.start()
        with pytest.raises(UnreadableReplyError) as caught:
            provider.send(HI)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        # What one read of the connection gives is decompressed at once: a thousand times 64 KiB at most.
        assert peak < 200 * MEGABYTE
        assert str(caught.value) == (
            f"OpenAI at {raw_server.url.split('/')[2]} answered with more than 4 MiB, which is too long to be read; "
            "something other than the API may answer there"
        )


def endless(head: str, chunk: bytes) -> Callable[[socket.socket, int], None]:
    def talk(connection: socket.socket, _: int) -> None:
        read_request(connection)
        connection.sendall(f"HTTP/1.1 {head}\r\n\r\n".encode())
        while True:
            connection.sendall(chunk)

    return talk


@pytest.mark.parametrize(
    "talk",
    [
        pytest.param(endless("200 OK\r\ncontent-length: 99999999999", b"x" * 65536), id="with content-length"),
        pytest.param(endless("200 OK", b"x" * 65536), id="until the connection closes"),
        pytest.param(
            endless("200 OK\r\ntransfer-encoding: chunked", b"10000\r\n" + b"x" * 65536 + b"\r\n"), id="in chunks"
        ),
        pytest.param(endless("503 Busy", b"x" * 65536), id="with a status that is retried"),
    ],
)
def test_a_reply_without_end_is_an_error_that_is_not_retried(
    raw_server: RawServer, monkeypatch: pytest.MonkeyPatch, talk: Callable[[socket.socket, int], None]
) -> None:
    monkeypatch.setattr(reply_body, "MAX_REPLY_BYTES", 4 * MEGABYTE)
    raw_server.talk = talk
    provider = OpenAIProvider(base_url=raw_server.url, api_key="k", max_retries=3, timeout_seconds=30)
    with pytest.raises(APIStatusError, match=r"^OpenAI at 127\.0\.0\.1:\d+ answered with more than 4 MiB"):
        provider.send(HI)
    assert len(raw_server.connections) == 1
    provider.close()


def test_a_reply_of_many_megabytes_below_the_limit_is_read(raw_server: RawServer, provider: OpenAIProvider) -> None:
    assert reply_body.MAX_REPLY_BYTES == 64 * MEGABYTE
    raw_server.talk = always(http_reply(chat_body("x" * (20 * MEGABYTE))))
    assert len(provider.send(HI).text) == 20 * MEGABYTE


def test_a_reply_that_is_not_in_the_encoding_that_it_names_is_an_error(
    raw_server: RawServer, provider: OpenAIProvider
) -> None:
    raw_server.talk = always(http_reply(b"no gzip at all", "content-encoding: gzip"))
    with pytest.raises(APIConnectionError, match=r"OpenAI at 127\.0\.0\.1:\d+ did not complete its reply: Error -3"):
        provider.send(HI)


def test_only_encodings_that_can_be_bounded_are_asked_for(raw_server: RawServer, provider: OpenAIProvider) -> None:
    requests = []

    def talk(connection: socket.socket, _: int) -> None:
        requests.append(read_request(connection))
        connection.sendall(http_reply(chat_body("hi"), "content-encoding: br"))

    raw_server.talk = talk
    # An encoding that nobody asked for is not decoded; some servers write nonsense there.
    assert provider.send(HI).text == "hi"
    assert re.search(rb"\r\naccept-encoding: gzip, deflate\r\n", requests[0], re.IGNORECASE)


# --- bytes after the end of a reply

STRANGE = http_reply(chat_body("another's answer"))
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


def chunked(body: bytes) -> bytes:
    return CHUNKED + f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    "surplus",
    [
        pytest.param(STRANGE, id="a whole reply"),
        pytest.param(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx-head: ", id="the beginning of a reply"),
        pytest.param(b"junk", id="junk"),
        pytest.param(b"\r\n", id="a line break"),
    ],
)
@pytest.mark.parametrize("reply", [http_reply(chat_body("mine")), chunked(chat_body("mine"))], ids=["sized", "chunked"])
def test_bytes_after_a_reply_are_never_taken_for_the_next_one(
    raw_server: RawServer, provider: OpenAIProvider, reply: bytes, surplus: bytes
) -> None:
    raw_server.talk = always(reply + surplus)
    assert [provider.send(HI).text for _ in range(3)] == ["mine"] * 3
    assert len(raw_server.connections) == 3


def test_bytes_that_come_later_are_never_taken_for_the_next_reply(
    raw_server: RawServer, provider: OpenAIProvider
) -> None:
    first_is_read, surplus_is_sent = threading.Event(), threading.Event()

    def talk(connection: socket.socket, _: int) -> None:
        read_request(connection)
        connection.sendall(http_reply(chat_body("mine")))
        first_is_read.wait(20)
        connection.sendall(STRANGE)
        surplus_is_sent.set()
        read_request(connection)

    raw_server.talk = talk
    assert provider.send(HI).text == "mine"
    first_is_read.set()
    assert surplus_is_sent.wait(20)
    assert provider.send(HI).text == "mine"
    assert len(raw_server.connections) == 2


@pytest.mark.parametrize("reply", [http_reply(chat_body("mine")), chunked(chat_body("mine"))], ids=["sized", "chunked"])
def test_every_request_has_a_connection_of_its_own(
    raw_server: RawServer, provider: OpenAIProvider, reply: bytes
) -> None:
    raw_server.talk = always(reply)
    assert [provider.send(HI).text for _ in range(3)] == ["mine"] * 3
    assert len(raw_server.connections) == 3
