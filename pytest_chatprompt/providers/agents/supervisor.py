"""The supervisor: a small process that starts one agent, and ends its whole process tree.

`supervised_process` starts it for each run of an agent. An `Order` comes in on the standard input, as one line of JSON.
The input is a pipe that only pytest holds open: it closes when pytest closes it, and also when pytest is killed. When
the pipe closes or the agent ends, the supervisor ends every process that the agent started, and then itself. If the
agent ended by itself or did not start, a `Report` goes out on the standard output, as one line of JSON.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypedDict

if TYPE_CHECKING:
    from psutil import Process

_CONTROL: Final = 0
_PARENT_CHECK_SECONDS: Final = 1.0
# Linux's number of this option, see prctl(2).
_PR_SET_CHILD_SUBREAPER: Final = 36


class Order(TypedDict):
    """The command that the supervisor starts.

    Args:
        argv: the executable and its arguments.
        cwd: the working folder.
        env: environment variables to set on top of those of this process.
        files: file descriptors of the standard input, output and error.
        mark: name of an environment variable that marks the processes of this run.
        keep_detached: whether processes outside of the agent's process group stay alive.
    """

    argv: list[str]
    cwd: str
    env: dict[str, str]
    files: list[int]
    mark: str
    keep_detached: bool


class Report(TypedDict, total=False):
    """The exit status of the agent, or why it did not start.

    Args:
        returncode: its exit status, or the negative number of the signal that killed it.
        error: why it could not be started.
        errno: the system's number of that error; `None` for none.
    """

    returncode: int
    error: str
    errno: int | None


def main() -> None:
    """Carry out the order on the standard input."""
    line = sys.stdin.buffer.readline()
    # A line without its end is not the whole order: pytest has ended meanwhile.
    if line.endswith(b"\n"):
        print(json.dumps(supervise(json.loads(line))))


def supervise(order: Order) -> Report:
    """Start an agent, wait until it ends or has to be ended, and end all processes that it started.

    Raises:
        SystemExit: the agent had to be ended, so that there is no report.
    """
    signals = _open_signals()
    _adopt_orphans()
    stdin, stdout, stderr = order["files"]
    try:
        agent = subprocess.Popen(  # noqa: S603 - an argument list, which the user sets
            order["argv"],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=order["cwd"],
            env={**os.environ, **order["env"], order["mark"]: "1"},
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return {"error": str(error), "errno": getattr(error, "errno", None)}
    try:
        return {"returncode": _wait(agent, signals)}
    finally:
        _end_tree(agent.pid, order)


def _open_signals() -> int:
    """A file descriptor to read the numbers of arriving signals from; none of them ends this process."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer)
    for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    return reader


def _adopt_orphans() -> None:
    """Become the parent of each process below this one whose own parent ends, so that daemons stay in the tree.

    Only Linux has this; elsewhere such processes are found by their mark.
    """
    with suppress(AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _wait(agent: subprocess.Popen[bytes], signals: int) -> int:
    """The exit status of the agent, once it has ended.

    Raises:
        SystemExit: the agent has to be ended: pytest wants that or has ended itself, or this process got a signal.
    """
    parent = os.getppid()
    while (returncode := _reap(agent)) is None:
        readable, _, _ = select.select([_CONTROL, signals], [], [], _PARENT_CHECK_SECONDS)
        # If pytest has forked a process, the pipe stays open after its own end, but the parent is another one then.
        if _CONTROL in readable or os.getppid() != parent:
            raise SystemExit
        stopping = set(os.read(signals, 4096) if signals in readable else b"") - {signal.SIGCHLD}
        if stopping:
            raise SystemExit(f"stopped by {signal.Signals(stopping.pop()).name}")
    return returncode


def _reap(agent: subprocess.Popen[bytes]) -> int | None:
    """Collect the children that have ended, adopted ones too; return the agent's exit status, `None` if it runs."""
    pid = -1
    while pid:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == agent.pid:
            agent.returncode = os.waitstatus_to_exitcode(status)
            break
    return agent.returncode


def _end_tree(agent_pid: int, order: Order) -> None:
    """End everything that the agent started and that still runs, and the agent itself."""
    from pytest_chatprompt.providers.agents.process_tree import (  # noqa: PLC0415
        descendants,
        end_processes,
        in_group,
        marked,
    )

    def find() -> set[Process]:
        found = descendants() | marked(order["mark"])
        return in_group(found, agent_pid) if order["keep_detached"] else found

    end_processes(find)
