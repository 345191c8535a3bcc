"""The reports of a run: files that the user asked for, written when the run ends.

The reports of pytest come in, those of the workers of pytest-xdist too; what this plugin's tests did goes out, in the
format that the suffix of each file names. `plugin` registers a `RunReports` where `--chatprompt-report` is given.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import pytest

from pytest_chatprompt.options import options_key
from pytest_chatprompt.reports.collected_results import CollectedResults
from pytest_chatprompt.reports.report_formats import FORMATS
from pytest_chatprompt.reports.terminal import write_line, write_title
from pytest_chatprompt.reports.uncollected import uncollected_result
from pytest_chatprompt.results.case_result import CaseResult
from pytest_chatprompt.results.run_results import RunResults
from pytest_chatprompt.results.snapshot_uses import SnapshotUses
from pytest_chatprompt.snapshots.files import atomic_write
from pytest_chatprompt.wording import shown_path

# What the run did not use of the snapshots of its files; `items` sets it when the run ends.
snapshot_uses_key: Final = pytest.StashKey[tuple[SnapshotUses, ...]]()


def run_results(config: pytest.Config, results: Iterable[CaseResult]) -> RunResults:
    """What the tests of a run did, with how it was started.

    Args:
        config: the run's configuration.
        results: of its tests.
    """
    options = config.stash[options_key]
    return RunResults(
        command=tuple(map(str, config.invocation_params.args)),
        folder=Path(os.path.relpath(config.invocation_params.dir, config.rootpath)).as_posix(),
        is_live=options.live,
        against=options.against,
        results=tuple(results),
        snapshots=config.stash.get(snapshot_uses_key, ()),
    )


class RunReports:
    """Collects the results of a run and writes its reports.

    Args:
        config: the run's configuration.
        paths: the files to write, absolute; each has a suffix of `FORMATS`.
    """

    def __init__(self, config: pytest.Config, paths: Sequence[Path]) -> None:
        self._config = config
        self._paths = paths
        self._results = CollectedResults()
        self._errors: list[str] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep what could not be collected: the run lacks the tests that it defines."""
        if report.failed:
            self._results.put(uncollected_result(report))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the result of a test; the last one of a test that ran several times."""
        self._results.add(report)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the reports."""
        run = run_results(self._config, self._results.all())
        for path in self._paths:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                atomic_write(path, FORMATS[path.suffix](run))
            except OSError as error:
                self._errors.append(f"cannot write the report {self._shown(path)}: {error.strerror or error}")
        if self._errors and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say where the reports are."""
        for error in self._errors:
            write_line(terminalreporter, error, red=True)
        if not self._errors:
            for path in self._paths:
                write_title(terminalreporter, "-", f"wrote the report {self._shown(path)}")

    def _shown(self, path: Path) -> str:
        return shown_path(path, self._config.rootpath)
