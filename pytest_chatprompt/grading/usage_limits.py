"""Checks of what an answer took: its time, its tokens, and its cost.

In: the most that it may take. Out: a verdict with what it took. `table` lists them.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

from pytest_chatprompt.cases.case import EvalCase
from pytest_chatprompt.errors import CheckError
from pytest_chatprompt.grading.check import Check, Verdict
from pytest_chatprompt.providers.response import ProviderResponse
from pytest_chatprompt.text.json_data import checked
from pytest_chatprompt.wording import INSTALL_PRICES, dollars


def _is_positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0


class MaxLatencySeconds(Check):
    """Passes where the answer took no longer; a replayed one took what it took when it was recorded."""

    value: Annotated[float, checked("a number above 0", _is_positive)]

    def grade(self, case: EvalCase, response: ProviderResponse) -> Verdict:  # noqa: ARG002
        """See `Check.grade`."""
        if response.latency_seconds is None:
            raise CheckError("the provider does not report how long the answer took")
        return Verdict(response.latency_seconds <= self.value, f"took {response.latency_seconds:.2f} seconds")


class MaxCostUsd(Check):
    """Passes where the answer cost no more; a replayed one costs what it cost when it was recorded."""

    value: Annotated[float, checked("a number above 0, in US dollars", _is_positive)]

    def grade(self, case: EvalCase, response: ProviderResponse) -> Verdict:  # noqa: ARG002
        """See `Check.grade`."""
        cost = response.cost_usd
        if cost is None:
            raise CheckError(
                "it is not known what the answer cost: its provider does not say how many tokens it took, "
                f"or no price of its model is known; prices come with {INSTALL_PRICES}"
            )
        return Verdict(cost <= self.value, f"cost {dollars(cost)}")


class MaxOutputTokens(Check):
    """Passes where the answer has no more tokens, those of thinking included where the API counts them."""

    value: Annotated[
        int, checked("a whole number, 1 or more", lambda value: _is_positive(value) and isinstance(value, int))
    ]

    def grade(self, case: EvalCase, response: ProviderResponse) -> Verdict:  # noqa: ARG002
        """See `Check.grade`."""
        tokens = response.usage.output_tokens
        if tokens is None:
            raise CheckError("the provider does not report how many tokens the answer has")
        return Verdict(tokens <= self.value, f"has {tokens} tokens")
