"""Processes of `python -m pytest` that tests interrupt, kill or measure, forked from one that has imported pytest.

A process that starts anew imports for half a second of computing time. Arguments of pytest come in; what comes out has
the methods of a `subprocess.Popen`. The template is that of `tests.forked_workers`. Tests with the mark
`measures_processes` get processes that start anew, as coverage wants them.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.forked_workers import CAN_FORK, StartTemplate


class PytestProcess(Protocol):
    """A process of pytest, as `subprocess.Popen` has it."""

    pid: int
    returncode: Any

    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int) -> None: ...
    def kill(self) -> None: ...


class ForkedPytest:
    """A forked process of pytest.

    Args:
        pid: its number.
        descriptor: of the process.
        ended: where its end is reported.

    Attributes:
        returncode: its exit status, the negative number of a signal that ended it, or `None` if it is not known to
            have ended.
        cpu_seconds: user and system time, once it has ended.
        peak_kib: the peak of its resident memory, once it has ended.
    """

    def __init__(self, pid: int, descriptor: int, ended: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.cpu_seconds = 0.0
        self.peak_kib = 0
        self._descriptor = descriptor
        self._ended = os.fdopen(ended, "rb")

    def poll(self) -> int | None:
        """Its exit status, or `None` if it still runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, for some seconds at most."""
        if self.returncode is None:
            if not select.select([self._ended], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("pytest", timeout or 0)
            self.returncode, self.cpu_seconds, self.peak_kib = json.loads(self._ended.read())
        return self.returncode

    def send_signal(self, sig: int) -> None:
        """Send a signal, unless it has ended."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._descriptor, sig)

    def kill(self) -> None:
        """Kill it, unless it has ended."""
        self.send_signal(signal.SIGKILL)

    def __del__(self) -> None:
        self._ended.close()
        os.close(self._descriptor)


ForkPytest = Callable[..., ForkedPytest]
# Called with arguments of pytest, the folder, and optionally `given` and `output`, the numbers of files for its input
# and its output.
StartPytest = Callable[..., PytestProcess]
# Called with arguments of pytest.
RunApart = Callable[..., pytest.RunResult]


@pytest.fixture
def fork_pytest(start_worker_template: StartTemplate) -> ForkPytest:
    """Forks a process of pytest with these arguments, folder, environment and number of a file for its output.

    It has nothing to read, unless the number of a file with its input is given.
    """

    def fork(
        arguments: list[str], folder: Path, environment: Mapping[str, str], output: int, given: int | None = None
    ) -> ForkedPytest:
        data = {
            "folder": str(folder),
            "environment": dict(environment),
            "dont_write_bytecode": bool(environment.get("PYTHONDONTWRITEBYTECODE")),
            "arguments": arguments,
        }
        ended, theirs = os.pipe()
        with open(os.devnull) as nothing:  # noqa: PTH123 - a descriptor is needed
            read = nothing.fileno() if given is None else given
            pid, descriptor = start_worker_template().start(data, read, output, output, theirs)
        os.close(theirs)
        return ForkedPytest(pid, descriptor, ended)

    return fork


@pytest.fixture
def start_pytest(fork_pytest: ForkPytest) -> StartPytest:
    """Starts pytest in a process of its own, with the environment of this one."""

    def start(*arguments: str, folder: Path, given: int | None = None, output: int | None = None) -> PytestProcess:
        with open(os.devnull, "wb") as nothing:  # noqa: PTH123
            stream = output or nothing.fileno()
            if "COVERAGE_PROCESS_CONFIG" not in os.environ and CAN_FORK:
                return fork_pytest(list(arguments), folder, os.environ, stream, given)
            command = [sys.executable, "-m", "pytest", *arguments]
            return subprocess.Popen(command, cwd=folder, stdin=given, stdout=stream, stderr=stream)

    return start


@pytest.fixture
def run_apart(pytester: pytest.Pytester, start_pytest: StartPytest) -> RunApart:
    """Runs pytest in a process of its own; `stdout` of the result has all that it prints, its errors too."""

    def run(*arguments: str) -> pytest.RunResult:
        start = time.monotonic()
        with tempfile.TemporaryFile() as output:
            status = start_pytest(*arguments, folder=pytester.path, output=output.fileno()).wait()
            output.seek(0)
            lines = output.read().decode().splitlines()
        return pytest.RunResult(status, lines, [], time.monotonic() - start)

    return run
