"""The price that a user gives: what it makes of a usage, and what it refuses."""

from __future__ import annotations

import math
from typing import Any

import pytest

from pytest_chatprompt.providers.prices import TokenPrice
from pytest_chatprompt.providers.response import TokenUsage

MILLION = 1_000_000


@pytest.mark.parametrize(
    ("price", "usage", "expected"),
    [
        pytest.param(
            TokenPrice(input_usd=2, output_usd=10), TokenUsage(input_tokens=MILLION, output_tokens=MILLION), 12.0,
            id="input and output",
        ),
        pytest.param(
            TokenPrice(input_usd=2, output_usd=10),
            TokenUsage(input_tokens=MILLION, output_tokens=0, cache_read_tokens=MILLION // 2, cache_write_tokens=MILLION // 4),
            2.0, id="cached input costs what other input does",
        ),
        pytest.param(
            TokenPrice(input_usd=2, output_usd=10, cache_read_usd=0.2, cache_write_usd=4),
            TokenUsage(input_tokens=MILLION, output_tokens=0, cache_read_tokens=MILLION // 2, cache_write_tokens=MILLION // 4),
            0.1 + 1.0 + 0.5, id="cached input has prices of its own",
        ),
        pytest.param(
            TokenPrice(input_usd=2, output_usd=10),
            TokenUsage(input_tokens=0, output_tokens=MILLION, reasoning_tokens=MILLION), 10.0,
            id="thinking is a part of the output",
        ),
        pytest.param(
            TokenPrice(input_usd=0, output_usd=0), TokenUsage(input_tokens=5, output_tokens=5), 0.0, id="a model that is free",
        ),
        pytest.param(TokenPrice(input_usd=2, output_usd=10), TokenUsage(input_tokens=5), None, id="unknown output"),
        pytest.param(TokenPrice(input_usd=2, output_usd=10), TokenUsage(output_tokens=5), None, id="unknown input"),
        pytest.param(
            TokenPrice(input_usd=2, output_usd=10), TokenUsage(input_tokens=1, output_tokens=0, cache_read_tokens=MILLION), 2.0,
            id="more from the cache than there is",
        ),
    ],
)  # fmt: skip
def test_the_cost_of_a_usage(price: TokenPrice, usage: TokenUsage, expected: float | None) -> None:
    assert price.cost_usd(usage) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    "value", [-1, math.nan, math.inf, True, "2", None], ids=["negative", "nan", "infinite", "a bool", "a text", "none"]
)
def test_a_price_that_is_no_number_from_0_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^TokenPrice: input_usd must be .* but is "):
        TokenPrice(input_usd=value, output_usd=1)
