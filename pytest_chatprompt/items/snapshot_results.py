"""Snapshot results: how the comparison of a test with its snapshot ended, for the record of the test.

A test and its comparison come in; a `SnapshotResult` comes out, with what was stored and sent if a report asks for it.
`case_results` calls it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_chatprompt.errors import MaskError
from pytest_chatprompt.items.own_code import OwnCodeCapture
from pytest_chatprompt.items.own_comparison import last_assertion
from pytest_chatprompt.options import all_results_key
from pytest_chatprompt.results.records import SnapshotResult
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
    from pytest_chatprompt.items.change_costs import change_cost  # noqa: PLC0415

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
