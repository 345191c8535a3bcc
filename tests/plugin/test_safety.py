"""Nothing leaves, nothing leaks, nothing is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.server import Server

from .conftest import HELLO, Run

KEY = "sk-0123456789"


def test_a_fixture_of_a_case_reaches_nothing_beyond_this_machine(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": HELLO,
            "conftest.py": """
import socket
import pytest

@pytest.fixture
def eval_request(eval_request):
    socket.create_connection(("api.example", 443))
    return eval_request
""",
        }
    )
    result = run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*no connection to api.example:443: this is an offline run"])


def test_an_attempt_of_which_nobody_took_notice_fails_the_case(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": HELLO + "  - id: other\n    input_messages: [{role: user, content: x}]\n",
            "conftest.py": """
import contextlib, socket
import pytest

@pytest.fixture
def eval_request(eval_case, eval_request):
    if eval_case.id == "hello":
        with contextlib.suppress(OSError):
            socket.create_connection(("api.example", 443))
    return eval_request
""",
        }
    )
    result = run("--snapshot-update")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["a.eval.yaml:3:5: case 'hello': something reached for api.example:443, and this is an offline run"]
    )


def test_ordinary_tests_are_not_kept_offline(run: Run, server: Server) -> None:
    server.answers({})
    run.write(
        {
            "a.eval.yaml": HELLO,
            "test_b.py": """
import socket

def test_it():
    assert "connect" not in vars(socket.socket)
""",
        }
    )
    run.update().assert_outcomes(passed=2)


@pytest.mark.parametrize("arguments", [[], ["--snapshot-update"]], ids=["compared", "updated"])
def test_a_secret_of_the_environment_in_a_prompt_is_never_written(
    run: Run, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setenv("INTERNAL_TOKEN", KEY)
    run.write({"a.eval.yaml": HELLO.replace("content: hello", f"content: My key is {KEY}.")})
    result = run(*arguments)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "a.eval.yaml:3:5: case 'hello': what is sent to azure holds the value of the environment variable INTERNAL_TOKEN,"
            " under question; take it out: a snapshot is committed for all to read"
        ]
    )
    assert run.snapshots() == []
    assert KEY not in result.stdout.str()


def test_a_credential_of_a_header_in_a_body_is_never_written(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": "provider: openai" + HELLO,
            "conftest.py": f"""
import pytest
from pytest_chatprompt import OpenAIProvider

@pytest.fixture
def openai_provider():
    return OpenAIProvider(api_key="{KEY}", extra_body={{"user": "{KEY}"}})
""",
        }
    )
    result = run("--snapshot-update")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*holds the value of the header authorization, under request.user; *"])
    assert run.snapshots() == []


LEAKY = """
import pytest
from pytest_chatprompt import OpenAIProvider

class Leaky(OpenAIProvider):
    def send(self, request):
        key = "{key}"
        print("the key is", key)
        super().send(request)
        raise RuntimeError(f"{{key}} is refused")

@pytest.fixture
def openai_provider():
    return Leaky(base_url="{url}", api_key="{key}")
"""


@pytest.mark.parametrize("arguments", [[], ["--chatprompt-live"]], ids=["offline", "live"])
def test_no_report_shows_a_key(run: Run, server: Server, arguments: list[str]) -> None:
    server.answers({"choices": [{"message": {"content": f"your key {KEY}"}}]})
    run.write({"a.eval.yaml": "provider: openai" + HELLO, "conftest.py": LEAKY.format(key=KEY, url=server.url)})
    result = run(*arguments, "-l", "-vv", "--junitxml=out.xml", "-o", "junit_logging=all")
    result.assert_outcomes(failed=1)
    assert "[secret] is refused" in result.stdout.str()
    assert "the key is [secret]" in result.stdout.str()
    assert KEY not in result.stdout.str()
    assert KEY not in (run.path / "out.xml").read_text()


def test_a_full_trace_shows_no_key(run: Run, server: Server) -> None:
    server.answers({"error": {"message": f"bad key {KEY}"}}, status=401)
    conftest = LEAKY.format(key=KEY, url=server.url).replace("return Leaky(", "return OpenAIProvider(")
    run.write({"a.eval.yaml": "provider: openai" + HELLO, "conftest.py": conftest})
    run.update()
    result = run("--chatprompt-live", "--full-trace", "-l", "-vv")
    result.assert_outcomes(errors=1)
    assert "chat.py" in result.stdout.str()
    assert KEY not in result.stdout.str()


def whole(path: Path, before: bytes) -> bool:
    """Whether a snapshot is the old one, or a new one with its last line."""
    content = path.read_bytes()
    return content == before or (b"content: changed" in content and content.endswith(b"\n"))


def test_a_kill_during_an_update_leaves_every_snapshot_whole(run: Run) -> None:
    cases = "".join(f"  - id: c{n}\n    input_messages: [{{role: user, content: hello {n}}}]\n" for n in range(300))
    run.write({"a.eval.yaml": f"evalcases:\n{cases}"})
    run.update()
    folder = run.path / "__snapshots__/a.eval"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    run.write({"a.eval.yaml": f"evalcases:\n{cases}".replace("content: hello", "content: changed")})
    kills = 0
    for delay_seconds in (0.0, 0.01, 0.05):
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", "-q", "--snapshot-update", "-p", "no:cacheprovider"],
            cwd=run.path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        while process.poll() is None and all(
            (folder / name).read_bytes() == content for name, content in before.items()
        ):
            pass
        time.sleep(delay_seconds)
        os.kill(process.pid, signal.SIGKILL)
        kills += process.wait() == -signal.SIGKILL
        assert {path.name for path in folder.iterdir() if not path.name.startswith(".")} == set(before)
        assert all(whole(folder / name, content) for name, content in before.items())
        before = {name: (folder / name).read_bytes() for name in before}
    assert kills
    run.update()
    run().assert_outcomes(passed=300)


def test_two_runs_at_once_do_not_corrupt_each_other(run: Run) -> None:
    cases = "".join(f"  - id: c{n}\n    input_messages: [{{role: user, content: hello}}]\n" for n in range(50))
    run.write({"a.eval.yaml": f"evalcases:\n{cases}"})
    command = [sys.executable, "-m", "pytest", "-q", "--snapshot-update", "-p", "no:cacheprovider"]
    runs = [subprocess.Popen(command, cwd=run.path, stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait() for process in runs] == [0, 0]
    assert len(run.snapshots()) == 50
    run().assert_outcomes(passed=50)
