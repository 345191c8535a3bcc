"""Answer lines: with `-v`, one line below each passing case of a live or replayed run, with the answer that it got.

The reports of pytest come in, those of the workers of pytest-xdist too; lines of the terminal come out. `plugin`
registers an `AnswerHooks` in these runs.
"""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from pytest_chatprompt.reports.answer_text import case_line
from pytest_chatprompt.reports.terminal import write_below
from pytest_chatprompt.results.case_result import CaseResult

_INDENT: Final = "    "


class AnswerHooks:
    """Shows the answers of passing cases while the run goes on.

    Args:
        config: the run's configuration.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the line of a case below the one that pytest has written."""
        text: str | None = getattr(report, "chatprompt_result", None)
        if text is None or report.when != "call" or not report.passed:
            return
        reporter: Any = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None:
            return
        width = self._config.get_terminal_writer().fullwidth - len(_INDENT)
        line = case_line(CaseResult.from_data(json.loads(text)), width)
        if line is not None:
            write_below(reporter, f"{_INDENT}{line}")
