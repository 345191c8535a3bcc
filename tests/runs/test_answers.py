"""The answers of a live or replayed run: a line with `-v`, a section with `-rP`, properties of JUnit, and a table."""

from __future__ import annotations

import json
import re
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.runs.conftest import HELLO, Run
from tests.server import Reply, Server

KEY = "sk-live-0123456789"
CONFTEST = f"""
import pytest
from pytest_chatprompt import AnthropicProvider, OpenAIProvider

@pytest.fixture(scope="session")
def openai_provider():
    provider = OpenAIProvider(base_url="URL", api_key="{KEY}", max_retries=0)
    yield provider
    provider.close()

@pytest.fixture(scope="session")
def anthropic_provider():
    provider = AnthropicProvider(base_url="URL", api_key="{KEY}", max_retries=0)
    yield provider
    provider.close()
"""
CHECKED = """
provider: [anthropic, openai]
evalcases:
  - id: return
    input_messages: [{role: user, content: return}]
    checks:
      - {type: not_contains, of: request, value: nowhere}
      - {type: contains, value: 14 days}
  - id: late
    input_messages: [{role: user, content: late}]
"""
CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"a": 1}'}}
# With its second set-up, when the answer is there.
ENDED_BADLY = """
SET_UP = []

@pytest.fixture
def broken(request):
    SET_UP.append(request.node.nodeid)
    yield
    if SET_UP.count(request.node.nodeid) == 2:
        raise RuntimeError("broken")

def pytest_chatprompt_response():
    pass
"""


def reply_to(_: int, body: Any) -> Reply:
    """Anthropic says something else than OpenAI, which repeats its key and calls a tool."""
    text = body["messages"][-1]["content"]
    if "max_tokens" in body:
        content = [{"type": "text", "text": f"In 30 days: {text}."}]
        usage = {"input_tokens": 12, "output_tokens": 9}
        return Reply({"content": content, "stop_reason": "end_turn", "usage": usage})
    message = {"role": "assistant", "content": f"In 14 days: {text}.\n{KEY}", "tool_calls": [CALL]}
    usage = {"prompt_tokens": 10, "completion_tokens": 3}
    return Reply({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})


@pytest.fixture
def shop(run: Run, server: Server) -> Run:
    """Two cases that go to two providers, with their snapshots written."""
    run.write({"a.eval.yaml": CHECKED, "conftest.py": CONFTEST.replace("URL", server.url)})
    run.update()
    server.script = reply_to
    return run


def below(result: pytest.RunResult, name: str) -> str:
    """The line below that of a test, which is that of its answer if it has one."""
    number = next(at for at, line in enumerate(result.outlines) if name in line and re.search("PASSED|FAILED", line))
    return steady(result.outlines[number + 1])


def steady(text: str) -> str:
    """A text without what differs from run to run, and from one list of prices to another."""
    return re.sub(r"\$0\.\d+", "$0.00", re.sub(r"\d+\.\d\d s", "0.00 s", text))


WORKERS = [
    pytest.param([], id="in one process"),
    pytest.param(["-n2"], id="with workers", marks=pytest.mark.measures_processes),
]


@pytest.mark.parametrize("workers", WORKERS)
def test_with_v_each_passing_answer_is_a_line_and_the_run_ends_with_a_table(shop: Run, workers: list[str]) -> None:
    result = shop("--chatprompt-live", "-v", *workers)
    result.assert_outcomes(passed=3, failed=1)
    assert below(result, "late[anthropic]") == "    'In 30 days: late.' (0.00 s, 12 input and 9 output tokens, $0.00)"
    line = below(result, "return[openai]")
    assert re.fullmatch(r"    'In 14 days: .*… \(0\.00 s, 10 input and 3 output tokens, \$0\.00\)", line)
    # What a failure is about stands with it.
    assert "30 days: return" not in below(result, "return[anthropic]")
    assert KEY not in result.stdout.str()
    start = next(number for number, line in enumerate(result.outlines) if "providers side by side" in line)
    table = {line[:14].strip(): line.split()[-4:] for line in result.outlines[start + 1 : start + 9]}
    assert sorted(table[""]) == ["anthropic", "openai"]
    order = slice(None) if table[""][-2:] == ["anthropic", "openai"] else slice(None, None, -1)
    assert re.findall(r"\d/\d", " ".join(table["contains"]))[order] == ["0/1", "1/1"]
    assert re.findall(r"\d/\d", " ".join(table["not_contains"]))[order] == ["1/1", "1/1"]
    assert re.findall(r"\d/\d", " ".join(table["all checks"]))[order] == ["1/2", "2/2"]
    assert re.findall(r"\d/\d", " ".join(table["cases"]))[order] == ["1/2", "2/2"]
    assert table["input tokens"][-2:][order] == ["24", "20"]


@pytest.mark.parametrize("workers", WORKERS)
def test_the_section_of_a_passing_test_and_the_properties_of_junit_have_the_answer(
    shop: Run, workers: list[str]
) -> None:
    result = shop("--chatprompt-live", "-rP", "--junitxml=junit.xml", *workers)
    start = result.outlines.index(next(line for line in result.outlines if "_ return[openai] _" in line))
    # Under -n a line with the name of the worker is before it.
    start = next(number for number, line in enumerate(result.outlines) if number > start and "- answer -" in line)
    section = result.outlines[start : start + 7]
    section[4] = steady(section[4])
    assert section[1:] == [
        "In 14 days: return.",
        "[secret]",
        '[calls find({"a": 1})]',
        "(0.00 s, 10 input and 3 output tokens, $0.00)",
        "passed: not_contains 'nowhere' of='request': the request does not contain it",
        "passed: contains '14 days': the answer contains it at character 4",
    ]
    assert "- answer -" not in result.stdout.str().partition("= FAILURES =")[2].partition("= PASSES =")[0]
    cases = {case.get("name"): properties_of(case) for case in junit(shop).iter("testcase")}
    assert cases["return[openai]"] == [
        ("chatprompt_answer", "In 14 days: return.\n[secret]"),
        ("chatprompt_tool_calls", json.dumps([CALL])),
        ("chatprompt_check", "passed: not_contains 'nowhere' of='request': the request does not contain it"),
        ("chatprompt_check", "passed: contains '14 days': the answer contains it at character 4"),
    ]
    assert cases["return[anthropic]"][-1] == (
        "chatprompt_check",
        "failed: contains '14 days': the answer does not contain it",
    )
    assert cases["late[anthropic]"] == [("chatprompt_answer", "In 30 days: late.")]


def junit(run: Run) -> ElementTree.Element:
    return ElementTree.parse(run.path / "junit.xml").getroot()


def properties_of(case: ElementTree.Element) -> list[tuple[str | None, str | None]]:
    """What JUnit's XML has of the answer and the checks of a case."""
    found = [(each.get("name"), each.get("value")) for each in case.iter("property")]
    return [each for each in found if re.search("answer|calls|check", str(each[0]))]


def test_a_replayed_run_shows_the_same(shop: Run) -> None:
    shop("--chatprompt-live", "--chatprompt-record")
    result = shop("--chatprompt-replay", "-v")
    assert below(result, "late[anthropic]").endswith("(0.00 s, 12 input and 9 output tokens, $0.00, replayed)")
    result.stdout.fnmatch_lines(["*- providers side by side -*", "cases *1/2 (50%)  2/2 (100%)"])


def test_without_v_with_one_provider_or_offline_nothing_is_added(shop: Run) -> None:
    result = shop("--chatprompt-live", "-k", "openai")
    assert "providers side by side" not in result.stdout.str()
    assert "In 14 days" not in result.stdout.str()
    result = shop("-v", "-rP", "--junitxml=junit.xml")
    result.assert_outcomes(passed=4)
    assert "providers side by side" not in result.stdout.str()
    assert "- answer -" not in result.stdout.str()
    # What is sent is graded offline too.
    cases = {case.get("name"): properties_of(case) for case in junit(shop).iter("testcase")}
    assert cases["late[openai]"] == []
    assert cases["return[openai]"] == [
        ("chatprompt_check", "passed: not_contains 'nowhere' of='request': the request does not contain it")
    ]


def test_the_properties_of_an_offline_run_hold_no_secret(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-4f9ZqL27vTx81Wm0bRnY")
    check = "checks: [{type: not_contains, of: request, value: sk-4f9ZqL27vTx81Wm0bRnY}]\n"
    run.write({"a.eval.yaml": f"provider: openai\n{check}{HELLO}"})
    run.update().assert_outcomes(passed=1)
    run("--junitxml=junit.xml").assert_outcomes(passed=1)
    (properties,) = (properties_of(case) for case in junit(run).iter("testcase"))
    assert [name for name, _ in properties] == ["chatprompt_check"]
    assert "4f9Zq" not in (run.path / "junit.xml").read_text()


def test_a_test_of_own_code_has_no_line(shop: Run) -> None:
    shop.write(
        {
            "test_own.py": """
import httpx

def test_it(eval_api, eval_snapshot):
    eval_api.reply(text="In 7 days")
    httpx.post("https://api.openai.com/v1/chat/completions", json={"model": "m", "messages": []})
    assert eval_api.sent == eval_snapshot
"""
        }
    )
    shop.update("test_own.py")
    # With a report, each test has a result.
    result = shop("--chatprompt-live", "-v", "--chatprompt-report=all.json", "test_own.py")
    result.assert_outcomes(passed=1)
    (index,) = (index for index, line in enumerate(result.outlines) if line.startswith("test_own.py::test_it"))
    assert result.outlines[index + 1] == ""


def test_a_run_without_a_terminal_has_no_lines(shop: Run) -> None:
    shop.append(
        "conftest.py",
        "\ndef pytest_sessionstart(session):\n    session.config.pluginmanager.unregister(name='terminalreporter')\n",
    )
    result = shop("--chatprompt-live", "-v")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "In 14 days" not in result.stdout.str()


def test_a_test_whose_fixture_breaks_at_its_end_counts_as_an_error_in_the_table(shop: Run, server: Server) -> None:
    broken = CONFTEST.replace("URL", server.url) + ENDED_BADLY
    text = CHECKED.replace("[anthropic, openai]\n", "[anthropic, openai]\ntags: [broken]\n")
    mark = "\ndef pytest_collection_modifyitems(items):\n    for item in items:\n        item.fixturenames.append('broken')\n"
    shop.write({"conftest.py": broken + mark, "a.eval.yaml": text})
    result = shop("--chatprompt-live", "-W", "ignore")
    result.stdout.fnmatch_lines(["*- providers side by side -*", "cases *0/2 (0%) *0/2 (0%)"])


def test_the_json_report_has_what_each_check_said_with_its_place(shop: Run) -> None:
    shop("--chatprompt-live", "--chatprompt-report=a.json")
    results = json.loads((shop.path / "a.json").read_text(encoding="utf-8"))["results"]
    checks = {result["node_id"].partition("::")[2]: result.get("checks", []) for result in results}
    assert [(each["type"], each["passed"], each["line"]) for each in checks["return[anthropic]"]] == [
        ("contains", True, 7),
        ("contains", False, 8),
    ]
    assert checks["return[anthropic]"][0]["is_negated"] is True
    assert checks["late[openai]"] == []
