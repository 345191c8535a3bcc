"""The answer of a model: what a provider of a project may put into it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from pytest_chatprompt.providers.response import ProviderResponse, TokenUsage


@pytest.mark.parametrize(
    "number",
    [pytest.param(float("inf"), id="infinite"), pytest.param(float("nan"), id="not a number"), -0.5],
)
@pytest.mark.parametrize("key", ["cost_usd", "latency_seconds"])
def test_no_amount_is_infinite_or_below_0(key: str, number: float) -> None:
    arguments: dict[str, Any] = {key: number}
    with pytest.raises(ValidationError, match=key):
        ProviderResponse(text="x", **arguments)


@pytest.mark.parametrize("key", list(TokenUsage.model_fields))
def test_no_number_of_tokens_is_below_0(key: str) -> None:
    with pytest.raises(ValidationError, match=key):
        TokenUsage(**{key: -1})


def test_retries_are_not_below_0() -> None:
    with pytest.raises(ValidationError, match="retries"):
        ProviderResponse(text="x", retries=-1)
