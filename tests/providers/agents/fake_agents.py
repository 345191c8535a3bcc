"""Small programs that act as agents, well-behaved or not, and checks that they leave nothing behind."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest


def agent_command(body: str) -> list[str]:
    """The command that runs a Python program; append its arguments."""
    return [sys.executable, "-c", f"import sys, os, time, json, pathlib, signal, subprocess\n{body}"]


def write_executable(folder: Path, name: str, body: str) -> Path:
    """Write a Python program as an executable file."""
    path = folder / name
    path.write_text(f"#!{sys.executable}\nimport sys, os, time, json, pathlib, signal, subprocess\n{body}\n")
    path.chmod(0o755)
    return path


# A shell command that starts processes, each of which writes its id into the file `pids`. The last line is `end`.
START_CHILDREN = """
touch pids; stay='echo $$ >> pids; exec sleep 600'
wait_for() { while [ $(wc -l < pids) -lt $1 ]; do sleep 0.01; done; }
sh -c "$stay" & wait_for 1                  # a child
setsid sh -c "$stay" & wait_for 2           # in a session of its own
(setsid sh -c "$stay" &) ; wait_for 3        # whose parent has ended
(setsid env -i sh -c "$stay" &) ; wait_for 4 # with an environment of its own, too
echo end >> pids"""
CHILDREN = 4


def pids(folder: Path) -> list[int]:
    """The ids that the processes in a folder have written."""
    return [int(pid) for pid in (folder / "pids").read_text().split() if pid != "end"]


def is_alive(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def ends_soon(pid: int, seconds: float = 60) -> bool:
    """Whether a process is gone after some seconds at most: the system may need a moment after killing it."""
    deadline = time.monotonic() + seconds
    while is_alive(pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def child_pids() -> set[int]:
    """The processes that this one started and that still exist."""
    tasks = Path("/proc/self/task").iterdir()
    pids: set[int] = set()
    for task in tasks:
        # A thread may end meanwhile.
        with suppress(FileNotFoundError, ProcessLookupError):
            pids.update(map(int, (task / "children").read_text().split()))
    return pids


def end_all_in(folder: Path) -> None:
    """End the processes that work in a folder: what a failed test, or one about what cannot be found, has left."""
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.pid != os.getpid() and Path(process.cwd()) == folder:
                process.kill()


@pytest.fixture
def no_leftovers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Assert that the test leaves no temporary file and no process behind."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    before = child_pids()
    yield
    end_all_in(tmp_path)
    assert list(folder.iterdir()) == []
    # Python forgets a process that an interrupt met while it was started: what has ended is no leftover.
    assert [pid for pid in child_pids() - before if not ends_soon(pid, 30)] == []
