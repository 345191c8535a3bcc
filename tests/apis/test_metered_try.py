"""One try of a request: its limits, its part of the budget, its cost, and what an error costs."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from pytest_chatprompt.apis.azure import AzureProvider
from pytest_chatprompt.apis.openai import OpenAIProvider
from pytest_chatprompt.errors import (
    APIConnectionError,
    BudgetError,
    MissingSettingError,
    ProviderError,
    RateLimitError,
    RequestCancelledError,
    UnreadableReplyError,
)
from pytest_chatprompt.live.budget import RunBudget
from pytest_chatprompt.prompt.chat_prompt import ChatMessage
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.context import Cancellation, SendContext, use_context
from pytest_chatprompt.providers.prices import TokenPrice
from tests.server import CHAT_REPLY, Reply, Server

# What the reply of the test server costs with it: 10 tokens in, 3 out.
PRICE = TokenPrice(input_usd=1000, output_usd=10_000)
COST = 10 * 0.001 + 3 * 0.01


def request(text: str = "hello") -> ProviderRequest:
    return ProviderRequest(chat_prompt=(ChatMessage(role="user", content=text),))


def openai(server: Server, **settings: Any) -> OpenAIProvider:
    return OpenAIProvider(base_url=server.url, api_key="k", max_retries=0, **settings)


@pytest.fixture(autouse=True)
def replies(server: Server) -> None:
    server.reply = Reply()


# --- cost


def test_an_answer_has_its_cost(server: Server) -> None:
    assert openai(server).send(request()).cost_usd == pytest.approx((10 * 5 + 3 * 30) / 1_000_000)
    assert openai(server, price=PRICE).send(request()).cost_usd == pytest.approx(COST)


def test_a_deployment_costs_what_the_model_of_the_reply_does(server: Server) -> None:
    server.reply_with({**CHAT_REPLY, "model": "gpt-5.5-2026-04-23", "service_tier": "flex"})
    provider = AzureProvider(deployment="mine", endpoint=server.url, api_key="k")
    assert provider.send(request()).cost_usd == pytest.approx((10 * 5 + 3 * 30) / 1_000_000)


def test_a_model_without_a_price_has_no_cost(server: Server) -> None:
    assert openai(server, model="my-own").send(request()).cost_usd is None


def test_the_price_is_not_that_of_a_model_that_a_request_names(server: Server) -> None:
    provider = openai(server, price=PRICE, model="mine")
    named = ProviderRequest(chat_prompt=request().chat_prompt, settings={"model": "my-own"})
    assert provider.send(named).cost_usd is None
    same = ProviderRequest(chat_prompt=request().chat_prompt, settings={"model": "mine"})
    assert provider.send(same).cost_usd == pytest.approx(COST)


def test_without_the_price_list_there_is_no_cost(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    response = openai(server).send(request())
    assert (response.text, response.cost_usd) == ("a real answer", None)


def test_a_canned_answer_has_no_cost(server: Server) -> None:
    with use_context(SendContext(is_priced=False)):
        assert openai(server).send(request()).cost_usd is None


def test_a_reply_that_is_no_object_is_unreadable_as_ever(server: Server) -> None:
    server.reply_with([1])
    with pytest.raises(UnreadableReplyError):
        openai(server).send(request())


# --- the budget


@contextmanager
def within(budget: RunBudget) -> Iterator[None]:
    with use_context(SendContext(budget=budget)):
        yield


def test_requests_spend_the_budget(server: Server) -> None:
    budget = RunBudget(3 * COST)
    provider = openai(server, price=PRICE)
    with within(budget):
        for _ in range(3):
            provider.send(request())
        with pytest.raises(BudgetError):
            provider.send(request())
    assert len(server.requests) == 3
    assert budget.spent_usd == pytest.approx(3 * COST)


def test_nothing_is_sent_at_a_price_that_is_not_known(server: Server) -> None:
    with (
        within(RunBudget(1)),
        pytest.raises(BudgetError, match="the price of the model 'my-own' of OpenAI is not known"),
    ):
        openai(server, model="my-own").send(request())
    assert server.requests == []


def test_a_provider_that_prepares_its_requests_itself_says_what_they_cost(server: Server) -> None:
    class Own(OpenAIProvider):
        def prepare(self, request: ProviderRequest) -> Any:
            return super().prepare(request)._replace(billing=None)

    provider = Own(base_url=server.url, api_key="k", price=PRICE)
    with within(RunBudget(1)), pytest.raises(BudgetError, match="the price of this provider is not known"):
        provider.send(request())
    assert provider.send(request()).cost_usd is None


def test_a_reply_without_usage_is_estimated(server: Server) -> None:
    server.reply_with({"choices": [{"message": {"content": "x" * 400}}]})
    budget = RunBudget(100)
    with within(budget):
        response = openai(server, price=TokenPrice(input_usd=0, output_usd=1_000_000)).send(request())
    assert (response.cost_usd, budget.spent_usd) == (None, 100)


def test_media_count_nothing_in_an_estimate(server: Server) -> None:
    server.reply_with({"choices": [{"message": {"content": ""}}]})
    costs = []
    for text in ("hello", "hello" + "A" * 100_000):
        budget = RunBudget(1_000_000)
        with within(budget):
            openai(server, price=TokenPrice(input_usd=1_000_000, output_usd=0)).send(request(text))
        costs.append(budget.spent_usd)
    assert abs(costs[0] - costs[1]) <= 2


def test_an_error_of_the_api_costs_nothing(server: Server) -> None:
    server.reply_with({"error": {"message": "no"}}, 429)
    budget = RunBudget(1)
    with within(budget), pytest.raises(RateLimitError):
        openai(server, price=PRICE).send(request())
    assert budget.spent_usd == 0


@pytest.mark.parametrize(
    "reply",
    [pytest.param(Reply(b"not JSON"), id="unreadable"), pytest.param(Reply(fault="drop inside"), id="broken off")],
)
def test_what_the_api_has_begun_to_answer_costs_its_input(server: Server, reply: Reply) -> None:
    server.reply = reply
    budget = RunBudget(1_000_000)
    with within(budget), pytest.raises(ProviderError):
        openai(server, price=TokenPrice(input_usd=1_000_000, output_usd=1)).send(request("a" * 200))
    assert 50 < budget.spent_usd < 150


def test_what_reached_no_api_costs_nothing() -> None:
    budget = RunBudget(1)
    provider = OpenAIProvider(base_url="http://127.0.0.1:9", api_key="k", price=PRICE, max_retries=0)
    with within(budget), pytest.raises(APIConnectionError):
        provider.send(request())
    assert budget.spent_usd == 0


def test_a_missing_key_costs_nothing(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    budget = RunBudget(1)
    with within(budget), pytest.raises(MissingSettingError):
        OpenAIProvider(base_url=server.url, price=PRICE).send(request())
    assert budget.spent_usd == 0


def test_a_replayed_reply_costs_nothing_and_waits_for_nothing(server: Server) -> None:
    budget = RunBudget(COST)
    provider = openai(server, price=PRICE, requests_per_minute=1, tokens_per_minute=1)

    def replay(sent: httpx.Request, _: Callable[[], httpx.Response]) -> httpx.Response:
        return httpx.Response(200, json=CHAT_REPLY, request=sent)

    with use_context(SendContext(budget=budget, replay=replay)):
        responses = [provider.send(request()) for _ in range(5)]
    # It says what it cost when it was recorded.
    assert [response.cost_usd for response in responses] == [pytest.approx(COST)] * 5
    assert (budget.spent_usd, server.requests) == (0, [])


# --- rate limits


def test_requests_wait_for_their_limit_and_end_when_they_are_cancelled(server: Server) -> None:
    provider = openai(server, requests_per_minute=2)
    for _ in range(2):
        provider.send(request())
    cancellation = Cancellation()
    errors: list[BaseException] = []

    def send() -> None:
        with use_context(SendContext(cancellation=cancellation)):
            try:
                provider.send(request())
            except RequestCancelledError as error:
                errors.append(error)

    thread = threading.Thread(target=send)
    thread.start()
    # Nothing is sent.
    thread.join(0.2)
    assert thread.is_alive()
    assert len(server.requests) == 2
    cancellation.cancel()
    thread.join(60)
    assert len(errors) == 1
    # Another provider has a limit of its own.
    openai(server, requests_per_minute=2).send(request())


def test_tokens_are_estimated_before_and_counted_after(server: Server) -> None:
    provider = openai(server, tokens_per_minute=10_000)
    provider.send(request("a b " * 8_000))
    (started,) = provider._minute_limits._started
    # The reply says 10 and 3.
    assert started.tokens == 13
    server.reply_with({"choices": [{"message": {"content": "x"}}]})
    provider.send(request("a b " * 8_000))
    assert 8_000 <= provider._minute_limits._started[-1].tokens < 8_100


def test_a_wait_does_not_count_as_latency(server: Server) -> None:
    provider = openai(server, requests_per_minute=1)
    provider.send(request())
    started = provider._minute_limits._started[0]
    at = time.monotonic()
    # It fits in half a second.
    started.started_at -= 59.5
    response = provider.send(request())
    waited = time.monotonic() - at
    assert response.latency_seconds is not None
    assert response.latency_seconds < waited


def test_a_wait_beyond_the_total_timeout_is_an_error(server: Server) -> None:
    provider = openai(server, requests_per_minute=1, total_timeout_seconds=5, price=PRICE)
    budget = RunBudget(10 * COST)
    with within(budget):
        provider.send(request())
        with pytest.raises(APIConnectionError, match="requests_per_minute or tokens_per_minute holds the request back"):
            provider.send(request())
    assert len(server.requests) == 1
    # What was not sent has cost nothing.
    assert budget.spent_usd == pytest.approx(COST)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"requests_per_minute": 0}, "requests_per_minute must be greater than 0, but is 0"),
        ({"tokens_per_minute": 1.5}, "tokens_per_minute must be a valid integer, but is 1.5"),
        ({"price": 3}, "price must be an instance of TokenPrice, but is 3"),
    ],
)
def test_mistakes_in_these_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="OpenAIProvider: ") as raised:
        OpenAIProvider(**settings)
    assert message in str(raised.value)
