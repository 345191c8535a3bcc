"""Retries: which requests are sent again, how long the wait is, and how requests in flight are cancelled."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from pytest_chatprompt import (
    APIConnectionError,
    APIStatusError,
    ChatMessage,
    GeminiProvider,
    OpenAIProvider,
    ProviderError,
    ProviderRequest,
    ProviderResponse,
    QuotaError,
    RateLimitError,
    RequestCancelledError,
)
from pytest_chatprompt.providers.context import Cancellation, SendContext, use_context
from pytest_chatprompt.providers.http import retry
from pytest_chatprompt.providers.http.retry import SharedPause, send_with_retries
from tests.replies import plain_reply
from tests.server import CHAT_REPLY, Reply, Server

HI = ProviderRequest(chat_prompt=(ChatMessage("user", "hi"),))
QUOTA = {"error": {"message": "no quota", "type": "insufficient_quota", "code": "insufficient_quota"}}


@pytest.fixture(autouse=True)
def short_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "_FIRST_WAIT_SECONDS", 0.001)


def wait_for_first_request(server: Server) -> None:
    deadline = time.monotonic() + 30
    while not server.times:
        assert time.monotonic() < deadline
        time.sleep(0.005)


Make = Callable[..., OpenAIProvider]


@pytest.fixture
def make(server: Server) -> Iterator[Make]:
    """Make providers that send to the server; they are closed after the test."""
    providers: list[OpenAIProvider] = []

    def make_provider(**settings: Any) -> OpenAIProvider:
        providers.append(OpenAIProvider(base_url=server.url, api_key="k", **settings))
        return providers[-1]

    yield make_provider
    for each in providers:
        each.close()


def first(*errors: Reply) -> Callable[[int, Any], Reply]:
    """Reply with these errors first, and with success from then on."""
    return lambda number, _: errors[number] if number < len(errors) else Reply(CHAT_REPLY)


@pytest.mark.parametrize(
    "error",
    [
        *(pytest.param(Reply({}, status), id=str(status)) for status in (408, 409, 429, 500, 502, 503, 504, 529)),
        pytest.param(Reply(fault="drop before"), id="a connection closed before the reply"),
        pytest.param(Reply(fault="drop inside"), id="a connection closed inside the reply"),
    ],
)
def test_an_error_that_may_pass_is_retried(server: Server, make: Make, error: Reply) -> None:
    server.script = first(error, error)
    response = make().send(HI)
    assert (response.text, response.retries) == ("a real answer", 2)
    assert len(server.requests) == 3
    assert server.requests[0][2] == server.requests[2][2]


def test_a_connection_closed_after_the_reply_does_not_break_the_next_request(server: Server, make: Make) -> None:
    server.script = first(Reply(CHAT_REPLY, fault="drop after"))
    provider = make()
    assert [provider.send(HI).text for _ in range(3)] == ["a real answer"] * 3


@pytest.mark.parametrize(
    "error",
    [
        *(pytest.param(Reply({}, status), id=str(status)) for status in (400, 401, 403, 404, 413, 422)),
        pytest.param(Reply(QUOTA, 429), id="a used-up quota"),
        pytest.param(Reply(b"{garbage"), id="a body that is not JSON"),
        pytest.param(Reply({}, 429, {"retry-after": "121"}), id="a wait of more than two minutes"),
        pytest.param(
            Reply({}, 503, {"retry-after-ms": "120001"}), id="a wait of more than two minutes, in milliseconds"
        ),
    ],
)
def test_an_error_that_does_not_pass_is_not_retried(server: Server, make: Make, error: Reply) -> None:
    server.reply = error
    with pytest.raises(APIStatusError) as caught:
        make().send(HI)
    assert (len(server.requests), caught.value.retries) == (1, 0)
    assert "Given up" not in str(caught.value)


def test_a_refused_connection_is_retried_and_the_error_counts_the_tries() -> None:
    provider = OpenAIProvider(base_url="http://127.0.0.1:1", api_key="k", max_retries=2)
    with pytest.raises(APIConnectionError) as caught:
        provider.send(HI)
    provider.close()
    assert caught.value.retries == 2
    assert str(caught.value).endswith("\nGiven up after 3 tries.")


@pytest.mark.parametrize("max_retries", [0, 1, 3])
def test_max_retries_limits_the_retries(server: Server, make: Make, max_retries: int) -> None:
    server.reply = Reply({}, 500)
    with pytest.raises(APIStatusError) as caught:
        make(max_retries=max_retries).send(HI)
    assert len(server.requests) == max_retries + 1
    assert caught.value.retries == max_retries


@pytest.mark.parametrize(
    ("headers", "at_least_seconds"),
    [
        pytest.param({"retry-after-ms": "250"}, 0.25, id="milliseconds"),
        pytest.param({"retry-after": "0.3"}, 0.3, id="seconds"),
    ],
)
def test_a_retry_waits_as_long_as_the_api_asks_for(
    server: Server, make: Make, headers: dict[str, str], at_least_seconds: float
) -> None:
    server.script = lambda number, _: Reply(CHAT_REPLY) if number else Reply({}, 503, headers)
    make().send(HI)
    assert server.times[1] - server.times[0] >= at_least_seconds


def test_a_retry_waits_as_long_as_geminis_body_asks_for(server: Server) -> None:
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.25s"}
    body = {"error": {"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED", "details": [info]}}
    success = Reply(plain_reply("gemini"))
    server.script = lambda number, _: success if number else Reply(body, 429)
    provider = GeminiProvider(base_url=server.url, api_key="k")
    assert provider.send(HI).retries == 1
    provider.close()
    assert server.times[1] - server.times[0] >= 0.25


def test_a_429_pauses_all_requests_of_the_provider(server: Server, make: Make) -> None:
    server.script = first(Reply({}, 429, {"retry-after-ms": "400"}))
    provider = make()
    with ThreadPoolExecutor() as pool:
        limited = pool.submit(provider.send, HI)
        wait_for_first_request(server)
        time.sleep(0.1)
        others = [pool.submit(provider.send, HI) for _ in range(3)]
        assert [future.result().retries for future in (limited, *others)] == [1, 0, 0, 0]
    assert all(arrival - server.times[0] >= 0.4 for arrival in server.times[1:])


def test_a_503_does_not_pause_other_requests(server: Server, make: Make) -> None:
    server.script = first(Reply({}, 503, {"retry-after-ms": "400"}))
    provider = make()
    with ThreadPoolExecutor() as pool:
        limited = pool.submit(provider.send, HI)
        wait_for_first_request(server)
        pool.submit(provider.send, HI).result()
        limited.result()
    assert server.times[1] - server.times[0] < 0.4


def test_the_total_timeout_limits_all_tries_together(server: Server, make: Make) -> None:
    server.reply = Reply({}, 503, {"retry-after-ms": "800"})
    with pytest.raises(APIStatusError) as caught:
        make(total_timeout_seconds=1.5, max_retries=100).send(HI)
    assert caught.value.retries == 1
    assert len(server.requests) == 2


def test_the_total_timeout_begins_with_the_first_try(server: Server, make: Make) -> None:
    server.reply = Reply({}, 503, {"retry-after-ms": "500"}, delay_seconds=0.5)
    with pytest.raises(APIStatusError) as caught:
        make(total_timeout_seconds=0.9, timeout_seconds=0.85, max_retries=100).send(HI)
    assert (caught.value.retries, len(server.requests)) == (0, 1)


def test_an_error_that_does_not_pass_counts_no_retry() -> None:
    # Such as one that another provider has raised.
    error = QuotaError("no quota", status=429)
    error.retries = 3

    def send_once() -> None:
        raise error

    with pytest.raises(QuotaError):
        send_with_retries(send_once, SharedPause(), Cancellation(), max_retries=5, deadline=math.inf)
    assert error.retries == 0


def test_a_pause_longer_than_the_total_timeout_fails_the_next_request_at_once(server: Server, make: Make) -> None:
    server.reply = Reply({}, 429, {"retry-after": "60"})
    provider = make(total_timeout_seconds=0.3)
    with pytest.raises(RateLimitError):
        provider.send(HI)
    with pytest.raises(
        APIConnectionError,
        match=r"the API asked for a pause that lasts another .* s, longer than total_timeout_seconds allows",
    ):
        provider.send(HI)
    assert len(server.requests) == 1


def test_the_last_try_may_only_take_the_remaining_time(server: Server, make: Make) -> None:
    server.reply = Reply(CHAT_REPLY, delay_seconds=10)
    started = time.monotonic()
    with pytest.raises(APIConnectionError, match=r"did not answer within 0\."):
        make(total_timeout_seconds=0.2, timeout_seconds=5).send(HI)
    assert time.monotonic() - started < 5


def test_the_latency_excludes_failed_tries(server: Server, make: Make) -> None:
    server.script = first(Reply({}, 503, delay_seconds=0.5))
    latency = make().send(HI).latency_seconds
    assert latency is not None
    assert 0 < latency < 0.5


@pytest.mark.parametrize("waiting_for", ["the reply", "the next try", "the rate limiter"])
def test_requests_in_flight_can_be_cancelled(server: Server, make: Make, waiting_for: str) -> None:
    if waiting_for == "the reply":
        server.stall = threading.Event()
    else:
        server.reply = Reply({}, 429 if waiting_for == "the rate limiter" else 503, {"retry-after": "60"})
    provider, cancellations = make(), [Cancellation() for _ in range(3)]

    def send(cancellation: Cancellation) -> ProviderResponse:
        with use_context(SendContext(cancellation=cancellation)):
            return provider.send(HI)

    with ThreadPoolExecutor() as pool:
        futures = [pool.submit(send, each) for each in cancellations]
        wait_for_first_request(server)
        time.sleep(0.1)
        started = time.monotonic()
        for each in cancellations:
            each.cancel()
        errors = [future.exception(timeout=20) for future in futures]
    assert time.monotonic() - started < 20
    assert all(isinstance(error, ProviderError) for error in errors)
    before = len(server.requests)
    with pytest.raises(RequestCancelledError, match="the run was stopped"):
        send(cancellations[0])
    assert len(server.requests) == before
