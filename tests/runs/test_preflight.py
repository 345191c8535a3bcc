"""Preflight in a run: findings become warnings with file and line, which filters can turn into errors."""

from __future__ import annotations

import json

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
    return run.with_snapshots()


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


OWN_CODE = """
import asyncio

import httpx
import pytest

GREETING = {"model": "gpt-5-mini", "temperature": 0, "messages": [{"role": "user", "content": "hi"}]}


def greet(**more):
    httpx.post("https://api.openai.com/v1/chat/completions", json={**GREETING, **more})
"""
FIXED = (
    "PayloadWarning: OpenAI's gpt-5-mini refuses a temperature other than 1; leave it out "
    "[[]temperature-fixed, https://platform.openai.com/docs/models]"
)


@pytest.mark.parametrize("arguments", [[], ["-n", "1"]])
def test_own_code_gets_the_warning_at_its_test_once_for_each_finding(run: Run, arguments: list[str]) -> None:
    run.write(
        {
            "pytest.ini": WARNINGS,
            "test_a.py": f"""{OWN_CODE}
def test_it(eval_api):
    greet()
    greet(stop=list("abcde"))
    greet()
""",
        }
    )
    result = run(*arguments)
    result.assert_outcomes(passed=1, warnings=2)
    result.stdout.fnmatch_lines(
        [
            "test_a.py::test_it",
            f"  test_a.py:13: {FIXED}",
            "  test_a.py:13: PayloadWarning: OpenAI takes up to 4 texts under stop; leave some out [[]stop-count, *",
        ]
    )


def test_own_code_is_told_of_no_setting_of_a_provider(run: Run) -> None:
    test = f"{OWN_CODE}\ndef test_it(eval_api):\n    greet(max_tokens=9)\n"
    run.write({"pytest.ini": WARNINGS, "test_a.py": test})
    run("--chatprompt-report=r.json").assert_outcomes(passed=1, warnings=2)
    (result,) = json.loads((run.path / "r.json").read_text())["results"]
    assert sorted(result["findings"]) == [
        "OpenAI's gpt-5-mini refuses a temperature other than 1; leave it out",
        "OpenAI's gpt-5-mini refuses max_tokens; send max_completion_tokens in its place",
    ]


def test_own_code_gets_it_whatever_client_sends_and_when(run: Run) -> None:
    run.write(
        {
            "pytest.ini": WARNINGS,
            "test_a.py": f"""{OWN_CODE}
import openai


@pytest.fixture
def greeting(eval_api):
    greet()
    yield
    greet()
    httpx.post(
        "https://api.anthropic.com/v1/messages",
        json={{"model": "claude-sonnet-4-5", "temperature": 0, "messages": [{{"role": "user", "content": "hi"}}]}},
        headers={{"anthropic-version": "2026-10-21"}},
    )

def test_it(greeting):
    async def run():
        client = openai.AsyncAzureOpenAI(api_key="k", azure_endpoint="https://x.openai.azure.com", api_version="2024-10-21")
        await client.chat.completions.create(**GREETING, reasoning_effort="low")

    asyncio.run(run())
    url = "https://generativelanguage.googleapis.com/v1/models/gemini-flash-latest:generateContent"
    httpx.post(url, json={{"contents": [{{"parts": [{{"text": "hi"}}]}}]}})
    httpx.post(
        "https://bedrock-runtime.us-east-1.amazonaws.com/model/global.anthropic.claude-sonnet-5-5/converse",
        json={{"messages": [{{"role": "user", "content": [{{"text": "hi"}}]}}], "inferenceConfig": {{"temperature": 0}}}},
    )
""",
        }
    )
    result = run("--chatprompt-report=r.json")
    result.assert_outcomes(passed=1, warnings=5)
    (test,) = json.loads((run.path / "r.json").read_text())["results"]
    assert [text.partition(";")[0] for text in test["findings"]] == [
        "OpenAI's gpt-5-mini refuses a temperature other than 1",
        "Azure OpenAI's API version 2024-10-21 has no reasoning_effort",
        "Gemini knows gemini-flash-latest in its API version v1beta only",
        "Amazon Bedrock's global.anthropic.claude-sonnet-5-5 refuses a temperature other than 1",
    ]
    for words in (
        "OpenAI's gpt-5-mini refuses a temperature *",
        "Azure OpenAI's API version 2024-10-21 has no reasoning_effort; *",
        "Gemini knows gemini-flash-latest in its API version v1beta only; *",
        "Amazon Bedrock's global.anthropic.claude-sonnet-5-5 refuses a temperature *",
        "Anthropic refuses a temperature since the API version 2026-10-21; *",
    ):
        result.stdout.fnmatch_lines([f"*PayloadWarning: {words}"])


def test_a_filter_makes_the_warning_of_own_code_an_error_or_hides_it(run: Run) -> None:
    tests = """
def test_it(eval_api):
    greet()

@pytest.mark.filterwarnings("ignore:.*temperature-fixed:pytest_chatprompt.PayloadWarning")
def test_hidden(eval_api):
    greet()

def test_failing_too(eval_api):
    greet()
    assert eval_api.sent == 1
"""
    run.write({"pytest.ini": WARNINGS_AS_ERRORS, "test_a.py": f"{OWN_CODE}{tests}"})
    result = run()
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*_ test_it _*", FIXED, "*_ test_failing_too _*", "E *assert *", f"*{FIXED}"])


def test_a_body_that_cannot_be_read_and_the_models_of_others_break_nothing(run: Run) -> None:
    run.write(
        {
            "pytest.ini": WARNINGS,
            "test_a.py": f"""{OWN_CODE}
def test_it(eval_api):
    url = "https://api.openai.com/v1/chat/completions"
    httpx.post(url, content=b"\\xff{{")
    httpx.post(url, json=[1])
    httpx.post(url, json={{"messages": {{"a": 1}}, "tools": 5, "temperature": "x", "model": 3}})
    tool = {{"type": "function", "function": {{"name": "f", "strict": True, "parameters": 5}}}}
    httpx.post(url, json={{**GREETING, "tools": [tool]}})
    httpx.post("https://api.cohere.com/v2/chat", json={{**GREETING, "temperature": 3}})
    httpx.post("https://vllm.example/v1/chat/completions", json={{**GREETING, "model": "qwen", "temperature": 3}})
    httpx.post("https://vllm.example/v1/embeddings", json={{"input": "x"}})
""",
        }
    )
    run().assert_outcomes(passed=1, warnings=0)


def test_functions_of_one_name_in_several_tools_of_gemini_are_a_warning(run: Run) -> None:
    test = """
import httpx

def test_it(eval_api):
    tools = [{"functionDeclarations": [{"name": "buy"}]}, {"functionDeclarations": [{"name": "sell"}, {"name": "buy"}]}]
    body = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "tools": tools}
    httpx.post("https://generativelanguage.googleapis.com/v1/models/gemini-3-pro:generateContent", json=body)
"""
    run.write({"pytest.ini": WARNINGS, "test_a.py": test})
    result = run()
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*PayloadWarning: *Gemini refuses a second tool 'buy'; rename one of them*"])


def test_a_tool_of_the_vendors_own_may_be_chosen(run: Run) -> None:
    run.write(
        {
            "test_a.py": """
import httpx

def test_it(eval_api):
    search = {"type": "web_search_20250305", "name": "web_search"}
    messages = [{"role": "user", "content": "hi"}]
    for choice in ({"type": "tool", "name": "web_search"}, {"type": "any"}):
        body = {"model": "claude-sonnet-5-5", "tools": [search], "tool_choice": choice, "messages": messages}
        assert httpx.post("https://api.anthropic.com/v1/messages", json=body).status_code == 200
""",
        }
    )
    run().assert_outcomes(passed=1)


@pytest.mark.parametrize(("signature", "warnings"), [('"thoughtSignature": "c2ln", ', 0), ("", 1)])
def test_calls_that_own_code_sends_back_with_their_signatures_are_fine(run: Run, signature: str, warnings: int) -> None:
    run.write(
        {
            "pytest.ini": WARNINGS,
            "test_a.py": f"""
import httpx

def test_it(eval_api):
    call = {{{signature}"functionCall": {{"name": "f", "args": {{}}}}}}
    result = {{"functionResponse": {{"name": "f", "response": {{"result": "x"}}}}}}
    contents = [
        {{"role": "user", "parts": [{{"text": "hi"}}]}},
        {{"role": "model", "parts": [call]}},
        {{"role": "user", "parts": [result]}},
    ]
    url = "https://generativelanguage.googleapis.com/v1/models/gemini-3.8-flash:generateContent"
    httpx.post(url, json={{"contents": contents}})
""",
        }
    )
    run().assert_outcomes(passed=1, warnings=warnings)


def test_equal_warnings_of_several_tests_are_one_warning(run: Run) -> None:
    tests = "".join(f"def test_{letter}(eval_api):\n    greet()\n\n" for letter in "abc")
    run.write({"pytest.ini": WARNINGS, "test_a.py": f"{OWN_CODE}\n{tests}"})
    result = run()
    result.assert_outcomes(passed=3, warnings=1)
    result.stdout.fnmatch_lines([f"*test_a.py:*: {FIXED}", "*The same for 2 more tests: test_a.py:*, test_a.py:*"])


def test_a_model_that_is_known_is_known_behind_a_gateway(run: Run) -> None:
    gateway = """
def test_it(eval_api):
    httpx.post("https://gateway.example/v1/chat/completions", json=GREETING)
"""
    run.write({"pytest.ini": WARNINGS, "test_a.py": f"{OWN_CODE}{gateway}"})
    run().assert_outcomes(passed=1, warnings=1)


def test_an_eval_whose_provider_is_the_application_gets_the_warning(run: Run) -> None:
    run.write(
        {
            "pytest.ini": WARNINGS,
            "a.eval.yaml": "provider: app\nevalcases:\n  - {id: a, input_messages: [{role: user, content: x}]}\n",
            "conftest.py": f"""{OWN_CODE}
@pytest.fixture(scope="session")
def app_provider():
    def send(request):
        greet()
        return "done"
    return send
""",
        }
    )
    result = run.update()
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["a.eval.yaml::a", f"*a.eval.yaml:3: {FIXED}"])


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
