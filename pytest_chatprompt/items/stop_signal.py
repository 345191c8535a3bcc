"""The stop signal: tell the workers of pytest-xdist that the run is over.

After the last failure that is allowed, the controller gives out no more tests and waits for those that run. A worker
that waits for an API knows nothing of it. Both know the id of the run, so a file named after it is the signal: the
controller writes it (`StopSignal`), `live_run` looks for it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest


def stop_file(run_id: str) -> Path:
    """The file that exists once the run is over.

    Args:
        run_id: the id that pytest-xdist gives to a run.
    """
    return Path(tempfile.gettempdir()) / f"chatprompt-stop-{run_id}"


class StopSignal:
    """Writes the stop file. `plugin` registers it in the controller.

    Args:
        run_id: see `stop_file`.
    """

    def __init__(self, run_id: str) -> None:
        self._file = stop_file(run_id)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Write the file when this report ends the run, as under `-x`."""
        node: Any = getattr(report, "node", None)
        session = None if node is None else node.config.pluginmanager.get_plugin("session")
        if report.failed and session is not None and (session.shouldfail or session.shouldstop):
            self._file.touch()

    def pytest_unconfigure(self) -> None:
        """Remove the file."""
        self._file.unlink(missing_ok=True)
