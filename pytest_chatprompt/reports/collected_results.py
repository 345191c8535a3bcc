"""Collected results: the record of each test, taken from pytest's reports while the run goes on.

The reports of pytest come in, those of the workers of pytest-xdist too; the `CaseResult`s of the run come out.
`report_files` and `provider_comparison` each keep what they need of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

import pytest

from pytest_chatprompt.results.case_result import CaseResult


class CollectedResults:
    """The results of a run so far, in the order in which the tests ended.

    Args:
        keep: what to keep of a result.
    """

    def __init__(self, keep: Callable[[CaseResult], CaseResult] = lambda result: result) -> None:
        self._keep = keep
        self._results: dict[str, CaseResult] = {}

    def add(self, report: pytest.TestReport) -> None:
        """Add the result that a report has, if any; of a test that ran several times, the last one counts."""
        text: str | None = getattr(report, "chatprompt_result", None)
        if text is None:
            return
        result = self._keep(CaseResult.from_data(json.loads(text)))
        earlier = self._results.pop(result.node_id, None)
        if earlier is not None and report.when == "teardown":
            # What was compared stays, however the fixtures ended.
            result = earlier.model_copy(update={"outcome": result.outcome, "error": result.error})
        self._results[result.node_id] = result

    def put(self, result: CaseResult) -> None:
        """Add a result that no report of a test has."""
        self._results[result.node_id] = self._keep(result)

    def all(self) -> Iterable[CaseResult]:
        """The collected results."""
        return self._results.values()
