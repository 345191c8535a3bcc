"""Preflight in a run: warnings with file and line, which users may turn into errors."""

from __future__ import annotations

import pytest

from tests.server import Server

from .conftest import Run

RESULT_WITHOUT_ID = """
provider: {provider}
evalcases:
  - id: lost
    input_messages:
      - role: user
        content: hi
      - role: tool
        content: sunny
"""
TOLD = (
    "message 2: OpenAI refuses a tool message without 'tool_call_id'; name the call that it answers "
    "[[]tool-call-id, https://platform.openai.com/docs/api-reference/chat/create]"
)
# Runs are in this process, where every warning is an error.
WARN = "[pytest]\nfilterwarnings = default\n"
AS_ERROR = "[pytest]\nfilterwarnings = error::pytest_chatprompt.PayloadWarning\n"


@pytest.fixture
def lost(run: Run) -> Run:
    """A folder with a case that OpenAI refuses, its snapshot written."""
    run.write({"pytest.ini": WARN, "evals/a.eval.yaml": RESULT_WITHOUT_ID.format(provider="openai")})
    run.update()
    return run


def test_a_warning_stands_at_the_line_of_its_message(lost: Run) -> None:
    result = lost()
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(
        ["evals/a.eval.yaml::lost", f"  {lost.path}/evals/a.eval.yaml:8: PayloadWarning: {TOLD}", "    - role: tool"]
    )


def test_a_filter_makes_it_an_error_of_the_case(lost: Run) -> None:
    lost.write({"pytest.ini": AS_ERROR})
    result = lost()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"evals/a.eval.yaml:8:9: case 'lost': {TOLD}"])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*def *")


def test_the_command_line_makes_it_an_error_too(lost: Run) -> None:
    lost("-W", "error::pytest_chatprompt.PayloadWarning").assert_outcomes(failed=1)


def test_a_filter_finds_a_rule_by_its_name(lost: Run) -> None:
    ignored = "    ignore:.*.tool-call-id:pytest_chatprompt.PayloadWarning"
    lost.write({"pytest.ini": f"{AS_ERROR}{ignored}\n"})
    lost().assert_outcomes(passed=1)


def test_an_error_keeps_the_snapshot_from_being_written(run: Run) -> None:
    run.write({"pytest.ini": AS_ERROR, "a.eval.yaml": RESULT_WITHOUT_ID.format(provider="openai")})
    run("--snapshot-update").assert_outcomes(failed=1)
    assert run.snapshots() == []


def test_a_live_run_warns_once_and_an_error_sends_nothing(
    lost: Run, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real-0123456789")
    server.answers({"choices": [{"message": {"content": "an answer"}, "finish_reason": "stop"}]})
    lost.write(
        {
            "conftest.py": f"""
import pytest
from pytest_chatprompt import OpenAIProvider

@pytest.fixture
def openai_provider():
    provider = OpenAIProvider(base_url="{server.url}")
    yield provider
    provider.close()
"""
        }
    )
    lost("--chatprompt-live", "-W", "error::pytest_chatprompt.PayloadWarning").assert_outcomes(failed=1)
    assert server.requests == []
    lost("--chatprompt-live").assert_outcomes(passed=1, warnings=1)
    assert len(server.requests) == 1


def test_an_ordinary_test_that_sends_is_warned_too(run: Run) -> None:
    run.write(
        {
            "pytest.ini": WARN,
            "test_a.py": """
import pytest
from pytest_chatprompt import ChatMessage, OpenAIProvider, ProviderRequest

@pytest.fixture
def eval_provider():
    return OpenAIProvider()

@pytest.fixture
def eval_request():
    return ProviderRequest(chat_prompt=[ChatMessage("user", "hi"), ChatMessage("tool", "x")])

def test_it(eval_response):
    assert eval_response.text == "(offline)"
""",
        }
    )
    result = run()
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["test_a.py::test_it", "*PayloadWarning: OpenAI refuses a tool message*"])


@pytest.mark.parametrize("provider", ["anthropic", "gemini"])
def test_what_the_shape_cannot_hold_is_an_error_at_the_line_of_its_message(run: Run, provider: str) -> None:
    run.write({"a.eval.yaml": RESULT_WITHOUT_ID.format(provider=provider)})
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "a.eval.yaml:8:9: case 'lost': message 2: a tool message without 'tool_call_id'; "
            "name the call that it answers"
        ]
    )
