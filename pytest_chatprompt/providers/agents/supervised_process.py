"""A supervised process: a program that ends when this process does, even if that is killed.

An `Order` comes in, and a supervisor, which is a process of its own, carries it out. `process` waits until all has
ended, and reads the supervisor's `Report`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, cast

from pytest_chatprompt.providers.agents.output import read_end
from pytest_chatprompt.providers.context import current_context

if TYPE_CHECKING:
    from pytest_chatprompt.providers.agents.supervisor import Order, Report

# `-I` ignores the user's settings of Python, `-S` what installed packages run at its start, which takes time. So the
# program gets the folders to import from as arguments.
_OPTIONS: Final = ("-I", "-S")
_PROGRAM: Final = (
    "import sys; sys.path += sys.argv[1:]; from pytest_chatprompt.providers.agents.supervisor import main; main()"
)
# More than the supervisor needs to end all processes.
_ENDING_SECONDS: Final = 15.0


class SupervisedProcess:
    """A program, and the supervisor that runs it.

    Args:
        supervisor: the supervisor's process.
        output: what the supervisor prints: its report.
        errors: its standard error: a traceback, if it crashed.
    """

    def __init__(self, supervisor: subprocess.Popen[bytes], output: IO[bytes], errors: IO[bytes]) -> None:
        self._supervisor = supervisor
        self._output = output
        self._errors = errors

    def has_ended(self, wait_seconds: float) -> bool:
        """Whether the program, all that it started, and the supervisor have ended.

        Args:
            wait_seconds: how long to wait for it.
        """
        with suppress(subprocess.TimeoutExpired):
            self._supervisor.wait(wait_seconds)
        return self._supervisor.returncode is not None

    def report(self) -> Report | None:
        """How the program ended; `None` if its supervisor ended first."""
        text, _ = read_end(self._output)
        return json.loads(text) if text else None

    @property
    def returncode(self) -> int:
        """The exit status of the supervisor, once it has ended."""
        return self._supervisor.wait()

    @property
    def errors(self) -> str:
        """What the supervisor printed on its standard error."""
        return read_end(self._errors)[0]


@contextmanager
def start_supervised(order: Order) -> Iterator[SupervisedProcess]:
    """Start a program; when the block ends, also by an exception, end it and all processes that it started.

    Args:
        order: what to start.
    """
    # psutil takes time to import, and only runs that start an agent need it.
    import psutil  # noqa: PLC0415

    variables = current_context().environ
    folders = (Path(__file__).parents[3], Path(psutil.__file__).parents[1])
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        supervisor = subprocess.Popen(  # noqa: S603 - this package
            [sys.executable, *_OPTIONS, "-c", _PROGRAM, *map(str, folders)],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=errors,
            pass_fds=order["files"],
            # The agent gets them from its order. The supervisor has them so that the network guard lets it start.
            env={**os.environ, **variables} if variables else None,
            # So that Ctrl-C, and signals to pytest's process group, do not reach it.
            start_new_session=True,
        )
        control = cast(IO[bytes], supervisor.stdin)
        try:
            _send(order, control)
            yield SupervisedProcess(supervisor, output, errors)
        finally:
            _stop(supervisor, control)
            # A supervisor that was killed has ended nothing.
            if supervisor.returncode and not order["keep_detached"]:
                from pytest_chatprompt.providers.agents.process_tree import end_processes, marked  # noqa: PLC0415

                end_processes(lambda: marked(order["mark"]))


def _send(order: Order, control: IO[bytes]) -> None:
    # If the supervisor has already ended, its missing report says so.
    with suppress(BrokenPipeError):
        control.write(json.dumps(order).encode() + b"\n")
        control.flush()


def _stop(supervisor: subprocess.Popen[bytes], control: IO[bytes]) -> None:
    """Close the supervisor's standard input, which ends the program, and wait for it."""
    with suppress(BrokenPipeError):
        control.close()
    with suppress(subprocess.TimeoutExpired):
        supervisor.wait(_ENDING_SECONDS)
    # Does nothing if it has ended.
    supervisor.kill()
    supervisor.wait()
