"""Eval files that cannot be loaded: they fail alone, and the rest of the run goes on.

In: pytest's reports of collection. Out: whether the run goes on although something was not collected.
`session` registers `BrokenFiles`.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import pytest

from pytest_chatprompt.items.file import EvalFile


@dataclass(eq=False)
class BrokenFiles:
    """Counts the eval files of a run that cannot be loaded.

    Args:
        config: the configuration of the run.
    """

    config: pytest.Config
    _failed_files: int = 0

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Count the eval files that cannot be loaded."""
        report = yield
        self._failed_files += isinstance(collector, EvalFile) and not report.passed
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """Run what was collected also if eval files could not be loaded: they are data, and no test imports them."""
        option = self.config.option
        is_set = option.continue_on_collection_errors
        option.continue_on_collection_errors = is_set or session.testsfailed == self._failed_files
        try:
            return (yield)
        finally:
            option.continue_on_collection_errors = is_set
