"""The supervisor ends all that an agent started, also if it is signalled itself, and holds nothing of pytest's."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_chatprompt import AgentError
from pytest_chatprompt.providers.agents import supervised_process
from pytest_chatprompt.providers.agents.process import run_process
from pytest_chatprompt.providers.agents.supervisor import Order
from tests.providers.agents.fake_agents import CHILDREN, START_CHILDREN, agent_command, ends_soon, is_alive, pids

pytestmark = [pytest.mark.usefixtures("no_leftovers", "measured_supervisor"), pytest.mark.measures_processes]


def run_shell(folder: Path, script: str) -> str:
    """The standard output of a shell script."""
    return run_process(["sh", "-c", script], cwd=folder, timeout_seconds=60, hint="").stdout


@pytest.mark.parametrize("name", ["HUP", "INT", "TERM"])
def test_a_signal_to_the_supervisor_ends_all_processes(tmp_path: Path, name: str) -> None:
    with pytest.raises(AgentError) as caught:
        run_shell(tmp_path, f"{START_CHILDREN}; kill -{name} $PPID; exec sleep 600")
    assert str(caught.value) == (
        "sh was killed: the process that supervises it exited with status 1; the end of its standard error:\n"
        f"stopped by SIG{name}"
    )
    assert [ends_soon(pid) for pid in pids(tmp_path)] == [True] * CHILDREN


def test_a_killed_supervisor_leaves_only_daemons_with_an_environment_of_their_own(tmp_path: Path) -> None:
    with pytest.raises(AgentError) as caught:
        run_shell(tmp_path, f"{START_CHILDREN}; kill -KILL $PPID; exec sleep 600")
    assert str(caught.value) == "sh was killed: the process that supervises it was killed by SIGKILL"
    *found, hidden = pids(tmp_path)
    assert [ends_soon(pid) for pid in found] == [True] * (CHILDREN - 1)
    assert is_alive(hidden)


def test_where_orphans_cannot_be_adopted_daemons_are_found_by_their_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As on macOS.
    program = "import sys; sys.path += sys.argv[1:]; from pytest_chatprompt.providers.agents import supervisor; "
    program += "supervisor._adopt_orphans = lambda: None; supervisor.main()"
    monkeypatch.setattr(supervised_process, "_PROGRAM", program)
    assert run_shell(tmp_path, f"{START_CHILDREN}; echo done") == "done\n"
    *found, hidden = pids(tmp_path)
    assert [ends_soon(pid) for pid in found] == [True] * (CHILDREN - 1)
    assert is_alive(hidden)


def test_the_agent_inherits_neither_files_nor_signals_of_the_supervisor(tmp_path: Path) -> None:
    assert run_shell(tmp_path, "ls /proc/self/fd").split() == ["0", "1", "2", "3"]  # the last is that of `ls`
    status = "cat /proc/self/status"
    # What ignores signals in all of its children, such as a shell that runs pytest in the background, is not ours.
    inherited = subprocess.run(["sh", "-c", status], capture_output=True, text=True, check=True).stdout
    assert not ignored_signals(run_shell(tmp_path, status)) & ~ignored_signals(inherited)


def ignored_signals(status: str) -> int:
    """The signals that a process ignores, as a mask of bits, from its status in `/proc`."""
    (mask,) = re.findall(r"^SigIgn:\t(\w+)$", status, re.MULTILINE)
    return int(mask, 16)


def test_the_supervisor_holds_no_file_of_pytest(tmp_path: Path) -> None:
    path = tmp_path / "held"
    with path.open("w") as file:
        os.set_inheritable(file.fileno(), True)
        held = run_shell(tmp_path, "ls -l /proc/$PPID/fd")
    assert "/proc/" not in held
    assert "chatprompt" not in held
    assert str(path) not in held
    # Input, report and errors; the agent's three; a pipe that signals arrive in.
    assert len([line for line in held.splitlines() if " -> " in line]) == 8


def test_the_supervisor_takes_no_arguments_or_variables_of_the_agent_into_its_command_line(tmp_path: Path) -> None:
    result = run_process(
        ["sh", "-c", "tr '\\0' '\\n' < /proc/$PPID/cmdline; echo SECRET=$SECRET"],
        cwd=tmp_path,
        env={"SECRET": "hush"},
        timeout_seconds=60,
        hint="",
    )
    *command_line, variable = result.stdout.splitlines()
    assert variable == "SECRET=hush"
    assert "hush" not in "".join(command_line)


def test_children_that_have_ended_do_not_pile_up(tmp_path: Path) -> None:
    script = 'for n in 1 2 3; do (sleep 0 & ) ; done; sleep 0.3; cat /proc/[0-9]*/stat 2>/dev/null | grep " Z $PPID "'
    assert run_shell(tmp_path, f"{script} || true") == ""


def test_without_a_whole_order_nothing_is_started(tmp_path: Path) -> None:
    path = tmp_path / "started"
    order: Order = {
        "argv": ["touch", str(path)],
        "cwd": "/",
        "env": {},
        "files": [0, 1, 2],
        "mark": "X",
        "keep_detached": False,
    }
    command = [sys.executable, "-c", supervised_process._PROGRAM]
    # Its line break is missing.
    done = subprocess.run(command, input=json.dumps(order).encode(), capture_output=True, check=True)
    assert (done.stdout, done.stderr, path.exists()) == (b"", b"", False)


# A pytest that has forked a process, which goes on and holds all open files, is killed.
FORKING = """
import os, pathlib, signal, threading, time
from pytest_chatprompt.providers.agents.process import run_process

def fork_and_die():
    while not pathlib.Path("pids").exists() or "end" not in pathlib.Path("pids").read_text():
        time.sleep(0.01)
    if os.fork() == 0:
        pathlib.Path("forked").write_text(str(os.getpid()))
        time.sleep(600)
    while not pathlib.Path("forked").exists() or not pathlib.Path("forked").read_text():
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)

threading.Thread(target=fork_and_die).start()
run_process(["sh", "-c", "echo $PPID $$ end > pids; exec sleep 600"], cwd=pathlib.Path(), timeout_seconds=60, hint="")
"""


def test_a_process_that_pytest_forked_does_not_keep_the_agent_alive(tmp_path: Path) -> None:
    subprocess.run(agent_command(FORKING), cwd=tmp_path, check=False, timeout=60)
    assert [ends_soon(pid) for pid in pids(tmp_path)] == [True, True]
    assert is_alive(int((tmp_path / "forked").read_text()))
