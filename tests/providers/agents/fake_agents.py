"""Small programs that act as agents, well-behaved or not, and checks that they leave nothing behind."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

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


def is_alive(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def ends_soon(pid: int) -> bool:
    """Whether a process is gone within five seconds: the system may need a moment after killing it."""
    for _ in range(100):
        if not is_alive(pid):
            return True
        time.sleep(0.05)
    return False


def child_pids() -> set[int]:
    """The processes that this one started and that still exist."""
    tasks = Path("/proc/self/task").iterdir()
    return {int(pid) for task in tasks for pid in (task / "children").read_text().split()}


@pytest.fixture
def no_leftovers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Assert that the test leaves no temporary file and no process behind."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    before = child_pids()
    yield
    assert list(folder.iterdir()) == []
    assert child_pids() <= before
