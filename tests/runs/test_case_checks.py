"""Checks in runs: what is graded when, and how it is told."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import pytest

from tests.runs.conftest import HELLO, LIVE_CONFTEST, Run, eval_file
from tests.server import CHAT_REPLY, Reply, Server

FILE = """
provider: openai
checks:
  - {type: not_regex, of: request, value: '\\w+@\\w+'}
evalcases:
  - id: passes
    checks:
      - {type: contains, value: hello}
    input_messages: [{role: user, content: hi}]
  - id: fails
    checks:
      - {type: contains, value: hello}
      - {type: not_icontains, value: HELLO}
      - {type: tool_called, value: get_time}
    input_messages: [{role: user, content: hi}]
  - id: breaks
    checks:
      - {type: equals, value: goodbye}
      - {type: python, value: "own_checks:crash"}
    input_messages: [{role: user, content: hi}]
"""
OWN_CHECKS = """
import pytest

def crash(case, response):
    raise KeyError(case.id)

def skip(case, response):
    pytest.skip("not today")
"""


@pytest.fixture
def graded_project(run: Run, server: Server) -> Run:
    """A project with checks whose cases go to the test server, with their snapshots written."""
    server.reply = Reply({**CHAT_REPLY, "choices": [{"message": {"role": "assistant", "content": "hello there"}}]})
    run.write(
        {
            "pytest.ini": "[pytest]\nfilterwarnings = error\npythonpath = .\n",
            "a.eval.yaml": FILE,
            "own_checks.py": OWN_CHECKS,
            "conftest.py": LIVE_CONFTEST.format(url=server.url, settings="max_retries=0"),
        }
    )
    run.with_snapshots()
    assert server.requests == []
    return run


def told(result: pytest.RunResult) -> list[str]:
    """The lines of the checks that do not pass."""
    return [
        line
        for line in result.outlines
        if re.match(r"a\.eval\.yaml:\d+:\d+: (?!case )[\w-]+ |  (answer|request): ", line)
    ]


def test_answers_are_graded_live_and_replayed_with_all_failures_told(graded_project: Run) -> None:
    for options in (("--chatprompt-live", "--chatprompt-record"), ("--chatprompt-replay",)):
        result = graded_project(*options, "--junitxml=junit.xml")
        result.assert_outcomes(passed=1, failed=1, errors=1)
        assert (
            "a.eval.yaml:10:5: case 'fails': 2 of 4 checks failed: not_icontains 'HELLO'; tool_called 'get_time'"
            in result.outlines
        )
        (error_head,) = [line for line in result.outlines if line.startswith("a.eval.yaml:16:5: case 'breaks': ")]
        assert error_head.endswith(
            "1 of 3 checks failed, 1 check could not be graded: equals 'goodbye'; python 'own_checks:crash'"
        )
        assert told(result) == [
            "a.eval.yaml:18:9: equals 'goodbye': the answer differs from it at character 1",
            "  answer: 'hello there'",
            "a.eval.yaml:19:9: python 'own_checks:crash': crashed with KeyError: 'breaks' (own_checks.py, line 5)",
            "a.eval.yaml:13:9: not_icontains 'HELLO': the answer contains it at character 1",
            "  answer: 'hello there'",
            "a.eval.yaml:14:9: tool_called 'get_time': the answer calls no tool",
            "  answer: 'hello there'",
        ]
        report = ElementTree.parse(graded_project.path / "junit.xml").getroot()
        (failure,) = report.iter("failure")
        assert failure.get("message") == "2 of 4 checks failed: not_icontains 'HELLO'; tool_called 'get_time'"
        assert "a.eval.yaml:14:9: tool_called" in (failure.text or "")
        assert len(list(report.iter("error"))) == 1


def test_offline_only_checks_of_the_request_are_graded_and_a_snapshot_is_written_whatever_they_say(
    graded_project: Run,
) -> None:
    text = (graded_project.path / "a.eval.yaml").read_text(encoding="utf-8")
    graded_project.write({"a.eval.yaml": text.replace("content: hi", "content: ada@example.com", 1)})
    # A snapshot that differs: nothing is graded.
    assert told(graded_project()) == []
    result = graded_project("--snapshot-update")
    result.assert_outcomes(passed=2, failed=1)
    assert told(result) == [
        r"a.eval.yaml:4:5: not_regex '\w+@\w+' of='request': the request has the match 'ada@example' at character 38",
        "  request: 'gpt-5.5\\nYou are a careful assistant.\\nada@example.com'",
    ]
    result = graded_project()
    result.assert_outcomes(passed=2, failed=1)
    assert len(told(result)) == 2


def test_a_check_that_is_not_valid_is_an_error_before_anything_is_sent(graded_project: Run, server: Server) -> None:
    text = (graded_project.path / "a.eval.yaml").read_text(encoding="utf-8")
    graded_project.write({"a.eval.yaml": text.replace("type: contains, value: hello", "type: contain")})
    for options in ((), ("--chatprompt-live",)):
        result = graded_project(*options, "-k", "passes or fails")
        result.assert_outcomes(errors=2)
        for case_id, line in (("passes", 8), ("fails", 12)):
            error = f"a.eval.yaml:{line}:16: case '{case_id}': unknown check type: 'contain'; did you mean 'contains'?"
            assert error in result.outlines
    assert server.requests == []


HOOKS = """
import pytest

def pytest_chatprompt_response(case, request, response):
    print("hook", case.id)
    {code}

@pytest.fixture(autouse=True)
def look(eval_response, eval_case):
    print("fixture", eval_case.id)
"""


@pytest.mark.parametrize(
    ("code", "outcomes", "line"),
    [
        ("pass", {"failed": 1, "passed": 1}, None),
        (
            "assert 'goodbye' in response.text",
            {"failed": 2},
            "E       AssertionError: assert 'goodbye' in 'hello there'",
        ),
        ("pytest.fail('not so', pytrace=False)", {"failed": 2}, "not so"),
        ("pytest.skip('not today')", {"failed": 1, "skipped": 1}, None),
    ],
)
def test_fixtures_and_the_hook_run_after_checks_that_fail_and_every_failure_is_told(
    graded_project: Run, code: str, outcomes: dict[str, int], line: str | None
) -> None:
    conftest = (graded_project.path / "conftest.py").read_text(encoding="utf-8")
    graded_project.write({"conftest.py": conftest + HOOKS.format(code=code)})
    result = graded_project("--chatprompt-live", "-k", "passes or fails", "-rP")
    result.assert_outcomes(**outcomes)
    assert len(told(result)) == 4
    assert result.outlines.index("fixture fails") < result.outlines.index("hook fails")
    assert line is None or line in result.outlines


@pytest.mark.parametrize("code", ["pass", "assert 'goodbye' in response.text"])
def test_a_secret_in_an_answer_is_not_told(graded_project: Run, server: Server, code: str) -> None:
    server.reply = Reply({**CHAT_REPLY, "choices": [{"message": {"content": "HELLO sk-live-0123456789"}}]})
    conftest = (graded_project.path / "conftest.py").read_text(encoding="utf-8")
    graded_project.write({"conftest.py": conftest + HOOKS.format(code=code)})
    result = graded_project("--chatprompt-live", "-k", "fails", "--junitxml=junit.xml")
    result.assert_outcomes(failed=1)
    assert "  answer: 'HELLO [secret]'" in told(result)
    for text in (result.stdout.str(), (graded_project.path / "junit.xml").read_text(encoding="utf-8")):
        assert "sk-live" not in text


@pytest.mark.parametrize("arguments", [[], ["--chatprompt-repeat", "3"]], ids=["once", "repeated"])
def test_a_request_that_fails_a_check_is_not_sent(graded_project: Run, server: Server, arguments: list[str]) -> None:
    text = (graded_project.path / "a.eval.yaml").read_text(encoding="utf-8")
    text = text.replace(", of: request, value: '\\w+@\\w+'", ", of: request, value: 'h.'")
    graded_project.write({"a.eval.yaml": text})
    result = graded_project("--chatprompt-live", "-k", "passes", *arguments)
    result.assert_outcomes(failed=1)
    assert server.requests == []
    assert told(result) == [
        "a.eval.yaml:4:5: not_regex 'h.' of='request': the request has the match 'hi' at character 38",
        "  request: 'gpt-5.5\\nYou are a careful assistant.\\nhi'",
    ]
    assert "The request was not sent." in result.outlines


def test_a_check_cannot_skip_its_test(graded_project: Run) -> None:
    of_case = FILE.partition("value: '\\w+@\\w+'}\n")[2].replace("own_checks:crash", "own_checks:skip")
    graded_project.write({"a.eval.yaml": f"provider: openai\n{of_case}"})
    result = graded_project("--chatprompt-live", "-k", "breaks")
    result.assert_outcomes(errors=1)
    assert "a.eval.yaml:16:9: python 'own_checks:skip': a check cannot skip a test: not today" in result.outlines


def test_a_check_cannot_end_its_test(graded_project: Run) -> None:
    checks = """\
import pytest
import sys

def fail(case, response):
    pytest.fail("not like this")

def leave(case, response):
    sys.exit("a tool left")

def refuse(case, response):
    return False
"""
    case = "  - {id: c, input_messages: [{role: user, content: hi}], checks: CHECKS}\n"
    listed = ", ".join(f"{{type: python, value: 'ends:{name}'}}" for name in ("fail", "leave", "refuse"))
    text = "provider: openai\nevalcases:\n" + case.replace("CHECKS", f"[{listed}]")
    graded_project.write({"ends.py": checks, "b.eval.yaml": text})
    graded_project.update("b.eval.yaml")
    result = graded_project("--chatprompt-live", "b.eval.yaml")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "b.eval.yaml:3:5: case 'c': 1 of 3 checks failed, 2 checks could not be graded: *",
            "*: python 'ends:fail': a check fails by returning False or by an assertion, not by pytest.fail: "
            "not like this",
            "*: python 'ends:leave': crashed with SystemExit: a tool left (ends.py, line 8)",
            "*: python 'ends:refuse': the answer is refused: the function returned False",
        ]
    )


AGENT = """
import pytest
from pytest_chatprompt import ProviderResponse

@pytest.fixture
def own_provider():
    return lambda request: ProviderResponse(text="", is_awaited=False)
"""


def test_where_there_is_no_answer_a_warning_says_that_nothing_was_graded(graded_project: Run) -> None:
    silent = "  - id: silent\n    input_messages: [{role: user, content: hi}]\n"
    text = FILE.replace("provider: openai", "provider: own") + silent
    graded_project.write({"b.eval.yaml": text, "conftest.py": AGENT, "pytest.ini": "[pytest]\n"})
    graded_project.update("b.eval.yaml")
    result = graded_project("--chatprompt-live", "b.eval.yaml", "-W", "always")
    result.assert_outcomes(passed=4, warnings=3)
    result.stdout.fnmatch_lines(["*EvalFileWarning: 1 check was not graded: own does not wait for an answer"])
    result = graded_project("--chatprompt-live", "b.eval.yaml", "-k", "fails")
    result.assert_outcomes(failed=1)
    assert (
        "b.eval.yaml:10:5: case 'fails': 3 checks were not graded: own does not wait for an answer" in result.outlines
    )


STREAM = """
import json
import httpx, pytest
from pytest_chatprompt import ProviderResponse, ToolCall

@pytest.fixture(scope="session")
def openai_provider():
    def send(request):
        with httpx.stream("POST", "{url}/chat/completions", json={{"model": "m", "stream": True}}) as reply:
            events = [json.loads(line[6:]) for line in reply.iter_lines() if line.startswith("data: {{")]
        deltas = [event["choices"][0]["delta"] for event in events if event["choices"]]
        text = "".join(delta.get("content") or "" for delta in deltas)
        call = {{"id": "1", "function": {{"name": "get_time", "arguments": '{{"zone": "CET"}}'}}}}
        return ProviderResponse(text=text, tool_calls=(ToolCall.model_validate(call),))
    return send
"""


def test_streamed_and_tool_calling_answers_are_graded_as_all_others(graded_project: Run, server: Server) -> None:
    events = [{"choices": [{"index": 0, "delta": {"content": text}}]} for text in ("hel", "lo ", "there")]
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    server.reply = Reply(body.encode(), headers={"content-type": "text/event-stream"})
    graded_project.write({"conftest.py": STREAM.format(url=server.url)})
    graded_project.update()
    for options in (("--chatprompt-live", "--chatprompt-record"), ("--chatprompt-replay",)):
        result = graded_project(*options, "-k", "passes or fails")
        result.assert_outcomes(passed=1, failed=1)
        assert told(result) == [
            "a.eval.yaml:13:9: not_icontains 'HELLO': the answer contains it at character 1",
            '  answer: \'hello there\'; calls get_time({"zone": "CET"})',
        ]


CASE_IN_CODE = """
import pytest
from pytest_chatprompt import ChatMessage, EvalCase, EvalCheck, EvalMessage, ProviderRequest

@pytest.fixture
def eval_case():
    messages = [EvalMessage(role="user", content="hi")]
    return EvalCase(id="a", input_messages=messages, checks=[EvalCheck("contains", {"value": "x"})])
"""


def test_a_case_made_in_code_has_no_checks(graded_project: Run) -> None:
    graded_project.write({"test_it.py": f"{CASE_IN_CODE}\n\ndef test_it(eval_request):\n    pass\n"})
    result = graded_project("test_it.py")
    result.assert_outcomes(errors=1)
    error = "test_it.py::test_it: case 'a': checks: are not graded in a case made in code; assert on eval_response"
    assert error in result.stdout.str()


def test_a_case_made_in_code_has_no_checks_in_an_eval_item_either(run: Run) -> None:
    own_request = """
@pytest.fixture
def eval_request():
    return ProviderRequest(chat_prompt=[ChatMessage("user", "hi")])
"""
    run.write({"conftest.py": CASE_IN_CODE + own_request, "a.eval.yaml": HELLO})
    result = run("--snapshot-update")
    result.assert_outcomes(errors=1)
    error = "a.eval.yaml::hello: case 'a': checks: are not graded in a case made in code; assert on eval_response"
    assert error in result.stdout.str()


def test_a_fixture_may_add_checks_to_a_case(graded_project: Run) -> None:
    graded_project.append(
        "conftest.py",
        """
from pytest_chatprompt import EvalCheck

@pytest.fixture
def eval_case(eval_case):
    added = EvalCheck("contains", {"value": "careful", "of": "request"}), EvalCheck("not_equals", {"value": "x"})
    return eval_case.model_copy(update={"checks": (*eval_case.checks, *added)})
""",
    )
    graded_project("-k", "passes").assert_outcomes(passed=1)
    graded_project("--chatprompt-live", "-k", "passes").assert_outcomes(passed=1)


def test_collecting_checks_and_running_a_case_without_any_imports_nothing_of_the_room(run: Run) -> None:
    run.write({"a.eval.yaml": eval_file(["without"]), "b.eval.yaml": FILE})
    run.write(
        {
            "test_z.py": """
import sys

def test_without():
    loaded = [name for name in sys.modules if name.startswith(("pytest_chatprompt.grading", "jsonschema"))]
    assert not loaded
"""
        }
    )
    run.update("a.eval.yaml")
    run.pytester.runpytest_subprocess("-k", "without").assert_outcomes(passed=2, deselected=3)
