"""The network guard: while one is active, this process reaches no further than this machine and starts no program.

Python's audit events report every attempt, in every thread; nothing of `socket` or `subprocess` is patched. What is
tried belongs to an `Owner`, the test in whose context the code runs; what has no test in its context, such as a thread
of a pool, belongs to the test that runs. What a test has left behind when it ends is refused from then on.
"""

from __future__ import annotations

import gc
import os
import re
import sys
import sysconfig
import threading
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from traceback import walk_stack
from types import FrameType
from typing import Any, Final, NamedTuple, TypeVar

from pytest_chatprompt.capture.audit_events import WATCHED_EVENTS, Attempt, find_address, read_audit_event
from pytest_chatprompt.capture.clients.grpc_channels import CHANNELS
from pytest_chatprompt.errors import BlockedConnectionError, CaptureError
from pytest_chatprompt.providers.context import holding
from pytest_chatprompt.wording import shown_path

# pytest shows no frame of this module.
__tracebackhide__ = True

# Modules of the standard library that start programs to learn about this machine.
_SYSTEM_QUERIES: Final = ("platform", "ctypes.util", "uuid")
# How long threads may take to end after the test, such as that of a connection which was just closed.
_ENDING_SECONDS: Final = 0.2
Tell = Callable[[str, str], None]
T = TypeVar("T")
# The top-level package that a file was installed with.
_INSTALLED: Final = re.compile(r"[/\\](?:site|dist)-packages[/\\]([^/\\.]+)")
# How the names of other files begin that are no code of yours: frozen modules, and those of Python and of this package.
_INTERNAL: Final = ("<", f"{sysconfig.get_path('stdlib')}{os.sep}", f"{Path(__file__).parents[1]}{os.sep}")
# They run tests: the frames above them have nothing to do with the attempt.
_TEST_RUNNERS: Final = ("_pytest", "pluggy")


class Caller(NamedTuple):
    """The top-level package and the line of your code, `file:line`, that tried something; `""` if there is none."""

    library: str
    place: str

    def describe(self) -> str:
        """What to add to an error: `, tried by redis, called at app/cache.py:12`; `""` if nothing is known."""
        tried = f", tried by {self.library}" if self.library else ""
        return f"{tried}, called at {self.place}" if self.place else tried


@dataclass(eq=False)
class ConnectionAttempts:
    """The connections and programs that code tried to open while a guard was active.

    `callers` has who tried each first of what was `blocked`, `host:port`, or of the programs; `loopback` was allowed.
    An `owner` is told each attempt in place of these lists, where no report of a test would show them.
    """

    allows_programs: bool = False
    allowed_hosts: frozenset[str] = frozenset()
    owner: Owner | None = None
    has_looked_up: bool = field(init=False, default=False)
    blocked: list[str] = field(init=False, default_factory=list)
    programs: list[str] = field(init=False, default_factory=list)
    callers: dict[str, Caller] = field(init=False, default_factory=dict)
    loopback: list[str] = field(init=False, default_factory=list)

    def allows_host(self, attempt: Attempt) -> bool:
        """Whether a host may be reached."""
        if attempt.host in self.allowed_hosts:
            self.has_looked_up = True
            return True
        # A blocked name is never looked up, so that an address comes from an allowed one.
        return self.has_looked_up and attempt.kind == "connection" and find_address(attempt.host) is not None


def _frames() -> Mapping[int, FrameType]:
    """What each thread runs at the moment.

    Without a collection of garbage meanwhile: before Python 3.11.8 and 3.12.2 it would wait for ever
    (https://github.com/python/cpython/issues/106883).
    """
    is_enabled = gc.isenabled()
    gc.disable()
    try:
        return sys._current_frames()
    finally:
        if is_enabled:
            gc.enable()


class Owner:
    """A test that runs, or one that has ended.

    Attributes:
        name: its node id; `""` for what no test has left behind.
        tell: called with the name, and with what was tried by code that the test has left behind: `send POST ...`.
        guard: under which the test ran; `None` if it was free to reach the network.
        earlier_threads: threads that were there before, or serve other tests too.
        left: the identities of the `senders` that go on after the test.
    """

    def __init__(self, name: str, tell: Tell) -> None:
        self.name = name
        self.tell = tell
        self.guard: ConnectionAttempts | None = None
        self.has_ended = False
        self.thread = threading.current_thread()
        self.earlier_threads = set(threading.enumerate())
        self.senders: set[threading.Thread] = set()
        self.left: set[int | None] = set()

    def leave_threads(self) -> list[tuple[str, str]]:
        """Find the threads that have sent a request in the test and go on, each with its line; they are its own now.

        A thread of a pool does not go on: it waits in the code of a library for whoever comes next.
        """
        deadline = monotonic() + _ENDING_SECONDS
        while (places := self._running_places()) and monotonic() <= deadline:
            sleep(_ENDING_SECONDS / 40)
        self.left = {thread.ident for thread in places}
        return [(thread.name, place) for thread, place in places.items()]

    def _running_places(self) -> dict[threading.Thread, str]:
        threads = [thread for thread in self.senders - self.earlier_threads if thread.is_alive()]
        frames = _frames() if threads else {}
        # No thread was started by what runs tests, but pytest may be called in it: it takes what is logged.
        places = {thread: caller_at(frames.get(thread.ident or 0), runners=()).place for thread in threads}
        return {thread: place for thread, place in places.items() if place}


class _Guards:
    """The guards of this process. An audit hook is called without any context, so there can be only one of these."""

    def __init__(self) -> None:
        self.is_hooked = False
        # The innermost last.
        self.active: list[ConnectionAttempts] = []
        # The variables of which programs may be started that have all of them.
        self.allowed_programs: list[Mapping[str, str]] = []
        self.running: Owner | None = None
        # The test to which code belongs wherever its context is taken along.
        self.owner: ContextVar[Owner | None] = ContextVar("chatprompt_owner", default=None)
        # `owner`: the test in which a thread has last sent a request.
        self.thread = threading.local()


_guards: Final = _Guards()


# The hook outlives the names of this module, at the end of the interpreter: its arguments stay.
def _check(event: str, arguments: tuple[Any, ...], watched: Container[str] = WATCHED_EVENTS) -> None:
    """The audit hook: raise an error for an attempt to go beyond this machine."""
    if event not in watched:
        return
    owner = find_late_owner()
    # Another thread may end the last one meanwhile.
    innermost = next(reversed(_guards.active), None)
    attempts = innermost if owner is None or owner.guard is None else owner.guard
    attempt = None if attempts is None else read_audit_event(event, arguments)
    if attempts is None or attempt is None or _is_allowed(attempts, attempt, owner):
        return
    caller = caller_at(sys._getframe(1))
    teller = owner or attempts.owner
    if teller is None:
        attempts.callers.setdefault(attempt.target, caller)
        (attempts.programs if attempt.kind == "program" else attempts.blocked).append(attempt.target)
    else:
        verb = "start" if attempt.kind == "program" else "reach"
        teller.tell(teller.name, f"{verb} {attempt.target}{caller.describe()}")
    raise BlockedConnectionError(_message(attempt, caller, teller))


# Lets debuggers and coverage follow it (https://docs.python.org/3/library/sys.html#sys.addaudithook).
_check.__cantrace__ = True  # type: ignore[attr-defined]


def find_late_owner() -> Owner | None:
    """The test that has ended and to which the calling code belongs; `None` for what belongs to the running test."""
    owner = _guards.owner.get()
    if owner is not None:
        return owner if owner.has_ended else None
    owner = getattr(_guards.thread, "owner", None)
    return owner if owner is not None and threading.get_ident() in owner.left else None


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
    owner, outer = Owner(name, tell), _guards.running
    _guards.running = owner
    try:
        with holding(_guards.owner, owner):
            yield owner
    finally:
        owner.has_ended = True
        _guards.running = outer


def running_owner() -> Owner | None:
    """The test that runs; `None` if none does."""
    return _guards.running


@contextmanager
def run_for_all() -> Iterator[None]:
    """Run code of a fixture that lives longer than a test: the tasks and threads that it starts belong to none."""
    try:
        with holding(_guards.owner, None):
            yield
    finally:
        if _guards.running is not None:
            _guards.running.earlier_threads |= set(threading.enumerate())


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
    owner, thread = _guards.running, threading.current_thread()
    if owner is not None and thread is not owner.thread:
        _guards.thread.owner = owner
        owner.senders.add(thread)


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


def call_offline(function: Callable[[], T]) -> T:
    """Call a function that can reach nothing in an offline run; nobody is told what it tries."""
    nobody, context = Owner("", lambda *_: None), copy_context()
    nobody.guard, nobody.has_ended = ConnectionAttempts(), True
    context.run(_guards.owner.set, nobody)
    return context.run(function)


@contextmanager
def lift(attempts: ConnectionAttempts) -> Iterator[None]:
    """Leave a guard for a while."""
    _guards.active.remove(attempts)
    try:
        yield
    finally:
        _guards.active.append(attempts)


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

    Only `subprocess` tells the variables. What such a program does cannot be seen: pass variables
    that nothing else has, such as the URL of a server that captures what the program sends.
    """
    allowance = dict(variables)
    _guards.allowed_programs.append(allowance)
    try:
        yield
    finally:
        _guards.allowed_programs.remove(allowance)


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


def caller_at(frame: FrameType | None, runners: Container[str] = _TEST_RUNNERS) -> Caller:
    """Find who is behind an attempt by the innermost frame of a thread; `None` if the thread has ended."""
    stack = () if frame is None else walk_stack(frame)
    return find_caller(((each.f_code.co_filename, line) for each, line in stack), Path.cwd(), runners)


def find_caller(stack: Iterable[tuple[str, int]], folder: Path, runners: Container[str] = _TEST_RUNNERS) -> Caller:
    """Find who is behind an attempt by the files and lines of a stack, the innermost call first; `runners` end it."""
    library = ""
    for file, line in stack:
        if (installed := _INSTALLED.search(file)) is not None:
            if installed[1] in runners:
                break
            library = installed[1]
        elif not file.startswith(_INTERNAL):
            return Caller(library, f"{shown_path(Path(file), folder)}:{line}")
    return Caller(library, "")
