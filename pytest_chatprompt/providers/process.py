"""Running an agent's process to its end, and leaving nothing of it behind.

An argument list and what to feed it come in; exit status and output come out. Input and output go through
files without a name, so that neither a process that ignores its input nor one that writes without end nor a
child that keeps its output open can block anything. `agent` is the only caller.
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
_LAST_LINES: Final = 10
_LAST_CHARACTERS: Final = 2000


@dataclass(frozen=True, slots=True)
class Finished:
    """A process that ended by itself.

    Args:
        status: its exit status; negative for the signal that ended it.
        output: its standard output, decoded as UTF-8; bytes that are none are replaced.
        errors: its standard error, likewise.
    """

    status: int
    output: str
    errors: str

    def told(self, name: str, own_words: str = "") -> str:
        """How it ended, with what it said of that itself and its last words on standard error."""
        ended = f"ended with status {self.status}" if self.status >= 0 else f"was ended by {_signal_name(-self.status)}"
        return f"{name} {ended}{own_words}{last_words(self.errors)}"


def run_process(  # noqa: PLR0913 - what a process is made of
    argv: Sequence[str],
    *,
    folder: Path,
    stdin: str | None = None,
    env: Mapping[str, str] | None = None,
    timeout_seconds: float,
    hint: str,
) -> Finished:
    """Run a process to its end.

    Args:
        argv: the executable and its arguments; no shell sees them.
        folder: its working folder.
        stdin: what it reads; `None` for nothing.
        env: variables laid over those of this process.
        timeout_seconds: after this long its whole process group is ended.
        hint: how another executable is set, for the message if this one is not there.

    Returns:
        How it ended, and all of its output.

    Raises:
        AgentError: it could not be started, or did not end in time.
    """
    with tempfile.TemporaryFile() as fed, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        fed.write((stdin or "").encode(errors="surrogatepass"))
        fed.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603 - an argument list, which the user sets
                argv,
                stdin=fed,
                stdout=output,
                stderr=errors,
                cwd=folder,
                env={**os.environ, **(env or {})},
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise AgentError(_not_started(argv[0], folder, error, hint)) from error
        with _ended_with_its_group(process):
            try:
                status = process.wait(timeout_seconds)
            except subprocess.TimeoutExpired:
                raise AgentError(
                    f"{argv[0]} had not finished after {timeout_seconds:g} s and was ended{last_words(_text(errors))}"
                ) from None
        return Finished(status, _text(output), _text(errors))


def last_words(errors: str) -> str:
    """The end of a standard error, to go behind a message; `""` if there is none."""
    lines = errors.strip().splitlines()[-_LAST_LINES:]
    shown = "\n".join(lines)[-_LAST_CHARACTERS:]
    return f"; the end of its standard error:\n{shown}" if shown else ""


@contextlib.contextmanager
def _ended_with_its_group(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """End a process and the children in its group, whatever happens meanwhile."""
    try:
        yield
    finally:
        _signal_group(process, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_SECONDS)
        _signal_group(process, signal.SIGKILL)
        process.wait()


def _signal_group(process: subprocess.Popen[bytes], number: int) -> None:
    # The group is named after its first process and lives as long as any of its members does.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _not_started(executable: str, folder: Path, error: OSError | ValueError, hint: str) -> str:
    if not folder.is_dir():
        return f"the working folder {folder} is not there"
    if isinstance(error, FileNotFoundError):
        where = "" if os.sep in executable else " on PATH"
        return f"there is no executable {executable!r}{where}; install it, or {hint}"
    if isinstance(error, OSError) and error.errno == errno.E2BIG:
        instead = "hand the document over in a file or on standard input"
        return f"{executable!r} cannot be started: its arguments are too long; {instead}"
    return f"{executable!r} cannot be started: {error}"
