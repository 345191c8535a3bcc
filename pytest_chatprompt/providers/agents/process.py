"""Run a program to its end, and end the processes that it leaves running.

An argument list and a text for its standard input come in; the exit status and the decoded output come out.
Only `agents.base` calls `run_process`; the agents read its `ProcessResult`. A `supervised_process` runs the program, so
that it ends even if pytest is killed.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import IO, TYPE_CHECKING, Final

from pytest_chatprompt.errors import AgentError
from pytest_chatprompt.providers.agents.output import file_size, output_tail, read_end, stderr_tail
from pytest_chatprompt.providers.agents.supervised_process import SupervisedProcess, start_supervised

if TYPE_CHECKING:
    from pytest_chatprompt.providers.agents.supervisor import Order, Report

# How much a program may print, on both outputs together: one that never stops must not fill the disk.
MAX_PRINTED_BYTES: Final = 2**30
# How often the time and the size of the output are looked at.
_LOOK_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """Exit status and output of a process that finished in time.

    Args:
        returncode: the exit status; a negative number is the signal that killed the process, as in `subprocess`.
        stdout: the standard output, decoded as UTF-8; invalid bytes become U+FFFD. Only the last 20 MiB are kept.
        stderr: the standard error, decoded and cut in the same way.
        is_stdout_cut: whether the standard output was longer than that, so that its beginning is missing.
    """

    returncode: int
    stdout: str
    stderr: str
    is_stdout_cut: bool = False

    def exit_message(self, name: str, detail: str = "") -> str:
        """Describe for an error message how the process ended, with the end of its standard error.

        Args:
            name: what to call the process, such as its executable.
            detail: the program's own report of the failure, with its separator, such as `: no login`.
        """
        code = self.returncode
        outcome = f"exited with status {code}" if code >= 0 else f"was killed by {_signal_name(-code)}"
        return f"{name} {outcome}{detail}{stderr_tail(self.stderr)}"


def run_process(  # noqa: PLR0913 - the arguments of subprocess.Popen that agents need
    argv: Sequence[str],
    *,
    cwd: Path,
    stdin: str | None = None,
    env: Mapping[str, str] | None = None,
    timeout_seconds: float,
    hint: str,
    keep_detached: bool = False,
) -> ProcessResult:
    """Run a program and wait until it ends; afterwards, end the processes that it left running.

    Args:
        argv: the executable and its arguments; no shell is involved.
        cwd: the working folder.
        stdin: the text of its standard input; `None` for an empty one.
        env: environment variables to set on top of those of this process.
        timeout_seconds: how long the program may run before it is killed, with all processes that it started.
        hint: how to choose another executable, for the error if this one is missing.
        keep_detached: whether processes that left the program's process group stay alive.

    Raises:
        AgentError: the program could not be started, did not end in time, printed too much, or lost its supervisor.
    """
    if sys.platform == "win32":
        raise AgentError(f"cannot start {argv[0]!r}: agents run on Linux and macOS only")
    # Nameless files instead of pipes: nothing blocks when the process ignores its input or never stops writing, or when
    # a child keeps its output open.
    with tempfile.TemporaryFile() as input_file, tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        input_file.write((stdin or "").encode(errors="surrogatepass"))
        input_file.seek(0)
        order: Order = {
            "argv": list(argv),
            "cwd": str(cwd),
            "env": dict(env or {}),
            "files": [file.fileno() for file in (input_file, stdout, stderr)],
            "mark": f"PYTEST_CHATPROMPT_AGENT_{os.urandom(8).hex()}",
            "keep_detached": keep_detached,
        }
        with start_supervised(order) as process:
            reason = _reason_to_kill(process, stdout, stderr, timeout_seconds)
            if reason is not None:
                raise AgentError(f"{argv[0]} {reason}")
            report = process.report()
            if report is None:
                lost = ProcessResult(process.returncode, "", process.errors)
                raise AgentError(f"{argv[0]} was killed: {lost.exit_message('the process that supervises it')}")
        if "returncode" not in report:
            raise AgentError(_start_error(argv[0], cwd, report, hint))
        (text, is_cut), (errors, _) = read_end(stdout), read_end(stderr)
        return ProcessResult(report["returncode"], text, errors, is_cut)


def _reason_to_kill(
    process: SupervisedProcess, stdout: IO[bytes], stderr: IO[bytes], timeout_seconds: float
) -> str | None:
    """Wait until a program has ended, or has to; return why it has to, `None` if it has ended."""
    deadline = monotonic() + timeout_seconds
    while not process.has_ended(_LOOK_SECONDS):
        if monotonic() >= deadline:
            tail = stderr_tail(read_end(stderr)[0])
            return f"did not finish within {timeout_seconds:g} s and was killed{tail}"
        if file_size(stdout) + file_size(stderr) > MAX_PRINTED_BYTES:
            is_stdout = file_size(stdout) > file_size(stderr)
            name, file = ("standard output", stdout) if is_stdout else ("standard error", stderr)
            tail = output_tail(read_end(file)[0], name)
            return f"printed more than {MAX_PRINTED_BYTES:,} bytes and was killed{tail}"
    return None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _start_error(executable: str, cwd: Path, report: Report, hint: str) -> str:
    if not cwd.is_dir():
        return f"the working folder {cwd} does not exist"
    if report["errno"] == errno.ENOENT:
        where = "" if os.sep in executable else " on PATH"
        return f"executable {executable!r} not found{where}; install it, or {hint}"
    if report["errno"] == errno.E2BIG:
        advice = "pass the document in a file or on standard input"
        return f"cannot start {executable!r}: its arguments are too long; {advice}"
    return f"cannot start {executable!r}: {report['error']}"
