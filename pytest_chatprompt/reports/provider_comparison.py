"""Provider comparison: the table that a live or replayed run over several providers ends with.

The reports of pytest come in, those of the workers of pytest-xdist too; a table in the terminal comes out. `plugin`
registers a `ProviderComparison` in these runs.
"""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt.reports.collected_results import CollectedResults
from pytest_chatprompt.reports.comparison_table import table_rows
from pytest_chatprompt.reports.provider_totals import provider_totals
from pytest_chatprompt.reports.text_table import table_lines
from pytest_chatprompt.results.case_result import CaseResult, ResponseResult


class ProviderComparison:
    """Collects what came of each case, and shows the providers side by side when the run ends."""

    def __init__(self) -> None:
        self._results = CollectedResults(_without_texts)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what the table needs of a test."""
        self._results.add(report)

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the table, if several providers have answered."""
        totals = provider_totals(self._results.all())
        if len(totals) > 1:
            terminalreporter.write_sep("-", "providers side by side")
            for line in table_lines(table_rows(totals)):
                terminalreporter.write_line(line)


def _without_texts(result: CaseResult) -> CaseResult:
    """A result without its answer, which no table shows: those of a whole run would add up."""
    update: dict[str, Any] = {"response": _without_text(result.response)}
    if result.repeats is not None:
        attempts = [
            attempt.model_copy(update={"response": _without_text(attempt.response), "problem": ""})
            for attempt in result.repeats.attempts
        ]
        update["repeats"] = result.repeats.model_copy(update={"attempts": tuple(attempts)})
    return result.model_copy(update=update)


def _without_text(response: ResponseResult | None) -> ResponseResult | None:
    return response and response.model_copy(update={"text": "", "tool_calls": ()})
