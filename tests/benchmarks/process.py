"""One run of a command as a whole process: what it took, by the operating system's own accounting."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_KIB: float = 1024.0


@dataclass(frozen=True)
class Taken:
    """What a process took, with those that it started and waited for.

    Args:
        cpu_seconds: of the user and of the system.
        wall_seconds: from its start to its end.
        peak_mib: resident memory at its highest, of the largest process.
    """

    cpu_seconds: float
    wall_seconds: float
    peak_mib: float


def take(command: Sequence[str], folder: Path, environment: Mapping[str, str], expected: str) -> Taken:
    """Run a command once.

    Args:
        command: the words of it.
        folder: where it runs.
        environment: variables over those of this process.
        expected: what its output must hold, so that a run that did something else is not measured.

    Raises:
        RuntimeError: it ended with another exit code than 0, or its output does not hold what is expected.
    """
    with tempfile.TemporaryFile() as output:
        began = time.perf_counter()
        with subprocess.Popen(
            command, cwd=folder, env=_environment(environment), stdout=output, stderr=subprocess.STDOUT
        ) as process:
            _, status, usage = os.wait4(process.pid, 0)
            wall_seconds = time.perf_counter() - began
            process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        said = output.read().decode(errors="replace")
    if process.returncode or expected not in said:
        raise RuntimeError(f"{' '.join(command)} in {folder} ended with {process.returncode}:\n{said[-3000:]}")
    return Taken(usage.ru_utime + usage.ru_stime, wall_seconds, usage.ru_maxrss / _KIB)


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    # Python's own settings would make it compile every module in every run.
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "COV"))}
    return {**plain, **more}
