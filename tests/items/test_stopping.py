"""Stopping a live run: after `-x`, Ctrl-C or a failure in another worker nothing more is sent."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.items.conftest import MakeLiveProject
from tests.server import Reply, Server


def test_under_x_nothing_more_is_sent_after_the_first_failure(live_project: MakeLiveProject, server: Server) -> None:
    failing = """
def pytest_chatprompt_response(case):
    assert case.id != "c1"
"""
    server.reply = Reply(delay_seconds=0.1)
    result = live_project(20, conftest=failing)("--chatprompt-live", "-x", "--chatprompt-concurrency", "3")
    result.assert_outcomes(passed=1, failed=1)
    # Requests that were sent before the stop may still arrive.
    time.sleep(0.2)
    count = len(server.requests)
    assert count <= 6
    time.sleep(0.3)
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

    def script(_: int, body: Any) -> Reply:
        name = body["messages"][-1]["content"]
        if name == "c1":
            return Reply({"choices": [{"message": {"content": ""}}]}, delay_seconds=0.5)
        return Reply(delay_seconds=0 if name == "c0" else 60)

    server.script = script
    run = live_project(8, conftest=conftest)
    started = time.monotonic()
    result = run("--chatprompt-live", "-x", "-n", "2")
    assert time.monotonic() - started < 40
    assert result.ret != 0
    assert not list(tmp_path.glob("chatprompt-stop-*"))


def test_ctrl_c_cancels_requests_to_an_api_that_does_not_reply(live_project: MakeLiveProject, server: Server) -> None:
    server.stall = threading.Event()
    run = live_project(6)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "--chatprompt-live",
        "--chatprompt-concurrency=3",
    ]
    with subprocess.Popen(
        command, cwd=run.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            deadline = time.monotonic() + 60
            while len(server.requests) < 3:
                assert time.monotonic() < deadline
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            started = time.monotonic()
            output, _ = process.communicate(timeout=50)
        finally:
            process.kill()
    assert time.monotonic() - started < 40
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    assert "KeyboardInterrupt" in output
    server.stall.set()
    assert len(server.requests) == 3


def test_a_request_after_the_run_was_stopped_is_an_error(live_project: MakeLiveProject, server: Server) -> None:
    stopping = """
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item):
    live = item.config.pluginmanager.get_plugin("chatprompt-live")
    if live is not None and item.name == "c1":
        live.cancel()
"""
    run = live_project(3, conftest=stopping)
    marks = "def pytest_collection_modifyitems(items):\n    [item.add_marker(pytest.mark.skipif(False, reason='')) for item in items]\n"
    run.append("conftest.py", marks)
    result = run("--chatprompt-live")
    result.assert_outcomes(passed=1, errors=2)
    result.stdout.fnmatch_lines(["a.eval.yaml:5:5: case 'c1': the run was stopped"])
    assert server.last_contents == ["c0"]


def test_no_thread_is_left_after_a_live_run(live_project: MakeLiveProject) -> None:
    live_project(4)("--chatprompt-live").assert_outcomes(passed=4)
    deadline = time.monotonic() + 5
    while any(thread.name.startswith("chatprompt-") for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
