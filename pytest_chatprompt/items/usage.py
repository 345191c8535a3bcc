"""Usage: what a test used, put into its report: tokens, retries, latency, costs, replies that were replayed.

The numbers of a test are user properties of its report, so that JUnit's XML and the controller of pytest-xdist get
them, and so is the reason why it was not sent ahead. `case_response`, `own_code` and `live_run` note them;
`usage_summary` adds them up.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from pytest_chatprompt.apis.json_body import read_usage
from pytest_chatprompt.errors import ProviderError
from pytest_chatprompt.items.item import note_use
from pytest_chatprompt.providers.response import ProviderResponse, TokenUsage
from pytest_chatprompt.wording import dollars

if TYPE_CHECKING:
    from pytest_chatprompt.capture.recording.open_recording import OpenRecording
    from pytest_chatprompt.capture.recording.recorded_exchange import RecordedExchange
    from pytest_chatprompt.live.judging import Votes

PREFIX: Final = "chatprompt_"
UNKNOWN: Final = "unknown"
# Why an item was sent only when it ran.
_reason_key: Final[pytest.StashKey[str | None]] = pytest.StashKey()
budget_key: Final[pytest.StashKey[str]] = pytest.StashKey()
early_answers_key: Final[pytest.StashKey[int]] = pytest.StashKey()
# How many recorded replies that no request asked for the run has removed.
pruned_key: Final[pytest.StashKey[int]] = pytest.StashKey()
_COST: Final = "cost_usd"
_NUMBERS: Final = ("input_tokens", "output_tokens", "latency_seconds")


def add_usage(item: pytest.Item, provider_name: str, *outcomes: ProviderResponse | ProviderError) -> None:
    """Put the usage of a case into its user properties.

    Args:
        item: the case's item.
        provider_name: the name by which the provider was asked for.
        outcomes: the response, or the error in place of one; of a case that is sent several times all of them, whose
            numbers are lists then.
    """
    properties: dict[str, Any] = {"provider": provider_name, "retries": sum(outcome.retries for outcome in outcomes)}
    numbers = [_numbers(outcome) for outcome in outcomes]
    if len(numbers) == 1:
        properties |= numbers[0]
    else:
        has_costs = any(_COST in each for each in numbers)
        keys = (*_NUMBERS, _COST) if has_costs else _NUMBERS
        properties |= {key: [each.get(key, UNKNOWN) for each in numbers] for key in keys}
    reason = item.stash.get(_reason_key, None)
    if reason is not None:
        properties["not_sent_ahead"] = reason
    set_properties(item, properties)


def _numbers(outcome: ProviderResponse | ProviderError) -> dict[str, Any]:
    """The tokens and the latency of a response; none of an error."""
    if not isinstance(outcome, ProviderResponse):
        return {}
    usage, latency = outcome.usage, outcome.latency_seconds
    known = (usage.input_tokens, usage.output_tokens, None if latency is None else round(latency, 3))
    numbers = {key: UNKNOWN if number is None else number for key, number in zip(_NUMBERS, known, strict=True)}
    return numbers if outcome.cost_usd is None else {**numbers, _COST: outcome.cost_usd}


def add_judge_usage(item: pytest.Item, votes: Votes) -> None:
    """Put into the user properties of a case what its judge used, but for what was replayed."""
    sent = [vote.response for each in votes for vote in each if vote.response is not None and not vote.is_replayed]
    if not sent:
        return
    latencies = [response.latency_seconds for response in sent if response.latency_seconds is not None]
    properties: dict[str, Any] = {
        "judge_requests": len(sent),
        "judge_retries": sum(response.retries for response in sent),
        "judge_latency_seconds": round(statistics.median(latencies), 3) if latencies else UNKNOWN,
    }
    for name in ("input_tokens", "output_tokens"):
        counts = [getattr(response.usage, name) for response in sent]
        properties[f"judge_{name}"] = UNKNOWN if None in counts else sum(counts)
    costs = [response.cost_usd for response in sent if response.cost_usd is not None]
    if len(costs) == len(sent):
        properties[f"judge_{_COST}"] = math.fsum(costs)
    set_properties(item, properties)


def add_replayed(item: pytest.Item, path: Path, *recordings: OpenRecording, unused: int = 0) -> None:
    """Put into the user properties of a test how many replies were replayed, and what that saved.

    Args:
        item: the test.
        path: of its recording.
        recordings: when all was sent: its recording, or that of each answer.
        unused: how many recorded replies were for other answers, which nobody asked for.
    """
    replayed = [exchange for recording in recordings for exchange in recording.replayed]
    note_use(item, "replayed", str(path), [[exchange.repeat, exchange.request.sha256] for exchange in replayed])
    usages = [_usage(exchange) for exchange in replayed]
    set_properties(
        item,
        {
            "replayed": len(usages),
            "sent": sum(recording.sent_count for recording in recordings),
            "unused_recorded": unused + sum(len(recording.unused()) for recording in recordings),
            "unanswered": sum(recording.unanswered_count for recording in recordings),
            "saved_input_tokens": sum(usage.input_tokens or 0 for usage in usages),
            "saved_output_tokens": sum(usage.output_tokens or 0 for usage in usages),
        },
    )


def _usage(exchange: RecordedExchange) -> TokenUsage:
    if exchange.response is not None:
        return exchange.response.usage
    return TokenUsage() if exchange.reply is None else read_usage(exchange.reply.content)


def note_late_difference(item: pytest.Item) -> None:
    """Note that a request after a real reply differs from the snapshot; it may contain that reply."""
    set_properties(item, {"late_difference": True})


def set_properties(item: pytest.Item, properties: Mapping[str, Any]) -> None:
    """Set user properties; a test that is run again has the numbers of its last run."""
    # Reports keep the names, which are the same for all tests.
    named = {sys.intern(f"{PREFIX}{name}"): value for name, value in properties.items()}
    kept = [entry for entry in item.user_properties if entry[0] not in named]
    item.user_properties[:] = [*kept, *named.items()]


def note_why_not_ahead(item: pytest.Item, reason: str | None) -> None:
    """Note why an item was sent only when it ran; `None` if there is nothing to say."""
    item.stash[_reason_key] = reason


def note_early_answers(config: pytest.Config, count: int) -> None:
    """Note how many answers were recorded for cases that did not run."""
    config.stash[early_answers_key] = count


def note_budget(config: pytest.Config, spent_usd: float, limit_usd: float) -> None:
    """Note how much of the budget of the run was spent, in US dollars."""
    config.stash[budget_key] = f"Spent {dollars(spent_usd)} of the budget of {dollars(limit_usd)}."
