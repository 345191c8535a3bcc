"""Patience: what is sent again, how long is waited before that, and how it is broken off."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from pytest_chatprompt import (
    ApiError,
    ChatMessage,
    GeminiProvider,
    OpenAIProvider,
    ProviderError,
    ProviderRequest,
    RateLimitError,
    UnreachableError,
)
from pytest_chatprompt.providers import patience
from tests.server import ANSWER, Answer, Server

HI = ProviderRequest(chat_prompt=(ChatMessage("user", "hi"),))
QUOTA = {"error": {"message": "no quota", "type": "insufficient_quota", "code": "insufficient_quota"}}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "_FIRST_WAIT_SECONDS", 0.001)


Make = Callable[..., OpenAIProvider]


@pytest.fixture
def make(server: Server) -> Iterator[Make]:
    """Makes providers that send to the server, and closes them."""
    made: list[OpenAIProvider] = []

    def provider(**settings: Any) -> OpenAIProvider:
        made.append(OpenAIProvider(base_url=server.url, api_key="k", **settings))
        return made[-1]

    yield provider
    for one in made:
        one.close()


def first(*bad: Answer) -> Callable[[int, Any], Answer]:
    """Some bad answers, and then good ones."""
    return lambda number, _: bad[number] if number < len(bad) else Answer(ANSWER)


@pytest.mark.parametrize(
    "bad",
    [
        *(pytest.param(Answer({}, status), id=str(status)) for status in (408, 409, 429, 500, 502, 503, 504, 529)),
        pytest.param(Answer(fault="drop before"), id="a connection dropped before the reply"),
        pytest.param(Answer(fault="drop inside"), id="a connection dropped inside the reply"),
    ],
)
def test_what_may_pass_is_sent_again(server: Server, make: Make, bad: Answer) -> None:
    server.script = first(bad, bad)
    response = make().send(HI)
    assert (response.text, response.retries) == ("a real answer", 2)
    assert len(server.requests) == 3
    assert server.requests[0][2] == server.requests[2][2]


def test_a_connection_dropped_after_the_reply_costs_the_next_request_nothing(server: Server, make: Make) -> None:
    server.script = first(Answer(ANSWER, fault="drop after"))
    provider = make()
    assert [provider.send(HI).text for _ in range(3)] == ["a real answer"] * 3


@pytest.mark.parametrize(
    "bad",
    [
        *(pytest.param(Answer({}, status), id=str(status)) for status in (400, 401, 403, 404, 413, 422)),
        pytest.param(Answer(QUOTA, 429), id="no quota"),
        pytest.param(Answer(b"{garbage"), id="an answer that is no JSON"),
        pytest.param(Answer({}, 429, {"retry-after": "121"}), id="a wait of more than two minutes"),
        pytest.param(
            Answer({}, 503, {"retry-after-ms": "120001"}), id="a wait of more than two minutes, in milliseconds"
        ),
    ],
)
def test_what_does_not_pass_is_given_up_at_once(server: Server, make: Make, bad: Answer) -> None:
    server.answer = bad
    with pytest.raises(ApiError) as caught:
        make().send(HI)
    assert (len(server.requests), caught.value.retries) == (1, 0)
    assert "Given up" not in str(caught.value)


def test_a_host_that_refuses_connections_is_tried_again_and_told() -> None:
    provider = OpenAIProvider(base_url="http://127.0.0.1:1", api_key="k", max_retries=2)
    with pytest.raises(UnreachableError) as caught:
        provider.send(HI)
    provider.close()
    assert caught.value.retries == 2
    assert str(caught.value).endswith("\nGiven up after 3 tries.")


@pytest.mark.parametrize("max_retries", [0, 1, 3])
def test_there_are_as_many_retries_as_are_wanted(server: Server, make: Make, max_retries: int) -> None:
    server.answer = Answer({}, 500)
    with pytest.raises(ApiError) as caught:
        make(max_retries=max_retries).send(HI)
    assert len(server.requests) == max_retries + 1
    assert caught.value.retries == max_retries


def in_a_second() -> str:
    # A date has no parts of a second, so this is between one and two seconds away.
    return format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)


@pytest.mark.parametrize(
    ("headers", "at_least_seconds"),
    [
        pytest.param(lambda: {"retry-after-ms": "250"}, 0.25, id="milliseconds"),
        pytest.param(lambda: {"retry-after": "0.3"}, 0.3, id="seconds"),
        pytest.param(lambda: {"retry-after": in_a_second()}, 0.9, id="a date"),
    ],
)
def test_the_wait_that_the_api_asks_for_is_kept(
    server: Server, make: Make, headers: Callable[[], dict[str, str]], at_least_seconds: float
) -> None:
    server.script = first(Answer({}, 503, headers()))
    make().send(HI)
    assert server.times[1] - server.times[0] >= at_least_seconds


def test_the_wait_that_geminis_body_asks_for_is_kept(server: Server) -> None:
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.25s"}
    body = {"error": {"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED", "details": [info]}}
    good = Answer(dict(GeminiProvider.offline_reply))
    server.script = lambda number, _: good if number else Answer(body, 429)
    provider = GeminiProvider(base_url=server.url, api_key="k")
    assert provider.send(HI).retries == 1
    provider.close()
    assert server.times[1] - server.times[0] >= 0.25


def test_a_429_slows_down_all_requests_of_the_provider(server: Server, make: Make) -> None:
    server.script = first(Answer({}, 429, {"retry-after-ms": "400"}))
    provider = make()
    with ThreadPoolExecutor() as pool:
        limited = pool.submit(provider.send, HI)
        while not server.times:
            time.sleep(0.005)
        time.sleep(0.1)
        others = [pool.submit(provider.send, HI) for _ in range(3)]
        assert [one.result().retries for one in (limited, *others)] == [1, 0, 0, 0]
    assert all(came - server.times[0] >= 0.4 for came in server.times[1:])


def test_a_503_does_not_slow_down_the_others(server: Server, make: Make) -> None:
    server.script = first(Answer({}, 503, {"retry-after-ms": "400"}))
    provider = make()
    with ThreadPoolExecutor() as pool:
        limited = pool.submit(provider.send, HI)
        while not server.times:
            time.sleep(0.005)
        pool.submit(provider.send, HI).result()
        limited.result()
    assert server.times[1] - server.times[0] < 0.4


def test_all_tries_together_keep_to_the_total_timeout(server: Server, make: Make) -> None:
    server.answer = Answer({}, 503, {"retry-after-ms": "300"})
    with pytest.raises(ApiError) as caught:
        make(total_timeout_seconds=0.5, max_retries=100).send(HI)
    assert caught.value.retries == 1
    assert len(server.requests) == 2


def test_a_pause_that_the_api_asked_of_another_request_keeps_to_the_total_timeout(server: Server, make: Make) -> None:
    server.answer = Answer({}, 429, {"retry-after": "60"})
    provider = make(total_timeout_seconds=0.3)
    with pytest.raises(RateLimitError):
        provider.send(HI)
    with pytest.raises(
        UnreachableError, match=r"the API asked for a pause, of which .* s are left: more than total_timeout"
    ):
        provider.send(HI)
    assert len(server.requests) == 1


def test_the_last_try_has_no_more_time_than_is_left(server: Server, make: Make) -> None:
    server.answer = Answer(ANSWER, delay_seconds=10)
    started = time.monotonic()
    with pytest.raises(UnreachableError, match=r"did not answer within 0\."):
        make(total_timeout_seconds=0.2, timeout_seconds=5).send(HI)
    assert time.monotonic() - started < 5


def test_the_latency_is_that_of_the_answer_alone(server: Server, make: Make) -> None:
    server.script = first(Answer({}, 503, delay_seconds=0.5))
    latency = make().send(HI).latency_seconds
    assert latency is not None
    assert 0 < latency < 0.5


@pytest.mark.parametrize("waiting_for", ["the reply", "the next try", "the pace"])
def test_what_is_on_its_way_can_be_broken_off(server: Server, make: Make, waiting_for: str) -> None:
    if waiting_for == "the reply":
        server.stall = threading.Event()
    else:
        server.answer = Answer({}, 429 if waiting_for == "the pace" else 503, {"retry-after": "60"})
    provider = make()
    with ThreadPoolExecutor() as pool:
        sent = [pool.submit(provider.send, HI) for _ in range(3)]
        while not server.times:
            time.sleep(0.005)
        time.sleep(0.1)
        started = time.monotonic()
        provider.cancel()
        errors = [one.exception(timeout=20) for one in sent]
    assert time.monotonic() - started < 20
    assert all(isinstance(error, ProviderError) for error in errors)
    before = len(server.requests)
    with pytest.raises(patience.CancelledSendError, match="the run was stopped"):
        provider.send(HI)
    assert len(server.requests) == before
