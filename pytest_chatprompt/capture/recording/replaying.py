"""The network: send a request of any client on to where it was meant to go, through a client of our own.

An httpx request comes in; a response comes out, its stream not read yet. The request keeps its URL, headers and body,
and time limits that its client passed on. TLS settings and proxies of that client are not known here: proxies and
certificates are those of the environment. `eval_api` and `live_capture` send by it where replies are recorded.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import httpx

from pytest_chatprompt.capture.clients.interceptor import let_pass
from pytest_chatprompt.capture.recording.open_recording import OpenRecording, PendingReply
from pytest_chatprompt.capture.recording.recorded_exchange import RecordedReply
from pytest_chatprompt.errors import BudgetError
from pytest_chatprompt.providers.http.client import MAX_REPLY_BYTES, trusted_certificates
from pytest_chatprompt.providers.http.retry import is_retryable_status
from pytest_chatprompt.providers.response import ProviderResponse

# SDKs wait that long by default.
_DEFAULT_TIMEOUT: Final = httpx.Timeout(600, connect=10)
# What httpx decodes without further packages.
_ACCEPT_ENCODING: Final = (b"accept-encoding", b"gzip, deflate")
_CONNECTION_HEADERS: Final = frozenset({b"accept-encoding", b"connection", b"transfer-encoding", b"content-length"})


def send(request: httpx.Request) -> httpx.Response:
    """Send a request of a sync client.

    Raises:
        httpx.TransportError: there is no reply.
    """
    client = httpx.Client(verify=trusted_certificates(), timeout=_DEFAULT_TIMEOUT, follow_redirects=False)
    try:
        with let_pass():
            response = client.send(_copy(request), stream=True)
    except BaseException:
        client.close()
        raise
    response.stream = _ClosingStream(response.stream, client)
    return response


async def send_async(request: httpx.Request) -> httpx.Response:
    """Send a request of an async client, in its event loop.

    Raises:
        httpx.TransportError: there is no reply.
    """
    client = httpx.AsyncClient(verify=trusted_certificates(), timeout=_DEFAULT_TIMEOUT, follow_redirects=False)
    try:
        with let_pass():
            response = await client.send(_copy(request), stream=True)
    except BaseException:
        await client.aclose()
        raise
    response.stream = _AsyncClosingStream(response.stream, client)
    return response


def _copy(request: httpx.Request) -> httpx.Request:
    headers = [(name, value) for name, value in request.headers.raw if name.lower() not in _CONNECTION_HEADERS]
    timeout = request.extensions.get("timeout", _DEFAULT_TIMEOUT.as_dict())
    return httpx.Request(
        request.method,
        request.url,
        headers=[*headers, _ACCEPT_ENCODING],
        content=request.content,
        extensions={"timeout": timeout},
    )


class _ClosingStream(httpx.SyncByteStream):
    """A stream that closes its client too."""

    def __init__(self, stream: Any, client: httpx.Client) -> None:
        self._stream = stream
        self._client = client

    def __iter__(self) -> Any:
        yield from self._stream

    def close(self) -> None:
        self._stream.close()
        self._client.close()


class _AsyncClosingStream(httpx.AsyncByteStream):
    """`_ClosingStream` for an async client."""

    def __init__(self, stream: Any, client: httpx.AsyncClient) -> None:
        self._stream = stream
        self._client = client

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
        await self._client.aclose()


# The body goes on decoded, and its length is set where it is framed.
_DROPPED: Final = frozenset({"content-encoding", "content-length", "transfer-encoding", "connection", "keep-alive"})
_LAST_EVENT: Final = b"data: [DONE]"


def replay_or_send(
    recording: OpenRecording, request: httpx.Request, send: Callable[[httpx.Request], httpx.Response]
) -> httpx.Response:
    """Answer a request of a sync client.

    Args:
        recording: of its test.
        request: its body has been read.
        send: sends it, and gives the response, whose stream is not read yet.

    Raises:
        ReplayError: nothing is recorded for it, and nothing may be sent.
        BudgetError: the budget of the run does not allow it.
    """
    sent = recording.read_request(request)
    reply = recording.take(sent)
    if isinstance(reply, RecordedReply):
        return reply.to_response(request)
    with _metered(recording, reply, request):
        response = send(request)
    return _forwarded(request, response, _RecordingStream(response, reply))


async def replay_or_send_async(
    recording: OpenRecording, request: httpx.Request, send: Callable[[httpx.Request], Awaitable[httpx.Response]]
) -> httpx.Response:
    """Answer a request of an async client; see `replay_or_send`."""
    sent = recording.read_request(request)
    reply = recording.take(sent)
    if isinstance(reply, RecordedReply):
        return reply.to_response(request)
    with _metered(recording, reply, request):
        response = await send(request)
    return _forwarded(request, response, _AsyncRecordingStream(response, reply))


@contextmanager
def _metered(recording: OpenRecording, reply: PendingReply, request: httpx.Request) -> Iterator[None]:
    """Send a request in this block if the budget of the run allows it.

    Raises:
        BudgetError: it does not; the recording notes it, since a client may swallow it.
    """
    try:
        reply.meter(recording.budget, request)
    except BudgetError as error:
        recording.budget_errors.append(error)
        raise
    try:
        yield
    except BaseException:
        reply.fail()
        raise


def replay_or_post(
    recording: OpenRecording, request: httpx.Request, post: Callable[[], httpx.Response]
) -> httpx.Response:
    """Answer a request of a built-in provider, which reads the whole reply and sends again what may pass.

    Args:
        recording: of its test.
        request: its body has been read.
        post: sends it once, and gives the whole reply.

    Raises:
        ReplayError: nothing is recorded for it, and nothing may be sent.
    """
    sent = recording.read_request(request)
    reply = recording.take(sent)
    if isinstance(reply, RecordedReply):
        return reply.to_response(request)
    response = post()
    # A built-in provider sends again after such a status: only the last reply counts.
    reply.is_repeated = is_retryable_status(response.status_code)
    if not reply.is_repeated:
        reply.finish(response.status_code, response.headers.get("content-type", ""), response.content)
    return response


def with_recorded_latency(response: ProviderResponse, recording: OpenRecording) -> ProviderResponse:
    """A response with the latency that it had when it was recorded; unchanged if it was sent now."""
    if not recording.replayed or recording.sent_count:
        return response
    latencies = [exchange.latency_seconds or 0.0 for exchange in recording.replayed]
    return response.model_copy(update={"latency_seconds": sum(latencies)})


def with_latency(
    response: ProviderResponse, recording: OpenRecording | None, seconds: float | None = None
) -> ProviderResponse:
    """A response with a latency; unchanged if its provider says how long it took, or does not wait for it.

    Args:
        response: of any provider.
        recording: of its requests, whose latencies count if all of them are replayed; `None` for none.
        seconds: how long the provider took; `None` if that says nothing.
    """
    if response.latency_seconds is not None or not response.is_awaited:
        return response
    timed = response.model_copy(update={"latency_seconds": seconds})
    return timed if recording is None else with_recorded_latency(timed, recording)


def _forwarded(
    request: httpx.Request, response: httpx.Response, stream: httpx.SyncByteStream | httpx.AsyncByteStream
) -> httpx.Response:
    headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in _DROPPED]
    return httpx.Response(response.status_code, headers=headers, stream=stream, request=request)


class _RecordingStream(httpx.SyncByteStream):
    """The decoded body of a response, recorded when it is read or closed.

    Args:
        response: its stream is not read yet.
        pending: the place of the reply in the recording.
    """

    def __init__(self, response: httpx.Response, pending: PendingReply) -> None:
        self._response = response
        self._collected = _Collected(response, pending)

    def __iter__(self) -> Iterator[bytes]:
        with self._collected.dropped_if_broken():
            for chunk in self._response.iter_bytes():
                self._collected.add(chunk)
                yield chunk
        self._collected.finish(is_complete=True)

    def close(self) -> None:
        self._collected.finish(is_complete=False)
        self._response.close()


class _AsyncRecordingStream(httpx.AsyncByteStream):
    """`_RecordingStream` for an async response."""

    def __init__(self, response: httpx.Response, pending: PendingReply) -> None:
        self._response = response
        self._collected = _Collected(response, pending)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with self._collected.dropped_if_broken():
            async for chunk in self._response.aiter_bytes():
                self._collected.add(chunk)
                yield chunk
        self._collected.finish(is_complete=True)

    async def aclose(self) -> None:
        self._collected.finish(is_complete=False)
        await self._response.aclose()


class _Collected:
    """The part of a body that was read so far; nothing of one that is longer than a reply may be."""

    def __init__(self, response: httpx.Response, pending: PendingReply) -> None:
        self._status = response.status_code
        self._content_type = response.headers.get("content-type", "")
        self._pending = pending
        self._chunks: list[bytes] = []
        self._size = 0
        # It broke off, or is too long.
        self._is_broken = False

    @contextmanager
    def dropped_if_broken(self) -> Iterator[None]:
        """Record nothing if reading fails: the next live run sends the request again."""
        try:
            yield
        except Exception:
            self._is_broken = True
            self._pending.fail(self._size or 1)
            raise

    def add(self, chunk: bytes) -> None:
        """Take the next part."""
        self._size += len(chunk)
        if self._size > MAX_REPLY_BYTES:
            self._is_broken = True
            self._chunks.clear()
        else:
            self._chunks.append(chunk)

    def finish(self, *, is_complete: bool) -> None:
        """Record the body; the first call counts. A body that broke off, or was not read at all, is not recorded."""
        if not self._is_broken and self._pending.exchange is None and (is_complete or self._chunks):
            body = b"".join(self._chunks)
            # OpenAI's SDK reads no further than this, which is the end.
            is_complete = is_complete or body.rstrip().endswith(_LAST_EVENT)
            self._pending.finish(self._status, self._content_type, body, is_complete=is_complete)
        elif self._pending.exchange is None:
            # The client read nothing of it, or too much.
            self._pending.fail(self._size or 1)
