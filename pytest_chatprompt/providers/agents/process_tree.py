"""The process tree: find the processes that an agent started, and end them.

`supervisor` ends an agent and its children with these functions, and `supervised_process` what a killed supervisor has
left. Both import this module late: psutil takes time to import, and only live runs with an agent need it.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

import psutil

# How long a process may take to end by itself after SIGTERM, before SIGKILL.
_GRACE_SECONDS: Final = 1.0
# When to give up: a process that waits for a broken disk, or one of another user, cannot be killed. The second limit is
# for processes that start others again and again.
_GIVE_UP_SECONDS: Final = 5.0
_LIMIT_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.1


def descendants() -> set[psutil.Process]:
    """The processes that this one started, those that they started, and so on, in all sessions."""
    return set(psutil.Process().children(recursive=True))


def marked(variable: str) -> set[psutil.Process]:
    """The processes that have an environment variable, also those with another parent.

    Args:
        variable: the name of the variable; those of processes of other users cannot be read.
    """
    found = set()
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if variable in process.environ():
                found.add(process)
    return found


def in_group(processes: Iterable[psutil.Process], group: int) -> set[psutil.Process]:
    """Select the processes that are in a process group.

    Args:
        processes: where to look.
        group: the id of the group, which is that of its first process.
    """
    found = set()
    for process in processes:
        with suppress(OSError):
            if os.getpgid(process.pid) == group:
                found.add(process)
    return found


def end_processes(find: Callable[[], set[psutil.Process]]) -> None:
    """Send SIGTERM to processes, and SIGKILL a second later to those that still run.

    Args:
        find: gives the processes; called again until it finds none that runs, because they may start others meanwhile.
    """
    started = time.monotonic()
    asked: set[psutil.Process] = set()
    # When each process was first sent SIGKILL, in seconds from the start.
    killed: dict[psutil.Process, float] = {}
    while running := {process for process in find() if _is_running(process)}:
        seconds = time.monotonic() - started
        is_late = seconds >= _GRACE_SECONDS
        if is_late:
            # On a busy machine a look takes long: what was found late is still killed.
            killed.update(dict.fromkeys(running - killed.keys(), seconds))
            if seconds - max(killed[process] for process in running) >= _GIVE_UP_SECONDS or seconds >= _LIMIT_SECONDS:
                break
        for process in running if is_late else running - asked:
            # Nothing is signalled if the id belongs to another process by now.
            with suppress(psutil.Error):
                process.send_signal(signal.SIGKILL if is_late else signal.SIGTERM)
        asked |= running
        psutil.wait_procs(running, timeout=_LOOK_SECONDS)


def _is_running(process: psutil.Process) -> bool:
    """Whether a process runs; a zombie has ended, but its parent has not read its exit status yet."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False
