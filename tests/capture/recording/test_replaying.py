"""Replaying: a request is answered from the recording, or sent and recorded as far as its reply is read."""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx
import pytest

from pytest_chatprompt.apis.model_api import ReplyStream
from pytest_chatprompt.capture.clients.interceptor import run_now
from pytest_chatprompt.capture.recording import open_recording as replaying
from pytest_chatprompt.capture.recording.open_recording import (
    OpenRecording,
    replay_or_post,
    replay_or_send,
    with_latency,
)
from pytest_chatprompt.capture.recording.recorded_exchange import RecordedReply
from pytest_chatprompt.errors import ReplayError
from pytest_chatprompt.providers.response import ProviderResponse

REQUEST = httpx.Request("POST", "https://api.example/v1/chat", json={"a": 1})
SSE = {"content-type": "text/event-stream"}
CHUNKS = (b"data: a\n\nda", b"ta: b\n\n")


class _Stream(httpx.SyncByteStream, httpx.AsyncByteStream):
    """Chunks, then perhaps an error."""

    def __init__(self, chunks: tuple[bytes, ...], error: Exception | None) -> None:
        self._chunks = chunks
        self._error = error
        self.is_closed = False

    def __iter__(self) -> Iterator[bytes]:
        yield from self._chunks
        if self._error is not None:
            raise self._error

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self:
            yield chunk

    def close(self) -> None:
        self.is_closed = True

    async def aclose(self) -> None:
        self.is_closed = True


def network(
    chunks: tuple[bytes, ...] = CHUNKS, headers: dict[str, str] = SSE, error: Exception | None = None, status: int = 200
) -> httpx.Response:
    return httpx.Response(status, headers=headers, stream=_Stream(chunks, error), request=REQUEST)


def read_sync(recording: OpenRecording, response: httpx.Response, count: int | None = None) -> tuple[Any, list[bytes]]:
    """Send a request, and read so many chunks of the reply; all by default."""
    answer = run_now(replay_or_send(recording, REQUEST, lambda _: response))
    chunks = []
    try:
        for chunk in answer.iter_raw() if count != 0 else ():
            chunks.append(chunk)
            if len(chunks) == count:
                break
    finally:
        answer.close()
    return answer, chunks


def read_async(recording: OpenRecording, response: httpx.Response, count: int | None = None) -> tuple[Any, list[bytes]]:
    """`read_sync` with an async client."""

    async def send(_: httpx.Request) -> httpx.Response:
        return response

    async def run() -> tuple[Any, list[bytes]]:
        answer = await replay_or_send(recording, REQUEST, send)
        chunks = []
        try:
            if count != 0:
                async for chunk in answer.aiter_raw():
                    chunks.append(chunk)
                    if len(chunks) == count:
                        break
        finally:
            await answer.aclose()
        return answer, chunks

    return asyncio.run(run())


Read = Callable[..., tuple[Any, list[bytes]]]
both = pytest.mark.parametrize("read", [read_sync, read_async])


def only_reply(recording: OpenRecording) -> RecordedReply:
    (exchange,) = recording.exchanges()
    assert exchange.reply is not None
    return exchange.reply


@both
def test_a_stream_goes_on_chunk_by_chunk_and_is_recorded_whole(read: Read) -> None:
    recording = OpenRecording(sends=True)
    stream = _Stream(CHUNKS, None)
    response = httpx.Response(200, headers={**SSE, "x-request-id": "7"}, stream=stream, request=REQUEST)
    answer, chunks = read(recording, response)
    assert chunks == list(CHUNKS)
    assert answer.headers["x-request-id"] == "7"
    assert stream.is_closed
    expected = RecordedReply(status=200, content_type=SSE["content-type"], events=[{"data": "a"}, {"data": "b"}])
    assert only_reply(recording) == expected
    replayed, chunks = read(OpenRecording(recording.exchanges(), sends=False), network(()))
    assert (replayed.status_code, chunks) == (200, [b"data: a\n\n", b"data: b\n\n"])


@both
def test_a_compressed_reply_goes_on_and_is_recorded_decoded(read: Read) -> None:
    recording = OpenRecording(sends=True)
    headers = {"content-type": "application/json", "content-encoding": "gzip", "content-length": "5", "connection": "x"}
    answer, chunks = read(recording, network((gzip.compress(b'{"a": 1}'),), headers))
    assert b"".join(chunks) == b'{"a": 1}'
    assert set(answer.headers) == {"content-type"}
    assert only_reply(recording).body == {"a": 1}


@both
def test_a_stream_that_is_closed_early_is_recorded_as_far_as_it_was_read(read: Read) -> None:
    recording = OpenRecording(sends=True)
    _, chunks = read(recording, network(), 1)
    assert chunks == [CHUNKS[0]]
    reply = only_reply(recording)
    assert (reply.is_complete, reply.events) == (False, [{"data": "a"}, {"da": ""}])


@both
def test_a_reply_of_which_only_the_status_was_read_is_recorded(read: Read) -> None:
    recording = OpenRecording(sends=True)
    stream = _Stream(CHUNKS, None)
    assert read(recording, httpx.Response(429, headers=SSE, stream=stream, request=REQUEST), 0)[1] == []
    assert stream.is_closed
    assert only_reply(recording) == RecordedReply(
        status=429, content_type=SSE["content-type"], is_complete=False, text=""
    )
    replayed, _ = read(OpenRecording(recording.exchanges(), sends=False), network(()), 0)
    assert replayed.status_code == 429


@pytest.mark.parametrize(("status", "recorded"), [(200, []), (307, [307]), (429, [429])])
def test_a_reply_that_is_given_up_before_its_body_comes_is_recorded_if_its_status_tells_it(
    status: int, recorded: list[int]
) -> None:
    class Slow(_Stream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            await asyncio.Event().wait()
            yield b""

    async def send(_: httpx.Request) -> httpx.Response:
        return httpx.Response(status, stream=Slow((), None), request=REQUEST)

    async def read() -> None:
        answer = await replay_or_send(recording, REQUEST, send)
        try:
            await asyncio.wait_for(answer.aread(), 0.01)
        finally:
            await answer.aclose()

    recording = OpenRecording(sends=True)
    with pytest.raises(TimeoutError):
        asyncio.run(read())
    assert [exchange.reply and exchange.reply.status for exchange in recording.exchanges()] == recorded
    assert recording.sent_count == 1


@both
def test_an_empty_body_is_recorded(read: Read) -> None:
    recording = OpenRecording(sends=True)
    read(recording, network((), {}, status=204))
    assert only_reply(recording).model_dump(exclude_unset=True) == {
        "status": 204,
        "content_type": "",
        "text": "",
    }


@both
@pytest.mark.parametrize(
    ("response", "error"),
    [
        (network(error=httpx.ReadError("broken")), httpx.ReadError),
        (network((b"no gzip",), {"content-encoding": "gzip"}), httpx.DecodingError),
    ],
    ids=["the connection breaks", "it cannot be decoded"],
)
def test_a_reply_that_breaks_off_is_not_recorded(read: Read, response: httpx.Response, error: type[Exception]) -> None:
    recording = OpenRecording(sends=True)
    again = httpx.Response(200, headers=response.headers, stream=response.stream, request=REQUEST)
    with pytest.raises(error):
        read(recording, again)
    assert (recording.exchanges(), recording.sent_count) == ((), 1)


@both
def test_of_a_reply_that_is_longer_than_replies_may_be_nothing_is_kept(
    read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replaying, "MAX_REPLY_BYTES", 100)
    recording = OpenRecording(sends=True)
    endless = network((b"x" * 50,) * 1000)
    _, chunks = read(recording, endless)
    # The client goes on reading.
    assert b"".join(chunks) == b"x" * 50_000
    assert (recording.exchanges(), recording.sent_count, recording.unanswered_count) == ((), 1, 1)
    fitting = OpenRecording(sends=True)
    read(fitting, network((b"x" * 50,) * 2, {"content-type": "text/plain"}))
    assert only_reply(fitting).text == "x" * 100


def test_what_is_read_of_an_endless_stream_takes_no_memory() -> None:
    recording = OpenRecording(sends=True)
    mebibyte = 1024 * 1024
    stream = ReplyStream(lambda: (bytes(mebibyte) for _ in range(200)))
    endless = httpx.Response(200, headers=SSE, stream=stream, request=REQUEST)
    response = run_now(replay_or_send(recording, REQUEST, lambda _: endless))
    tracemalloc.start()
    for _ in response.iter_raw():
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert recording.exchanges() == ()
    assert peak < 80 * mebibyte


@both
def test_a_request_that_gets_no_reply_is_not_recorded(read: Read) -> None:
    recording = OpenRecording(sends=False)
    with pytest.raises(ReplayError, match="nothing is recorded for POST /v1/chat"):
        read(recording, network())
    assert recording.exchanges() == ()


def test_an_error_of_sending_goes_on() -> None:
    def refuse(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    recording = OpenRecording(sends=True)
    with pytest.raises(httpx.ConnectError):
        run_now(replay_or_send(recording, REQUEST, refuse))
    assert (recording.exchanges(), recording.sent_count) == ((), 1)


@pytest.mark.parametrize(
    ("status", "is_recorded"),
    [(200, True), (400, True), (404, True), (408, False), (409, False), (429, False), (500, False), (529, False)],
)
def test_of_a_built_in_provider_only_the_last_try_is_recorded(status: int, *, is_recorded: bool) -> None:
    recording = OpenRecording(sends=True)
    response = replay_or_post(recording, REQUEST, lambda: httpx.Response(status, json={"a": 1}))
    assert response.status_code == status
    assert [exchange.reply.status for exchange in recording.exchanges() if exchange.reply] == [status] * is_recorded


def test_a_built_in_provider_gets_the_recorded_reply() -> None:
    recording = OpenRecording(sends=True)
    replay_or_post(recording, REQUEST, lambda: httpx.Response(200, json={"a": 1}))
    again = OpenRecording(recording.exchanges(), sends=False)
    assert replay_or_post(again, REQUEST, lambda: httpx.Response(500)).json() == {"a": 1}


def test_a_replayed_response_has_the_latency_of_its_recording() -> None:
    recorded = OpenRecording(sends=True)
    for _ in range(2):
        replay_or_post(recorded, REQUEST, lambda: httpx.Response(200, json={}))
    first, second = (
        exchange.model_copy(update={"latency_seconds": latency})
        for exchange, latency in zip(recorded.exchanges(), (1.5, None), strict=True)
    )
    again = OpenRecording([first, second], sends=True)
    now = ProviderResponse(text="", latency_seconds=9)
    assert with_latency(now, again) is now
    for _ in range(2):
        replay_or_post(again, REQUEST, lambda: httpx.Response(200, json={}))
    assert with_latency(now, again).latency_seconds == 1.5
    replay_or_post(again, REQUEST, lambda: httpx.Response(200, json={}))
    assert with_latency(now, again) is now
