"""Safety: offline nothing reaches the network, no secret is shown or written, no snapshot is lost."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests.runs.conftest import HELLO, Run
from tests.server import Server

KEY = "sk-0123456789"


def test_a_fixture_of_a_case_cannot_reach_the_network(run: Run) -> None:
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
    result.stdout.fnmatch_lines(["*no connection to api.example:443: this is an offline run, *called at *.py:*"])


def test_a_blocked_connection_shows_the_code_that_tried_it_and_none_of_this_package(run: Run) -> None:
    code = "import socket\n\ndef test_it(eval_api):\n    socket.create_connection(('api.example', 443))\n"
    run.write({"test_it.py": code})
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [">       socket.create_connection(('api.example', 443))", "E * no connection to api.*"]
    )
    assert "audit hook" not in result.stdout.str()
    assert "guard.py" not in result.stdout.str()


def test_a_blocked_connection_fails_the_case_even_if_its_error_is_swallowed(run: Run) -> None:
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
        [
            "a.eval.yaml:3:5: case 'hello': a connection to api.example:443 was blocked: this is an offline run, called at *.py:*"
        ]
    )


def test_an_attempt_in_teardown_is_an_error_even_if_it_is_swallowed(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": HELLO,
            "conftest.py": """
import contextlib, socket
import pytest

@pytest.fixture(autouse=True)
def saying_goodbye():
    yield
    with contextlib.suppress(OSError):
        socket.create_connection(("api.example", 443))
""",
        }
    )
    result = run("--snapshot-update")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(
        [
            "a.eval.yaml:3:5: case 'hello': a connection to api.example:443 was blocked: this is an offline run, called at *.py:*"
        ]
    )


@pytest.mark.parametrize(("end", "outcome"), [("skip", "skipped"), ("xfail", "xfailed")])
def test_an_attempt_before_a_skip_is_an_error(run: Run, end: str, outcome: str) -> None:
    run.write(
        {
            "a.eval.yaml": HELLO,
            "conftest.py": f"""
import contextlib, socket
import pytest

@pytest.fixture(autouse=True)
def skipping():
    with contextlib.suppress(OSError):
        socket.create_connection(("api.example", 443))
    pytest.{end}("not reachable")
""",
        }
    )
    run("--snapshot-update").assert_outcomes(errors=1, **{outcome: 1})


def test_an_attempt_of_a_phase_that_fails_anyway_is_not_reported_again(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": HELLO,
            "conftest.py": """
import socket
import pytest

@pytest.fixture(autouse=True)
def failing():
    socket.create_connection(("api.example", 443))
""",
        }
    )
    run("--snapshot-update").assert_outcomes(errors=1)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        pytest.param(
            "subprocess.run(['curl', 'https://api.example'])",
            "the provider tried to start curl, called at conftest.py:*, and what another program sends cannot be captured;"
            " point it to eval_api with the variables of eval_api.environ, or start it in a live run only",
            id="by the provider",
        ),
        pytest.param(
            "None", "the program curl was not started: this is an offline run, called at *.py:*", id="by a fixture"
        ),
    ],
)
def test_a_program_is_not_started_offline(run: Run, code: str, message: str) -> None:
    fixture = (
        "" if code != "None" else "    with contextlib.suppress(OSError):\n        subprocess.run(['curl', 'x'])\n"
    )
    run.write(
        {
            "a.eval.yaml": HELLO,
            "conftest.py": f"""
import contextlib, subprocess
import pytest
from pytest_chatprompt import ProviderResponse

@pytest.fixture
def openai_provider():
{fixture}
    def send(request):
        with contextlib.suppress(OSError):
            {code}
        return ProviderResponse(text="ok")
    return send
""",
        }
    )
    result = run("--snapshot-update")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"a.eval.yaml:3:5: case 'hello': {message}"])


def test_a_fixture_that_replaces_the_class_of_sockets_does_no_harm(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": HELLO,
            "conftest.py": """
import socket
import pytest

@pytest.fixture(autouse=True)
def other_sockets(monkeypatch):
    monkeypatch.setattr(socket, "socket", lambda *args: None)
    yield
    socket.socket = object
""",
        }
    )
    run("--snapshot-update").assert_outcomes(passed=1)


def test_ordinary_tests_are_not_offline(run: Run, server: Server) -> None:
    server.reply_with({})
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
def test_a_secret_from_the_environment_is_never_written_into_a_snapshot(
    run: Run, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setenv("INTERNAL_TOKEN", KEY)
    run.write({"a.eval.yaml": HELLO.replace("content: hello", f"content: My key is {KEY}.")})
    result = run(*arguments)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "a.eval.yaml:3:5: case 'hello': what is sent to openai holds the value of the environment variable INTERNAL_TOKEN,"
            " under question; remove it: snapshots are committed."
            " If it is not a secret, add a regular expression for it to the ini value chatprompt_allowed_secrets"
        ]
    )
    assert run.snapshots() == []
    assert KEY not in result.stdout.str()


def test_a_credential_from_a_header_is_never_written_into_a_snapshot(run: Run) -> None:
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


LEAKING_PROVIDER = """
import pytest
from pytest_chatprompt import OpenAIProvider

class LeakingProvider(OpenAIProvider):
    def send(self, request):
        key = "{key}"
        print("the key is", key)
        super().send(request)
        raise RuntimeError(f"{{key}} is refused")

@pytest.fixture
def openai_provider():
    return LeakingProvider(base_url="{url}", api_key="{key}")
"""


@pytest.mark.parametrize("arguments", [[], ["--chatprompt-live"]], ids=["offline", "live"])
def test_no_report_shows_a_key(run: Run, server: Server, arguments: list[str]) -> None:
    server.reply_with({"choices": [{"message": {"content": f"your key {KEY}"}}]})
    run.write(
        {"a.eval.yaml": "provider: openai" + HELLO, "conftest.py": LEAKING_PROVIDER.format(key=KEY, url=server.url)}
    )
    result = run(*arguments, "-l", "-vv", "--junitxml=out.xml", "-o", "junit_logging=all")
    result.assert_outcomes(failed=1)
    assert "[secret] is refused" in result.stdout.str()
    assert "the key is [secret]" in result.stdout.str()
    assert KEY not in result.stdout.str()
    assert KEY not in (run.path / "out.xml").read_text()


def test_a_full_trace_shows_no_key(run: Run, server: Server) -> None:
    server.reply_with({"error": {"message": f"bad key {KEY}"}}, status=401)
    conftest = LEAKING_PROVIDER.format(key=KEY, url=server.url).replace(
        "return LeakingProvider(", "return OpenAIProvider("
    )
    run.write({"a.eval.yaml": "provider: openai" + HELLO, "conftest.py": conftest})
    run.update()
    result = run("--chatprompt-live", "--full-trace", "-l", "-vv")
    result.assert_outcomes(errors=1)
    assert "apis/chat_provider.py" in result.stdout.str()
    assert KEY not in result.stdout.str()


def is_complete(path: Path, before: bytes) -> bool:
    """Whether a snapshot is the old one, or the new one up to its last line."""
    content = path.read_bytes()
    return content == before or (b"content: changed" in content and content.endswith(b"\n"))


# From the first snapshot that an update writes until it is killed. `make soak` kills at many more moments.
MANY_KILLS = [number / 100 for number in range(12)]


@pytest.mark.parametrize(
    "delays_seconds",
    [pytest.param([0.0, 0.02], id="twice"), pytest.param(MANY_KILLS, id="twelve times", marks=pytest.mark.soak)],
)
def test_killing_an_update_leaves_every_snapshot_complete(run: Run, delays_seconds: list[float]) -> None:
    count = 40 if len(delays_seconds) == 2 else 300
    cases = "".join(
        f"  - id: c{number}\n    input_messages: [{{role: user, content: hello {number}}}]\n" for number in range(count)
    )
    run.write({"a.eval.yaml": f"evalcases:\n{cases}"})
    run.update()
    folder = run.path / "__snapshots__/a.eval"
    original = {path.name: path.read_bytes() for path in folder.iterdir()}
    kills = 0
    for update, delay_seconds in enumerate(delays_seconds):
        before = {name: (folder / name).read_bytes() for name in original}
        run.write({"a.eval.yaml": f"evalcases:\n{cases}".replace("content: hello", f"content: changed {update}")})
        unchanged_ns = folder.stat().st_mtime_ns
        process = run.start("--snapshot-update")
        try:
            deadline = time.monotonic() + 60
            # Each snapshot is written beside its place and renamed.
            while process.poll() is None and folder.stat().st_mtime_ns == unchanged_ns:
                assert time.monotonic() < deadline
                time.sleep(0.005)
            time.sleep(delay_seconds)
        finally:
            process.kill()
        kills += process.wait() == -signal.SIGKILL
        assert {path.name for path in folder.iterdir() if not path.name.startswith(".")} == set(before)
        assert all(is_complete(folder / name, content) for name, content in before.items())
    assert kills
    run.update()
    run().assert_outcomes(passed=count)


def test_two_updates_at_the_same_time_do_not_corrupt_snapshots(run: Run) -> None:
    cases = "".join(
        f"  - id: c{number}\n    input_messages: [{{role: user, content: hello}}]\n" for number in range(20)
    )
    run.write({"a.eval.yaml": f"evalcases:\n{cases}"})
    processes = [run.start("--snapshot-update") for _ in range(2)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0]
    assert len(run.snapshots()) == 20
    run().assert_outcomes(passed=20)
