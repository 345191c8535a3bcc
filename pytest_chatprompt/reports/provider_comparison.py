"""Provider comparison: the table that a live or replayed run over several providers ends with.

The reports of pytest come in, those of the workers of pytest-xdist too; a table in the terminal comes out. `plugin`
registers a `ProviderComparison` in these runs.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_chatprompt.reports.terminal import write_line, write_title


class ProviderComparison:
    """Collects what came of each case, and shows the providers side by side when the run ends."""

    def __init__(self) -> None:
        # The terminal keeps these reports anyway. Results made of them would take memory beside them.
        self._reports: list[Any] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the report of a test that has a result."""
        if hasattr(report, "chatprompt_result"):
            self._reports.append(report)

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the table, if several providers have answered."""
        # Most runs have one provider, and their results need not be read.
        if len({json.loads(report.chatprompt_result).get("provider") for report in self._reports}) < 2:  # noqa: PLR2004 - several
            return
        from pytest_chatprompt.reports.collected_results import CollectedResults  # noqa: PLC0415
        from pytest_chatprompt.reports.comparison_table import table_rows  # noqa: PLC0415
        from pytest_chatprompt.reports.provider_totals import provider_totals  # noqa: PLC0415
        from pytest_chatprompt.reports.text_table import table_lines  # noqa: PLC0415

        results = CollectedResults()
        for report in self._reports:
            results.add(report)
        totals = provider_totals(results.all())
        if len(totals) > 1:
            write_title(terminalreporter, "-", "providers side by side")
            for line in table_lines(table_rows(totals)):
                write_line(terminalreporter, line)
