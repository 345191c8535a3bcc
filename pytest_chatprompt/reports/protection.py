"""Protection: says why a run has written no snapshots, and by which ids its changes are accepted."""

from __future__ import annotations

import pytest

from pytest_chatprompt.options import ALLOW_UPDATE, options_key
from pytest_chatprompt.reports.acceptance import Acceptance
from pytest_chatprompt.reports.run_commands import accept_all
from pytest_chatprompt.reports.run_hooks import CollectedResults, run_results
from pytest_chatprompt.reports.terminal import write_lines


class RefusedUpdate(CollectedResults):
    """Fails a run that was to write snapshots in a protected project, and has only compared."""

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail: what was asked for is not done, even if nothing differs."""
        if session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        """Say why, and what to do."""
        results = [result for result in self.results.values() if result.differs]
        ids = Acceptance(results, config.rootpath).changes
        command = accept_all(run_results(config, results), results, "ID")
        option = config.stash[options_key].refused_update
        lines = (
            f"{option} is refused: chatprompt_protect is set, and this run has no terminal. Nothing is written.",
            f"To accept what you name: {command}, with {', '.join(ids)}" if ids else "No eval snapshot differs.",
            f"To accept all that nobody has looked at: set {ALLOW_UPDATE}=1.",
        )
        write_lines(terminalreporter, lines, red=True)
