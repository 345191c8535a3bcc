"""The stop signal: how the workers of pytest-xdist learn that the run is over.

The controller stops giving out tests after the last failure that it allows, and waits for those that run; a worker that
waits for an API knows nothing of it. Both know the id of the run, so a file named after it is the signal.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest


def signal_file(run_id: str) -> Path:
    """The file that is there once the run is over.

    Args:
        run_id: the id that pytest-xdist gives to a run.
    """
    return Path(tempfile.gettempdir()) / f"chatprompt-stop-{run_id}"


class StopSignal:
    """The controller's side, registered where there are workers.

    Args:
        run_id: see `signal_file`.
    """

    def __init__(self, run_id: str) -> None:
        self._file = signal_file(run_id)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Give the signal when this report ends the run."""
        node: Any = getattr(report, "node", None)
        session = None if node is None else node.config.pluginmanager.get_plugin("session")
        if report.failed and session is not None and (session.shouldfail or session.shouldstop):
            self._file.touch()

    def pytest_unconfigure(self) -> None:
        """Leave nothing behind."""
        self._file.unlink(missing_ok=True)
