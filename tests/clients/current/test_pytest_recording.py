"""The table of docs/recordings.md: the same application and the same server, once with pytest-recording, once with us.

`test_theirs` has pytest-recording's mark, with vcrpy's configuration as it comes; `test_ours` has `eval_api`.
"""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.runs.conftest import Run, run
from tests.server import CHAT_REPLY, Reply, Server

__all__ = ["run"]

KEY = "sk-live-0123456789abcdef"
APP = """
import os

import httpx

URL = os.environ["APP_URL"] + "/v1/chat/completions"
KEY = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}

def ask(text):
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    return httpx.post(URL, json=body, headers=KEY).json()["choices"][0]["message"]["content"]

def stream(text):
    with httpx.stream("POST", URL, json={"stream": True, "messages": [{"content": text}]}) as reply:
        return list(reply.iter_raw())
"""
TESTS = """
import app
import pytest

@pytest.mark.vcr
def test_theirs():
    BODY

def test_ours(eval_api):
    BODY
"""
OUR_RECORD = ("--chatprompt-live", "--chatprompt-record")
THEIR_FILE = "cassettes/test_it/test_theirs.yaml"
OUR_FILE = "__snapshots__/test_it/test_ours.recording.yaml"


class Both:
    """A project with the same test twice."""

    def __init__(self, run: Run, server: Server) -> None:
        self._run = run
        self._server = server
        run.write({"app.py": APP, "pytest.ini": "[pytest]\npythonpath = .\n"})

    def write(self, *statements: str) -> None:
        """Give both tests a body."""
        self._run.write({"test_it.py": TESTS.replace("BODY", "\n    ".join(statements))})

    def theirs(self, record_mode: str = "none") -> pytest.RunResult:
        """Run their test; `none` is what pytest-recording does without an option."""
        return self._counted("test_theirs", "--record-mode", record_mode)

    def ours(self, *options: str) -> pytest.RunResult:
        """Run our test."""
        return self._counted("test_ours", *options or ["--chatprompt-replay"])

    def record(self) -> None:
        """Record both."""
        self.theirs("once").assert_outcomes(passed=1, deselected=1)
        self.ours(*OUR_RECORD).assert_outcomes(passed=1, deselected=1)

    def _counted(self, name: str, *options: str) -> pytest.RunResult:
        self._server.requests.clear()
        return self._run("-k", name, *options)

    @property
    def sent(self) -> list[str]:
        """What the last run sent."""
        return self._server.last_contents

    @property
    def files(self) -> tuple[str, str]:
        """The texts of their file and ours."""
        path: Path = self._run.path
        return (path / THEIR_FILE).read_text(), (path / OUR_FILE).read_text()

    @property
    def exchanges(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What is recorded first in their file and ours."""
        theirs, ours = map(yaml.safe_load, self.files)
        return theirs["interactions"][0], ours["exchanges"][0]


@pytest.fixture
def both(run: Run, server: Server, monkeypatch: pytest.MonkeyPatch) -> Both:
    monkeypatch.setenv("APP_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.reply = Reply(CHAT_REPLY, headers={"content-type": "application/json"})
    return Both(run, server)


def test_a_request_that_has_drifted(both: Both) -> None:
    """The default `match_on` of vcrpy is method and URL (`vcr/config.py`)."""
    both.write("app.ask('one')")
    both.record()
    both.write("app.ask('changed')")
    both.theirs().assert_outcomes(passed=1, deselected=1)
    result = both.ours()
    result.assert_outcomes(failed=1, deselected=1)
    result.stdout.fnmatch_lines(
        ["@@ request.messages[[]0[]].content @@", "-     content: one", "+     content: changed"]
    )


def test_paying_only_for_what_changed(both: Both) -> None:
    both.write("app.ask('one')", "app.ask('two')")
    both.record()
    both.write("app.ask('one')", "app.ask('changed')")
    both.theirs("new_episodes").assert_outcomes(passed=1, deselected=1)
    assert both.sent == []
    both.theirs("rewrite").assert_outcomes(passed=1, deselected=1)
    assert both.sent == ["one", "changed"]
    both.ours("--chatprompt-live", "--chatprompt-replay").assert_outcomes(passed=1, deselected=1)
    assert both.sent == ["changed"]


def test_the_order_of_requests(both: Both, server: Server) -> None:
    server.script = lambda _, body: Reply(
        {"choices": [{"message": {"content": f"to {body['messages'][0]['content']}"}}]},
        headers={"content-type": "application/json"},
    )
    both.write("app.ask('one')", "app.ask('two')")
    both.record()
    both.write("assert app.ask('two') == 'to two'", "assert app.ask('one') == 'to one'")
    both.theirs().assert_outcomes(failed=1, deselected=1)
    both.ours().assert_outcomes(passed=1, deselected=1)


def test_one_equal_request_more(both: Both) -> None:
    both.write("app.ask('one')")
    both.record()
    both.write("app.ask('one')", "app.ask('one')")
    both.theirs().assert_outcomes(failed=1, deselected=1)
    both.ours().assert_outcomes(failed=1, deselected=1)


def test_an_error_that_the_code_swallows(both: Both) -> None:
    both.write("try: app.ask('one')", "except Exception: pass")
    both.theirs().assert_outcomes(passed=1, deselected=1)
    both.ours().assert_outcomes(failed=1, deselected=1)


def test_keys_and_headers(both: Both) -> None:
    both.write("app.ask('one')")
    both.record()
    theirs, ours = both.files
    assert KEY in theirs
    assert KEY not in ours
    their_exchange, our_exchange = both.exchanges
    assert "user-agent" in {name.lower() for name in their_exchange["request"]["headers"]}
    assert set(our_exchange["request"]) == {"endpoint", "sha256", "body"}
    assert set(our_exchange["reply"]) == {"status", "content_type", "body"}


def test_how_a_body_is_written(both: Both, server: Server) -> None:
    server.reply = Reply(
        gzip.compress(server.reply.body), headers={"content-type": "application/json", "content-encoding": "gzip"}
    )
    both.write("app.ask('one')")
    both.record()
    theirs, ours = both.exchanges
    assert isinstance(theirs["request"]["body"], str)
    assert isinstance(theirs["response"]["body"]["string"], bytes)
    assert ours["request"]["body"]["messages"] == [{"role": "user", "content": "one"}]
    assert ours["reply"]["body"] == CHAT_REPLY


def test_a_stream(both: Both, server: Server) -> None:
    server.reply = Reply(b'data: {"a": 1}\n\ndata: [DONE]\n\n', headers={"content-type": "text/event-stream"})
    both.write("assert len(app.stream('one')) > 0")
    both.record()
    theirs, ours = both.exchanges
    assert theirs["response"]["body"]["string"] == 'data: {"a": 1}\n\ndata: [DONE]\n\n'
    assert ours["reply"]["events"] == [{"data": {"a": 1}}, {"data": "[DONE]"}]
    both.write("assert len(app.stream('one')) == 2")
    both.theirs().assert_outcomes(failed=1, deselected=1)
    both.ours().assert_outcomes(passed=1, deselected=1)


def test_replies_that_nobody_asks_for(both: Both) -> None:
    both.write("app.ask('one')", "app.ask('two')")
    both.record()
    both.write("app.ask('one')")
    both.ours().stdout.fnmatch_lines(["1 recorded reply that no request asked for, in test_it.py::test_ours; *"])
    result = both.theirs()
    result.assert_outcomes(passed=1, deselected=1)
    assert "two" not in result.stdout.str()


def test_a_run_without_options(both: Both) -> None:
    both.write("app.ask('one')")
    both.theirs().assert_outcomes(failed=1, deselected=1)
    assert both.sent == []
    both.ours("-q").assert_outcomes(passed=1, deselected=1)
    assert both.sent == []


CHILD = "import os, httpx; httpx.post(os.environ['OPENAI_BASE_URL'] + '/chat/completions', json={'messages': [{'content': 'hi'}]})"


def test_what_a_child_process_sends(both: Both, server: Server, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    run.write({"child.py": CHILD})
    start = "subprocess.run([sys.executable, 'child.py'], check=True"
    both.write("import subprocess, sys", f"{start})")
    both.theirs("once").assert_outcomes(passed=1, deselected=1)
    both.theirs().assert_outcomes(passed=1, deselected=1)
    assert both.sent == ["hi"]
    both.write("import os, subprocess, sys", f"{start}, env={{**os.environ, **globals()['variables']}})")
    run.append(
        "test_it.py",
        "\n@pytest.fixture(autouse=True)\ndef keep(eval_api):\n    global variables\n    variables = eval_api.environ\n",
    )
    both.ours(*OUR_RECORD).assert_outcomes(passed=1, deselected=1)
    assert both.sent == ["hi"]
    both.ours().assert_outcomes(passed=1, deselected=1)
    assert both.sent == []


def test_every_line_of_the_table_is_a_test_here() -> None:
    page = (Path(__file__).parents[3] / "docs/recordings.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([a-z][^|]*) \|", page.partition("## Beside vcrpy")[2], re.MULTILINE)
    tests = {name for name in globals() if name.startswith("test_")}
    named = {"test_" + row.strip().replace(" ", "_") for row in rows}
    assert named
    assert named <= tests
