"""OpenAI Responses, Bedrock, Ollama, OpenRouter and Mistral in runs: offline, live, recorded and replayed."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from tests.replies import plain_reply
from tests.runs.conftest import HELLO, Run
from tests.server import Reply, Server

NAMES = ("openai_responses", "bedrock", "ollama", "openrouter", "mistral")
EVERYTHING = f"""
provider: [{", ".join(NAMES)}]
settings:
  max_output_tokens: 50
  bedrock: {{stop: END}}
  ollama: {{seed: 1}}
  mistral: {{seed: 1}}
tools: [{{type: function, function: {{name: now, parameters: {{type: object, properties: {{}}}}}}}}]
evalcases:
  - id: round-trip
    input_messages:
      - {{role: system, content: Be kind.}}
      - {{role: user, content: When?}}
      - role: assistant
        content: null
        tool_calls: [{{id: callnow01, function: {{name: now, arguments: "{{}}"}}}}]
      - {{role: tool, tool_call_id: callnow01, content: noon}}
  - id: schema
    tools: []
    response_format:
      type: json_schema
      name: n
      schema: {{type: object, properties: {{a: {{type: integer}}}}, required: [a], additionalProperties: false}}
    input_messages: [{{role: user, content: JSON!}}]
"""


def request_of(run: Run, case: str, provider: str) -> Any:
    return run.snapshot(f"__snapshots__/a.eval/{case}[{provider}].yaml")["request"]


def test_offline_each_gets_settings_tools_and_formats_in_its_own_shape(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Offline nothing is signed.
    monkeypatch.setitem(sys.modules, "botocore", None)
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    run.write({"a.eval.yaml": EVERYTHING})
    run.update().assert_outcomes(passed=10)
    run().assert_outcomes(passed=10)
    assert request_of(run, "round-trip", "openai_responses") == {
        "model": "gpt-5.5",
        "instructions": "Be kind.",
        "input": [
            {"role": "user", "content": "When?"},
            {"type": "function_call", "call_id": "callnow01", "name": "now", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "callnow01", "output": "noon"},
        ],
        "max_output_tokens": 50,
        "tools": [{"type": "function", "name": "now", "parameters": {"type": "object", "properties": {}}}],
    }
    assert request_of(run, "round-trip", "bedrock") == {
        "system": [{"text": "Be kind."}],
        "messages": [
            {"role": "user", "content": [{"text": "When?"}]},
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "callnow01", "name": "now", "input": {}}}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "callnow01", "content": [{"text": "noon"}]}}]},
        ],
        "inferenceConfig": {"maxTokens": 50, "stopSequences": ["END"]},
        "toolConfig": {
            "tools": [{"toolSpec": {"name": "now", "inputSchema": {"json": {"type": "object", "properties": {}}}}}]
        },
    }
    ollama, openrouter, mistral = (request_of(run, "round-trip", name) for name in ("ollama", "openrouter", "mistral"))
    assert (ollama.pop("model"), ollama.pop("seed")) == ("gpt-oss:20b", 1)
    assert openrouter.pop("model") == "openai/gpt-5.5"
    assert (mistral.pop("model"), mistral.pop("random_seed")) == ("mistral-large-latest", 1)
    assert ollama == openrouter == mistral
    assert ollama["max_tokens"] == 50
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    schema["additionalProperties"] = False
    assert request_of(run, "schema", "openai_responses")["text"]["format"]["schema"] == schema
    definition = request_of(run, "schema", "bedrock")["outputConfig"]["textFormat"]["structure"]["jsonSchema"]
    assert json.loads(definition["schema"]) == schema
    assert run.snapshot("__snapshots__/a.eval/schema[bedrock].yaml")["endpoint"] == (
        "POST /model/global.anthropic.claude-sonnet-5-5/converse"
    )


def test_bedrock_is_signed_live_retried_recorded_and_replayed_without_credentials(
    run: Run, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = {"AWS_ACCESS_KEY_ID": "AKIDOFTHETEAM0123456", "AWS_SECRET_ACCESS_KEY": "s3cret-0123456789"}
    for name in ("AWS_BEARER_TOKEN_BEDROCK", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {**secrets, "AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": server.url}.items():
        monkeypatch.setenv(name, value)
    busy = Reply({"message": "Slow down."}, 429, {"x-amzn-errortype": "ThrottlingException", "retry-after": "0"})
    server.script = lambda number, _: Reply(plain_reply("bedrock")) if number else busy
    run.write({"a.eval.yaml": f"provider: bedrock{HELLO}"})
    run.update()
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=1)
    assert [path for path, _, _ in server.requests] == ["/model/global.anthropic.claude-sonnet-5-5/converse"] * 2
    assert all("/eu-west-1/bedrock/aws4_request" in headers["authorization"] for _, headers, _ in server.requests)
    for name in (*secrets, "AWS_REGION", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"):
        monkeypatch.delenv(name)
    run("--chatprompt-replay").assert_outcomes(passed=1)
    assert len(server.requests) == 2
    recording = (run.path / "__snapshots__/a.eval/hello[bedrock].recording.yaml").read_text(encoding="utf-8")
    assert not any(value in recording for value in (*secrets.values(), server.url))


def test_ollama_and_responses_answer_a_live_run(run: Run, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OLLAMA_API_KEY", raising=False)
    monkeypatch.setenv("OLLAMA_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-live-0123456789")
    conftest = f"""
import pytest
from pytest_chatprompt import OpenAIResponsesProvider

@pytest.fixture(scope="session")
def openai_responses_provider():
    provider = OpenAIResponsesProvider(base_url="{server.url}/v1")
    yield provider
    provider.close()

def pytest_chatprompt_response(case, request, response):
    print("got", response.text, response.usage.output_tokens, response.finish_reason)
"""
    server.script = lambda _, body: Reply(plain_reply("openai-responses" if "input" in body else "openai-chat"))
    run.write({"a.eval.yaml": f"provider: [ollama, openai_responses]{HELLO}", "conftest.py": conftest})
    run.update()
    result = run("--chatprompt-live", "-s")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*got (offline) * stop"])
    result.stdout.fnmatch_lines(["*got (offline) * completed"])
    assert sorted(path for path, _, _ in server.requests) == ["/v1/chat/completions", "/v1/responses"]


def test_what_a_live_run_lacks_is_an_error_of_the_case(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_BEARER_TOKEN_BEDROCK", "OPENROUTER_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    run.write({"a.eval.yaml": f"provider: [bedrock, openrouter]{HELLO}"})
    run.update()
    result = run("--chatprompt-live")
    result.assert_outcomes(errors=2, passed=0)
    result.stdout.fnmatch_lines(
        [
            "*requests to Amazon Bedrock are signed by botocore, which is not installed: install it (pip install *",
            "*no key for OpenRouter: set the environment variable OPENROUTER_API_KEY, *",
        ]
    )
