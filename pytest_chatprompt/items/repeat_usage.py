"""The usage of a repeated case: what its answers took, and how many of them pass, as properties of its report.

The answers of a case come in; user properties go into its report, so that JUnit's XML and the controller of
pytest-xdist get them, and is read from there for the summary of a run. `repeated_case` and `usage_summary` call it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_chatprompt.errors import ProviderError
from pytest_chatprompt.items.item import EvalItem
from pytest_chatprompt.items.repeat_count import INTERVAL_PROPERTY, RATE_PROPERTY
from pytest_chatprompt.items.usage import add_replayed, add_usage, set_properties
from pytest_chatprompt.live.answers import LiveResponse
from pytest_chatprompt.providers.response import ProviderResponse
from pytest_chatprompt.results.records import RepeatsResult
from pytest_chatprompt.snapshots.files import recording_path


def add_usage_of_repeats(
    item: EvalItem, result: RepeatsResult, answers: Sequence[LiveResponse], errors: Iterable[ProviderError]
) -> None:
    """Put the usage of a repeated case, and its rate, into its user properties.

    Args:
        item: the case's item.
        result: how many answers pass.
        answers: those that it got.
        errors: those in place of answers.
    """
    sent: list[ProviderResponse | ProviderError] = [
        *(live.response for live in answers if not live.is_replayed),
        *errors,
    ]
    if sent:
        add_usage(item, item.provider_name, *sent)
    recordings = [live.recording for live in answers if live.recording is not None]
    if recordings:
        # All recordings are of one file.
        unused = sum(exchange.repeat > result.planned for exchange in recordings[0].others)
        add_replayed(item, recording_path(item.snapshot_folder, item.snapshot_stem), *recordings, unused=unused)
    low, high = result.interval
    rate = f"{result.passed}/{result.answers}"
    set_properties(item, {RATE_PROPERTY: rate, INTERVAL_PROPERTY: f"{low} to {high}"})


def rate_of(properties: Mapping[str, Any]) -> tuple[int, int]:
    """How many answers of a repeated case passed, and of how many.

    Args:
        properties: its user properties, without their prefix.
    """
    passed, answers = properties[RATE_PROPERTY].split("/")
    return int(passed), int(answers)
