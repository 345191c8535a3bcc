"""Run a program to its end, and kill whatever it leaves running.

An argument list and a text for its standard input come in; the exit status and the decoded output come out.
Only `agents.base` calls `run_process`; the agents read its `ProcessResult`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from pytest_chatprompt.errors import AgentError

_GRACE_SECONDS: Final = 1.0
_TAIL_LINES: Final = 10
_TAIL_CHARACTERS: Final = 2000


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """Exit status and output of a process that finished in time.

    Args:
        returncode: the exit status; a negative number is the signal that killed the process, as in `subprocess`.
        stdout: the standard output, decoded as UTF-8; invalid bytes become U+FFFD.
        stderr: the standard error, decoded in the same way.
    """

    returncode: int
    stdout: str
    stderr: str

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
) -> ProcessResult:
    """Run a program and wait until it ends; afterwards, kill the children that it left running.

    Args:
        argv: the executable and its arguments; no shell is involved.
        cwd: the working folder.
        stdin: the text of its standard input; `None` for an empty one.
        env: environment variables to set on top of those of this process.
        timeout_seconds: how long the process may run before its whole process group is killed.
        hint: how to choose another executable, for the error if this one is missing.

    Raises:
        AgentError: the process could not be started, or did not end in time.
    """
    # Nameless files instead of pipes: nothing blocks when the process ignores its input or never stops writing, or when
    # a child keeps its output open.
    with tempfile.TemporaryFile() as input_file, tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        input_file.write((stdin or "").encode(errors="surrogatepass"))
        input_file.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603 - an argument list, which the user sets
                argv,
                stdin=input_file,
                stdout=stdout,
                stderr=stderr,
                cwd=cwd,
                env={**os.environ, **(env or {})},
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise AgentError(_start_error(argv[0], cwd, error, hint)) from error
        with _kill_afterwards(process):
            try:
                returncode = process.wait(timeout_seconds)
            except subprocess.TimeoutExpired:
                raise AgentError(
                    f"{argv[0]} did not finish within {timeout_seconds:g} s and was killed"
                    f"{stderr_tail(_decode(stderr))}"
                ) from None
        return ProcessResult(returncode, _decode(stdout), _decode(stderr))


def stderr_tail(stderr: str) -> str:
    """Format the last lines of a standard error to append to an error message; `""` if it is blank.

    Args:
        stderr: all of the standard error.
    """
    lines = stderr.strip().splitlines()[-_TAIL_LINES:]
    tail = "\n".join(lines)[-_TAIL_CHARACTERS:]
    return f"; the end of its standard error:\n{tail}" if tail else ""


@contextlib.contextmanager
def _kill_afterwards(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Kill a process and the children in its process group when the block ends, also by an exception."""
    try:
        yield
    finally:
        _signal_group(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_SECONDS)
        _signal_group(process, signal.SIGKILL)
        process.wait()


def _signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    # The id of the group is that of its first process, and stays valid while any member of the group is alive.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _decode(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _start_error(executable: str, cwd: Path, error: OSError | ValueError, hint: str) -> str:
    if not cwd.is_dir():
        return f"the working folder {cwd} does not exist"
    if isinstance(error, FileNotFoundError):
        where = "" if os.sep in executable else " on PATH"
        return f"executable {executable!r} not found{where}; install it, or {hint}"
    if isinstance(error, OSError) and error.errno == errno.E2BIG:
        advice = "pass the document in a file or on standard input"
        return f"cannot start {executable!r}: its arguments are too long; {advice}"
    return f"cannot start {executable!r}: {error}"
