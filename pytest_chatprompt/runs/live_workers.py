"""A live run in several processes: a file that tells the workers of pytest-xdist to stop, and cases that are lost.

After the last failure that is allowed, the controller gives out no more tests and waits for those that run; after a
SIGINT that only it has got, it waits ten seconds before it kills. A worker that waits for an API knows nothing of
either. Both know the id of the run, so a file named after it is the signal: the controller writes it (`LiveWorkers`),
and a thread of each worker looks for it (`StopWatcher`).
"""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_chatprompt.options import crashed_key

# How often a worker looks.
_POLL_SECONDS: Final = 0.2


def stop_file(run_id: str) -> Path:
    """The file that exists once the run is over that has this id of pytest-xdist."""
    return Path(tempfile.gettempdir()) / f"chatprompt-stop-{run_id}"


class LiveWorkers:
    """In the controller of pytest-xdist: tells the workers that the run is over, and reports what is lost with one.

    A crashed worker loses the cases that waited for their answers. To pytest-xdist they are over, so that it starts
    none of them again: their requests may have been sent.
    """

    def __init__(self, run_id: str) -> None:
        self._file = stop_file(run_id)
        # Where they are, by the ids of those that have begun and of which nothing is reported.
        self._open: dict[str, tuple[str, int | None, str]] = {}

    def pytest_runtest_logstart(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        """Note that a case has begun."""
        self._open[nodeid] = location

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note that a case is reported; write the file when that ends the run, as under `-x`."""
        self._open.pop(report.nodeid, None)
        node: Any = getattr(report, "node", None)
        session = None if node is None else node.config.pluginmanager.get_plugin("session")
        if report.failed and session is not None and (session.shouldfail or session.shouldstop):
            self._file.touch()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Report the cases that are lost."""
        result = yield
        if session.config.stash.get(crashed_key, False):
            for nodeid, location in list(self._open.items()):
                text = "its worker crashed before its answer was graded; its request may have been sent"
                report = pytest.TestReport(nodeid, location, {}, "failed", text, "setup")
                session.config.hook.pytest_runtest_logreport(report=report)
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Write the file before pytest-xdist waits for its workers, for any other end of the run."""
        self._file.touch()

    def pytest_unconfigure(self) -> None:
        """Remove the stop file."""
        self._file.unlink(missing_ok=True)


class StopWatcher:
    """Waits in a thread of a worker for the stop file, and then calls `stop` once; elsewhere it does nothing."""

    def __init__(self, config: pytest.Config, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._closed = threading.Event()
        worker = getattr(config, "workerinput", None)
        if worker is not None:
            file = stop_file(worker["testrunuid"])
            threading.Thread(target=self._watch, args=[file], name="chatprompt-stop", daemon=True).start()

    def close(self) -> None:
        """Stop looking for the file."""
        self._closed.set()

    def _watch(self, file: Path) -> None:
        while not self._closed.wait(_POLL_SECONDS):
            if file.exists():
                self._stop()
                return
