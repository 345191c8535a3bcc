"""Responses: how hooks and fixtures of the project check them."""

from __future__ import annotations

import pytest

from tests.runs.conftest import MakeLiveProject, eval_file
from tests.server import Server

HOOK = """
def pytest_chatprompt_response(case, request, response):
    print("hook", case.id, request.eval_case_id)
    words = response.text.split()
    assert "unreal" in words
"""
FIXTURE = """
@pytest.fixture
def words(eval_response):
    return eval_response.text.split()

@pytest.fixture(autouse=True)
def check_words(words, eval_case):
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
        pytest.param(FIXTURE, id="in an autouse fixture"),
        pytest.param(OVERRIDE, id="in an override of eval_response"),
    ],
)


@each_check
def test_a_failed_assert_fails_the_case_and_shows_the_values(
    live_project: MakeLiveProject, server: Server, check: str
) -> None:
    result = live_project(2, conftest=check)("--chatprompt-live")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        ["*_ c0 _*", '>*assert "unreal" in *', "E*assert 'unreal' in [[]'a', 'real', 'answer'[]]*"]
    )
    result.stdout.no_fnmatch_line("*pluggy/*")
    assert sorted(server.last_contents) == ["c0", "c1"]


@each_check
def test_offline_no_check_runs(live_project: MakeLiveProject, check: str) -> None:
    live_project(2, conftest=check)().assert_outcomes(passed=2)


@each_check
def test_a_request_that_differs_from_its_snapshot_is_neither_sent_nor_checked(
    live_project: MakeLiveProject, server: Server, check: str
) -> None:
    run = live_project(1, conftest=check)
    run.write({"a.eval.yaml": eval_file(["c0"]).replace("content: c0", "content: changed")})
    result = run("--chatprompt-live")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*what is sent to openai is not what its snapshot says*"])
    assert server.requests == []


def test_a_check_can_use_the_expected_messages(live_project: MakeLiveProject) -> None:
    check = """
def pytest_chatprompt_response(case, response):
    for message in case.expected_messages:
        assert message.content == response.text
"""
    run = live_project(2, conftest=check)
    expected = "    expected_messages: [{role: assistant, content: a real answer}]\n"
    run.write(
        {
            "a.eval.yaml": eval_file(["c0"])
            + expected
            + eval_file(["c1"]).partition("evalcases:\n")[2]
            + expected.replace("real", "dull")
        }
    )
    run("--chatprompt-live").assert_outcomes(passed=1, failed=1)


def test_the_hook_gets_the_whole_response(live_project: MakeLiveProject) -> None:
    check = """
def pytest_chatprompt_response(response):
    assert response.text == "a real answer"
    assert response.finish_reason == "stop"
    assert (response.usage.input_tokens, response.usage.output_tokens) == (10, 3)
    assert 0 < response.latency_seconds < 10
    assert response.retries == 0
    assert response.raw["choices"][0]["finish_reason"] == "stop"
"""
    live_project(2, conftest=check)("--chatprompt-live").assert_outcomes(passed=2)


def test_an_async_hook_is_refused_before_anything_is_sent(live_project: MakeLiveProject, server: Server) -> None:
    run = live_project(
        2, conftest="async def pytest_chatprompt_response(response):\n    assert response.text == 'other'\n"
    )
    result = run("--chatprompt-live")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(
        [
            "a.eval.yaml:3:5: case 'c0': the hook pytest_chatprompt_response must not be async: nothing awaits its asserts"
        ]
    )
    assert server.requests == []


def test_the_hook_of_a_folder_gets_only_the_cases_of_that_folder(live_project: MakeLiveProject) -> None:
    run = live_project(1, **{"sub/conftest.py": HOOK, "sub/b.eval.yaml": eval_file(["s0"])})
    run("--chatprompt-live").assert_outcomes(passed=1, failed=1)


@pytest.mark.parametrize(
    "arguments", [[], ["--chatprompt-live"], ["--chatprompt-replay"]], ids=["offline", "live", "replayed"]
)
def test_using_the_response_before_there_is_one_is_an_error(
    live_project: MakeLiveProject, server: Server, arguments: list[str]
) -> None:
    run = live_project(1)
    early = """
@pytest.fixture(autouse=True)
def early(request):
    assert request.getfixturevalue("eval_response").text == "real"
"""
    run.append("conftest.py", early)
    result = run(*arguments)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "*eval_response is not available yet (offline it never is); use the hook pytest_chatprompt_response, or an autouse fixture that takes eval_response"
        ]
    )
    assert server.requests == []
