"""Stopping a live run: after `-x`, Ctrl-C, a timeout or a failure in another worker nothing more is sent."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_chatprompt.runs.live_workers import LiveWorkers, StopWatcher
from tests.forked_pytest import PytestProcess
from tests.raw_server import RawServer, chat_body, http_reply, read_request
from tests.runs.conftest import LIVE_CONFTEST, MakeLiveProject, Run, case_ids, eval_file
from tests.server import Reply, Server


@contextmanager
def pytest_process(run: Run, *arguments: str) -> Iterator[PytestProcess]:
    """Run pytest in a process of its own; it is killed if it still runs at the end of the block."""
    process = run.start("--chatprompt-live", *arguments)
    try:
        yield process
    finally:
        process.kill()
        process.wait(60)


def wait_until(condition: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_under_x_nothing_more_is_sent_after_the_first_failure(live_project: MakeLiveProject, server: Server) -> None:
    failing = """
def pytest_chatprompt_response(case):
    assert case.id != "c1"
"""
    server.reply = Reply(delay_seconds=0.05)
    result = live_project(20, conftest=failing)("--chatprompt-live", "-x", "--chatprompt-concurrency", "3")
    result.assert_outcomes(passed=1, failed=1)
    # Requests that were sent before the stop may still arrive.
    time.sleep(0.1)
    count = len(server.requests)
    assert count <= 6
    time.sleep(0.1)
    assert len(server.requests) == count


@pytest.mark.parametrize("scope", ["session", "function"])
def test_a_failure_in_one_worker_cancels_the_requests_of_the_other(
    live_project: MakeLiveProject, server: Server, scope: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Other runs of this machine leave their own files in the temporary folder while they last.
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    conftest = f"""
@pytest.fixture(scope="{scope}")
def openai_provider():
    provider = OpenAIProvider(base_url="{server.url}", api_key="k", model="gpt-5.5")
    yield provider
    provider.close()
"""

    other_worker_waits, end = threading.Event(), threading.Event()

    def script(_: int, body: Any) -> Reply:
        name = body["messages"][-1]["content"]
        if name == "c1":
            other_worker_waits.wait(60)
            return Reply({"choices": [{"message": {"content": ""}}]})
        if name != "c0":
            other_worker_waits.set()
            end.wait(100)
        return Reply()

    server.script = script
    run = live_project(8, conftest=conftest)
    result = run("--chatprompt-live", "-x", "-n", "2")
    assert result.ret != 0
    # The run did not wait for the reply.
    assert server.in_flight > 0
    end.set()
    result.stdout.no_fnmatch_line("*did not complete*")
    assert not list(tmp_path.glob("chatprompt-stop-*"))


def test_ctrl_c_starts_none_of_the_requests_that_wait(
    live_project: MakeLiveProject, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = live_project(6)
    server.stall = threading.Event()

    def interrupted(*_: object) -> None:
        wait_until(lambda: len(server.requests) >= 3)
        raise KeyboardInterrupt

    monkeypatch.setattr("pytest_chatprompt.live.pool.RequestPool.wait_until", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run("--chatprompt-live", "--chatprompt-concurrency=3")
    server.stall.set()
    assert len(server.requests) == 3


def test_ctrl_c_cancels_requests_to_an_api_that_does_not_reply(live_project: MakeLiveProject, server: Server) -> None:
    run = live_project(6)
    server.stall = threading.Event()
    with pytest_process(run, "--chatprompt-concurrency=3") as process:
        wait_until(lambda: len(server.requests) >= 3)
        process.send_signal(signal.SIGINT)
        # The server never replies.
        assert process.wait(50) == pytest.ExitCode.INTERRUPTED
    assert "KeyboardInterrupt" in run.output()
    server.stall.set()
    assert len(server.requests) == 3


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.measures_processes
def test_a_sigint_to_the_controller_alone_ends_the_requests_of_its_workers(
    live_project: MakeLiveProject, server: Server
) -> None:
    log = """
import os, pathlib

def pytest_configure(config):
    if hasattr(config, "workerinput"):
        pathlib.Path(f"pid-{os.getpid()}").touch()

def pytest_sessionfinish(session):
    if hasattr(session.config, "workerinput"):
        pathlib.Path(f"stopped-{os.getpid()}").write_text(str(session.shouldstop))
"""
    run = live_project(16, conftest=log)
    server.stall = threading.Event()
    with pytest_process(run, "-n", "2") as process:
        wait_until(lambda: len(server.requests) >= 8)
        process.send_signal(signal.SIGINT)
        assert process.wait(50) == pytest.ExitCode.INTERRUPTED
    pids = [int(path.name.partition("-")[2]) for path in run.path.glob("pid-*")]
    assert len(pids) == 2
    wait_until(lambda: not any(map(is_alive, pids)))
    # Each has ended by itself. pytest-xdist kills those that do not.
    stopped = [path.read_text() for path in run.path.glob("stopped-*")]
    assert len(stopped) == 2
    assert all("the run was stopped" in text for text in stopped)
    assert len(server.requests) == 8
    server.stall.set()


def test_a_stop_watcher_calls_once_and_ends(tmp_path: Path) -> None:
    calls: list[str] = []
    config: Any = SimpleNamespace(workerinput={"testrunuid": tmp_path.parent.name + tmp_path.name})
    watcher = StopWatcher(config, lambda: calls.append("stop"))
    closed = StopWatcher(config, lambda: calls.append("closed"))
    closed.close()
    signal_of_controller = LiveWorkers(config.workerinput["testrunuid"])
    signal_of_controller.pytest_sessionfinish()
    wait_until(lambda: calls)
    watcher.close()
    signal_of_controller.pytest_unconfigure()
    wait_until(lambda: not any(thread.name == "chatprompt-stop" for thread in threading.enumerate()))
    assert calls == ["stop"]


# --- what the run breaks off


def test_what_the_run_breaks_off_is_no_fault_of_the_api(live_project: MakeLiveProject, server: Server) -> None:
    stopping = """
import threading

def pytest_runtest_call(item):
    live = item.config.pluginmanager.get_plugin("chatprompt-live")
    if live is not None and item.name == "c1":
        threading.Timer(0.1, live.cancel).start()
"""
    server.script = lambda _, body: Reply(delay_seconds=0 if body["messages"][-1]["content"] == "c0" else 20)
    result = live_project(3, conftest=stopping, settings="")("--chatprompt-live", "--junitxml=out.xml")
    result.assert_outcomes(passed=1, errors=2)
    result.stdout.fnmatch_lines(["a.eval.yaml:5:5: case 'c1': the run was stopped", "openai        1 *"])
    result.stdout.no_fnmatch_line("*did not complete*")
    result.stdout.no_fnmatch_line("*Given up*")
    assert (Path("out.xml").read_text().count("chatprompt_provider")) == 1


# --- answers that were paid for


def recordings(run: Run) -> list[str]:
    return [path.rpartition("/")[2] for path in run.snapshots() if path.endswith(".recording.yaml")]


# The server cannot know when the client has read what it has written.
TOUCH_WHEN_FOUR_ARE_ANSWERED = """
import pathlib, threading, time

def watch(pool):
    while pool.finished < 4:
        time.sleep(0.01)
    pathlib.Path("answered").touch()

def pytest_collection_finish(session):
    live = session.config.pluginmanager.get_plugin("chatprompt-live")
    if live is not None:
        threading.Thread(target=watch, args=(live.pool,), daemon=True).start()
"""


def test_ctrl_c_records_the_answers_that_have_arrived(live_project: MakeLiveProject, server: Server) -> None:
    empty = {"choices": [{"message": {"content": ""}}]}
    replies = {"c0": Reply(delay_seconds=60), "c3": Reply(empty), "c4": Reply({}, 400)}
    server.script = lambda _, body: replies.get(body["messages"][-1]["content"], Reply())
    run = live_project(5, conftest=TOUCH_WHEN_FOUR_ARE_ANSWERED)
    with pytest_process(run, "--chatprompt-record") as process:
        wait_until((run.path / "answered").exists)
        process.send_signal(signal.SIGINT)
        assert process.wait(50) == pytest.ExitCode.INTERRUPTED
    assert recordings(run) == ["c1[openai].recording.yaml", "c2[openai].recording.yaml"]
    assert "Recorded 2 more answers, for cases that did not run." in run.output()
    assert "Not counted: 5 requests, for cases that did not run." in run.output()
    run("--chatprompt-replay").assert_outcomes(passed=2, errors=3)


FAIL_WHEN_TWO_ARE_ANSWERED = """
import time

def pytest_chatprompt_response():
    deadline = time.monotonic() + 60
    while live.pool.finished < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    pytest.fail("the first case fails")

def pytest_collection_finish(session):
    global live
    live = session.config.pluginmanager.get_plugin("chatprompt-live")
"""


def test_any_early_end_records_the_answers_that_have_arrived(live_project: MakeLiveProject) -> None:
    run = live_project(2, conftest=FAIL_WHEN_TWO_ARE_ANSWERED)
    result = run("--chatprompt-live", "--chatprompt-record", "-x")
    result.assert_outcomes(failed=1)
    assert recordings(run) == ["c0[openai].recording.yaml", "c1[openai].recording.yaml"]
    result.stdout.fnmatch_lines(["Recorded 1 more answer, for a case that did not run."])


def test_without_record_nothing_is_written_at_an_early_end(live_project: MakeLiveProject) -> None:
    run = live_project(2, conftest=FAIL_WHEN_TWO_ARE_ANSWERED)
    result = run("--chatprompt-live", "-x")
    result.assert_outcomes(failed=1)
    assert recordings(run) == []
    result.stdout.no_fnmatch_line("*recorded*")
    result.stdout.fnmatch_lines(["openai        1 *", "Not counted: 1 request, for a case that did not run."])


def test_what_was_replayed_at_an_early_end_was_not_sent(live_project: MakeLiveProject) -> None:
    run = live_project(2)
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=2)
    run.write({"conftest.py": (run.path / "conftest.py").read_text() + FAIL_WHEN_TWO_ARE_ANSWERED})
    result = run("--chatprompt-live", "--chatprompt-replay", "-x")
    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("Not counted: *")


# --- pytest-timeout


TIMEOUT = """
def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.timeout(1 if item.name == "c1" else 60))
"""


@pytest.fixture
def hanging_project(run: Run, raw_server: RawServer, use_plugin: Callable[[str], None]) -> tuple[Run, threading.Event]:
    """A project whose API does not answer the case `c1`, which has a timeout, and the event that its connection was closed."""
    use_plugin("timeout")
    closed = threading.Event()

    def talk(connection: socket.socket, _: int) -> None:
        while request := read_request(connection):
            if b'"c1"' in request:
                while connection.recv(65536):
                    pass
                closed.set()
                return
            connection.sendall(http_reply(chat_body("a real answer")))

    raw_server.talk = talk
    run.write(
        {
            "a.eval.yaml": eval_file(case_ids(3)),
            "conftest.py": LIVE_CONFTEST.format(url=raw_server.url, settings="max_retries=0") + TIMEOUT,
            "test_b.py": "def test_ordinary():\n    pass\n",
        }
    )
    return run, closed


OWN_PROVIDER = """
@pytest.fixture(scope="session")
def openai_provider():
    import httpx

    class Gateway:
        def send(self, request):
            body = {{"messages": [{{"content": request.question}}]}}
            reply = httpx.post("{url}/chat/completions", json=body, timeout=60)
            return ProviderResponse(text=reply.json()["choices"][0]["message"]["content"])

    return Gateway()
"""


@pytest.mark.parametrize("conftest", ["", OWN_PROVIDER], ids=["a built-in provider", "a provider of your own"])
def test_a_timeout_of_a_test_ends_its_request(
    hanging_project: tuple[Run, threading.Event], raw_server: RawServer, conftest: str
) -> None:
    run, closed = hanging_project
    run.append("conftest.py", conftest.format(url=raw_server.url))
    result = run.with_snapshots()("--chatprompt-live", "--timeout-method=signal")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["FAILED a.eval.yaml::c1 - Failed: Timeout (>1.0s)*"])
    assert closed.wait(40)


def test_a_timeout_that_ends_the_process_ends_the_request(hanging_project: tuple[Run, threading.Event]) -> None:
    run, closed = hanging_project
    with pytest_process(run.with_snapshots(), "--timeout-method=thread") as process:
        assert process.wait(50) == 1
        assert closed.wait(40)


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        pytest.param(["--timeout=60"], {}, id="the option"),
        pytest.param(["-o", "timeout=60"], {}, id="the ini"),
        pytest.param(
            [],
            {
                "conftest.py": "def pytest_collection_modifyitems(items):\n    for item in items:\n        item.add_marker(pytest.mark.timeout(60))\n"
            },
            id="the mark",
        ),
    ],
)
def test_a_provider_of_your_own_is_not_sent_ahead_if_tests_have_a_timeout(
    live_project: MakeLiveProject,
    server: Server,
    arguments: list[str],
    files: dict[str, str],
    use_plugin: Callable[[str], None],
) -> None:
    use_plugin("timeout")
    run = live_project(3, conftest=OWN_PROVIDER.format(url=server.url) + files.get("conftest.py", ""))
    result = run("--chatprompt-live", *arguments)
    result.assert_outcomes(passed=3)
    assert server.max_in_flight == 1
    result.stdout.fnmatch_lines(
        ["3 cases were sent one by one: pytest-timeout could not end the requests of a provider of your own"]
    )


# --- after the end


def test_a_request_after_the_run_was_stopped_is_an_error(live_project: MakeLiveProject, server: Server) -> None:
    stopping = """
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item):
    live = item.config.pluginmanager.get_plugin("chatprompt-live")
    if live is not None and item.name == "c1":
        live.cancel()
"""
    run = live_project(3, conftest=stopping)
    marks = "def pytest_collection_modifyitems(items):\n    [item.add_marker(pytest.mark.xfail(False, reason='')) for item in items]\n"
    run.append("conftest.py", marks)
    result = run("--chatprompt-live")
    result.assert_outcomes(passed=1, errors=2)
    result.stdout.fnmatch_lines(["a.eval.yaml:5:5: case 'c1': the run was stopped"])
    assert server.last_contents == ["c0"]


def test_no_thread_is_left_after_a_live_run(live_project: MakeLiveProject) -> None:
    live_project(4)("--chatprompt-live").assert_outcomes(passed=4)
    wait_until(lambda: not any(thread.name.startswith("chatprompt-") for thread in threading.enumerate()))
