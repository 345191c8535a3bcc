"""`--chatprompt-show`: what is sent is printed as a conversation and as it is, and nothing is compared or written."""

from __future__ import annotations

import pytest

from tests.runs.conftest import HELLO, Run

OWN = """
import httpx

def test_asks(eval_api, eval_snapshot):
    body = {"model": "one", "messages": [{"role": "user", "content": "who?"}]}
    httpx.post("https://api.openai.com/v1/chat/completions", json=body)
    httpx.post("https://api.openai.com/v1/embeddings", json={"model": "two", "input": "x\\x1b[31m"})
    assert eval_api.sent == eval_snapshot

def test_of_somebody_else():
    pass
"""
CONFTEST = """
import pytest
from pytest_chatprompt import CLIProvider, ProviderResponse

@pytest.fixture
def plain_provider():
    return lambda request: ProviderResponse(text="yes")

@pytest.fixture
def cli_provider():
    return CLIProvider(["agent", "{prompt_file}"])
"""
FILE = """
evalcases:
  - id: hello
    provider: [anthropic, plain, cli]
    input_messages:
      - {role: user, content: hello}
      - {role: assistant, content: hi}
      - {role: user, content: bye}
"""


@pytest.mark.parametrize("arguments", [["-q"], ["-n2"]])
def test_what_is_sent_is_printed_and_nothing_is_compared(run: Run, arguments: list[str]) -> None:
    run.write({"a.eval.yaml": FILE, "test_own.py": OWN, "conftest.py": CONFTEST})
    run.write({"__snapshots__/a.eval/gone[openai].yaml": "question: x\n"})
    result = run("--chatprompt-show", *arguments)
    result.assert_outcomes(passed=5)
    assert run.snapshots() == ["__snapshots__/a.eval/gone[openai].yaml"]
    lines = result.stdout.str().splitlines()
    start = lines.index(next(line for line in lines if "= what is sent =" in line))
    shown = "\n".join(lines[start:])
    for expected in (
        "_ a.eval.yaml::hello[[]anthropic[]] (anthropic) _",
        "_ test_own.py::test_asks _",
    ):
        assert expected.replace("[[]", "[").replace("[]]", "]") in shown
    assert (
        "POST /v1/messages\n\n[System]: You are a careful assistant.\n[User]: hello\n[Assistant]: hi\n[User]: bye\n\n"
        "what fills it  characters  tokens, about\n"
        "system text            28              7\n"
        "earlier turns           7              2\n"
        "last turn               3              1\n"
        "together               38             10\n\n"
        "request:\n"
    ) in shown
    chat, embeddings = "request 1 of 2: POST /v1/chat/completions\n\n", "request 2 of 2: POST /v1/embeddings\n\n"
    assert f"{chat}1. [User]: who?\n\n{embeddings}2. [User]: x\\x1b[31m\n\n{chat}what fills it " in shown
    assert "together                4              1\n\nrequest:\n  model: one\n" in shown
    assert f"\n\n{embeddings}what fills it " in shown
    assert "together               10              2\n\nmessages:\n- role: user\n" in shown
    assert "argv:\n" in shown
    assert "\x1b[31m" not in shown


@pytest.mark.parametrize(
    "arguments",
    [
        ["--snapshot-update"],
        ["--chatprompt-live"],
        ["--chatprompt-replay"],
        ["--chatprompt-against=main"],
        ["--chatprompt-report=a.json"],
    ],
)
def test_what_does_more_is_a_usage_error(run: Run, arguments: list[str]) -> None:
    run.write({"a.eval.yaml": HELLO})
    result = run("--chatprompt-show", *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    option = arguments[0].partition("=")[0]
    result.stderr.fnmatch_lines([f"ERROR: --chatprompt-show only prints what is sent: remove {option}"])
