"""The reports of a run: files that the user asked for, written when the run ends.

The reports of pytest come in, those of the workers of pytest-xdist too; what this plugin's tests did goes out, in the
format that the suffix of each file names. `plugin` registers a `RunReports` where `--chatprompt-report` is given.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

from pytest_chatprompt.options import options_key
from pytest_chatprompt.results.case_result import CaseResult, ErrorResult
from pytest_chatprompt.results.run_results import RunResults
from pytest_chatprompt.snapshots.files import atomic_write
from pytest_chatprompt.wording import shown_path


def _page(run: RunResults) -> str:
    from pytest_chatprompt.reports.page import render_page  # noqa: PLC0415

    return render_page(run)


def _markdown(run: RunResults) -> str:
    from pytest_chatprompt.reports.markdown import render_markdown  # noqa: PLC0415

    return render_markdown(run)


def _json(run: RunResults) -> str:
    return json.dumps(run.as_data(), indent=1) + "\n"


# One line for each of `options.REPORT_SUFFIXES`.
FORMATS: Final[Mapping[str, Callable[[RunResults], str]]] = {".html": _page, ".md": _markdown, ".json": _json}


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
        self._results: dict[str, CaseResult] = {}
        self._errors: list[str] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep what could not be collected: the run lacks the tests that it defines."""
        if report.failed:
            result = _uncollected(report)
            self._results[result.node_id] = result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the result of a test; the last one of a test that ran several times."""
        text: str | None = getattr(report, "chatprompt_result", None)
        if text is None:
            return
        result = CaseResult.from_data(json.loads(text))
        earlier = self._results.pop(result.node_id, None)
        if earlier is not None and report.when == "teardown":
            # What was compared stays, however the fixtures ended.
            result = earlier.model_copy(update={"outcome": result.outcome, "error": result.error})
        self._results[result.node_id] = result

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the reports."""
        run = run_results(self._config, self._results.values())
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
            terminalreporter.write_line(error, red=True)
        if not self._errors:
            for path in self._paths:
                terminalreporter.write_sep("-", f"wrote the report {self._shown(path)}")

    def _shown(self, path: Path) -> str:
        return shown_path(path, self._config.rootpath)


def _uncollected(report: pytest.CollectReport) -> CaseResult:
    """The result of a file that could not be collected, at the line that its error names."""
    path = report.nodeid.partition("::")[0] or "."
    lines = report.longreprtext.splitlines() or [""]
    # Of a module pytest shows the traceback; its error begins with an E.
    errors = [line[1:].strip() for line in lines if line.startswith("E  ")]
    place = re.match(rf"{re.escape(path)}:(\d+):\d+: ", lines[0])
    line = int(place[1]) if place else 0
    message = errors[-1] if errors else lines[0][place.end() if place else 0 :]
    error = ErrorResult(message=message, path=path, line=line)
    return CaseResult(node_id=report.nodeid or path, path=path, line=max(line, 1), outcome="error", error=error)
