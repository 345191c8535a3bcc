"""The network guard: while it is active, this process reaches no further than this machine and starts no program.

`guard_network()` is entered by `items.report_hooks` around a whole case, and by `recorder` and `offline` around one
send. An attempt to go further is an error that names the address or the program, the library that tried it, and the
line of your code that called it; it is kept in the guard's `ConnectionAttempts`. Nothing is patched: Python's audit
events report every attempt, in every thread. Python cannot remove an audit hook, so the first guard installs one for
good, which does nothing while no guard is active.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

from pytest_chatprompt.capture.audit_events import WATCHED_EVENTS, Attempt, read_audit_event
from pytest_chatprompt.capture.caller import Caller, find_caller, walk_stack
from pytest_chatprompt.errors import BlockedConnectionError

# Threads of pools outlive the code that started them, and work for whoever comes next.
_POOL_THREADS: Final = ("ThreadPoolExecutor-", "asyncio_")


@dataclass(eq=False, slots=True)
class ConnectionAttempts:
    """What code tried while a guard was active.

    Args:
        owner: what the guard protects, for errors: the node id of a case; `""` if it is not needed.
        blocked: addresses beyond this machine, `host:port`; none of them was reached.
        programs: programs, and C functions that could reach the network; none of them was started.
        callers: who tried each of them first, by address or program.
        loopback: addresses on this machine; these connections were allowed.
        has_late_threads: whether threads that were started meanwhile outlived the guard.
        late: addresses and programs that such a thread tried; they were blocked too.
    """

    owner: str = ""
    blocked: list[str] = field(default_factory=list)
    programs: list[str] = field(default_factory=list)
    callers: dict[str, Caller] = field(default_factory=dict)
    loopback: list[str] = field(default_factory=list)
    has_late_threads: bool = False
    late: list[str] = field(default_factory=list)


class _Guards:
    """The guards of this process. An audit hook is called without any context, so there can be only one of these."""

    def __init__(self) -> None:
        self.is_hooked = False
        # The innermost last.
        self.active: list[ConnectionAttempts] = []
        # Threads that outlived the guard under which they were started.
        self.late_threads: WeakKeyDictionary[threading.Thread, ConnectionAttempts] = WeakKeyDictionary()

    def check(self, event: str, arguments: tuple[Any, ...]) -> None:
        """The audit hook: raise an error for an attempt to go beyond this machine."""
        if event not in WATCHED_EVENTS or not (self.active or self.late_threads):
            return
        owner = self.late_threads.get(threading.current_thread())
        attempts = owner or next(reversed(self.active), None)
        attempt = None if attempts is None else read_audit_event(event, arguments)
        if attempts is None or attempt is None:
            return
        if attempt.is_loopback:
            if attempt.kind == "connection" and owner is None:
                attempts.loopback.append(attempt.target)
            return
        caller = find_caller(walk_stack(sys._getframe(1)), Path.cwd())
        attempts.callers.setdefault(attempt.target, caller)
        if owner is not None:
            owner.late.append(attempt.target)
        elif attempt.kind in ("connection", "lookup"):
            attempts.blocked.append(attempt.target)
        else:
            attempts.programs.append(attempt.target)
        raise BlockedConnectionError(_message(attempt, caller, owner))

    # Lets debuggers and coverage follow it (https://docs.python.org/3/library/sys.html#sys.addaudithook).
    check.__cantrace__ = True  # type: ignore[attr-defined]


_guards: Final = _Guards()


@contextmanager
def guard_network(owner: str = "") -> Iterator[ConnectionAttempts]:
    """Block the network and child processes in all threads; yields the attempts, which go on being added to.

    Args:
        owner: what the guard protects: the node id of a case. With one, threads that are started meanwhile and outlive
            the guard stay blocked.
    """
    if not _guards.is_hooked:
        _guards.is_hooked = True
        sys.addaudithook(_guards.check)
    attempts = ConnectionAttempts(owner)
    threads_before = set(threading.enumerate()) if owner else set()
    _guards.active.append(attempts)
    try:
        yield attempts
    finally:
        _guards.active.remove(attempts)
        if owner and threading.active_count() > 1:
            for thread in set(threading.enumerate()) - threads_before:
                if not thread.name.startswith(_POOL_THREADS):
                    attempts.has_late_threads = True
                    _guards.late_threads[thread] = attempts


def _message(attempt: Attempt, caller: Caller, late_owner: ConnectionAttempts | None) -> str:
    what = {
        "connection": f"no connection to {attempt.target}",
        "lookup": f"no connection to {attempt.target}",
        "program": f"the program {attempt.target} is not started",
        "C function": f"the C function {attempt.target} is not called",
    }[attempt.kind]
    if late_owner is None:
        return f"{what}: this is an offline run{caller.describe()}"
    return f"{what}: {late_owner.owner} started this thread in an offline run{caller.describe()}"
