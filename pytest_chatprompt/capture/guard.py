"""The network guard: while one is active, this process reaches no further than this machine and starts no program.

Python's audit events report every attempt, in every thread; nothing of `socket` or `subprocess` is patched. What is
tried belongs to an `Owner`, the test in whose context the code runs; what has no test in its context, such as a thread
of a pool, belongs to the test that runs. What a test has left behind when it ends is refused from then on.
"""

from __future__ import annotations

import gc
import os
import sys
import sysconfig
import threading
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from mmap import mmap
from pathlib import Path
from time import monotonic, sleep
from traceback import walk_stack
from types import FrameType
from typing import Any, Final, NamedTuple
from weakref import ref

from pytest_chatprompt.capture.audit_events import FORK, WATCHED_EVENTS, Attempt, is_address, read_audit_event
from pytest_chatprompt.capture.clients.grpc_channels import CHANNELS
from pytest_chatprompt.errors import BlockedConnectionError, CaptureError

# Modules of the standard library that start programs to learn about this machine.
_SYSTEM_QUERIES: Final = ("platform", "ctypes.util", "uuid")
# How long threads may take to end after the test, such as that of a connection which was just closed.
_ENDING_SECONDS: Final = 0.2
Tell = Callable[[str, str], None]
_STANDARD_LIBRARY: Final = Path(sysconfig.get_path("stdlib"))
_THIS_PACKAGE: Final = Path(__file__).parents[1]
_LIBRARY_FOLDERS: Final = ("site-packages", "dist-packages")
# They run tests: the frames above them have nothing to do with the attempt.
_TEST_RUNNERS: Final = ("_pytest", "pluggy")
# How much a forked process may tell.
_REPORT_BYTES: Final = 4096


class Caller(NamedTuple):
    """The library and the line of code that tried something.

    Args:
        library: the top-level package that your code called; `""` if none was in between.
        place: `file:line` in your code, the file relative to the current folder if it is below; `""` if there is none,
            as in a thread that a library has started.
    """

    library: str
    place: str

    def describe(self) -> str:
        """What to add to an error: `, tried by redis, called at app/cache.py:12`; `""` if nothing is known."""
        tried = f", tried by {self.library}" if self.library else ""
        return f"{tried}, called at {self.place}" if self.place else tried


@dataclass(eq=False, slots=True)
class ConnectionAttempts:
    """The connections and programs that code tried to open while a guard was active.

    Args:
        has_looked_up: whether one of these names was looked up.
        blocked: addresses beyond this machine, `host:port`; none of them was reached.
        programs: programs; none of them was started.
        callers: who tried each of them first, by address or program.
        loopback: addresses on this machine; these connections were allowed.
        owner: is told each attempt, in place of the lists: no report of a test shows them; `None` within a test.
        process_id: of the process that is guarded. A process that is forked from it cannot add to these lists.
    """

    allows_programs: bool = False
    allowed_hosts: frozenset[str] = frozenset()
    has_looked_up: bool = False
    blocked: list[str] = field(default_factory=list)
    programs: list[str] = field(default_factory=list)
    callers: dict[str, Caller] = field(default_factory=dict)
    loopback: list[str] = field(default_factory=list)
    owner: Owner | None = None
    process_id: int = field(default_factory=os.getpid)

    def allows_host(self, attempt: Attempt) -> bool:
        """Whether a host may be reached."""
        if attempt.host in self.allowed_hosts:
            self.has_looked_up = True
            return True
        # A blocked name is never looked up, so that an address comes from an allowed one.
        return self.has_looked_up and attempt.kind == "connection" and is_address(attempt.host)


def _running_threads() -> set[int | None]:
    """The identities of the threads that run.

    Not of `sys._current_frames()`: before Python 3.11.8 and 3.12.2 it waits for ever if garbage is collected in it
    (https://github.com/python/cpython/issues/106883).
    """
    return {thread.ident for thread in threading.enumerate()}


def _frames() -> Mapping[int, FrameType]:
    """What each thread runs at the moment; without a collection of garbage meanwhile, for the reason above."""
    is_enabled = gc.isenabled()
    gc.disable()
    try:
        return sys._current_frames()
    finally:
        if is_enabled:
            gc.enable()


@dataclass(eq=False, slots=True)
class Owner:
    """A test that runs, or one that has ended.

    Args:
        name: its node id; `""` for what no test has left behind.
        tell: called with the name, and with what was tried by code that the test has left behind: `send POST ...`.
        guard: under which the test ran; `None` if it was free to reach the network.
        threads: those that have sent a request, but for the one in which it runs; `None` for one that has ended.
        identity: of the thread in which it runs.
        earlier_threads: the identities of threads that were there before, or serve other tests too.
    """

    name: str
    tell: Tell
    guard: ConnectionAttempts | None = None
    has_ended: bool = False
    threads: list[ref[_Thread]] = field(default_factory=list)
    identity: int = field(default_factory=threading.get_ident)
    earlier_threads: set[int | None] = field(default_factory=_running_threads)

    def leave_threads(self) -> list[tuple[str, str]]:
        """Find the threads that have sent a request in the test and go on, each with its line; they are its own now.

        A thread of a pool does not go on: it waits in the code of a library for whoever comes next.
        """
        deadline = monotonic() + _ENDING_SECONDS
        while (places := self._running_places()) and monotonic() <= deadline:
            sleep(_ENDING_SECONDS / 40)
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        for thread in places:
            thread.is_left = True
        return [(names.get(thread.identity, "unnamed"), place) for thread, place in places.items()]

    def _running_places(self) -> dict[_Thread, str]:
        threads = [thread for reference in self.threads if (thread := reference()) is not None]
        frames = _frames() if threads else {}
        return {
            thread: place
            for thread in threads
            if thread.identity not in self.earlier_threads and (place := caller_at(frames.get(thread.identity)).place)
        }


@dataclass(eq=False)
class _Thread:
    """A thread that has sent a request. It lives as long as the thread, whoever has started that."""

    owner: Owner
    identity: int = field(default_factory=threading.get_ident)
    # Whether the thread goes on after the test.
    is_left: bool = False


@dataclass(eq=False)
class _Guards:
    """The guards of this process. An audit hook is called without any context, so there can be only one of these."""

    is_hooked: bool = False
    # The innermost last.
    active: list[ConnectionAttempts] = field(default_factory=list)
    # The variables of which programs may be started that have all of them.
    allowed_programs: list[Mapping[str, str]] = field(default_factory=list)
    running: Owner | None = None
    # The test to which code belongs wherever its context is taken along.
    owner: ContextVar[Owner | None] = ContextVar("chatprompt_owner", default=None)  # noqa: RUF009 - there is one
    # `sender`: the `_Thread` of each thread that has sent a request.
    thread: threading.local = field(default_factory=threading.local)
    # Threads that go on when the run has ended, by identity, and what they may do.
    left_threads: dict[int, tuple[threading.Thread, ConnectionAttempts]] = field(default_factory=dict)
    # What a forked process has tried. Its memory is a copy, but for this.
    report_of_forks: mmap | None = None


_guards: Final = _Guards()


# The hook outlives the names of this module, at the end of the interpreter: its arguments stay.
def _check(event: str, arguments: tuple[Any, ...], watched: Container[str] = WATCHED_EVENTS) -> None:
    """The audit hook: raise an error for an attempt to go beyond this machine."""
    if event not in watched:
        return
    owner = find_late_owner()
    attempts = _find_guard() if owner is None or owner.guard is None else owner.guard
    if attempts is None:
        return
    if event == FORK:
        _guards.report_of_forks = _guards.report_of_forks or mmap(-1, _REPORT_BYTES)
    attempt = read_audit_event(event, arguments)
    if attempt is None or _is_allowed(attempts, attempt, owner):
        return
    caller = caller_at(sys._getframe(1))
    teller = owner or attempts.owner
    if teller is None and attempts.process_id == os.getpid():
        attempts.callers.setdefault(attempt.target, caller)
        (attempts.programs if attempt.kind == "program" else attempts.blocked).append(attempt.target)
    else:
        verb = "start" if attempt.kind == "program" else "reach"
        tell(teller, f"{verb} {attempt.target}{caller.describe()}", attempts.process_id)
    raise BlockedConnectionError(_message(attempt, caller, teller))


# Lets debuggers and coverage follow it (https://docs.python.org/3/library/sys.html#sys.addaudithook).
_check.__cantrace__ = True  # type: ignore[attr-defined]


def find_late_owner() -> Owner | None:
    """The test that has ended and to which the calling code belongs; `None` for what belongs to the running test."""
    owner = _guards.owner.get()
    if owner is not None:
        return owner if owner.has_ended else None
    thread: _Thread | None = getattr(_guards.thread, "sender", None)
    return thread.owner if thread is not None and thread.is_left else None


def _find_guard() -> ConnectionAttempts | None:
    """The innermost guard; `None` if the calling thread is free."""
    # Another thread may end the last one meanwhile.
    attempts = next(reversed(_guards.active), None)
    if attempts is not None:
        return attempts
    thread, left = _guards.left_threads.get(threading.get_ident(), (None, None))
    # Another thread may have the identity of one that has ended.
    return left if thread is not None and thread.is_alive() else None


def _is_allowed(attempts: ConnectionAttempts, attempt: Attempt, owner: Owner | None) -> bool:
    """Whether an attempt stays on this machine, or is allowed; `owner` has left behind what tries it."""
    if attempt.is_loopback:
        if attempt.kind == "connection" and owner is None:
            attempts.loopback.append(attempt.target)
        return True
    if attempt.kind != "program":
        return attempts.allows_host(attempt)
    if attempts.allows_programs or _is_system_query():
        return True
    environment = attempt.environment if owner is None else None
    return environment is not None and any(
        variables.items() <= environment.items() for variables in _guards.allowed_programs
    )


@contextmanager
def run_as(name: str, tell: Tell) -> Iterator[Owner]:
    """Run a test: from now on code belongs to it, until the end also what has no test in its context."""
    owner, before, outer = Owner(name, tell), _guards.owner.get(), _guards.running
    _guards.running = owner
    # No tokens: the end may come in another context, where a fixture was asked for in an async test.
    _guards.owner.set(owner)
    try:
        yield owner
    finally:
        owner.has_ended = True
        _guards.owner.set(before)
        _guards.running = outer


def running_owner() -> Owner | None:
    """The test that runs; `None` if none does."""
    return _guards.running


@contextmanager
def run_for_all() -> Iterator[None]:
    """Run code of a fixture that lives longer than a test: the tasks and threads that it starts belong to none."""
    before = _guards.owner.get()
    _guards.owner.set(None)
    try:
        yield
    finally:
        _guards.owner.set(before)
        if _guards.running is not None:
            _guards.running.earlier_threads |= _running_threads()


@contextmanager
def run_in_test() -> Iterator[None]:
    """Run the coroutine of a test: a plugin may run it in a task that it has made for several tests."""
    _guards.owner.set(_guards.running)
    try:
        yield
    finally:
        _guards.owner.set(None)


def note_sender() -> None:
    """Note that the calling thread sends a request in the test that runs."""
    owner = _guards.running
    if owner is None or threading.get_ident() == owner.identity:
        return
    thread: _Thread | None = getattr(_guards.thread, "sender", None)
    if thread is None or thread.owner is not owner:
        thread = _guards.thread.sender = _Thread(owner)
        owner.threads.append(ref(thread))


def tell(owner: Owner | None, attempt: str, process_id: int) -> None:
    """Tell what a test that has ended left behind, or what a forked process has tried, where it is reported.

    Of what the processes forked from one with `process_id` try, the last attempt counts.
    """
    if owner is not None and os.getpid() == process_id:
        owner.tell(owner.name, attempt)
        return
    owner = owner or _guards.running
    name = "" if owner is None else owner.name
    # Nobody reads what a process tells that was forked without any guard.
    report = _guards.report_of_forks or bytearray(_REPORT_BYTES)
    text = f"{name}\n{attempt}".encode()[: _REPORT_BYTES - 1]
    report[: len(text) + 1] = text + b"\0"


def take_report_of_forks(owner: Owner) -> str:
    """What a process that was forked in a test has tried; `""` if it has tried nothing."""
    report = _guards.report_of_forks
    if report is None or not report[0]:
        return ""
    name, _, attempt = report[:].partition(b"\0")[0].decode(errors="replace").partition("\n")
    report[0] = 0
    if name == owner.name:
        return attempt
    owner.tell(name, attempt)
    return ""


@contextmanager
def guard_network(
    *, allows_programs: bool = False, allowed_hosts: Collection[str] = (), owner: Owner | None = None
) -> Iterator[ConnectionAttempts]:
    """Block the network and child processes in all threads; yields the attempts, which are added while it is active.

    Once the name of an allowed host was looked up, every address may be reached: nobody knows which belong to it.
    """
    if not _guards.is_hooked:
        _guards.is_hooked = True
        sys.addaudithook(_check)
    attempts = ConnectionAttempts(allows_programs, frozenset(allowed_hosts), owner=owner)
    _guards.active.append(attempts)
    CHANNELS.start()
    try:
        yield attempts
    finally:
        CHANNELS.stop()
        _guards.active.remove(attempts)


@contextmanager
def lift(attempts: ConnectionAttempts) -> Iterator[None]:
    """Leave a guard for a while."""
    _guards.active.remove(attempts)
    try:
        yield
    finally:
        _guards.active.append(attempts)


def leave_blocked(threads: Collection[threading.Thread], attempts: ConnectionAttempts) -> None:
    """Keep threads blocked that go on after the run."""
    _guards.left_threads = {thread.ident: (thread, attempts) for thread in threads if thread.ident is not None}


def raise_if_blocked(attempts: ConnectionAttempts) -> None:
    """Raise an error for what a provider tried while it sent offline, even if it swallowed the guard's own."""
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


@contextmanager
def allow_programs(variables: Mapping[str, str]) -> Iterator[None]:
    """Let guards pass the programs that are started with all of these variables; they are not listed either.

    Only `subprocess` and `os.posix_spawn` tell the variables. What such a program does cannot be seen: pass variables
    that nothing else has, such as the URL of a server that captures what the program sends.
    """
    allowance = dict(variables)
    _guards.allowed_programs.append(allowance)
    try:
        yield
    finally:
        # By identity: another one may have the same variables.
        _guards.allowed_programs[:] = [other for other in _guards.allowed_programs if other is not allowance]


def _is_system_query() -> bool:
    """Whether the standard library starts a program to learn about this machine, as `platform` does for SDKs."""
    return any(frame.f_globals.get("__name__") in _SYSTEM_QUERIES for frame, _ in walk_stack(sys._getframe(1)))


def _message(attempt: Attempt, caller: Caller, teller: Owner | None) -> str:
    is_program = attempt.kind == "program"
    what = f"the program {attempt.target} is not started" if is_program else f"no connection to {attempt.target}"
    if teller is None:
        return f"{what}: this is an offline run{caller.describe()}"
    if teller.name:
        return f"{what}: {teller.name} has started this and has ended{caller.describe()}"
    return (
        f"{what} between tests: this is an offline run{caller.describe()}; "
        "the ini value chatprompt_allowed_hosts names hosts that may be reached"
    )


def caller_at(frame: FrameType | None) -> Caller:
    """Find who is behind an attempt by the innermost frame of a thread; `None` if the thread has ended."""
    stack = () if frame is None else walk_stack(frame)
    return find_caller(((each.f_code.co_filename, line) for each, line in stack), Path.cwd())


def find_caller(stack: Iterable[tuple[str, int]], folder: Path) -> Caller:
    """Find who is behind an attempt by the files and lines of a stack, the innermost call first."""
    library = ""
    for file, line in stack:
        path = Path(file)
        package = _library(path)
        if package in _TEST_RUNNERS:
            break
        if package:
            library = package
        elif not _is_internal(path):
            shown = path.relative_to(folder) if path.is_relative_to(folder) else path
            return Caller(library, f"{shown.as_posix()}:{line}")
    return Caller(library, "")


def _library(path: Path) -> str:
    """The top-level package that a file was installed with; `""` if it was not installed."""
    for folder in _LIBRARY_FOLDERS:
        if folder in path.parts:
            return Path(path.parts[path.parts.index(folder) + 1]).stem
    return ""


def _is_internal(path: Path) -> bool:
    """Whether a file belongs to Python or to this package; frozen modules have names such as `<frozen runpy>`."""
    is_frozen = str(path).startswith("<")
    return is_frozen or path.is_relative_to(_STANDARD_LIBRARY) or path.is_relative_to(_THIS_PACKAGE)
