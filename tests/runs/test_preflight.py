"""Preflight in a run: findings become warnings with file and line, which filters can turn into errors."""

from __future__ import annotations

import pytest

from tests.runs.conftest import HELLO, Run
from tests.server import Server

TOOL_RESULT_WITHOUT_ID = """
provider: {provider}
evalcases:
  - id: lost
    input_messages:
      - role: user
        content: hi
      - role: tool
        content: sunny
"""
FINDING = (
    "message 2: OpenAI refuses a tool message without 'tool_call_id'; name the call that it answers "
    "[[]tool-call-id, https://platform.openai.com/docs/api-reference/chat/create]"
)
# `run` sets a filter that turns every warning into an error; this one replaces it.
WARNINGS = "[pytest]\nfilterwarnings = default\n"
WARNINGS_AS_ERRORS = "[pytest]\nfilterwarnings = error::pytest_chatprompt.PayloadWarning\n"


@pytest.fixture
def run_with_finding(run: Run) -> Run:
    """A project with a case that OpenAI rejects, and its snapshot."""
    run.write({"pytest.ini": WARNINGS, "evals/a.eval.yaml": TOOL_RESULT_WITHOUT_ID.format(provider="openai")})
    run.update()
    return run


def test_a_warning_names_the_line_of_its_message(run_with_finding: Run) -> None:
    result = run_with_finding()
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(
        [
            "evals/a.eval.yaml::lost",
            f"  {run_with_finding.path}/evals/a.eval.yaml:8: PayloadWarning: {FINDING}",
            "    - role: tool",
        ]
    )


def test_a_filter_turns_the_warning_into_a_failure_of_the_case(run_with_finding: Run) -> None:
    run_with_finding.write({"pytest.ini": WARNINGS_AS_ERRORS})
    result = run_with_finding()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"evals/a.eval.yaml:8:9: case 'lost': {FINDING}"])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*def *")


def test_the_command_line_turns_the_warning_into_a_failure_too(run_with_finding: Run) -> None:
    run_with_finding("-W", "error::pytest_chatprompt.PayloadWarning").assert_outcomes(failed=1)


def test_a_filter_can_ignore_one_rule_by_its_name(run_with_finding: Run) -> None:
    ignored = "    ignore:.*.tool-call-id:pytest_chatprompt.PayloadWarning"
    run_with_finding.write({"pytest.ini": f"{WARNINGS_AS_ERRORS}{ignored}\n"})
    run_with_finding().assert_outcomes(passed=1)


def test_with_warnings_as_errors_the_snapshot_is_not_written(run: Run) -> None:
    run.write({"pytest.ini": WARNINGS_AS_ERRORS, "a.eval.yaml": TOOL_RESULT_WITHOUT_ID.format(provider="openai")})
    run("--snapshot-update").assert_outcomes(failed=1)
    assert run.snapshots() == []


def test_a_live_run_warns_once_and_sends_nothing_if_the_warning_is_an_error(
    run_with_finding: Run, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real-0123456789")
    server.reply_with({"choices": [{"message": {"content": "an answer"}, "finish_reason": "stop"}]})
    run_with_finding.write(
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
    run_with_finding("--chatprompt-live", "-W", "error::pytest_chatprompt.PayloadWarning").assert_outcomes(failed=1)
    assert server.requests == []
    run_with_finding("--chatprompt-live").assert_outcomes(passed=1, warnings=1)
    assert len(server.requests) == 1


def test_an_ordinary_test_that_sends_a_request_gets_the_warning_too(run: Run) -> None:
    run.write(
        {
            "pytest.ini": WARNINGS,
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
def test_a_message_that_the_api_cannot_express_is_an_error_at_its_line(run: Run, provider: str) -> None:
    run.write({"a.eval.yaml": TOOL_RESULT_WITHOUT_ID.format(provider=provider)})
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "a.eval.yaml:8:9: case 'lost': message 2: a tool message without 'tool_call_id'; "
            "name the call that it answers"
        ]
    )


@pytest.mark.parametrize("arguments", [[], ["-n", "2"]])
def test_equal_warnings_of_several_cases_are_one_warning_with_their_places(run: Run, arguments: list[str]) -> None:
    cases = "".join(f"  - id: c{number}\n    input_messages: [{{role: user, content: x}}]\n" for number in range(6))
    run.write(
        {
            "pytest.ini": "[pytest]\nfilterwarnings = default\n",
            "a.eval.yaml": f"provider: openai\nevalcases:\n{cases}",
            "conftest.py": """
import pytest
from pytest_chatprompt import OpenAIProvider

@pytest.fixture(scope="session")
def openai_provider():
    return OpenAIProvider(model="gpt-4o", temperature=3)
""",
        }
    )
    result = run.update(*arguments)
    result.assert_outcomes(passed=6, warnings=1)
    result.stdout.fnmatch_lines(
        ["*a.eval.yaml:*: PayloadWarning: *[[]temperature, *", "*The same for 5 more cases: *a.eval.yaml:*, *, *, ..."]
    )


def test_the_same_warning_at_one_place_names_the_place_once(run: Run) -> None:
    case = "    input_messages: [{role: user, content: x}]\n"
    run.write(
        {
            "pytest.ini": "[pytest]\nfilterwarnings = default\n",
            "a.eval.yaml": f"settings: {{temperature: 3}}\nevalcases:\n  - id: a\n{case}  - id: b\n{case}  - id: c\n{case}",
        }
    )
    result = run.update("--chatprompt-provider=azure")
    result.assert_outcomes(passed=3, warnings=1)
    result.stdout.fnmatch_lines(["*The same for 2 more cases"])


def test_the_same_warning_of_two_cases_names_the_other_place(run: Run) -> None:
    last = "    input_messages: [{role: user, content: x}, {role: assistant, content: y}]\n"
    run.write(
        {
            "pytest.ini": "[pytest]\nfilterwarnings = default\n",
            "a.eval.yaml": f"provider: openai\nevalcases:\n  - id: a\n{last}  - id: b\n{last}",
            "test_b.py": "import warnings\n\ndef test_it():\n    warnings.warn('another')\n",
        }
    )
    result = run.update()
    result.assert_outcomes(passed=3, warnings=2)
    result.stdout.fnmatch_lines(
        ["*PayloadWarning: message 2: *", "*The same for 1 more case: *a.eval.yaml:6", "*another*"]
    )


def test_without_a_terminal_there_is_nothing_to_merge(run: Run) -> None:
    run.write({"a.eval.yaml": HELLO})
    run.update("-p", "no:terminal")
