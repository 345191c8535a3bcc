"""Small programs that behave as agents do, well and badly, and a look at what they leave behind."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest


def agent(body: str) -> list[str]:
    """The command of a Python program; what follows are its arguments."""
    return [sys.executable, "-c", f"import sys, os, time, json, pathlib, signal, subprocess\n{body}"]


def executable(folder: Path, name: str, body: str) -> Path:
    """A Python program as an executable file."""
    path = folder / name
    path.write_text(f"#!{sys.executable}\nimport sys, os, time, json, pathlib, signal, subprocess\n{body}\n")
    path.chmod(0o755)
    return path


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def ends_soon(pid: int) -> bool:
    """Whether a process is gone within a few seconds: the system needs a moment to take it away."""
    for _ in range(100):
        if not is_alive(pid):
            return True
        time.sleep(0.05)
    return False


def children() -> set[int]:
    """The processes that this one has started and that are still there."""
    tasks = Path("/proc/self/task").iterdir()
    return {int(pid) for task in tasks for pid in (task / "children").read_text().split()}


@pytest.fixture
def nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A temporary folder of the test's own; after the test it is empty, and no process is left."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    before = children()
    yield
    assert list(folder.iterdir()) == []
    assert children() <= before
