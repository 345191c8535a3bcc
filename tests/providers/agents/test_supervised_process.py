"""A supervised process ends when its block does, whatever has become of the supervisor."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_chatprompt import AgentError
from pytest_chatprompt.providers.agents import process, supervised_process
from pytest_chatprompt.providers.agents.process import run_process
from tests.providers.agents.fake_agents import ends_soon, pids

pytestmark = pytest.mark.usefixtures("no_leftovers")


def test_a_supervisor_that_crashes_is_an_error_that_shows_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervised_process, "_PROGRAM", "import sys; sys.exit('no such thing')")
    with pytest.raises(AgentError) as caught:
        run_process(["agent", "x" * 1_000_000], cwd=tmp_path, timeout_seconds=60, hint="")
    assert str(caught.value) == (
        "agent was killed: the process that supervises it exited with status 1; the end of its standard error:\n"
        "no such thing"
    )


def test_a_supervisor_that_hangs_is_killed_and_the_agent_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "pids"
    monkeypatch.setattr(supervised_process, "_ENDING_SECONDS", 0.1)
    monkeypatch.setattr(process, "monotonic", lambda: 1e9 if path.exists() and "end" in path.read_text() else 0.0)
    script = "kill -STOP $PPID; echo $PPID $$ end > pids; exec sleep 600"
    with pytest.raises(AgentError, match="did not finish within 60 s"):
        run_process(["sh", "-c", script], cwd=tmp_path, timeout_seconds=60, hint="")
    assert [ends_soon(pid) for pid in pids(tmp_path)] == [True, True]
