"""How the comparison of a test with its snapshot ended, and what a change costs, for the record of the test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_chatprompt.capture.prompt_cost import count_characters, estimate_tokens, find_break
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.errors import MaskError
from pytest_chatprompt.options import all_results_key
from pytest_chatprompt.results.records import ChangeCost, SnapshotResult
from pytest_chatprompt.runs.own_assertions import last_assertion
from pytest_chatprompt.runs.own_code import OwnCodeCapture
from pytest_chatprompt.snapshots.diff import Comparison
from pytest_chatprompt.snapshots.files import SnapshotFileError
from pytest_chatprompt.snapshots.shown_data import asserted_data
from pytest_chatprompt.snapshots.stored import data_sha256, read_data, written_sha256
from pytest_chatprompt.wording import shown_path


def requests_of_test(item: pytest.Item) -> tuple[Any, ...]:
    """What an ordinary test has sent, each request as its snapshot would show it; empty if no report asks."""
    return tuple((_sent_by_test(item) or {"requests": ()})["requests"])


def _sent_by_test(item: pytest.Item) -> dict[str, Any] | None:
    """What an ordinary test has sent, masked as its snapshot would be; `None` if no report asks, or it cannot be."""
    capture = OwnCodeCapture.of(item)
    if capture is None or capture.masks is None:
        return None
    try:
        sent: dict[str, Any] = capture.masks.apply(asserted_data(capture.api.sent, item.config.rootpath))
    except MaskError:
        # A replacement that does not fit its match: a comparison with a snapshot says so.
        return None
    return sent


def snapshot_of_test(item: pytest.Item, report: pytest.TestReport) -> SnapshotResult | None:
    """What an ordinary test failed for, if it is a comparison; else what it compared last."""
    assertion = last_assertion(item)
    if assertion is None or report.when != "call":
        return None
    path = shown_path(Path(assertion.last_result.snapshot_location), item.config.rootpath)
    comparison = assertion.failed_comparison()
    if comparison is not None:
        return failed_snapshot(item, comparison, None)
    if report.failed:
        return None
    return SnapshotResult(path=path, state="same", sent=_sent_by_test(item))


def failed_snapshot(item: pytest.Item, comparison: Comparison, renamed_from: str | None) -> SnapshotResult:
    """How a comparison ended that failed.

    Args:
        item: the test.
        comparison: what was compared.
        renamed_from: the case whose snapshot shows what is sent, and that is gone; `None` for none.
    """
    # What reads requests loads all APIs.

    stored, sent = comparison.stored, comparison.sent
    keeps = item.config.stash.get(all_results_key, False)
    stored_data, sent_data = (_data(stored), _data(sent)) if comparison.has_data else (stored, sent)
    return SnapshotResult(
        path=shown_path(comparison.path, item.config.rootpath),
        state="new" if stored is None else "different",
        difference=comparison.difference,
        cost=None if stored is None else change_cost(stored_data, sent_data),
        stored_sha256=None if stored is None else data_sha256(stored),
        # As the serializer wrote it, there is nothing to read.
        sent_sha256=written_sha256(sent),
        renamed_from=renamed_from,
        stored=stored_data if keeps else None,
        sent=sent_data if keeps else None,
    )


def _data(text: str | None) -> Any:
    try:
        return None if text is None else read_data(text)
    except SnapshotFileError:
        return text


# What is given to an agent or a plain function; what these send of it is not known.
_UNSENT_KEYS: Final = ("argv", "prompt", "files", "messages")


def change_cost(stored: Any, sent: Any) -> ChangeCost | None:
    """Compare what a case sends with its snapshot: the size, and where the common prefix ends.

    Args:
        stored: the data of its snapshot.
        sent: the data of what is sent.

    Returns:
        The cost; `None` if one of them shows no prompt, or is nested too deeply to be read.
    """
    before, after = dict(_requests(stored)), dict(_requests(sent))
    if not before or not after:
        return None
    try:
        sizes = [sum(map(count_characters, requests.values())) for requests in (before, after)]
        place = _first_break(before, after)
    except RecursionError:
        return None
    characters = sizes[1] - sizes[0]
    return ChangeCost(characters=characters, tokens=estimate_tokens(characters), prefix_break=place)


def _requests(data: Any) -> Iterator[tuple[str, SentRequest]]:
    """The requests that a snapshot shows, each with its place."""
    if not isinstance(data, Mapping):
        return
    several = data.get("requests")
    entries = [("", data)]
    if isinstance(several, list):
        entries = [(f"requests[{index}].", entry) for index, entry in enumerate(several)]
    for place, entry in entries:
        if isinstance(entry, Mapping) and isinstance(entry.get("endpoint"), str):
            yield place, SentRequest(entry["endpoint"], entry.get("request"))
    given = {key: data[key] for key in _UNSENT_KEYS if key in data}
    if given and not isinstance(several, list):
        yield "given", SentRequest("", given)


def _first_break(before: Mapping[str, SentRequest], after: Mapping[str, SentRequest]) -> str | None:
    """The first place where a request differs from its snapshot; new and removed requests do not count."""
    for place, stored in before.items():
        sent = after.get(place)
        broken = None if sent is None or not sent.endpoint else find_break(stored, sent)
        if broken is not None:
            return f"{place}{broken}" if broken == "endpoint" else f"{place}request.{broken}"
    return None
