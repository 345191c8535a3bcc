"""Where reports say that a failure is: annotations of a pull request and JUnit's XML show that line of that file."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from tests.runs.conftest import Run

CONFTEST = """
import json

def pytest_runtest_logreport(report):
    if report.failed:
        crash = report.longrepr.reprcrash
        place = [report.location[0], report.location[1] + 1, crash.path, crash.lineno]
        with open("places.jsonl", "a") as file:
            file.write(json.dumps([report.nodeid, place]) + "\\n")
"""
# The line that each is about is the one with the mark.
CASES = """\
provider: openai
evalcases:
  - id: differs  # (differs)
    input_messages: [{role: user, content: hello}]
  - id: refused
    provider: anthropic
    input_messages:
      - {role: user, content: bye}
      - role: assistant  # (refused)
        tool_calls: [{id: a, function: {name: f, arguments: "{}"}}]
      - {role: user, content: x}
  - id: invalid
    input_messages:
      - {role: user, contnet: x}  # (invalid)
  - id: unknown
    provider: nobody  # (unknown)
    input_messages: [{role: user, content: x}]
"""
OWN = """\
import httpx

def ask(text):
    body = {"model": "one", "messages": [{"role": "user", "content": text}]}
    httpx.post("https://api.openai.com/v1/chat/completions", json=body)

def test_differs(eval_api, eval_snapshot):
    ask("hello")
    assert eval_api.sent == eval_snapshot

def test_plain():
    assert 1 == 2

def test_swallowed(eval_api):
    try:
        httpx.get("https://example.org/x")
    except BaseException:
        pass
"""


@pytest.mark.parametrize("arguments", [[], ["-n2"]], ids=["in one process", "in workers"])
def test_a_failure_is_at_the_line_that_it_is_about(run: Run, arguments: list[str]) -> None:
    run.write({"conftest.py": CONFTEST, "sub/a.eval.yaml": CASES, "test_own.py": OWN})
    run("--snapshot-update", "-k", "differs").assert_outcomes(passed=2)
    run.write({"sub/a.eval.yaml": CASES.replace("hello", "bye"), "test_own.py": OWN.replace('"hello"', '"bye"')})
    result = run("-W", "ignore", "-W", "error::pytest_chatprompt.PayloadWarning", "--junitxml=junit.xml", *arguments)
    places = dict(map(json.loads, (run.path / "places.jsonl").read_text().splitlines()))
    lines = {line.partition("(")[2].rstrip(")"): number for number, line in enumerate(CASES.splitlines(), start=1)}
    file = str(run.path / "sub/a.eval.yaml")
    expected = {
        f"sub/a.eval.yaml::{name}": ["sub/a.eval.yaml", lines[name], file, lines[name]]
        for name in ("differs", "refused", "invalid", "unknown")
    }
    own = str(run.path / "test_own.py")
    expected |= {
        "test_own.py::test_differs": ["test_own.py", 7, own, 9],
        "test_own.py::test_plain": ["test_own.py", 11, own, 12],
        "test_own.py::test_swallowed": ["test_own.py", 14, own, 14],
    }
    assert {name: places.get(name) for name in expected} == expected, result.stdout.str()
    cases = ElementTree.parse(run.path / "junit.xml").iter("testcase")
    assert {case.get("classname") for case in cases} == {"sub.a.eval.yaml", "test_own"}
