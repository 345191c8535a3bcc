"""What fills the window, in runs: checks of the request, the growth that a change tells, and the records of reports."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.runs.conftest import Run
from tests.runs.test_show import CONFTEST as PLAIN_AND_CLI

EVALS = """
provider: openai
guideline_patterns: ["*.md"]
tools:
  - {type: function, function: {name: find, description: Finds an order., parameters: {type: object}}}
evalcases:
  - id: one
    checks: CHECKS
    input_messages:
      - role: user
        content: [{type: file, value: loop.py}, {type: file, value: rules.md}, {type: text, value: Sum up.}]
"""
FILES = {"loop.py": "x = 1\n", "rules.md": "Be brief.\n"}
TIKTOKEN = """
class Encoding:
    def encode_ordinary(self, text):
        return text.split()

def encoding_for_model(model):
    if not model.startswith("gpt-"):
        raise KeyError(model)
    return Encoding()
"""
DOWNLOADS = """
import urllib.error, urllib.request

def encoding_for_model(model):
    try:
        urllib.request.urlopen("https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken")
    except urllib.error.HTTPError as error:
        error.close()
        raise
"""
TOKENS = "[{type: max_tokens, of: request, value: 1}]"


@pytest.fixture
def window(run: Run) -> Run:
    """A project whose case sends tools, a guideline and a file."""
    run.write({**FILES, "a.eval.yaml": EVALS.replace("CHECKS", "[]")})
    run.update()
    return run


def check(run: Run, checks: str, *arguments: str) -> str:
    """The line that says of a check why it fails."""
    run.write({"a.eval.yaml": EVALS.replace("CHECKS", checks)})
    result = run(*arguments)
    result.assert_outcomes(failed=1)
    (line,) = [line for line in result.outlines if line.startswith("a.eval.yaml:8:14: ")]
    return line


def test_a_request_that_is_too_long_says_what_fills_it(window: Run) -> None:
    line = check(window, "[{type: max_characters, of: request, value: 131}]")
    assert line == (
        "a.eval.yaml:8:14: max_characters 131 of='request': the request has 132 characters: guideline rules.md 33, "
        "system text 30, last turn 29, file loop.py 21, tools 19"
    )
    assert "  request: " not in window().stdout.str()
    window.write({"a.eval.yaml": EVALS.replace("CHECKS", "[{type: max_characters, of: request, value: 132}]")})
    window().assert_outcomes(passed=1)


def test_what_an_agent_or_a_function_is_given_is_measured_too(run: Run) -> None:
    case = """
evalcases:
  - id: one
    provider: [plain, cli]
    checks: [{type: max_characters, of: request, value: 1}]
    input_messages: [{role: user, content: hello}]
"""
    run.write({"conftest.py": PLAIN_AND_CLI, "a.eval.yaml": case})
    run("--snapshot-update")
    lines = [line.partition(": the request ")[2] for line in run().outlines if ": the request " in line]
    assert lines[0] == "has 5 characters: last turn 5"
    assert lines[1].startswith("has 52 characters: prompt 29, argv 23")


def test_a_live_run_does_not_send_what_is_too_long(window: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789")
    window.write({"a.eval.yaml": EVALS.replace("CHECKS", TOKENS)})
    result = window("--chatprompt-live")
    result.assert_outcomes(failed=1)
    assert "The request was not sent." in result.outlines


@pytest.mark.parametrize("module", [None, DOWNLOADS], ids=["no tiktoken", "tiktoken without its vocabulary"])
def test_tokens_are_estimated_and_nothing_is_downloaded(window: Run, module: str | None) -> None:
    window.write({"pytest.ini": "[pytest]\nfilterwarnings = error\npythonpath = lib\n"})
    window.write({} if module is None else {"lib/tiktoken.py": module})
    assert check(window, TOKENS).endswith(
        "has about 33 tokens: guideline rules.md 8, system text 8, last turn 7, file loop.py 5, tools 5"
    )
    # Nor does a test of your own code fail for it.
    window.write({"test_own.py": OWN})
    window("--snapshot-update", "test_own.py", "--chatprompt-report=a.html").assert_outcomes(passed=1)


def test_tokens_are_counted_by_tiktoken_for_a_model_of_openai(window: Run) -> None:
    window.write({"pytest.ini": "[pytest]\nfilterwarnings = error\npythonpath = lib\n", "lib/tiktoken.py": TIKTOKEN})
    assert check(window, TOKENS).endswith(
        "has 26 tokens: guideline rules.md 7, system text 5, last turn 4, file loop.py 6, tools 4"
    )
    assert (
        check(window, TOKENS, "--chatprompt-provider=anthropic", "--snapshot-update")
        .partition(" has ")[2]
        .startswith("about 33 tokens: ")
    )


OWN = """
import httpx

def ask(*messages):
    messages = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}, *messages]
    httpx.post("https://api.openai.com/v1/chat/completions", json={"model": "gpt-5.5", "messages": messages})

def test_asks(eval_api, eval_snapshot):
    ask()
    call = {"id": "call_1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "call_1", "content": "shipped"}
    ask({"role": "assistant", "content": None, "tool_calls": [call]}, result)
    assert eval_api.sent == eval_snapshot
"""


def record(run: Run) -> list[list[dict[str, Any]]]:
    """The parts of each request in the report of a run of one test."""
    (result,) = json.loads((run.path / "report.json").read_text(encoding="utf-8"))["results"]
    parts: list[list[dict[str, Any]]] = result["parts"]
    return parts


def test_a_report_has_the_parts_of_each_request(run: Run) -> None:
    run.write({"test_own.py": OWN})
    run("--snapshot-update", "--chatprompt-report=report.json").assert_outcomes(passed=1)
    assert [[(part["name"], part["characters"]) for part in parts] for parts in record(run)] == [
        [("system text", 8), ("last turn", 2)],
        [("system text", 8), ("earlier turns", 8), ("tool results", 7)],
    ]


@pytest.mark.parametrize(
    ("files", "line"),
    [
        (
            {"loop.py": "x = 1\ny = 2\n"},
            "This is change c2c5: +6 characters (about +2 tokens): file loop.py; the first 104 characters are as before; "
            "vendors' caches end there, at request.messages[1].content",
        ),
        (
            {"rules.md": "Be very brief.\n"},
            "This is change 1e58: +5 characters (about +1 token): guideline rules.md; the first 76 characters are as before; "
            "vendors' caches end there, at request.messages[0].content",
        ),
        (
            {"a.eval.yaml": EVALS.replace("CHECKS", "[]").replace("Sum up.", "Sum it up.")},
            "This is change 1836: +3 characters (about +1 token): last turn; the first 129 characters are as before; "
            "vendors' caches end there, at request.messages[1].content",
        ),
        (
            {"a.eval.yaml": EVALS.replace("CHECKS", "[]").replace("Finds an order.", "Finds one.")},
            "This is change 85fb: -5 characters (about -1 token): tools; the first 10 characters are as before; "
            "vendors' caches end there, at request.tools[0].function.description",
        ),
    ],
)
def test_a_change_says_which_part_grew(window: Run, files: dict[str, str], line: str) -> None:
    window.write(files)
    result = window()
    result.assert_outcomes(failed=1)
    assert line in result.outlines


def test_two_changes_of_a_case_have_each_its_part(window: Run) -> None:
    window.write({"loop.py": "x = 1\ny = 2\n", "rules.md": "Be very brief.\n"})
    told = [line.strip().partition("; ")[0] for line in window().outlines if " characters (about " in line]
    assert sorted(told) == [
        "+5 characters (about +1 token): guideline rules.md",
        "+6 characters (about +2 tokens): file loop.py",
    ]


@pytest.mark.parametrize(
    ("replaced", "parts"),
    [
        pytest.param(
            {"Finds an order.": "Finds all the orders.", "name: find": "name: find_it"},
            ["+3 characters (about +1 token): tools", "+6 characters (about +2 tokens): tools"],
            id="two changes of one part",
        ),
        pytest.param(
            {"Finds an order.": "Finds all an order.", "Sum up.": "Sum all up."},
            ["+4 characters (about +1 token)", "+4 characters (about +1 token)"],
            id="two parts that grow alike, of which either may be meant",
        ),
        pytest.param(
            {"Finds an order.": "Finds it.", "name: find": "name: find_it", "Sum up.": "Sum all up."},
            ["+3 characters (about +1 token)", "+4 characters (about +1 token): last turn", "-6 characters (about -2 tokens)"],
            id="a part that grows and shrinks",
        ),
    ],
)  # fmt: skip
def test_a_part_is_told_where_it_is_sure(window: Run, replaced: dict[str, str], parts: list[str]) -> None:
    text = EVALS.replace("CHECKS", "[]")
    for old, new in replaced.items():
        text = text.replace(old, new)
    window.write({"a.eval.yaml": text})
    told = [line.strip().partition("; ")[0] for line in window().outlines if " characters (about " in line]
    assert sorted(told) == parts


def test_a_case_of_the_projects_own_request_has_no_files(run: Run) -> None:
    conftest = """
import pytest
from pytest_chatprompt import ChatMessage, ProviderRequest

@pytest.fixture
def eval_request(eval_case):
    return ProviderRequest(question="x", chat_prompt=(ChatMessage("user", "Hello"),))
"""
    run.write({"conftest.py": conftest, "a.eval.yaml": EVALS.replace("CHECKS", "[]")})
    result = run("--chatprompt-show")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["what fills it  characters  tokens, about", "last turn               5              1"]
    )
