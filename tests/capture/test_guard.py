"""The network guard: what it sees, whoever calls, what it leaves alone, and whom it names."""

from __future__ import annotations

import contextvars
import gc
import inspect
import json.decoder
import os
import profile
import re
import socket
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable
from pathlib import Path
from socket import create_connection as early_bound_create_connection, getaddrinfo as early_bound_getaddrinfo
from types import FrameType
from typing import Any

import httpx
import pytest

import pytest_chatprompt
from pytest_chatprompt.capture.guard import (
    Caller,
    Owner,
    allow_programs,
    caller_at,
    find_caller,
    guard_network,
    run_as,
)
from pytest_chatprompt.errors import BlockedConnectionError

early_bound_connect = socket.socket.connect


def connect_early_bound() -> None:
    with socket.socket() as client:
        early_bound_connect(client, ("192.0.2.1", 80))


def nobody(*_: str) -> None:
    """Is told of nothing."""
    raise AssertionError


def check_message(expected: str, message: str) -> None:
    """Check an error, which ends with a line of this file: it called what was blocked, without a library."""
    assert re.fullmatch(rf"{re.escape(expected)}, called at \S*test_guard\.py:\d+", message)


@pytest.mark.parametrize(
    ("attempt", "address"),
    [
        pytest.param(connect_early_bound, "192.0.2.1:80", id="a method that was kept before the guard"),
        pytest.param(
            lambda: early_bound_create_connection(("api.example", 443), 1),
            "api.example:443",
            id="a function that was kept before the guard",
        ),
        pytest.param(lambda: early_bound_getaddrinfo("api.example", 443), "api.example:443", id="a lookup kept before"),
        pytest.param(lambda: socket.gethostbyaddr("192.0.2.1"), "192.0.2.1", id="gethostbyaddr"),
        pytest.param(lambda: socket.getnameinfo(("192.0.2.1", 80), 0), "192.0.2.1:80", id="getnameinfo"),
    ],
)
def test_the_network_is_blocked_whoever_calls(attempt: Callable[[], object], address: str) -> None:
    with guard_network() as attempts, pytest.raises(BlockedConnectionError) as caught:
        attempt()
    check_message(f"no connection to {address}: this is an offline run", str(caught.value))
    assert attempts.blocked == [address]


@pytest.mark.parametrize(
    ("start", "message", "program"),
    [
        pytest.param(
            lambda: subprocess.run([sys.executable, "-c", ""], check=False),
            f"the program {sys.executable} is not started",
            sys.executable,
            id="subprocess",
        ),
        pytest.param(
            lambda: subprocess.run("true", shell=True, check=False),
            "the program /bin/sh is not started",
            "/bin/sh",
            id="a shell",
        ),
        pytest.param(lambda: os.system("true"), "the program true is not started", "true", id="os.system"),
        pytest.param(lambda: os.popen("true"), "the program /bin/sh is not started", "/bin/sh", id="os.popen"),
    ],
)
def test_no_program_is_started(start: Callable[[], object], message: str, program: str) -> None:
    with guard_network() as attempts, pytest.raises(BlockedConnectionError) as caught:
        start()
    check_message(f"{message}: this is an offline run", str(caught.value))
    assert list(attempts.callers) == [program]
    assert attempts.programs == [program]


def test_a_fork_is_this_program_and_is_guarded_too() -> None:
    with guard_network():
        pid = os.fork()
        if pid == 0:
            try:
                socket.getaddrinfo("api.example", 443)
            except BlockedConnectionError:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7


def test_files_are_left_alone() -> None:
    with guard_network() as attempts:
        assert Path(os.devnull).read_text(encoding="utf-8") == ""
    assert (attempts.blocked, attempts.programs, attempts.loopback) == ([], [], [])


def test_the_error_names_the_library_and_the_line_that_called_it() -> None:
    with guard_network() as attempts, pytest.raises(httpx.ConnectError) as caught:
        httpx.get("https://api.example/")
    line = inspect.currentframe().f_lineno - 1  # type: ignore[union-attr]
    place = f"{Path(__file__).relative_to(Path.cwd()).as_posix()}:{line}"
    message = f"no connection to api.example:443: this is an offline run, tried by httpx, called at {place}"
    assert str(caught.value) == message
    assert attempts.callers == {"api.example:443": Caller("httpx", place)}


def test_nothing_is_patched() -> None:
    before = (dict(vars(socket)), dict(vars(socket.socket)), dict(vars(subprocess)))
    with guard_network():
        assert (dict(vars(socket)), dict(vars(socket.socket)), dict(vars(subprocess))) == before


AT_EXIT = """
import sys
from types import ModuleType

last = sys.modules["last"] = ModuleType("last")
from pytest_chatprompt.capture import guard

class Late:
    def __del__(self, audit=sys.audit):
        audit("open", "a", None, 0)

with guard.guard_network():
    pass
# The interpreter sets the names in modules that somebody still has to None, those imported last first.
last.late = Late()
sys.kept = guard, last
"""


def test_at_the_end_of_the_interpreter_nothing_is_said_of_the_audit_hook() -> None:
    process = subprocess.run([sys.executable, "-c", AT_EXIT], capture_output=True, text=True, check=True)
    assert process.stderr == ""


def test_a_profiler_sees_nothing_of_the_guard() -> None:
    with guard_network():
        profiler = profile.Profile()
        assert profiler.runcall(len, "abc") == 3


def test_the_inner_guard_gets_the_attempts() -> None:
    with guard_network() as outer, guard_network() as inner, pytest.raises(BlockedConnectionError):
        socket.gethostbyname("api.example")
    assert (outer.blocked, inner.blocked) == ([], ["api.example"])


def test_after_the_guard_everything_works_again() -> None:
    with guard_network():
        pass
    assert subprocess.run([sys.executable, "-c", ""], check=False).returncode == 0
    with socket.socket() as client, pytest.raises(ConnectionRefusedError):
        client.connect(("127.0.0.1", 1))


def test_what_a_test_has_left_behind_is_blocked_and_told_by_it() -> None:
    told: list[tuple[str, str]] = []
    with guard_network() as guard, run_as("a.eval.yaml::first", lambda *attempt: told.append(attempt)) as owner:
        owner.guard = guard
        context = contextvars.copy_context()
    with guard_network() as second, pytest.raises(BlockedConnectionError) as caught:
        context.run(socket.getaddrinfo, "api.example", 443)
    check_message(
        "no connection to api.example:443: a.eval.yaml::first has started this and has ended", str(caught.value)
    )
    assert (guard.blocked, second.blocked) == ([], [])
    assert [name for name, _ in told] == ["a.eval.yaml::first"]
    # Without any guard too, but on this machine.
    context.run(socket.getaddrinfo, "127.0.0.1", 443)
    with pytest.raises(BlockedConnectionError):
        context.run(subprocess.run, "true")
    with allow_programs(SERVER), pytest.raises(BlockedConnectionError):
        context.run(lambda: subprocess.run("true", env=SERVER, check=False))


def test_a_test_that_was_free_leaves_nothing_behind_that_is_blocked() -> None:
    with guard_network():
        pass
    with run_as("test_it.py::test_it", nobody):
        context = contextvars.copy_context()
    context.run(connect_without_waiting, "192.0.2.1")


def test_what_was_there_before_is_free_afterwards() -> None:
    go_on, may_reach = threading.Event(), []

    def reach() -> None:
        go_on.wait(30)
        connect_without_waiting("192.0.2.1")
        may_reach.append(True)

    thread = threading.Thread(target=reach)
    thread.start()
    with guard_network(), run_as("a.eval.yaml::first", nobody):
        pass
    go_on.set()
    thread.join()
    assert may_reach == [True]


SERVER = {"OPENAI_BASE_URL": "http://127.0.0.1:5000/openai/v1", "OLLAMA_HOST": "http://127.0.0.1:5000/ollama"}


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(
            lambda env: subprocess.run([sys.executable, "-c", ""], env=env, check=True), id="subprocess with variables"
        ),
        pytest.param(
            lambda env: subprocess.run(
                [sys.executable, "-c", ""], env={os.fsencode(name): os.fsencode(env[name]) for name in env}, check=True
            ),
            id="variables in bytes",
        ),
        pytest.param(lambda env: subprocess.run("true", shell=True, env=env, check=True), id="a shell"),
    ],
)
def test_a_program_with_the_variables_of_an_allowance_is_started(start: Callable[[dict[str, str]], object]) -> None:
    with allow_programs(SERVER), guard_network() as outer, guard_network() as inner:
        start({"PATH": os.environ["PATH"], **SERVER})
    assert (outer.programs, inner.programs) == ([], [])


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(lambda: subprocess.run([sys.executable, "-c", ""], check=True), id="subprocess"),
        pytest.param(lambda: os.popen("true").close(), id="os.popen"),
    ],
)
def test_a_program_inherits_the_variables_of_an_allowance(
    start: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SERVER.items():
        monkeypatch.setenv(name, value)
    with allow_programs(SERVER), guard_network() as attempts:
        start()
    assert attempts.programs == []


@pytest.mark.parametrize(
    ("start", "program"),
    [
        pytest.param(
            lambda: subprocess.run("true", env={**SERVER, "OLLAMA_HOST": "http://127.0.0.1:5001/ollama"}, check=False),
            "true",
            id="another value",
        ),
        pytest.param(
            lambda: subprocess.run("true", env={"OLLAMA_HOST": SERVER["OLLAMA_HOST"]}, check=False),
            "true",
            id="not all of them",
        ),
        pytest.param(lambda: os.system("true"), "true", id="os.system, whose event tells no variables"),
    ],
)
def test_every_other_program_stays_blocked(
    start: Callable[[], object], program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SERVER.items():
        monkeypatch.setenv(name, value)
    with allow_programs(SERVER), guard_network() as attempts, pytest.raises(BlockedConnectionError):
        start()
    assert attempts.programs == [program]


def test_an_allowance_ends_with_its_block_whatever_others_there_are() -> None:
    with guard_network() as attempts:
        first, second = allow_programs(SERVER), allow_programs(dict(SERVER))
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        subprocess.run([sys.executable, "-c", ""], env=SERVER, check=True)
        second.__exit__(None, None, None)
        with pytest.raises(BlockedConnectionError):
            subprocess.run([sys.executable, "-c", ""], env=SERVER, check=False)
    assert attempts.programs == [sys.executable]


def test_an_allowed_name_is_looked_up_and_its_addresses_are_reached() -> None:
    with guard_network(allowed_hosts=["files.invalid"]) as attempts:
        with pytest.raises(BlockedConnectionError):
            connect_without_waiting("192.0.2.1")
        with pytest.raises(socket.gaierror):
            socket.getaddrinfo("files.invalid", 80)
        connect_without_waiting("192.0.2.1")
        with pytest.raises(BlockedConnectionError):
            socket.getaddrinfo("elsewhere.invalid", 80)
    assert [address.partition(":")[0] for address in attempts.blocked] == ["192.0.2.1", "elsewhere.invalid"]


def connect_without_waiting(address: str) -> None:
    with socket.socket() as connection:
        connection.setblocking(False)
        # Nothing waits for the answer; without a network the system refuses at once.
        connection.connect_ex((address, 80))


def test_programs_may_be_allowed() -> None:
    with guard_network(allows_programs=True) as attempts:
        assert subprocess.run(["true"], check=True).returncode == 0
    assert attempts.programs == []


def test_the_standard_library_may_ask_about_this_machine() -> None:
    code = (
        "import subprocess\ndef ask():\n    return subprocess.run(['uname'], capture_output=True, check=True).stdout\n"
    )
    as_platform: dict[str, Any] = {"__name__": "platform"}
    exec(code, as_platform)
    as_another: dict[str, Any] = {"__name__": "application"}
    exec(code, as_another)
    with guard_network() as attempts:
        assert as_platform["ask"]()
        with pytest.raises(BlockedConnectionError):
            as_another["ask"]()
    assert attempts.programs == ["uname"]


# --- who is named

FOLDER = Path("/project")
SITE = f"{sysconfig.get_path('purelib')}"
PYTHON = json.decoder.__file__
OURS = str(Path(pytest_chatprompt.__file__).parent / "capture" / "provider_capture.py")


@pytest.mark.parametrize(
    ("files", "caller"),
    [
        pytest.param([PYTHON, "/project/app/cache.py"], Caller("", "app/cache.py:2"), id="your code itself"),
        pytest.param(
            [
                PYTHON,
                f"{SITE}/redis/connection.py",
                f"{SITE}/redis/client.py",
                "/project/app/cache.py",
                "/project/t.py",
            ],
            Caller("redis", "app/cache.py:4"),
            id="a library",
        ),
        pytest.param(
            [f"{SITE}/httpcore/a.py", PYTHON, f"{SITE}/httpx/b.py", f"{SITE}/openai/c.py", "/elsewhere/lib.py"],
            Caller("openai", "/elsewhere/lib.py:5"),
            id="the library that your code called, not those below it",
        ),
        pytest.param(
            ["/usr/lib/python3/dist-packages/six.py", "/project/a.py"],
            Caller("six", "a.py:2"),
            id="a module in one file",
        ),
        pytest.param(
            [f"{SITE}/redis/client.py", "<frozen runpy>", PYTHON], Caller("redis", ""), id="a thread of a library"
        ),
        pytest.param([OURS, PYTHON], Caller("", ""), id="nobody"),
        pytest.param(
            [f"{SITE}/httpx/a.py", OURS, f"{SITE}/pluggy/_callers.py", f"{SITE}/pytest/__main__.py", "/project/run.py"],
            Caller("httpx", ""),
            id="what runs the tests is not the caller",
        ),
        pytest.param([OURS, "/project/a.py", f"{SITE}/b.py"], Caller("", "a.py:2"), id="this package is skipped"),
    ],
)
def test_the_caller(files: list[str], caller: Caller) -> None:
    stack = [(file, line) for line, file in enumerate(files, start=1)]
    assert find_caller(stack, FOLDER) == caller


@pytest.mark.parametrize(
    ("caller", "text"),
    [
        (Caller("redis", "app.py:2"), ", tried by redis, called at app.py:2"),
        (Caller("redis", ""), ", tried by redis"),
        (Caller("", "app.py:2"), ", called at app.py:2"),
        (Caller("", ""), ""),
    ],
)
def test_its_description(caller: Caller, text: str) -> None:
    assert caller.describe() == text


def test_a_thread_that_has_ended_has_no_caller() -> None:
    assert caller_at(None) == Caller("", "")


@pytest.mark.parametrize("collects", [True, False])
def test_what_threads_do_is_looked_up_while_no_garbage_is_collected(
    collects: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Before Python 3.11.8 and 3.12.2 `sys._current_frames` may wait for ever if garbage is collected in it.
    current_frames, collects_meanwhile = sys._current_frames, list[bool]()

    def look_up() -> dict[int, FrameType]:
        collects_meanwhile.append(gc.isenabled())
        return current_frames()

    monkeypatch.setattr(sys, "_current_frames", look_up)
    has_ended = threading.Event()
    sender = threading.Thread(target=has_ended.wait)
    owner = Owner("test_it.py::test_it", nobody)
    owner.senders = {sender}
    sender.start()
    was_enabled = gc.isenabled()
    try:
        (gc.enable if collects else gc.disable)()
        assert owner.leave_threads() == []
        assert gc.isenabled() is collects
    finally:
        (gc.enable if was_enabled else gc.disable)()
        has_ended.set()
        sender.join()
    assert collects_meanwhile == [False]
