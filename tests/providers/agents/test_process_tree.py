"""Processes are found by their parents and by their environment, and end or are given up."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator

import psutil
import pytest

from pytest_chatprompt.providers.agents import process_tree
from pytest_chatprompt.providers.agents.process_tree import descendants, end_processes, in_group, marked

# All processes of the machine are searched, and another run of these tests has its own.
MARK = f"MARK_OF_TEST_{os.getpid()}"


@pytest.fixture
def sleeper() -> Iterator[psutil.Process]:
    """A process with a variable of its own, in a process group of its own."""
    with subprocess.Popen(["sleep", "600"], env={**os.environ, MARK: "1"}, start_new_session=True) as process:
        sleeper = psutil.Process(process.pid)
        deadline = time.monotonic() + 60
        # A process that has only just begun has no environment yet.
        while MARK not in sleeper.environ():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        yield sleeper
        process.kill()


def test_a_process_is_found_by_its_parent_and_by_its_mark_and_by_its_group(sleeper: psutil.Process) -> None:
    assert sleeper in descendants()
    assert marked(MARK) == {sleeper}
    assert marked(f"OTHER_{MARK}") == set()
    assert in_group({sleeper, psutil.Process()}, sleeper.pid) == {sleeper}


def test_a_process_that_has_ended_is_in_no_group_and_is_not_waited_for(sleeper: psutil.Process) -> None:
    group = sleeper.pid
    sleeper.kill()
    # Its exit status is taken.
    psutil.wait_procs([sleeper])
    assert in_group({sleeper}, group) == set()
    end_processes(lambda: {sleeper})


def test_a_process_that_nobody_has_waited_for_has_ended(sleeper: psutil.Process) -> None:
    end_processes(lambda: {sleeper})
    assert not sleeper.is_running() or sleeper.status() == psutil.STATUS_ZOMBIE


def test_a_process_that_cannot_be_killed_is_given_up(sleeper: psutil.Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_tree, "_GRACE_SECONDS", 0.0)
    monkeypatch.setattr(process_tree, "_GIVE_UP_SECONDS", 0.2)

    def refuse(_: int) -> None:
        raise psutil.AccessDenied

    monkeypatch.setattr(sleeper, "send_signal", refuse)
    end_processes(lambda: {sleeper})
    assert sleeper.is_running()


def test_a_process_that_is_found_late_is_killed_before_anything_is_given_up(
    sleeper: psutil.Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_tree, "_GRACE_SECONDS", 0.0)
    monkeypatch.setattr(process_tree, "_GIVE_UP_SECONDS", 0.2)
    asked: list[int] = []
    busy = psutil.Process()
    monkeypatch.setattr(busy, "send_signal", asked.append)

    def find() -> set[psutil.Process]:
        # Only when the time to give up the other one has nearly come.
        return {busy, sleeper} if len(asked) > 1 else {busy}

    end_processes(find)
    assert not sleeper.is_running() or sleeper.status() == psutil.STATUS_ZOMBIE


def test_processes_that_start_others_without_end_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_tree, "_GRACE_SECONDS", 0.0)
    monkeypatch.setattr(process_tree, "_LIMIT_SECONDS", 0.3)
    looks: list[psutil.Process] = []

    def find() -> set[psutil.Process]:
        process = Unkillable()
        looks.append(process)
        return {process}

    end_processes(find)
    assert len(looks) > 1


class Unkillable(psutil.Process):
    """Another process each time, which does not end."""

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def send_signal(self, sig: int) -> None:
        """Ignore each signal."""
