"""`OpenRecording`: the recording of the test that runs, which gives the replies it holds and takes new ones."""

from __future__ import annotations

import copy
import threading
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, InitVar, dataclass, field
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.request import getproxies

import httpx

from pytest_chatprompt.apis.vendor_api import VendorAPI
from pytest_chatprompt.capture.clients.interceptor import awaited, let_pass
from pytest_chatprompt.capture.prompt_size import estimate_tokens
from pytest_chatprompt.capture.recording.recorded_exchange import (
    Mask,
    RecordedExchange,
    RecordedReply,
    RecordedRequest,
    recorded_request,
)
from pytest_chatprompt.capture.sent_request import SentRequest, sent_target
from pytest_chatprompt.errors import ReplayError
from pytest_chatprompt.providers.context import Budget, Settle, current_context
from pytest_chatprompt.providers.http.client import MAX_REPLY_BYTES, PROVIDER_EXTENSION, trusted_certificates
from pytest_chatprompt.providers.http.request_body import read_body
from pytest_chatprompt.providers.http.retry import is_retryable_status
from pytest_chatprompt.providers.prices import Billing
from pytest_chatprompt.providers.response import ProviderResponse, TokenUsage, read_usage

if TYPE_CHECKING:
    from pytest_chatprompt.capture.clients.interceptor import Send


@dataclass(eq=False)
class RecordingEntry:
    """A request with its reply, which was recorded earlier or is about to come.

    Attributes:
        exchange: the request with its reply; `None` until the reply is there.
        http_request: that of a client; `None` for what is sent otherwise, and for built-in providers.
        is_repeated: whether the reply is one after which the request is sent again, and which is not recorded.
        pay: spends what the request has cost, by its reply, or by how much came where no whole reply did.
    """

    request: RecordedRequest
    replayed: RecordedExchange | None = None
    http_request: httpx.Request | None = None
    exchange: RecordedExchange | None = None
    is_repeated: bool = field(init=False, default=False)
    pay: Callable[[RecordedReply | None, int], None] = field(init=False, default=lambda *_: None)
    _started_at: float = field(init=False, default_factory=time.monotonic)

    @property
    def replayed_reply(self) -> RecordedReply | None:
        """The reply that was recorded earlier."""
        return None if self.replayed is None else self.replayed.reply

    def meter(self, budget: Budget | None, request: httpx.Request) -> None:
        """Reserve a part of the budget of the run for the request, which is about to be sent."""
        # A built-in provider meters what it sends where it knows the budget.
        is_metered = PROVIDER_EXTENSION in request.extensions and current_context().budget is not None
        billing = None if budget is None or is_metered else find_billing(request)
        if budget is not None and billing is not None:
            # Its own thread may be the one that ends those in flight.
            self.pay = partial(_pay, budget.reserve(billing), billing, len(request.content))

    def finish(self, status: int, headers: Mapping[str, str], body: bytes, *, is_complete: bool = True) -> None:
        """Put the reply, of which the body is what was read, into its place in the recording."""
        reply = RecordedReply.of(status, headers, body, is_complete=is_complete)
        seconds = round(time.monotonic() - self._started_at, 3)
        self.exchange = RecordedExchange(request=self.request, reply=reply, latency_seconds=seconds)
        self.pay(reply, len(body))


def _pay(settle: Settle, billing: Billing, sent_bytes: int, reply: RecordedReply | None, received_bytes: int) -> None:
    """Spend what a request has cost: nothing if the API was not reached, or replied with an error."""
    if reply.status >= HTTPStatus.BAD_REQUEST if reply is not None else not received_bytes:
        settle(None)
        return
    usage = read_usage({} if reply is None else reply.content)
    if usage.input_tokens is None:
        usage = TokenUsage(input_tokens=estimate_tokens(sent_bytes), output_tokens=estimate_tokens(received_bytes))
    # Embeddings have no output.
    usage = usage.model_copy(update={"output_tokens": usage.output_tokens or 0})
    settle(billing.cost_usd(usage) or 0.0)


@dataclass(eq=False)
class OpenRecording:
    """The recording of one test, or of one answer of a repeated case.

    Args:
        recorded: what is recorded, in order; empty if nothing is to be replayed.
        sends: whether requests without a recorded reply are sent; else they are an error.
        mask: masks the body of a request, before it is hashed.
        base_url: the provider's, for the endpoints of requests; a value of another type counts as none.
        describe_missing: gives the error text for a request that nothing is recorded for.
        others: the recorded answers of a repeated case with other numbers.
        is_kept: whether replies are recorded, or only seen.

    Attributes:
        budget: of the run, for the requests of clients other than built-in providers; `None` for none.
    """

    recorded: InitVar[Iterable[RecordedExchange]] = ()
    _: KW_ONLY
    sends: bool
    mask: Mask = lambda data: data
    base_url: Any = None
    describe_missing: Callable[[SentRequest], str] = lambda sent: f"nothing is recorded for {sent.endpoint}"
    others: tuple[RecordedExchange, ...] = ()
    is_kept: bool = True
    budget: Budget | None = None
    # By the hash of the request, and whether it has the reply to that or the answer of an agent.
    _waiting: dict[tuple[str, bool], deque[RecordedExchange]] = field(init=False)
    # What was replayed or sent, in the order of the requests.
    _entries: list[RecordingEntry] = field(init=False, default_factory=list)
    _parts: list[OpenRecording] = field(init=False, default_factory=list)
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)

    def __post_init__(self, recorded: Iterable[RecordedExchange]) -> None:
        self._waiting = defaultdict(deque)
        for exchange in recorded:
            self._waiting[exchange.request.sha256, exchange.reply is not None].append(exchange)

    def part(self) -> OpenRecording:
        """A part of this recording: it gives the same replies, takes new ones, and counts what it gave and took alone.

        That comes after what this recording itself did, in the order in which the parts were made.
        """
        part = copy.copy(self)
        part.base_url, part._entries, part._parts = None, [], []
        self._parts.append(part)
        return part

    def take(self, sent: SentRequest, request: httpx.Request | None = None) -> RecordingEntry:
        """Take the recorded reply to a request, or else a place for the reply that is about to come."""
        recorded = recorded_request(sent, self.mask)
        with self._lock:
            waiting = self._waiting.get((recorded.sha256, True))
            if not (waiting or self.sends):
                raise ReplayError(self.describe_missing(sent))
            replayed = waiting.popleft() if waiting else None
            entry = RecordingEntry(recorded, replayed, request, replayed)
            if replayed is None and request is not None:
                # What the budget refuses is not sent.
                entry.meter(self.budget, request)
            self._entries.append(entry)
        return entry

    def take_response(self, sha256: str) -> RecordedExchange | None:
        """Take the recorded answer of what sends no HTTP requests of its own; `None` if there is none."""
        with self._lock:
            waiting = self._waiting.get((sha256, False))
            exchange = waiting.popleft() if waiting else None
        if exchange is not None:
            self._entries.append(RecordingEntry(exchange.request, exchange, exchange=exchange))
        return exchange

    def add_response(self, exchange: RecordedExchange) -> None:
        """Keep the new answer of what sends no HTTP requests of its own."""
        self._entries.append(RecordingEntry(exchange.request, exchange=exchange))

    def forget_new(self) -> None:
        """Do not record the replies that were taken so far."""
        for entry in self._entries:
            if entry.replayed is None:
                entry.exchange, entry.is_repeated = None, True

    def entries(self) -> list[RecordingEntry]:
        """What was replayed or sent, answered or not."""
        return [*self._entries, *(entry for part in self._parts for entry in part.entries())]

    def exchanges(self) -> tuple[RecordedExchange, ...]:
        """What was replayed or sent and answered, in the order of the requests."""
        return tuple(entry.exchange for entry in self.entries() if entry.exchange is not None)

    def unused(self) -> tuple[RecordedExchange, ...]:
        """The recorded exchanges that no request asked for."""
        with self._lock:
            return tuple(exchange for waiting in self._waiting.values() for exchange in waiting)

    @property
    def replayed(self) -> tuple[RecordedExchange, ...]:
        """The exchanges that were replayed."""
        return tuple(entry.replayed for entry in self.entries() if entry.replayed is not None)

    @property
    def unanswered_count(self) -> int:
        """How many requests were sent and got no whole reply, so that nothing is recorded for them."""
        return sum(entry.exchange is None and not entry.is_repeated for entry in self.entries())

    @property
    def sent_count(self) -> int:
        """How many requests were sent, answered or not."""
        return sum(entry.replayed is None for entry in self.entries())


# SDKs wait that long by default.
_DEFAULT_TIMEOUT: Final = httpx.Timeout(600, connect=10)
# No connection outlives its reply, so the clients need not be closed.
_LIMITS: Final = httpx.Limits(max_keepalive_connections=0)
# What httpx decodes without further packages.
_ACCEPT_ENCODING: Final = (b"accept-encoding", b"gzip, deflate")
_CONNECTION_HEADERS: Final = frozenset({b"accept-encoding", b"connection", b"transfer-encoding", b"content-length"})
# The body goes on decoded, and its length is set where it is framed.
_DROPPED: Final = frozenset({"content-encoding", "content-length", "transfer-encoding", "connection", "keep-alive"})


def send(request: httpx.Request) -> httpx.Response:
    """Send a request of a sync client on to where it was meant to go; the stream of the reply is not read yet.

    Certificates and proxies are those of the environment: what else its client has is not known here.
    """
    client = httpx.Client(verify=trusted_certificates(), limits=_LIMITS)
    with let_pass():
        return client.send(_copy(request), stream=True)


async def send_async(request: httpx.Request) -> httpx.Response:
    """Send a request of an async client on, in its event loop; see `send`."""
    client = httpx.AsyncClient(verify=trusted_certificates(), limits=_LIMITS)
    with let_pass():
        return await client.send(_copy(request), stream=True)


def _copy(request: httpx.Request) -> httpx.Request:
    headers = [(name, value) for name, value in request.headers.raw if name.lower() not in _CONNECTION_HEADERS]
    # httpcore would send it to a proxy too, in place of the address of the host.
    target = {} if getproxies() else {"target": sent_target(request)}
    return httpx.Request(
        request.method,
        request.url,
        headers=[*headers, _ACCEPT_ENCODING],
        content=request.content,
        extensions={"timeout": request.extensions.get("timeout", _DEFAULT_TIMEOUT.as_dict()), **target},
    )


async def replay_or_send(recording: OpenRecording, request: httpx.Request, send: Send) -> httpx.Response:
    """Answer a request, whose body has been read; `send` gives a response whose stream is not read yet."""
    entry = recording.take(SentRequest.from_httpx(request, recording.base_url), request)
    if entry.replayed_reply is not None:
        return entry.replayed_reply.to_response(request)
    try:
        response = await awaited(send(request))
    except BaseException:
        entry.pay(None, 0)
        raise
    headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in _DROPPED]
    stream = _RecordingStream(response, entry)
    return httpx.Response(response.status_code, headers=headers, stream=stream, request=request)


def replay_or_post(
    recording: OpenRecording, request: httpx.Request, post: Callable[[], httpx.Response]
) -> httpx.Response:
    """Answer a request of a built-in provider, which reads the whole reply and sends again what may pass."""
    entry = recording.take(SentRequest.from_httpx(request, recording.base_url))
    if entry.replayed_reply is not None:
        return entry.replayed_reply.to_response(request)
    response = post()
    # A built-in provider sends again after such a status: only the last reply counts.
    entry.is_repeated = is_retryable_status(response.status_code)
    if not entry.is_repeated:
        entry.finish(response.status_code, response.headers, response.content)
    return response


def with_latency(
    response: ProviderResponse, recording: OpenRecording | None, seconds: float | None = None
) -> ProviderResponse:
    """A response with the latency that it had when it was recorded, else with its own or how long it took now.

    One whose provider does not wait for it has none.
    """
    if recording is not None and recording.replayed and not recording.sent_count:
        seconds = sum(exchange.latency_seconds or 0.0 for exchange in recording.replayed)
    elif response.latency_seconds is not None:
        return response
    return response.model_copy(update={"latency_seconds": seconds}) if response.is_awaited else response


class _RecordingStream(httpx.SyncByteStream, httpx.AsyncByteStream):
    """The decoded body of a response, recorded when it is read or closed; nothing of one that is too long.

    Who reads it again goes on where the last one stopped, as at a socket: OpenAI's async client reads the rest so.
    """

    def __init__(self, response: httpx.Response, entry: RecordingEntry) -> None:
        self._response = response
        self._chunks, self._async_chunks = response.iter_bytes(), response.aiter_bytes()
        self._entry = entry
        self._body = bytearray()
        self._size = 0
        self._has_begun = self._is_over = False

    def __iter__(self) -> Iterator[bytes]:
        with self._ended():
            for chunk in self._chunks:
                yield self._add(chunk)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with self._ended():
            async for chunk in self._async_chunks:
                yield self._add(chunk)

    def close(self) -> None:
        self._end(is_complete=False)
        self._response.close()

    async def aclose(self) -> None:
        self._end(is_complete=False)
        await self._response.aclose()

    @contextmanager
    def _ended(self) -> Iterator[None]:
        """Record nothing if reading fails: the next live run sends the request again."""
        self._has_begun = True
        try:
            yield
        except Exception:
            self._end(is_complete=False, is_broken=True)
            raise
        self._end(is_complete=True)

    def _add(self, chunk: bytes) -> bytes:
        self._size += len(chunk)
        self._body += chunk
        if self._size > MAX_REPLY_BYTES:
            self._body.clear()
        return chunk

    def _end(self, *, is_complete: bool, is_broken: bool = False) -> None:
        """Record the body; the first call counts.

        What was given up before anything came is not recorded, but for an error or a redirect, which the status tells.
        """
        if self._is_over:
            return
        self._is_over = True
        is_given_up = self._has_begun and self._response.is_success and not (is_complete or self._size)
        if is_broken or is_given_up or self._size > MAX_REPLY_BYTES:
            self._entry.pay(None, self._size or 1)
            return
        # OpenAI's SDK reads no further than this, which is the end.
        is_complete = is_complete or self._body.rstrip().endswith(b"data: [DONE]")
        response = self._response
        self._entry.finish(response.status_code, response.headers, bytes(self._body), is_complete=is_complete)


def find_billing(request: httpx.Request) -> Billing | None:
    """Who bills a request, and for what model; `None` if it is to no known API of a model."""
    # Most live runs send nothing but what is metered elsewhere.
    from pytest_chatprompt.apis.reply import ModelRequest  # noqa: PLC0415
    from pytest_chatprompt.apis.table import provider_of  # noqa: PLC0415
    from pytest_chatprompt.capture.offline_api import find_offline_api  # noqa: PLC0415

    sender: type[VendorAPI] | None = request.extensions.get(PROVIDER_EXTENSION)
    api: Any = find_offline_api(request)
    if api is None:
        return None
    model = ModelRequest.from_httpx(request).model
    account = api.name if sender is None else sender.vendor
    vendor = (sender or provider_of(api.name) or api).price_vendor
    return Billing(account, model, vendor, str(request.url.copy_with(query=None)))


def billing_of_sent(sent: SentRequest) -> Billing | None:
    """`find_billing` for a request as tests and snapshots see it."""
    return find_billing(httpx.Request("POST", sent.url, json=read_body(sent.body)))
