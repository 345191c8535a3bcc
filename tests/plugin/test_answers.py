"""Checks of answers, and answers that are recorded and replayed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.server import ANSWER, Answer, Server

from .conftest import Run
from .test_ahead import Live, cases, live, numbered

__all__ = ["live"]

HOOK = """
def pytest_chatprompt_response(case, request, response):
    print("hook", case.id, request.eval_case_id)
    words = response.text.split()
    assert "unreal" in words
"""
GRADER = """
@pytest.fixture
def words(eval_response):
    return eval_response.text.split()

@pytest.fixture(autouse=True)
def graded(words, eval_case):
    assert "unreal" in words, eval_case.id
"""
OVERRIDE = """
@pytest.fixture
def eval_response(eval_response):
    assert "unreal" in eval_response.text.split()
    return eval_response
"""
each_check = pytest.mark.parametrize(
    "check",
    [
        pytest.param(HOOK, id="in a hook"),
        pytest.param(GRADER, id="in a fixture that is always set up"),
        pytest.param(OVERRIDE, id="in an override"),
    ],
)
Answers = Callable[[], dict[str, object]]


@each_check
def test_an_assert_fails_the_case_with_its_introspection(live: Live, server: Server, check: str) -> None:
    result = live(2, conftest=check)("--chatprompt-live")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        ["*_ c0 _*", '>*assert "unreal" in *', "E*assert 'unreal' in [[]'a', 'real', 'answer'[]]*"]
    )
    result.stdout.no_fnmatch_line("*pluggy/*")
    assert sorted(server.contents) == ["c0", "c1"]


@each_check
def test_offline_nothing_is_graded(live: Live, check: str) -> None:
    live(2, conftest=check)().assert_outcomes(passed=2)


@each_check
def test_a_payload_that_was_not_reviewed_is_neither_sent_nor_graded(live: Live, server: Server, check: str) -> None:
    run = live(1, conftest=check)
    run.write({"a.eval.yaml": cases(["c0"]).replace("content: c0", "content: changed")})
    result = run("--chatprompt-live")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*what is sent to openai is not what its snapshot says*"])
    assert server.requests == []


def test_the_expected_messages_are_there_for_checks(live: Live) -> None:
    check = """
def pytest_chatprompt_response(case, response):
    for message in case.expected_messages:
        assert message.content == response.text
"""
    run = live(2, conftest=check)
    expected = "    expected_messages: [{role: assistant, content: a real answer}]\n"
    run.write(
        {
            "a.eval.yaml": cases(["c0"])
            + expected
            + cases(["c1"]).partition("evalcases:\n")[2]
            + expected.replace("real", "dull")
        }
    )
    run("--chatprompt-live").assert_outcomes(passed=1, failed=1)


def test_the_answer_is_whole(live: Live) -> None:
    check = """
def pytest_chatprompt_response(response):
    assert response.text == "a real answer"
    assert response.finish_reason == "stop"
    assert (response.usage.input_tokens, response.usage.output_tokens) == (10, 3)
    assert 0 < response.latency_seconds < 10
    assert response.retries == 0
    assert response.raw["choices"][0]["finish_reason"] == "stop"
"""
    live(2, conftest=check)("--chatprompt-live").assert_outcomes(passed=2)


def test_a_hook_of_a_folder_sees_its_cases_alone(live: Live) -> None:
    run = live(1, **{"sub/conftest.py": HOOK, "sub/b.eval.yaml": cases(["s0"])})
    run("--chatprompt-live").assert_outcomes(passed=1, failed=1)


def answer_file(run: Run, name: str = "c0") -> Path:
    return run.path / f"__snapshots__/a.eval/{name}[openai].answer.yaml"


def test_an_answer_is_recorded_in_a_file_that_can_be_read(live: Live, server: Server) -> None:
    server.answers({"choices": [{"message": {"content": "one\ntwo sk-live-0123456789"}, "finish_reason": "stop"}]})
    run = live(2)
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=2)
    text = answer_file(run).read_text()
    sha256 = yaml.safe_load(text)["request"]
    assert text == (
        "provider: openai\n"
        f"request: {sha256}\n"
        "finish_reason: stop\n"
        "usage:\n"
        "  input_tokens: null\n"
        "  output_tokens: null\n"
        "text: |-\n"
        "  one\n"
        "  two [secret]\n"
    )
    assert re.fullmatch("sha256:[0-9a-f]{64}", sha256)
    assert not list(run.path.rglob(".*answer*"))
    run().assert_outcomes(passed=2)


@each_check
def test_a_replay_runs_the_same_checks_offline(live: Live, server: Server, check: str) -> None:
    run = live(2)
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=2)
    server.requests.clear()
    run("--chatprompt-replay").assert_outcomes(passed=2)
    run.write({"conftest.py": (run.path / "conftest.py").read_text() + check})
    result = run("--chatprompt-replay")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["E*assert 'unreal' in [[]'a', 'real', 'answer'[]]*"])
    assert server.requests == []


def test_a_replay_gives_back_calls(live: Live, server: Server) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    server.answers({"choices": [{"message": {"content": None, "tool_calls": [call]}}]})
    check = f"""
def pytest_chatprompt_response(response):
    assert [call.model_dump() for call in response.tool_calls] == {json.dumps([call])}
    assert response.text == ""
"""
    run = live(1, conftest=check)
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=1)
    run("--chatprompt-replay").assert_outcomes(passed=1)


RECORD_AGAIN = "record it again: pytest --chatprompt-live --chatprompt-record"
ANSWER_PATH = "__snapshots__/a.eval/c0[[]openai[]].answer.yaml"


def test_a_recording_of_another_request_is_an_error(live: Live) -> None:
    run = live(2)
    run("--chatprompt-live", "--chatprompt-record")
    run.write({"a.eval.yaml": cases(numbered(2)).replace("content: c0", "content: changed")})
    run.update()
    result = run("--chatprompt-replay")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(
        [
            f"a.eval.yaml:3:5: case 'c0': the recorded answer {ANSWER_PATH} is to another request: "
            f"what is sent has changed since; {RECORD_AGAIN}"
        ]
    )


def test_a_recording_that_is_not_there_is_an_error(live: Live) -> None:
    result = live(1)("--chatprompt-replay")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [f"*case 'c0': there is no recorded answer, {ANSWER_PATH}; {RECORD_AGAIN.replace('it again', 'it')}"]
    )


@pytest.mark.parametrize("content", ["<<<<<<< HEAD\n", "text: x\n", "[]", "\x00", "provider: openai\ntext: 5\n"])
def test_a_recording_that_cannot_be_read_is_an_error(live: Live, content: str) -> None:
    run = live(1)
    answer_file(run).write_text(content)
    result = run("--chatprompt-replay")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*the recorded answer {ANSWER_PATH} cannot be read (*); {RECORD_AGAIN}"])


def test_what_is_no_answer_is_not_recorded(live: Live, server: Server) -> None:
    server.script = lambda _, body: (
        Answer(ANSWER)
        if body["messages"][-1]["content"] == "c0"
        else Answer({"choices": [{"message": {"content": ""}}]})
    )
    run = live(2)
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=1, failed=1)
    assert answer_file(run).exists()
    assert not answer_file(run, "c1").exists()


def test_an_unused_recording_is_told_and_removed(live: Live) -> None:
    run = live(2)
    run("--chatprompt-live", "--chatprompt-record")
    run.write({"a.eval.yaml": cases(["c0"])})
    result = run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "2 eval snapshots unused: the case or the provider is no longer defined.",
            "  __snapshots__/a.eval/c1[[]openai[]].answer.yaml",
            "  __snapshots__/a.eval/c1[[]openai[]].yaml",
        ]
    )
    run.update()
    assert run.snapshots() == ["__snapshots__/a.eval/c0[openai].answer.yaml", "__snapshots__/a.eval/c0[openai].yaml"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--chatprompt-record"], "--chatprompt-record keeps the answers of a live run; add --chatprompt-live"),
        (
            ["--chatprompt-replay", "--chatprompt-live"],
            "--chatprompt-replay is offline; leave out either it or --chatprompt-live",
        ),
    ],
)
def test_options_that_go_not_together_are_refused(run: Run, arguments: list[str], told: str) -> None:
    result = run(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {told}"])


@pytest.mark.parametrize("arguments", [[], ["--chatprompt-live"], ["--chatprompt-replay"]])
def test_asking_for_the_answer_too_early_is_told(live: Live, server: Server, arguments: list[str]) -> None:
    run = live(1)
    early = """
@pytest.fixture(autouse=True)
def early(request):
    assert request.getfixturevalue("eval_response").text == "real"
"""
    run.write({"conftest.py": (run.path / "conftest.py").read_text() + early})
    result = run(*arguments)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "*there is no answer yet, or none at all offline; to look at it, let a fixture with autouse=True have eval_response*"
        ]
    )
    assert server.requests == []


def test_an_agent_is_recorded_and_replayed_too(live: Live) -> None:
    agent = """
from pytest_chatprompt import CLIProvider

@pytest.fixture(scope="session")
def openai_provider():
    return CLIProvider(["echo", "so: {prompt}"])

def pytest_chatprompt_response(case, response):
    assert response.text.strip().startswith("so:")
"""
    run = live(2, conftest=agent)
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=2)
    run("--chatprompt-replay").assert_outcomes(passed=2)


def test_an_agents_recording_is_good_on_every_machine(live: Live) -> None:
    agent = """
from pytest_chatprompt import CLIProvider

@pytest.fixture(scope="session")
def openai_provider():
    return CLIProvider(["echo", "{files}", "{prompt}"])
"""
    run = live(1, conftest=agent)
    content = "[{type: text, value: hi}, {type: file, value: x.md}]"
    for folder in ("here", "there"):
        run.write(
            {
                f"{folder}/pytest.ini": "[pytest]\n",
                f"{folder}/conftest.py": "import pytest\n" + agent,
                f"{folder}/x.md": "x",
                f"{folder}/a.eval.yaml": cases(["c0"]).replace("content: c0", f"content: {content}"),
            }
        )
    run.update("--rootdir=here", "here")
    run("--rootdir=here", "here", "--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=1)
    (run.path / "here/__snapshots__").rename(run.path / "there/__snapshots__")
    run("--rootdir=there", "there", "--chatprompt-replay").assert_outcomes(passed=1)


def test_a_provider_of_ones_own_is_recorded_and_replayed_too(live: Live) -> None:
    plain = """
@pytest.fixture
def openai_provider():
    return lambda request: ProviderResponse(text=f"so: {request.question}")

def pytest_chatprompt_response(case, response):
    assert response.text == f"so: {case.id}"
"""
    run = live(2, conftest=plain)
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=2)
    run("--chatprompt-replay").assert_outcomes(passed=2)
