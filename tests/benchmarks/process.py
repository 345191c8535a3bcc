"""Measures one run of a command as a whole process, as the operating system accounts for it."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

KIB: float = 1024.0


@dataclass(frozen=True)
class Measurement:
    """The time and memory of a process and of the processes that it started and waited for.

    Args:
        cpu_seconds: user and system time.
        wall_seconds: from its start to its end.
        peak_mib: the peak of resident memory, of the largest process.
    """

    cpu_seconds: float
    wall_seconds: float
    peak_mib: float


def measure_process(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    expected_output: str,
    expected_exit: int = 0,
) -> Measurement:
    """Run a command once and measure it.

    Args:
        command: the program and its arguments.
        folder: the folder in which it runs.
        environment: variables to add to those of this process.
        expected_output: a text that its output must contain, so that no run of something else is measured.
        expected_exit: the exit code that it must have.

    Raises:
        RuntimeError: its exit code is another one, or its output does not contain the expected text.
    """
    with tempfile.TemporaryFile() as output:
        status, measurement = run_process(command, folder, _environment(environment), output.fileno())
        output.seek(0)
        text = output.read().decode(errors="replace")
    if status != expected_exit or expected_output not in text:
        raise RuntimeError(f"{' '.join(command)} in {folder} ended with {status}:\n{text[-3000:]}")
    return measurement


def run_process(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], output: int
) -> tuple[int, Measurement]:
    """Run a command once; gives its exit status and what it took.

    Args:
        command: the program and its arguments.
        folder: the folder in which it runs.
        environment: all of its variables.
        output: the number of a file for its output.
    """
    started = time.perf_counter()
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=output) as process:
        _, status, usage = os.wait4(process.pid, 0)
        wall_seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, Measurement(usage.ru_utime + usage.ru_stime, wall_seconds, usage.ru_maxrss / KIB)


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    # Settings such as PYTHONDONTWRITEBYTECODE would make Python compile every module in every run.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "COV"))}
    return {**inherited, **variables}
