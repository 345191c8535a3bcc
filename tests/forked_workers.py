"""Workers of pytest-xdist within tests, forked from a process that has imported pytest and the package.

A worker that starts anew imports for a second of computing time, most of what a test with `-n` costs. What comes in is
execnet's wish for a process; what goes out is one that speaks with it over the same pipes. Tests with the mark
`measures_processes` get processes that start anew, as coverage wants them. Only `tests/conftest.py` asks.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.worker_template import MAX_BYTES

# Elsewhere than on Linux each worker starts anew.
CAN_FORK = hasattr(os, "pidfd_open")
StartTemplate = Callable[[], "WorkerTemplate"]


class ForkedProcess:
    """What execnet needs of a `subprocess.Popen`.

    Args:
        pid: its number.
        descriptor: of the process, to wait for it.
        stdin: its standard input, to write to.
        stdout: its standard output, to read.
    """

    def __init__(self, pid: int, descriptor: int, stdin: Any, stdout: Any) -> None:
        self.pid = pid
        self.stdin = stdin
        self.stdout = stdout
        self._descriptor = descriptor

    def wait(self) -> int:
        """Wait for its end; with what status it ended is not known."""
        select.select([self._descriptor], [], [])
        return 0

    def kill(self) -> None:
        """Kill it, unless it has ended."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)

    def __del__(self) -> None:
        os.close(self._descriptor)


class WorkerTemplate:
    """A process that is forked for each worker; see `tests.worker_template`."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        script = Path(__file__).with_name("worker_template.py")
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-u", script, str(theirs.fileno())],
                env=environment,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        assert self._connection.recv(5) == b"ready"

    def fork(self) -> ForkedProcess:
        """Start a worker with the folder and the environment of this process."""
        data = {
            "folder": str(Path.cwd()),
            "environment": dict(os.environ),
            "dont_write_bytecode": sys.dont_write_bytecode,
        }
        stdin, our_stdin = os.pipe()
        our_stdout, stdout = os.pipe()
        pid, descriptor = self.start(data, stdin, stdout, 2)
        os.close(stdin)
        os.close(stdout)
        return ForkedProcess(pid, descriptor, os.fdopen(our_stdin, "wb", 0), os.fdopen(our_stdout, "rb"))

    def start(self, data: dict[str, Any], *streams: int) -> tuple[int, int]:
        """Start a process; see `tests.worker_template` for the message. Gives its number and a descriptor of it."""
        socket.send_fds(self._connection, [json.dumps(data).encode()], streams)
        pid, (descriptor,), _, _ = socket.recv_fds(self._connection, MAX_BYTES, 1)
        return int(pid), descriptor

    def close(self) -> None:
        """End the template; the workers go on."""
        self._connection.close()
        self._process.wait()


@pytest.fixture(scope="session")
def start_worker_template() -> Iterator[StartTemplate]:
    """Starts the template when a test first needs it, and always gives the same one."""
    # Not those of the test that happens to be the first.
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("COVERAGE", "PYTEST_XDIST"))
    }
    templates: list[WorkerTemplate] = []

    def start() -> WorkerTemplate:
        if not templates:
            options = {"PYTEST_ADDOPTS": os.environ["PYTEST_ADDOPTS"]}
            templates.append(WorkerTemplate(environment | options))
        return templates[0]

    yield start
    for template in templates:
        template.close()


@pytest.fixture
def _forked_workers(start_worker_template: StartTemplate, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets runs of pytest with `-n` in the test fork their workers, if their coverage is not measured."""
    # The environments of `make test-clients` have no pytest-xdist.
    if find_spec("execnet") is None:
        return
    gateway_io: Any = import_module("execnet.gateway_io")
    create = gateway_io.create_io

    class ForkedIO(gateway_io.Popen2IOMaster):  # type: ignore[misc]
        def __init__(self, execmodel: Any) -> None:
            self.popen = start_worker_template().fork()
            super(gateway_io.Popen2IOMaster, self).__init__(self.popen.stdin, self.popen.stdout, execmodel)

    def create_io(spec: Any, execmodel: Any) -> Any:
        starts_anew = "COVERAGE_PROCESS_CONFIG" in os.environ or not spec.popen or spec.python or not CAN_FORK
        return create(spec, execmodel) if starts_anew else ForkedIO(execmodel)

    monkeypatch.setattr(gateway_io, "create_io", create_io)
