"""Settings, tools, tool choices and response formats in a run: what is sent, and the line of what is wrong."""

from __future__ import annotations

import pytest

from pytest_chatprompt.apis.table import PROVIDERS
from tests.runs.conftest import Run
from tests.server import Server

TOOLS = """
[
  {"type": "function", "name": "weather", "parameters": {"type": "object"}}
]
"""
EVERYTHING = """
provider: [openai, azure, anthropic, gemini, codex, claude, own]
settings:
  temperature: 1
  max_output_tokens: 50
  openai: {seed: 1}
  own: {seed: 2}
tools: ./tools.json
evalcases:
  - id: forced
    tool_choice: {type: function, name: weather}
    settings: {max_output_tokens: 60, own: {top_p: 0}}
    input_messages: [{role: user, content: Warm?}]
  - id: demanded
    tools: []
    response_format: {type: json_schema, name: n, schema: {type: object, additionalProperties: false}}
    input_messages: [{role: user, content: Warm?}]
"""
OWN = """
import pytest

@pytest.fixture
def own_provider():
    def own(request):
        tools = [tool["name"] for tool in request.tools]
        return f"{dict(request.settings)} {tools} {request.tool_choice}"
    return own

@pytest.hookimpl
def pytest_chatprompt_response(case, request, response):
    print(response.text)
"""


def test_each_provider_gets_the_options_of_the_file_and_the_case(run: Run) -> None:
    run.write({"evals/a.eval.yaml": EVERYTHING, "tools.json": TOOLS, "conftest.py": OWN})
    # Offline, each API answers what a provider can read, also when a tool is forced or a schema is demanded.
    run.update().assert_outcomes(passed=14)
    run().assert_outcomes(passed=14)
    folder = "evals/__snapshots__/a.eval/"
    messages = [{"role": "system", "content": "You are a careful assistant."}, {"role": "user", "content": "Warm?"}]
    assert run.snapshot(f"{folder}forced[openai].yaml")["request"] == {
        "model": "gpt-5.5",
        "messages": messages,
        "temperature": 1,
        "max_completion_tokens": 60,
        "seed": 1,
        "tools": [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}],
        "tool_choice": {"type": "function", "function": {"name": "weather"}},
    }
    assert run.snapshot(f"{folder}demanded[openai].yaml")["request"] == {
        "model": "gpt-5.5",
        "messages": messages,
        "temperature": 1,
        "max_completion_tokens": 50,
        "seed": 1,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "n", "schema": {"type": "object", "additionalProperties": False}},
        },
    }
    demanded = run.snapshot(f"{folder}demanded[anthropic].yaml")
    assert demanded["adjustments"] == ["response_format: name left out, Anthropic has none"]
    for agent in ("codex", "claude"):
        assert run.snapshot(f"{folder}forced[{agent}].yaml")["adjustments"] == [
            "settings left out, an agent takes none: temperature, max_output_tokens",
            "tools left out, an agent takes none",
            "tool_choice left out, an agent takes none",
        ]
        assert run.snapshot(f"{folder}demanded[{agent}].yaml")["adjustments"] == [
            "settings left out, an agent takes none: temperature, max_output_tokens",
            "response_format left out, an agent takes none",
        ]


MISTAKES = """
settings:
  seed: 1
  anthropic: {stop: [a], reasoning_effort: none}
tools: tools.json
tool_choice: {type: web_search}
provider: anthropic
evalcases:
  - id: effort
    settings: {seed: null}
    input_messages: [{role: user, content: hi}]
  - id: file
    settings: {anthropic: {reasoning_effort: low}}
    input_messages: [{role: user, content: hi}]
  - id: case
    settings:
      anthropic:
        reasoning_effort: low
        seed: 3
    input_messages: [{role: user, content: hi}]
  - id: choice
    settings: {seed: null, anthropic: {reasoning_effort: low}}
    input_messages: [{role: user, content: hi}]
  - id: tool
    settings: {seed: null, anthropic: {reasoning_effort: low}}
    tools:
      - {type: function, name: a}
      - type: web_search
    input_messages: [{role: user, content: hi}]
  - id: json
    settings: {seed: null, anthropic: {reasoning_effort: low}}
    tool_choice: none
    response_format: {type: json_object}
    input_messages: [{role: user, content: hi}]
"""


def test_what_an_api_lacks_is_an_error_at_its_line(run: Run) -> None:
    run.write({"a.eval.yaml": MISTAKES, "tools.json": TOOLS})
    result = run()
    result.assert_outcomes(failed=6)
    lacks_seed = "Anthropic has no setting 'seed'; leave it out, or put it under the name of a provider that has it"
    result.stdout.fnmatch_lines(
        [
            "a.eval.yaml:4:26: case 'effort': Anthropic has no reasoning_effort 'none'; write one of *",
            f"a.eval.yaml:3:3: case 'file': {lacks_seed}",
            f"a.eval.yaml:19:9: case 'case': {lacks_seed}",
            "a.eval.yaml:6:14: case 'choice': Anthropic can only be made to call functions, *",
            "a.eval.yaml:28:9: case 'tool': Anthropic has no tool of OpenAI's type 'web_search'; *",
            "a.eval.yaml:33:22: case 'json': Anthropic has no JSON without a schema; *",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")


def test_settings_for_a_provider_that_does_not_exist_are_an_error(run: Run) -> None:
    case = "  - {{id: {}, settings: {{{}: {{seed: 1}}}}, input_messages: [{{role: user, content: hi}}]}}\n"
    cases = [("near", "opnai"), ("far", "zzz"), ("own", "own"), ("used", "mine"), ("built-in", "gemini")]
    run.write(
        {
            "a.eval.yaml": "evalcases:\n" + "".join(case.format(*names) for names in cases),
            "conftest.py": "import pytest\n"
            "@pytest.fixture\ndef own_provider(): ...\n"
            "@pytest.fixture\ndef eval_provider(): return lambda request: ''\n",
        }
    )
    result = run("--chatprompt-provider", "mine", "--snapshot-update")
    result.assert_outcomes(passed=3, errors=2)
    result.stdout.fnmatch_lines(
        [
            "a.eval.yaml:2:27: case 'near': settings for an unknown provider 'opnai'; did you mean 'openai'?",
            "a.eval.yaml:3:26: case 'far': settings for an unknown provider 'zzz'; the providers are "
            + ", ".join(sorted([*PROVIDERS, "own"])),
        ]
    )


def test_a_finding_is_shown_at_the_line_of_its_option(run: Run) -> None:
    run.write(
        {
            "pytest.ini": "[pytest]\nfilterwarnings = default\n",
            "a.eval.yaml": """
provider: openai
settings: {openai: {top_p: 0.5}}
evalcases:
  - id: a
    tools:
      - {type: function, name: a}
      - {type: function, name: a b}
    input_messages: [{role: user, content: hi}]
""",
        }
    )
    result = run("--snapshot-update")
    result.assert_outcomes(passed=1, warnings=2)
    result.stdout.fnmatch_lines(
        [
            f"  {run.path}/a.eval.yaml:8: PayloadWarning: OpenAI refuses the tool name 'a b'; *",
            f"  {run.path}/a.eval.yaml:3: PayloadWarning: OpenAI's gpt-5.5 refuses top_p; *",
        ]
    )


def test_a_live_run_sends_the_options_also_ahead(run: Run, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real-0123456789")
    server.reply_with({"choices": [{"message": {"content": "an answer"}, "finish_reason": "stop"}]})
    case = "  - {{id: c{0}, settings: {{seed: {0}}}, input_messages: [{{role: user, content: hi}}]}}\n"
    head = "provider: openai\nsettings: {openai: {model: other}}\ntools: tools.json\nevalcases:\n"
    run.write(
        {
            "a.eval.yaml": head + "".join(case.format(number) for number in range(3)),
            "tools.json": TOOLS,
            "conftest.py": f"""
import pytest
from pytest_chatprompt import OpenAIProvider

@pytest.fixture(scope="session")
def openai_provider():
    provider = OpenAIProvider(base_url="{server.url}")
    yield provider
    provider.close()
""",
        }
    )
    run.update()
    run("--chatprompt-live").assert_outcomes(passed=3)
    assert sorted(
        (body["model"], body["seed"], body["tools"][0]["function"]["name"]) for _, _, body in server.requests
    ) == [("other", number, "weather") for number in range(3)]
