"""Run a program within bounds of time and output, end the processes that it leaves, and read what it put out."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import IO, TYPE_CHECKING, Any, Final

from pytest_chatprompt.errors import AgentError

if TYPE_CHECKING:
    import psutil

# How much an agent may print on each output, and how long an answer may be: ten thousand times a long one of a model.
MAX_OUTPUT_BYTES: Final = 64 * 2**20
# How often a program is looked at: its time, the size of its output.
_LOOK_SECONDS: Final = 0.1
# How long what got SIGTERM may take until it gets SIGKILL; and that is given up then: what waits for a broken disk.
_END_SECONDS: Final = 1.0


def read_answer(path: Path, agent: str) -> str:
    """Read the file to which an agent wrote its answer."""
    size = path.stat().st_size
    if size > MAX_OUTPUT_BYTES:
        raise AgentError(f"{agent} wrote an answer of {size:,} bytes; the limit is {MAX_OUTPUT_BYTES:,}")
    return path.read_text(encoding="utf-8", errors="replace")


def stderr_tail(stderr: str) -> str:
    """Format the last lines of a standard error to append to an error message; `""` if it is blank."""
    tail = "\n".join(stderr.strip()[-2000:].splitlines()[-10:])
    return f"; the end of its standard error:\n{tail}" if tail else ""


def read_output(file: IO[bytes]) -> str:
    """Read an output, a file, as UTF-8; invalid bytes become U+FFFD."""
    # Neither moves nor uses the position of the file: the process that writes to it has the same one.
    return os.pread(file.fileno(), MAX_OUTPUT_BYTES, 0).decode(errors="replace")


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """Exit status and output of a process that finished in time; invalid bytes of UTF-8 are U+FFFD.

    Args:
        returncode: the exit status; a negative number is the signal that killed the process, as in `subprocess`.
    """

    returncode: int
    stdout: str
    stderr: str

    def exit_message(self, name: str, detail: str = "") -> str:
        """Describe for an error message how the process ended, with the end of its standard error."""
        code = self.returncode
        signals = {-number: number.name for number in signal.Signals}
        outcome = f"exited with status {code}" if code >= 0 else f"was killed by {signals.get(code, f'signal {-code}')}"
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

    With `keep_detached` those that left its process group stay alive; `hint` says how to choose another executable.
    """
    deadline = monotonic() + timeout_seconds
    # Nameless files instead of pipes: nothing blocks when the process ignores its input or never stops writing, or when
    # a child keeps its output open.
    with tempfile.TemporaryFile() as input_file, tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        input_file.write((stdin or "").encode(errors="surrogatepass"))
        input_file.seek(0)
        environ, streams = {**os.environ, **(env or {})}, {"stdin": input_file, "stdout": stdout, "stderr": stderr}
        with started(argv, cwd, environ, streams, hint=hint, keep_detached=keep_detached) as agent:
            reason = _reason_to_kill(agent, stdout, stderr, deadline, timeout_seconds)
        if reason is not None:
            raise AgentError(f"{argv[0]} {reason}")
        return ProcessResult(agent.returncode, read_output(stdout), read_output(stderr))


@contextmanager
def started(  # noqa: PLR0913 - as for `run_process`
    argv: Sequence[str],
    cwd: Path,
    environ: Mapping[str, str],
    streams: Mapping[str, Any],
    *,
    hint: str,
    keep_detached: bool = False,
) -> Iterator[subprocess.Popen[bytes]]:
    """Let a program run meanwhile, and end what is left of it; if this process is killed, it is killed too.

    `streams` are its `stdin`, `stdout` and `stderr`, as in `subprocess`.
    """
    if sys.platform == "win32":
        raise AgentError(f"cannot start {argv[0]!r}: agents run on Linux and macOS only")
    mark = f"PYTEST_CHATPROMPT_AGENT_{os.urandom(8).hex()}"
    agent: subprocess.Popen[bytes] | None = None
    watcher: subprocess.Popen[bytes] | None = None
    try:
        try:
            # In a new session Ctrl-C does not reach it, and the group of what it starts has its id.
            agent = subprocess.Popen(argv, **streams, cwd=cwd, env={**environ, mark: "1"}, start_new_session=True)  # noqa: S603
            mark = "" if keep_detached else mark
            # If a signal kills this process, no `finally` runs.
            command = [sys.executable, "-I", "-c", _WATCHER, str(agent.pid), mark, *map(str, sys.path)]
            watcher = subprocess.Popen(command, stdin=subprocess.PIPE, env=environ, start_new_session=True)  # noqa: S603
        except (OSError, ValueError) as error:
            raise AgentError(_start_error(argv[0], cwd, error, hint)) from None
        yield agent
    finally:
        end_processes(agent.pid if agent else -1, mark)
        if watcher is not None:
            watcher.kill()
            watcher.communicate()
        if agent is not None:
            agent.poll()


# Ends a program once this process is gone: then its input ends, whose other end nobody but this process holds.
# `PR_SET_PDEATHSIG` would not do: it signals when the thread that started the program ends.
_WATCHER: Final = f"""
import sys
sys.stdin.read()
sys.path = sys.argv[3:]
from {__name__} import end_processes
end_processes(int(sys.argv[1]), sys.argv[2])
"""


def _reason_to_kill(
    agent: subprocess.Popen[bytes], stdout: IO[bytes], stderr: IO[bytes], deadline: float, timeout_seconds: float
) -> str | None:
    """Wait until a program has ended, or has to; return why it has to, `None` if it has ended."""
    while True:
        has_ended = agent.poll() is not None
        if any(os.fstat(file.fileno()).st_size > MAX_OUTPUT_BYTES for file in (stdout, stderr)):
            return f"printed more than {MAX_OUTPUT_BYTES:,} bytes and was killed{stderr_tail(read_output(stderr))}"
        if has_ended:
            return None
        if monotonic() >= deadline:
            return f"did not finish within {timeout_seconds:g} s and was killed{stderr_tail(read_output(stderr))}"
        with suppress(subprocess.TimeoutExpired):
            agent.wait(_LOOK_SECONDS)


def end_processes(group: int, mark: str) -> None:
    """End the processes of a group, and those that have a variable: SIGTERM, and SIGKILL a second later."""
    import psutil  # noqa: PLC0415 - it takes time, and only runs that start an agent need it

    # The last one first. SIGKILL twice, since what gets SIGTERM may start others.
    signals = [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]
    while signals and (running := list(_find_running(group, mark))):
        number = signals.pop()
        for process in running:
            # Nothing is signalled if the id belongs to another process by now.
            with suppress(psutil.Error):
                process.send_signal(number)
        psutil.wait_procs(running, timeout=_END_SECONDS)


def _find_running(group: int, mark: str) -> Iterator[psutil.Process]:
    """The processes of a group, and those that have a variable, if its name is not empty."""
    import psutil  # noqa: PLC0415

    for process in psutil.process_iter():
        # It may end meanwhile, and those of other users tell no variables.
        with suppress(psutil.Error, OSError):
            if process.status() != psutil.STATUS_ZOMBIE and (
                os.getpgid(process.pid) == group or (mark and mark in process.environ())
            ):
                yield process


def _start_error(executable: str, cwd: Path, error: OSError | ValueError, hint: str) -> str:
    if not cwd.is_dir():
        return f"the working folder {cwd} does not exist"
    number = getattr(error, "errno", None)
    if number == errno.ENOENT:
        where = "" if os.sep in executable else " on PATH"
        return f"executable {executable!r} not found{where}; install it, or {hint}"
    if number == errno.E2BIG:
        advice = "pass the document in a file or on standard input"
        return f"cannot start {executable!r}: its arguments are too long; {advice}"
    return f"cannot start {executable!r}: {error}"
