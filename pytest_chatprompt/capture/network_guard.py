"""The network guard: while it is active, this process reaches no further than this machine and starts no program.

`guard_network()` is entered by `items.network_hooks` around a whole case, by `items.own_code` through `offline` around
an ordinary test, and by `provider_capture` around one send. An attempt to go further is an error that names the address
or the program, the library that tried it, and the line of your code that called it; it is kept in the guard's
`ConnectionAttempts`. `allow_programs()` excepts the programs that a `CaptureServer` captures. Nothing of `socket` or
`subprocess` is patched: Python's audit events report every attempt, in every thread. Python cannot remove an audit
hook, so the first guard installs one that stays, and does nothing while no guard is active; see also `subinterpreters`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

from pytest_chatprompt.capture.audit_events import WATCHED_EVENTS, Attempt, is_address, read_audit_event
from pytest_chatprompt.capture.caller import Caller, find_caller, walk_stack
from pytest_chatprompt.capture.clients.grpc_channels import CHANNELS
from pytest_chatprompt.capture.subinterpreters import audit_creation
from pytest_chatprompt.capture.trace_functions import retry_installations
from pytest_chatprompt.errors import BlockedConnectionError, CaptureError

# Modules of the standard library that start programs to learn about this machine.
_SYSTEM_QUERIES: Final = ("platform", "ctypes.util", "uuid")
# Threads of pools outlive the code that started them, and work for later tests too.
POOL_THREADS: Final = ("ThreadPoolExecutor-", "asyncio_")


@dataclass(eq=False, slots=True)
class ConnectionAttempts:
    """The connections and programs that code tried to open while a guard was active.

    Args:
        owner: what the guard protects, for errors: the node id of a test; `""` if it is not needed.
        allows_programs: whether programs may be started.
        allowed_hosts: names and addresses that may be reached.
        has_looked_up: whether one of these names was looked up.
        blocked: addresses beyond this machine, `host:port`; none of them was reached.
        programs: programs, and C functions that could reach the network; none of them was started.
        callers: who tried each of them first, by address or program.
        loopback: addresses on this machine; these connections were allowed.
        has_late_threads: whether threads that were started meanwhile outlived the guard.
        late: addresses and programs that such a thread tried; they were blocked too.
    """

    owner: str = ""
    allows_programs: bool = False
    allowed_hosts: frozenset[str] = frozenset()
    has_looked_up: bool = False
    blocked: list[str] = field(default_factory=list)
    programs: list[str] = field(default_factory=list)
    callers: dict[str, Caller] = field(default_factory=dict)
    loopback: list[str] = field(default_factory=list)
    has_late_threads: bool = False
    late: list[str] = field(default_factory=list)

    def allows_host(self, attempt: Attempt) -> bool:
        """Whether a host may be reached."""
        if attempt.host in self.allowed_hosts:
            self.has_looked_up = True
            return True
        # A blocked name is never looked up, so that an address comes from an allowed one.
        return self.has_looked_up and attempt.kind == "connection" and is_address(attempt.host)


class _Guards:
    """The guards of this process. An audit hook is called without any context, so there can be only one of these."""

    # The hook outlives the names of this module, at the end of the interpreter.
    _watched_events = WATCHED_EVENTS

    def __init__(self) -> None:
        self.is_hooked = False
        # The innermost last.
        self.active: list[ConnectionAttempts] = []
        # Threads that outlived the guard under which they were started.
        self.late_threads: WeakKeyDictionary[threading.Thread, ConnectionAttempts] = WeakKeyDictionary()
        # The variables of which programs may be started that have all of them.
        self.allowed_programs: list[Mapping[str, str]] = []

    def check(self, event: str, arguments: tuple[Any, ...]) -> None:
        """The audit hook: raise an error for an attempt to go beyond this machine."""
        if event not in self._watched_events or not (self.active or self.late_threads):
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
        if (owner is None and self.is_allowed(attempts, attempt)) or (attempt.kind == "program" and _is_system_query()):
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

    def is_allowed(self, attempts: ConnectionAttempts, attempt: Attempt) -> bool:
        """Whether a guard allows an attempt, or it starts a program that has all variables of an allowance."""
        if attempt.kind in ("connection", "lookup"):
            return attempts.allows_host(attempt)
        if attempts.allows_programs and attempt.kind == "program":
            return True
        environment = attempt.environment
        return environment is not None and any(
            variables.items() <= environment.items() for variables in self.allowed_programs
        )

    # Lets debuggers and coverage follow it (https://docs.python.org/3/library/sys.html#sys.addaudithook).
    check.__cantrace__ = True  # type: ignore[attr-defined]


_guards: Final = _Guards()


@contextmanager
def guard_network(
    owner: str = "", *, allows_programs: bool = False, allowed_hosts: Collection[str] = ()
) -> Iterator[ConnectionAttempts]:
    """Block the network and child processes in all threads; yields the attempts, which are added while it is active.

    Args:
        owner: what the guard protects: the node id of a case. With one, threads that are started meanwhile and outlive
            the guard stay blocked.
        allows_programs: whether programs may be started; what they do cannot be seen.
        allowed_hosts: names and addresses that may be reached. Once such a name was looked up, every address may be:
            there is no way to know which addresses belong to it.
    """
    if not _guards.is_hooked:
        _guards.is_hooked = True
        sys.addaudithook(_guards.check)
        audit_creation()
        retry_installations()
    attempts = ConnectionAttempts(owner, allows_programs, frozenset(allowed_hosts))
    threads_before = set(threading.enumerate()) if owner else set()
    _guards.active.append(attempts)
    CHANNELS.start()
    try:
        yield attempts
    finally:
        CHANNELS.stop()
        _guards.active.remove(attempts)
        if owner and threading.active_count() > 1:
            for thread in set(threading.enumerate()) - threads_before:
                if not thread.name.startswith(POOL_THREADS):
                    attempts.has_late_threads = True
                    _guards.late_threads[thread] = attempts


def raise_if_blocked(attempts: ConnectionAttempts) -> None:
    """Raise an error for what a provider tried while it sent offline, even if it swallowed the guard's own.

    Args:
        attempts: of the guard.

    Raises:
        CaptureError: the provider tried to leave this machine, or to start a program.
    """
    if attempts.blocked:
        raise CaptureError(
            f"the provider tried to connect to {attempts.blocked[0]} in a way that eval_api cannot answer"
            f"{attempts.callers[attempts.blocked[0]].describe()}; offline runs send nothing to the network"
        ) from None
    if attempts.programs:
        raise CaptureError(
            f"the provider tried to start {attempts.programs[0]}{attempts.callers[attempts.programs[0]].describe()}, "
            "and what another program sends cannot be captured; point it to eval_api with the variables of "
            "eval_api.environ, or start it in a live run only"
        ) from None


def blame_late_thread(target: str) -> str:
    """Note an attempt of the calling thread if it has outlived the case that started it.

    Args:
        target: what it tried to reach.

    Returns:
        The node id of that case; `""` if this thread is not such a thread.
    """
    owner = _guards.late_threads.get(threading.current_thread()) if _guards.late_threads else None
    if owner is None:
        return ""
    owner.late.append(target)
    return owner.owner


@contextmanager
def allow_programs(variables: Mapping[str, str]) -> Iterator[None]:
    """Let guards pass the programs that are started with these environment variables; they are not listed either.

    Only `subprocess` and `os.posix_spawn` tell the variables. Others, such as `os.system`, stay blocked, and so do
    threads that outlived their guard. What such a program does cannot be seen: pass variables that nothing else has,
    such as the URL of a server that captures what the program sends.

    Args:
        variables: names and values; a program needs all of them.

    Raises:
        ValueError: there are no variables, which would allow every program.
    """
    if not variables:
        raise ValueError("allow_programs: no variables would allow every program")
    allowance = dict(variables)
    _guards.allowed_programs.append(allowance)
    try:
        yield
    finally:
        # By identity: another one may have the same variables.
        _guards.allowed_programs[:] = [other for other in _guards.allowed_programs if other is not allowance]


def _is_system_query() -> bool:
    """Whether the standard library starts a program to learn about this machine: `uname` for `platform`, for instance.

    SDKs send what it says in a header.
    """
    frame = sys._getframe(1)
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_globals.get("__name__") in _SYSTEM_QUERIES:
            return True
    return False


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
