"""What others wrote reaches the terminal and the log of CI escaped, wherever this plugin prints it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

import pytest_chatprompt
from pytest_chatprompt.__main__ import main
from pytest_chatprompt.errors import CaptureWarning, EvalFileWarning, PayloadWarning, ProviderError

HOSTILE = (
    "\n::error file=x::pwned \x1b[2J\x1b]0;title\x07\n \t::set-output name=a::b\n##vso[task.setvariable variable=a]b\n"
    "##[error]x \r::add-mask::x\u2028::warning::x \x9b31m \u202egnp.exe\u2066 ##VSO[x]"
)
QUOTED = json.dumps(HOSTILE)
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_COMMAND = re.compile(r"^\s*::\w|##(?:vso)?\[", re.IGNORECASE)

EVAL_FILE = f"""
description: {QUOTED}
provider: [openai, refusing, agent]
evalcases:
- id: {json.dumps("::error::id" + HOSTILE)}
  outcome: {QUOTED}
  input_messages: [{{role: user, content: {json.dumps("hi" + HOSTILE)}}}]
  expected_messages: []
  checks:
  - {{type: contains, value: {QUOTED}}}
- id: {json.dumps("##[error]second")}
  tags: [bug]
  outcome: x
  input_messages: [{{role: user, content: [{{type: file, value: {json.dumps("gone" + HOSTILE)}}}]}}]
  expected_messages: []
- id: {json.dumps("unknown" + HOSTILE)}
  {json.dumps("key" + HOSTILE)}: 1
  tags: [{QUOTED}]
  provider: {QUOTED}
- id: third
  outcome: x
  input_messages: [{{role: user, content: {QUOTED}}}]
  expected_messages: []
  tools: [{{type: function, name: t, description: {QUOTED}}}]
"""

CONFTEST = f"""
import pytest
import warnings
from pytest_chatprompt import APIStatusError, CLIProvider, ProviderResponse

HOSTILE = {HOSTILE!r}

@pytest.fixture
def openai_provider():
    return lambda request: ProviderResponse(
        text="answer" + HOSTILE,
        tool_calls=({{"id": "1", "function": {{"name": "f" + HOSTILE, "arguments": HOSTILE}}}},),
    )

@pytest.fixture
def refusing_provider():
    def send(request):
        raise APIStatusError("the API answered " + HOSTILE, status=400, message=HOSTILE)
    return send

@pytest.fixture
def agent_provider():
    code = "import sys; sys.stderr.buffer.write(" + repr(HOSTILE.encode()) + "); sys.exit(3)"
    return CLIProvider(command=[{sys.executable!r}, "-c", code])
"""

TESTS = f"""
from pytest_chatprompt import ProviderError

HOSTILE = {HOSTILE!r}

def test_error(eval_api):
    raise ProviderError("it said" + HOSTILE)

def test_snapshot(eval_snapshot):
    assert eval_snapshot(name="a" + HOSTILE) == {{"a" + HOSTILE: HOSTILE}}

def test_unreadable(eval_snapshot):
    assert eval_snapshot == {{"a": HOSTILE}}
"""


def hostile_lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if _CONTROL.search(line) or _COMMAND.search(line)]


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    (pytester.path / "::error::a\x1b[2J##[error]b.eval.yaml").write_text(EVAL_FILE, encoding="utf-8")
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test_it=TESTS)
    return pytester


OPTIONS = (
    (),
    ("-vv", "-rA"),
    ("--tb=line", "-rA"),
    ("--chatprompt-live", "-v", "-rA"),
    ("--chatprompt-show",),
    ("--chatprompt-replay",),
    ("-n2", "-v"),
)


def test_nothing_hostile_is_printed(
    project: pytest.Pytester, capfd: pytest.CaptureFixture[str], subtests: pytest.Subtests
) -> None:
    def printed(*options: str) -> str:
        project.runpytest_inprocess("--color=no", *options)
        return "".join(capfd.readouterr())

    assert hostile_lines(printed("--snapshot-update")) == []
    # So that what is sent differs, and what is stored is hostile and cannot be read.
    for path in project.path.rglob("__snapshots__/**/*.yaml"):
        path.write_text(path.read_text().replace("- role", "- rule") + HOSTILE, encoding="utf-8")
    for options in OPTIONS:
        with subtests.test(" ".join(options)):
            text = printed(*options)
            assert hostile_lines(text) == []
            # It is shown, escaped.
            assert "##\\vso[task" in text
            assert "\\x1b[2J" in text


def test_the_commands_print_nothing_hostile(project: pytest.Pytester, capsys: pytest.CaptureFixture[str]) -> None:
    for name, options in (("one", ()), ("two", ("--chatprompt-live",))):
        project.runpytest_inprocess("--snapshot-update", f"--chatprompt-report={name}.json", *options)
    capsys.readouterr()
    main(["compare", "one.json", "two.json"])
    main(["compare", "one.json", f"gone{HOSTILE}.json"])
    main(["merge", "one.json", "two.json", "-o", "three.md"])
    printed = capsys.readouterr()
    assert "exited with status 3" in printed.out
    assert hostile_lines(printed.out + printed.err) == []


@pytest.mark.parametrize("error", [ProviderError, CaptureWarning, EvalFileWarning, PayloadWarning])
def test_errors_and_warnings_show_their_text_escaped(error: type[Exception]) -> None:
    assert hostile_lines(str(error(HOSTILE))) == []
    assert str(error("a\tb\n日本 👩‍👩‍👧 é\xa0:: x")) == "a\tb\n日本 👩‍👩‍👧 é\xa0:: x"


def test_only_one_module_writes_lines_to_the_terminal() -> None:
    root = Path(pytest_chatprompt.__file__).parent
    writes = re.compile(r"\.(write_line|write_sep|line|sep)\(")
    writing = [path.relative_to(root).as_posix() for path in root.rglob("*.py") if writes.search(path.read_text())]
    assert writing == ["reports/terminal.py"]
