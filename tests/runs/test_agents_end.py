"""Whatever ends pytest, no agent outlives it, nor what it started, detached or not."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.forked_pytest import PytestProcess
from tests.providers.agents.fake_agents import CHILDREN, START_CHILDREN, end_all_in, ends_soon, pids
from tests.runs.conftest import HELLO, Run
from tests.runs.test_agents import CONFTEST


@contextmanager
def running_agent(run: Run, *arguments: str) -> Iterator[PytestProcess]:
    """A live run of pytest whose agent has started all its children; its output goes to the file `output`."""
    command = ["sh", "-c", f"cd {run.path}; {START_CHILDREN}; echo $$ $PPID >> pids; exec sleep 600"]
    run.write({"a.eval.yaml": "provider: cli" + HELLO, "conftest.py": CONFTEST.format(command=command)})
    process = run.start("--chatprompt-live", "--snapshot-update", *arguments)
    try:
        deadline = time.monotonic() + 60
        path = run.path / "pids"
        while not path.exists() or len(path.read_text().split()) < CHILDREN + 3:
            assert time.monotonic() < deadline, run.output()
            time.sleep(0.02)
        yield process
    finally:
        process.kill()
        process.wait()
        end_all_in(run.path)


def ended(run: Run, seconds: float = 30) -> list[bool]:
    """Of the agent and its children, but for the one with an environment of its own: whether it ends in time."""
    *children, _, agent, _ = pids(run.path)
    return [ends_soon(pid, seconds) for pid in (*children, agent)]


ALL = [True] * CHILDREN


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL, signal.SIGINT])
def test_a_signal_to_pytest_ends_its_agent(run: Run, number: signal.Signals) -> None:
    with running_agent(run) as process:
        process.send_signal(number)
        process.wait(30)
        assert ended(run) == ALL


def test_a_killed_worker_of_xdist_takes_its_agent_along_and_the_run_goes_on(run: Run) -> None:
    with running_agent(run, "-n", "1", "--max-worker-restart", "0") as process:
        worker = pids(run.path)[-1]
        assert worker != process.pid
        os.kill(worker, signal.SIGKILL)
        assert ended(run) == ALL
        assert process.wait(60) == pytest.ExitCode.TESTS_FAILED


def test_a_killed_controller_of_xdist_takes_the_agents_of_its_workers_along(run: Run) -> None:
    with running_agent(run, "-n", "1") as process:
        process.kill()
        # A worker of xdist waits for five seconds before it ends.
        assert ended(run) == ALL
