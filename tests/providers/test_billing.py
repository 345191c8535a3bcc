"""Billing: which price of a request counts, and why there is none."""

from __future__ import annotations

import sys

import pytest

from pytest_chatprompt.providers.prices import Billing, TokenPrice
from pytest_chatprompt.providers.response import TokenUsage

USAGE = TokenUsage(input_tokens=1000, output_tokens=100)
OPENAI = Billing("OpenAI", "gpt-5.5", "openai", "https://api.openai.com/v1")


def test_the_list_has_the_price_of_a_model() -> None:
    assert OPENAI.cost_usd(USAGE) == pytest.approx(0.008)
    assert OPENAI.why_unknown() == ""


def test_the_price_of_the_provider_comes_before_the_list() -> None:
    billing = Billing("OpenAI", "gpt-5.5", "openai", "", TokenPrice(input_usd=1, output_usd=0))
    assert billing.cost_usd(USAGE) == pytest.approx(0.001)
    assert billing.why_unknown() == ""


def test_the_model_of_the_reply_counts_where_the_list_does_not_know_the_other() -> None:
    deployment = Billing("Azure", "my-deployment", "azure")
    assert deployment.cost_usd(USAGE) is None
    assert deployment.cost_usd(USAGE, {"model": "gpt-5.5-2026-04-23"}) == pytest.approx(0.008)
    assert OPENAI.cost_usd(USAGE, {"model": "gpt-4o-mini"}) == pytest.approx(0.008)


def test_the_tier_of_the_reply_counts() -> None:
    assert OPENAI.cost_usd(USAGE, {"service_tier": "flex"}) == pytest.approx(0.004)


def test_a_model_without_a_price_is_named() -> None:
    assert Billing("Ollama", "gpt-oss:20b").why_unknown() == (
        "the price of the model 'gpt-oss:20b' of Ollama is not known: the price list has none; "
        "pass price=TokenPrice(input_usd=..., output_usd=...) to its provider"
    )


def test_without_the_price_list_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    assert OPENAI.why_unknown() == (
        "the price of OpenAI is not known: the price list is not installed (pip install 'pytest-chatprompt[prices]')"
    )
