"""The price list: whose prices count, which tokens, and what it does not know."""

from __future__ import annotations

import subprocess
import sys
import threading

import genai_prices
import pytest

from pytest_chatprompt.providers.prices import has_price_list, list_cost_usd
from pytest_chatprompt.providers.response import TokenUsage

USAGE = TokenUsage(input_tokens=1000, output_tokens=100)


def listed(vendor: str, model: str, **counts: int) -> float:
    """What the package itself says."""
    return float(genai_prices.calc_price(genai_prices.Usage(**counts), model, provider_id=vendor).total_price)


@pytest.mark.parametrize(
    ("vendor", "model"),
    [("openai", "gpt-5.5"), ("anthropic", "claude-sonnet-5-5"), ("google", "gemini-3.8-flash"), ("azure", "gpt-5.5"),
     ("aws", "global.anthropic.claude-sonnet-5-5"), ("openrouter", "openai/gpt-5.5")],
)  # fmt: skip
def test_the_default_model_of_each_vendor_has_a_price(vendor: str, model: str) -> None:
    cost = list_cost_usd(USAGE, model, vendor, "")
    assert cost == listed(vendor, model, input_tokens=1000, output_tokens=100)
    assert cost is not None
    assert cost > 0


def test_cached_tokens_have_prices_of_their_own() -> None:
    usage = TokenUsage(input_tokens=1000, output_tokens=100, cache_read_tokens=600, cache_write_tokens=300)
    cost = list_cost_usd(usage, "claude-sonnet-4-5", "anthropic", "")
    # 100 at 3, 600 at 0.3, 300 at 3.75 and 100 at 15 dollars for a million.
    assert cost == pytest.approx((100 * 3 + 600 * 0.3 + 300 * 3.75 + 100 * 15) / 1_000_000)
    for_an_hour = list_cost_usd(
        usage.model_copy(update={"cache_write_1h_tokens": 300}), "claude-sonnet-4-5", "anthropic", ""
    )
    assert for_an_hour == pytest.approx((100 * 3 + 600 * 0.3 + 300 * 6 + 100 * 15) / 1_000_000)


def test_thinking_is_paid_as_a_part_of_the_output() -> None:
    usage = TokenUsage(input_tokens=1000, output_tokens=100, reasoning_tokens=80)
    assert list_cost_usd(usage, "gpt-5.5", "openai", "") == listed(
        "openai", "gpt-5.5", input_tokens=1000, output_tokens=100
    )


def test_the_tier_of_the_reply_counts() -> None:
    usual, flex = (list_cost_usd(USAGE, "gpt-5.5", "openai", "", tier) for tier in (None, "flex"))
    assert usual is not None
    assert flex is not None
    assert flex < usual
    assert list_cost_usd(USAGE, "gpt-5.5", "openai", "", "default") == usual


def test_a_url_that_the_list_knows_says_whose_prices_count() -> None:
    at_groq = list_cost_usd(USAGE, "openai/gpt-oss-20b", "openai", "https://api.groq.com/openai/v1")
    assert at_groq == listed("groq", "openai/gpt-oss-20b", input_tokens=1000, output_tokens=100)
    # The vendor does not step in where the list knows the URL, and not the model.
    assert list_cost_usd(USAGE, "gpt-5.5", "openai", "https://api.groq.com/openai/v1") is None


def test_at_another_url_the_vendor_counts() -> None:
    assert list_cost_usd(USAGE, "gpt-5.5", "openai", "https://gateway.example/v1") == list_cost_usd(
        USAGE, "gpt-5.5", "openai", "https://api.openai.com/v1"
    )


@pytest.mark.parametrize(
    ("usage", "model", "vendor"),
    [
        pytest.param(USAGE, "no-such-model", "openai", id="a model that it does not know"),
        pytest.param(USAGE, "gpt-5.5", "no-such-vendor", id="a vendor that it does not know"),
        pytest.param(USAGE, "gpt-oss:20b", "", id="no vendor"),
        pytest.param(USAGE, "", "openai", id="no model"),
        pytest.param(TokenUsage(input_tokens=1), "gpt-5.5", "openai", id="unknown output"),
        pytest.param(TokenUsage(output_tokens=1), "gpt-5.5", "openai", id="unknown input"),
        pytest.param(
            TokenUsage(input_tokens=1, output_tokens=1, cache_read_tokens=9), "gpt-5.5", "openai", id="counts that contradict",
        ),
    ],
)  # fmt: skip
def test_what_is_not_known_stays_unknown(usage: TokenUsage, model: str, vendor: str) -> None:
    assert list_cost_usd(usage, model, vendor, "") is None


def test_without_the_package_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    assert has_price_list()
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    assert not has_price_list()
    assert list_cost_usd(USAGE, "gpt-5.5", "openai", "") is None


def test_nothing_updates_the_list() -> None:
    before = threading.active_count()
    assert list_cost_usd(USAGE, "gpt-5.5", "openai", "") is not None
    assert threading.active_count() == before


def test_it_is_loaded_when_the_first_answer_is_priced() -> None:
    code = "import sys, pytest_chatprompt.apis.table; print('genai_prices' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert result.stdout.strip() == "False"
