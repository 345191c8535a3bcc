"""Rules about the temperature and the largest number of tokens in the answer.

A `PreflightInput` comes in; a text for the user comes out where it breaks the rule. The tables in `rules` call these
functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pytest_chatprompt.providers.preflight.preflight_input import PreflightInput
from pytest_chatprompt.providers.preflight.rule import RuleFunction, Violation

_DEFAULT_TEMPERATURE: Final = 1
# Anthropic's first API version without a temperature. Versions are dates, so they sort as text.
_TEMPERATURE_REMOVED_IN: Final = "2026-10-21"


def max_output_tokens_above_limit(request: PreflightInput) -> Iterator[Violation]:
    """A `max_output_tokens` above the model's limit."""
    value, limit = request.max_output_tokens, request.limits.max_output_tokens
    if value is not None and limit is not None and value > limit:
        yield (
            None,
            f"max_output_tokens is {value}, but {request.vendor}'s {request.model} supports at most {limit}; "
            "lower it, or set model_limits if this model supports more",
        )


def temperature_not_accepted(request: PreflightInput) -> Iterator[Violation]:
    """A temperature other than the default, for a model that is known to refuse it."""
    if request.limits.temperature is False and request.temperature not in (None, _DEFAULT_TEMPERATURE):
        yield (
            None,
            f"{request.vendor}'s {request.model} refuses a temperature other than {_DEFAULT_TEMPERATURE}; "
            "leave it out, or set model_limits if this model accepts one",
        )


def temperature_removed(request: PreflightInput) -> Iterator[Violation]:
    """A temperature, for an API version that has none."""
    if request.temperature is not None and (request.api_version or "") >= _TEMPERATURE_REMOVED_IN:
        yield (
            None,
            f"{request.vendor} refuses a temperature since the API version {_TEMPERATURE_REMOVED_IN}; "
            "leave it out, or use an older version",
        )


def temperature_range(highest: float) -> RuleFunction:
    """Make a rule function that finds a temperature above the API's highest."""

    def find_violations(request: PreflightInput) -> Iterator[Violation]:
        if request.temperature is not None and request.temperature > highest:
            yield None, f"temperature is {request.temperature:g}, but {request.vendor} takes 0 to {highest:g}"

    return find_violations
