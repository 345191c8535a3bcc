"""Rules about settings: temperature and what else steers sampling, and the limit of the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pytest_chatprompt.apis.preflight.rule import PreflightInput, RuleFunction, Violation

_DEFAULT_TEMPERATURE: Final = 1
# Anthropic's first API version without a temperature. Versions are dates, so they sort as text.
_TEMPERATURE_REMOVED_IN: Final = "2026-10-21"
_GEMINI_STABLE: Final = "v1"
# The settings of eval files that a body has under another name.
_SETTING_NAMES: Final = {"topP": "top_p"}


def max_output_tokens_above_limit(request: PreflightInput) -> Iterator[Violation]:
    """A `max_output_tokens` above the model's limit."""
    value, limit = request.max_output_tokens, request.limits.max_output_tokens
    if value is not None and limit is not None and value > limit:
        yield (
            ("settings", "max_output_tokens"),
            f"max_output_tokens is {value}, but {request.vendor}'s {request.model} supports at most {limit}; "
            "lower it, or set model_limits if this model supports more",
        )


def max_output_tokens_below(least: int) -> RuleFunction:
    """Make a rule function that finds a `max_output_tokens` below the API's minimum."""

    def find_violations(request: PreflightInput) -> Iterator[Violation]:
        value = request.max_output_tokens
        if value is not None and value < least:
            yield (
                ("settings", "max_output_tokens"),
                f"max_output_tokens is {value}, but {request.vendor} takes {least} or more; raise it, or leave it out",
            )

    return find_violations


def aliases_of_beta(request: PreflightInput) -> Iterator[Violation]:
    """A model's name that only Gemini's beta version knows, such as `gemini-flash-latest`."""
    if request.api_version == _GEMINI_STABLE and request.model.endswith("-latest"):
        yield (
            ("settings", "model"),
            f"{request.vendor} knows {request.model} in its API version v1beta only; "
            "name a model with its version, or set api_version",
        )


def temperature_not_accepted(request: PreflightInput) -> Iterator[Violation]:
    """A temperature other than the default, for a model that is known to refuse it."""
    if request.limits.temperature is False and request.temperature not in (None, _DEFAULT_TEMPERATURE):
        yield (
            ("settings", "temperature"),
            f"{request.vendor}'s {request.model} refuses a temperature other than {_DEFAULT_TEMPERATURE}; "
            "leave it out, or set model_limits if this model accepts one",
        )


def temperature_removed(request: PreflightInput) -> Iterator[Violation]:
    """A temperature, for an API version that has none."""
    if request.temperature is not None and (request.api_version or "") >= _TEMPERATURE_REMOVED_IN:
        yield (
            ("settings", "temperature"),
            f"{request.vendor} refuses a temperature since the API version {_TEMPERATURE_REMOVED_IN}; "
            "leave it out, or use an older version",
        )


def sampling_not_accepted(parameters: Sequence[str], folder: str | None = None) -> RuleFunction:
    """Make a rule function that finds parameters of sampling, for a model that is known to refuse a temperature.

    Args:
        parameters: their names in the body, without the temperature.
        folder: the mapping in the body that has them; `None` for the body itself.
    """

    def find_violations(request: PreflightInput) -> Iterator[Violation]:
        holder = request.body if folder is None else request.body.get(folder)
        if request.limits.temperature is False and isinstance(holder, Mapping):
            for name in parameters:
                if holder.get(name) is not None:
                    yield (
                        ("settings", _SETTING_NAMES.get(name, name)),
                        f"{request.vendor}'s {request.model} refuses {name}; "
                        "leave it out, or set model_limits if this model accepts a temperature",
                    )

    return find_violations


def top_p_removed(request: PreflightInput) -> Iterator[Violation]:
    """A `top_p`, for an API version that has none."""
    if request.body.get("top_p") is not None and (request.api_version or "") >= _TEMPERATURE_REMOVED_IN:
        yield (
            ("settings", "top_p"),
            f"{request.vendor} refuses top_p since the API version {_TEMPERATURE_REMOVED_IN}; "
            "leave it out, or use an older version",
        )


def max_tokens_not_accepted(request: PreflightInput) -> Iterator[Violation]:
    """A `max_tokens`, for a model that is known to want `max_completion_tokens`."""
    if request.limits.max_tokens is False and "max_tokens" in request.body:
        yield (
            ("settings", "max_output_tokens"),
            f"{request.vendor}'s {request.model} refuses max_tokens; leave out max_tokens_parameter, so that "
            "max_completion_tokens is sent, or set model_limits if this model accepts it",
        )


def temperature_range(highest: float) -> RuleFunction:
    """Make a rule function that finds a temperature above the API's highest."""

    def find_violations(request: PreflightInput) -> Iterator[Violation]:
        if request.temperature is not None and request.temperature > highest:
            yield (
                ("settings", "temperature"),
                f"temperature is {request.temperature:g}, but {request.vendor} takes 0 to {highest:g}",
            )

    return find_violations
