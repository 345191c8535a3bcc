"""Recordings: a live run writes the answers beside the snapshots, a replayed run uses them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.items.conftest import MakeLiveProject, Run, case_ids, eval_file
from tests.items.test_responses import each_check
from tests.server import Reply, Server


def recording_path(run: Run, name: str = "c0") -> Path:
    return run.path / f"__snapshots__/a.eval/{name}[openai].answer.yaml"


def test_a_recording_is_a_readable_file(live_project: MakeLiveProject, server: Server) -> None:
    server.reply_with({"choices": [{"message": {"content": "one\ntwo sk-live-0123456789"}, "finish_reason": "stop"}]})
    run = live_project(2)
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=2)
    text = recording_path(run).read_text()
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
def test_a_replayed_run_runs_the_same_checks_offline(live_project: MakeLiveProject, server: Server, check: str) -> None:
    run = live_project(2)
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=2)
    server.requests.clear()
    run("--chatprompt-replay").assert_outcomes(passed=2)
    run.append("conftest.py", check)
    result = run("--chatprompt-replay")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["E*assert 'unreal' in [[]'a', 'real', 'answer'[]]*"])
    assert server.requests == []


def test_a_replayed_response_has_its_tool_calls(live_project: MakeLiveProject, server: Server) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    server.reply_with({"choices": [{"message": {"content": None, "tool_calls": [call]}}]})
    check = f"""
def pytest_chatprompt_response(response):
    assert [call.model_dump() for call in response.tool_calls] == {json.dumps([call])}
    assert response.text == ""
"""
    run = live_project(1, conftest=check)
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=1)
    run("--chatprompt-replay").assert_outcomes(passed=1)


RECORD_AGAIN = "record it again: pytest --chatprompt-live --chatprompt-record"
RECORDING_PATH = "__snapshots__/a.eval/c0[[]openai[]].answer.yaml"


def test_a_recording_of_another_request_is_an_error(live_project: MakeLiveProject) -> None:
    run = live_project(2)
    run("--chatprompt-live", "--chatprompt-record")
    run.write({"a.eval.yaml": eval_file(case_ids(2)).replace("content: c0", "content: changed")})
    run.update()
    result = run("--chatprompt-replay")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(
        [
            f"a.eval.yaml:3:5: case 'c0': the recorded answer {RECORDING_PATH} belongs to another request: "
            f"what is sent has changed since it was recorded; {RECORD_AGAIN}"
        ]
    )


def test_a_missing_recording_is_an_error(live_project: MakeLiveProject) -> None:
    result = live_project(1)("--chatprompt-replay")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [f"*case 'c0': no recorded answer at {RECORDING_PATH}; {RECORD_AGAIN.replace('it again', 'it')}"]
    )


@pytest.mark.parametrize(
    "content",
    ["<<<<<<< HEAD\n", "text: x\n", "[]", "\x00", "provider: openai\ntext: 5\n"],
    ids=["a merge conflict", "missing keys", "a list", "a control character", "a text that is a number"],
)
def test_an_unreadable_recording_is_an_error(live_project: MakeLiveProject, content: str) -> None:
    run = live_project(1)
    recording_path(run).write_text(content)
    result = run("--chatprompt-replay")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*cannot read the recorded answer {RECORDING_PATH} (*); {RECORD_AGAIN}"])


def test_a_recording_that_is_nested_too_deeply_is_an_error(live_project: MakeLiveProject) -> None:
    run = live_project(1)
    recording_path(run).write_text("text: " + "[" * 20_000)
    result = run("--chatprompt-replay")
    result.assert_outcomes(errors=1)
    reason = "it is nested too deeply"
    result.stdout.fnmatch_lines([f"*cannot read the recorded answer {RECORDING_PATH} ({reason}); {RECORD_AGAIN}"])


def test_an_empty_answer_is_not_recorded(live_project: MakeLiveProject, server: Server) -> None:
    server.script = lambda _, body: (
        Reply() if body["messages"][-1]["content"] == "c0" else Reply({"choices": [{"message": {"content": ""}}]})
    )
    run = live_project(2)
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=1, failed=1)
    assert recording_path(run).exists()
    assert not recording_path(run, "c1").exists()


def test_an_unused_recording_is_reported_and_removed(live_project: MakeLiveProject) -> None:
    run = live_project(2)
    run("--chatprompt-live", "--chatprompt-record")
    run.write({"a.eval.yaml": eval_file(["c0"])})
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
    ("arguments", "message"),
    [
        pytest.param(
            ["--chatprompt-record"],
            "--chatprompt-record keeps the answers of a live run; add --chatprompt-live",
            id="record without live",
        ),
        pytest.param(
            ["--chatprompt-replay", "--chatprompt-live"],
            "--chatprompt-replay is offline; leave out either it or --chatprompt-live",
            id="replay with live",
        ),
    ],
)
def test_options_that_exclude_each_other_are_a_usage_error(run: Run, arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message}"])


def test_the_answer_of_an_agent_is_recorded_and_replayed_too(live_project: MakeLiveProject) -> None:
    agent = """
from pytest_chatprompt import CLIProvider

@pytest.fixture(scope="session")
def openai_provider():
    return CLIProvider(["echo", "so: {prompt}"])

def pytest_chatprompt_response(case, response):
    assert response.text.strip().startswith("so:")
"""
    run = live_project(2, conftest=agent)
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=2)
    run("--chatprompt-replay").assert_outcomes(passed=2)


def test_the_recording_of_an_agent_is_the_same_on_every_machine(live_project: MakeLiveProject) -> None:
    agent = """
from pytest_chatprompt import CLIProvider

@pytest.fixture(scope="session")
def openai_provider():
    return CLIProvider(["echo", "{files}", "{prompt}"])
"""
    run = live_project(1, conftest=agent)
    content = "[{type: text, value: hi}, {type: file, value: x.md}]"
    for folder in ("here", "there"):
        run.write(
            {
                f"{folder}/pytest.ini": "[pytest]\n",
                f"{folder}/conftest.py": "import pytest\n" + agent,
                f"{folder}/x.md": "x",
                f"{folder}/a.eval.yaml": eval_file(["c0"]).replace("content: c0", f"content: {content}"),
            }
        )
    run.update("--rootdir=here", "here")
    run("--rootdir=here", "here", "--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=1)
    (run.path / "here/__snapshots__").rename(run.path / "there/__snapshots__")
    run("--rootdir=there", "there", "--chatprompt-replay").assert_outcomes(passed=1)


def test_the_answer_of_a_custom_provider_is_recorded_and_replayed_too(live_project: MakeLiveProject) -> None:
    function = """
@pytest.fixture
def openai_provider():
    return lambda request: ProviderResponse(text=f"so: {request.question}")

def pytest_chatprompt_response(case, response):
    assert response.text == f"so: {case.id}"
"""
    run = live_project(2, conftest=function)
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=2)
    run("--chatprompt-replay").assert_outcomes(passed=2)
