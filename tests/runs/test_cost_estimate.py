"""The estimate of what a case costs: its input, the most that its answer may have, and unknown prices."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt.apis.anthropic import AnthropicProvider
from pytest_chatprompt.apis.bedrock import BedrockProvider
from pytest_chatprompt.apis.chat_provider import ChatProvider
from pytest_chatprompt.apis.gemini import GeminiProvider
from pytest_chatprompt.apis.openai import OpenAIProvider
from pytest_chatprompt.apis.openai_responses import OpenAIResponsesProvider
from pytest_chatprompt.capture.preview import preview_prepared
from pytest_chatprompt.capture.sent_request import Exchange, SentRequest
from pytest_chatprompt.prompt.chat_prompt import ChatMessage
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.context import SendContext, use_context
from pytest_chatprompt.providers.prices import TokenPrice
from pytest_chatprompt.providers.response import ProviderResponse
from pytest_chatprompt.runs.estimated_run import CostEstimate, estimate_cost

REQUEST = ProviderRequest(
    chat_prompt=(ChatMessage(role="system", content=""), ChatMessage(role="user", content="four" + " four" * 799))
)
PRICE = TokenPrice(input_usd=1000, output_usd=10_000)
RESPONSE = ProviderResponse(text="")


@pytest.mark.parametrize(
    ("provider", "output"),
    [
        pytest.param(OpenAIProvider(price=PRICE), 1000, id="openai assumes"),
        pytest.param(OpenAIProvider(price=PRICE, max_output_tokens=5), 5, id="openai"),
        pytest.param(
            OpenAIProvider(price=PRICE, max_output_tokens=5, max_tokens_parameter="max_tokens"), 5, id="older"
        ),
        pytest.param(OpenAIResponsesProvider(price=PRICE, max_output_tokens=5), 5, id="openai_responses"),
        pytest.param(AnthropicProvider(price=PRICE), 4096, id="anthropic always limits"),
        pytest.param(GeminiProvider(price=PRICE, max_output_tokens=5), 5, id="gemini"),
        pytest.param(BedrockProvider(price=PRICE, max_output_tokens=5), 5, id="bedrock"),
        pytest.param(OpenAIProvider(price=PRICE, extra_body={"max_tokens": "many"}), 1000, id="no number"),
        pytest.param(
            OpenAIProvider(price=PRICE, extra_body={"max_tokens": -1}), 1000, id="no limit, as Ollama says it"
        ),
    ],
)
def test_the_output_is_what_the_request_allows(provider: ChatProvider, output: int) -> None:
    with use_context(SendContext(is_offline=True)):
        estimate = estimate_cost(preview_prepared(provider, REQUEST))
    assert (estimate.input_tokens, estimate.output_tokens) == (1000, output)
    assert estimate.cost_usd == pytest.approx(1 + output / 100)
    assert estimate.why_unknown == ""


def sent(body: Any, url: str = "https://api.openai.com/v1/chat/completions") -> SentRequest:
    return SentRequest("POST /v1/chat/completions", body, url)


def test_requests_of_another_client_add_up() -> None:
    body = {"model": "gpt-5.5", "max_tokens": 100, "messages": [{"role": "user", "content": "four" * 10}]}
    exchange = Exchange(REQUEST, RESPONSE, (sent(body), sent({}, "https://files.example/"), sent(body)))
    estimate = estimate_cost(exchange)
    assert (estimate.input_tokens, estimate.output_tokens) == (20, 200)
    assert estimate.cost_usd == pytest.approx(2 * (10 * 5 + 100 * 30) / 1_000_000)


def test_one_price_that_is_not_known_makes_all_unknown() -> None:
    bodies: list[Any] = [{"model": model, "messages": []} for model in ("gpt-5.5", "own", "other", "gpt-5.5")]
    estimate = estimate_cost(Exchange(REQUEST, RESPONSE, tuple(map(sent, bodies))))
    assert (estimate.cost_usd, estimate.output_tokens) == (None, 4000)
    assert estimate.why_unknown.startswith("the price of the model 'own' of openai-chat is not known")


def test_a_body_that_is_no_object_has_the_assumed_output() -> None:
    assert estimate_cost(Exchange(REQUEST, RESPONSE, (sent([]),))).output_tokens == 1000


def test_nothing_is_known_of_what_sends_no_request() -> None:
    assert estimate_cost(Exchange(REQUEST, RESPONSE, ())) == CostEstimate(
        cost_usd=None, why_unknown="the requests of agents and plain functions are not known beforehand"
    )
