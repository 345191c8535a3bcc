"""Secrets: none reaches a snapshot or a recording, and ordinary text does."""

from __future__ import annotations

import base64
import json

import pytest
import yaml

from tests.runs.conftest import HELLO, MakeLiveProject, Run
from tests.server import Server

KEY = "k3y-0123456789"
GITHUB = "ghp_q7Rk2ZpX9vLmT4wNc8YbD3sHf6GjA1eUx5Ko"
ALLOW = "chatprompt_allowed_secrets"
ADVICE = (
    "remove it: snapshots are committed."
    " If it is not a secret, add a regular expression for it to the ini value chatprompt_allowed_secrets"
)


def write_case(run: Run, content: str, *, provider: str = "openai", conftest: str = "") -> None:
    run.write(
        {
            "a.eval.yaml": f"provider: {provider}" + HELLO.replace("content: hello", f"content: {json.dumps(content)}"),
            "conftest.py": f"import os\nimport httpx\nimport pytest\nimport pytest_chatprompt as chat\n{conftest}",
        }
    )


def provider_fixture(expression: str, name: str = "openai") -> str:
    return f"\n@pytest.fixture\ndef {name}_provider():\n    return {expression}\n"


def assert_refused(run: Run, what: str, *arguments: str, provider: str = "openai") -> None:
    """Assert that no snapshot is written, and that the report says why without the secret."""
    result = run("--snapshot-update", *arguments)
    result.assert_outcomes(failed=1)
    assert f"a.eval.yaml:3:5: case 'hello': what is sent to {provider} holds {what}; {ADVICE}" in result.outlines
    assert run.snapshots() == []
    assert KEY not in result.stdout.str()
    assert GITHUB not in result.stdout.str()


@pytest.mark.parametrize("name", ["PGPASSWORD", "MYSQL_PWD", "GITHUB_PAT", "OPENAI_API_KEY_2", "DB_PASS", "API_KEYS"])
def test_a_variable_with_the_name_of_a_secret(run: Run, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, f"{KEY}\n")
    write_case(run, f"My key is {KEY}.")
    assert_refused(run, f"the value of the environment variable {name}, under question")


def test_a_variable_that_a_fixture_sets(run: Run) -> None:
    late = """
@pytest.fixture(autouse=True)
def late(monkeypatch):
    monkeypatch.setenv("LATE_TOKEN", "k3y-" + "0123456789")
"""
    write_case(run, f"My key is {KEY}.", conftest=late)
    assert_refused(run, "the value of the environment variable LATE_TOKEN, under question")


def test_the_password_of_a_url(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", f"postgres://me:{KEY}@db.example/x")
    write_case(run, f"Log in with {KEY}.")
    assert_refused(run, "the value of the environment variable DATABASE_URL, under question")


def test_a_secret_in_base64_of_basic_authentication(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", KEY)
    write_case(run, base64.b64encode(f"me:{KEY}".encode()).decode())
    assert_refused(run, "the value of the environment variable MY_TOKEN, under question")


def test_a_token_by_its_shape(run: Run) -> None:
    write_case(run, f"Use {GITHUB}, please.")
    assert_refused(run, "what looks like a GitHub token, under question")


@pytest.mark.parametrize(
    ("extra_body", "what"),
    [
        ({"api_key": KEY}, "what looks like a secret by its name, 'api_key', under request.api_key"),
        ({"metadata": {KEY: 1}}, "the value of the environment variable MY_TOKEN, under request.metadata"),
        (
            {"user": json.dumps({"a": json.dumps(KEY)})},
            "the value of the environment variable MY_TOKEN, under request.user",
        ),
        (
            {"tools": [{"type": "mcp", "headers": {"Authorization": "Bearer t0ken-9876543210"}}]},
            "what looks like a secret by its name, 'Authorization', under request.tools[0].headers.Authorization",
        ),
    ],
    ids=["by the name", "a key of a mapping", "JSON in JSON", "a header of a tool"],
)
def test_a_secret_in_the_body(
    run: Run, monkeypatch: pytest.MonkeyPatch, extra_body: dict[str, object], what: str
) -> None:
    if "by its name" not in what:
        monkeypatch.setenv("MY_TOKEN", KEY)
    write_case(run, "hi", conftest=provider_fixture(f"chat.OpenAIProvider(model='gpt-4o', extra_body={extra_body!r})"))
    assert_refused(run, what)


SENDING = """
@pytest.fixture
def openai_provider(eval_api):
    eval_api.route().respond(json={{}})

    def send(request):
        httpx.post("https://x.example/{path}", {arguments})
        return chat.ProviderResponse(text="ok")

    return send
"""


@pytest.mark.parametrize(
    ("path", "arguments", "what"),
    [
        (f"bot{KEY}/send", "json={}", "the value of the environment variable MY_TOKEN, under endpoint"),
        (f"a?b=%7B{KEY}%7D", "json={}", "the value of the environment variable MY_TOKEN, under endpoint"),
        ("a", f"content=b'\\xff{KEY}'", "the value of the environment variable MY_TOKEN, under request.base64"),
        (
            "a",
            f"files={{'f': ('f', b'\\xff{KEY}')}}",
            "the value of the environment variable MY_TOKEN, under request.multipart[0].content.base64",
        ),
        (
            "a",
            "data={'client_secret': 't0ken-9876543210'}",
            "what looks like a secret by its name, 'client_secret', under request",
        ),
        (
            "a",
            f"headers={{'X-Auth-Token': '{KEY}'}}, json=['{KEY}']",
            "the value of the environment variable MY_TOKEN, under request[0]",
        ),
    ],
    ids=["the path", "the query", "bytes", "a file of a form", "a field of a form", "a header and the body"],
)
def test_a_secret_that_a_provider_of_your_own_sends(
    run: Run, monkeypatch: pytest.MonkeyPatch, path: str, arguments: str, what: str
) -> None:
    monkeypatch.setenv("MY_TOKEN", KEY)
    write_case(run, "hi", conftest=SENDING.format(path=path, arguments=arguments))
    assert_refused(run, what)


def test_a_secret_that_only_a_header_holds(run: Run) -> None:
    arguments = f"headers={{'Ocp-Apim-Subscription-Key': '{KEY}'}}, json=['{KEY}']"
    write_case(run, "hi", conftest=SENDING.format(path="a", arguments=arguments))
    assert_refused(run, "the value of the header ocp-apim-subscription-key, under request[0]")


def test_a_query_shows_no_secret_and_teaches_it(run: Run) -> None:
    write_case(run, "hi", conftest=SENDING.format(path=f"a?sig={KEY}&b=1", arguments="json={}"))
    run.update().assert_outcomes(passed=1)
    assert run.snapshot("__snapshots__/a.eval/hello[openai].yaml")["endpoint"] == "POST /a?sig=hidden&b=1"
    write_case(run, "hi", conftest=SENDING.format(path=f"a?sig={KEY}&b=1", arguments=f"json=['{KEY}']"))
    message = "*holds the value of a secret in the URL of a request, under request[[]0[]]; *"
    run("--snapshot-update").stdout.fnmatch_lines([message])


def test_a_form_with_files_is_the_same_in_every_run(run: Run) -> None:
    arguments = "data={'purpose': 'evals'}, files={'file': ('a.txt', b'hello')}"
    write_case(run, "hi", conftest=SENDING.format(path="v1/files", arguments=arguments))
    run.update().assert_outcomes(passed=1)
    run().assert_outcomes(passed=1)
    assert run.snapshot("__snapshots__/a.eval/hello[openai].yaml")["request"] == {
        "multipart": [
            {"headers": {"Content-Disposition": 'form-data; name="purpose"'}, "content": "evals"},
            {
                "headers": {
                    "Content-Disposition": 'form-data; name="file"; filename="a.txt"',
                    "Content-Type": "text/plain",
                },
                "content": "hello",
            },
        ]
    }


@pytest.mark.parametrize("arguments", [[], ["--chatprompt-live"]], ids=["offline", "live"])
@pytest.mark.parametrize(
    ("agent", "what"),
    [
        (
            f"chat.CLIProvider(['x', '{KEY}', '{{prompt}}'], env={{'AGENT_TOKEN': '{KEY}'}})",
            "the value of AGENT_TOKEN in the agent's env, under argv[1]",
        ),
        (
            f"chat.CodexProvider(config={{'a': '\"{KEY}\"'}}, env={{'AGENT_TOKEN': '\"{KEY}\"'}})",
            "the value of AGENT_TOKEN in the agent's env, under argv[9]",
        ),
        (
            f"chat.CLIProvider(['x', '--api-key', '{KEY}', '{{prompt}}'])",
            "what looks like a secret by its name, 'api-key', under argv",
        ),
    ],
    ids=["in an argument", "in Codex's configuration", "by the name of an option"],
)
def test_a_secret_of_an_agent(run: Run, agent: str, what: str, arguments: list[str]) -> None:
    write_case(run, "hi", provider="my", conftest=provider_fixture(agent, "my"))
    assert_refused(run, what, *arguments, provider="my")


def test_the_prompt_of_an_agent_holds_no_secret_of_its_environment(run: Run) -> None:
    agent = f"chat.CLIProvider(['x', '{{prompt_file}}'], env={{'AGENT_TOKEN': '{KEY}', 'MODE': 'careful'}})"
    write_case(run, f"Be careful with {KEY}.", provider="my", conftest=provider_fixture(agent, "my"))
    assert_refused(run, "the value of AGENT_TOKEN in the agent's env, under question", provider="my")


def test_a_live_run_writes_no_snapshot_with_the_key_that_the_code_sets(run: Run, server: Server) -> None:
    fixture = provider_fixture(f"chat.OpenAIProvider(base_url='{server.url}', api_key='{KEY}')")
    write_case(run, f"My key is {KEY}.", conftest=fixture)
    result = run("--chatprompt-live", "--snapshot-update")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*holds the value of the header authorization, under question; *"])
    assert run.snapshots() == []
    assert server.requests == []


def test_a_recording_holds_no_secret(live_project: MakeLiveProject, server: Server) -> None:
    live_key = "sk-live-0123456789"
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "f", "arguments": json.dumps({"a": live_key, "b": f"{GITHUB}\n\"'", "c": "\\u0041"})},
    }
    answer = {"content": f"é {live_key}\n{GITHUB}", "tool_calls": [call]}
    server.reply_with({"choices": [{"message": answer, "finish_reason": live_key}]})
    run = live_project(1)
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=1)
    recording = yaml.safe_load((run.path / "__snapshots__/a.eval/c0[openai].recording.yaml").read_text())
    (choice,) = recording["exchanges"][0]["reply"]["body"]["choices"]
    assert choice["message"]["content"] == "é [secret]\n[secret]"
    assert choice["finish_reason"] == "[secret]"
    (recorded,) = choice["message"]["tool_calls"]
    assert json.loads(recorded["function"]["arguments"]) == {"a": "[secret]", "b": "[secret]\n\"'", "c": "\\u0041"}
    run("--chatprompt-replay").assert_outcomes(passed=1)


# --- what is not a secret


def test_a_variable_with_an_ordinary_value_changes_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "PARTITION_KEY": "messages",
        "SIGNING_KEY": "messages",
        "SOME_SECRET": "content",
        "ROLE_KEY": "assistant",
        "MODEL_KEY": "gpt-5.5",
        "TOKEN_COUNT": "max_completion_tokens",
        "SHORT_TOKEN": "hello",
        "NUMBER_TOKEN": "12345678",
        "PASSWORD_FILE": "/run/secrets/messages",
    }.items():
        monkeypatch.setenv(name, value)
    write_case(run, "The messages are 12345678; use sk-... keys, not ghp_...; max_completion_tokens is for gpt-5.5.")
    run.update().assert_outcomes(passed=1)
    run().assert_outcomes(passed=1)


def test_a_tool_may_have_parameters_with_the_names_of_secrets(run: Run) -> None:
    schema = {
        "type": "object",
        "properties": {"key": {"type": "string", "default": "customer"}, "token": {}, "code": {}},
    }
    tool = {"type": "function", "function": {"name": "look_up", "parameters": {**schema, "required": ["key", "token"]}}}
    extra_body = {"tools": [tool], "max_tokens": 100, "prompt_cache_key": "9f86d081884c7d659a2feaa0"}
    write_case(run, "hi", conftest=provider_fixture(f"chat.OpenAIProvider(model='gpt-4o', extra_body={extra_body!r})"))
    run.update().assert_outcomes(passed=1)


# --- what is allowed


def test_what_the_ini_allows_is_no_secret(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", KEY)
    write_case(run, f"The example keys are {KEY} and {GITHUB}.")
    assert_refused(run, "the value of the environment variable MY_TOKEN, under question")
    run.write({"pytest.ini": f"[pytest]\n{ALLOW} =\n    k3y-[0-9]+\n    ghp_q7Rk.*\n"})
    run.update().assert_outcomes(passed=1)
    assert KEY in str(run.snapshot("__snapshots__/a.eval/hello[openai].yaml")["question"])


def test_an_invalid_pattern_is_a_usage_error(run: Run) -> None:
    run.write({"a.eval.yaml": HELLO, "pytest.ini": f"[pytest]\n{ALLOW} =\n    good\n    bad(\n"})
    result = run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [
            "ERROR: chatprompt_allowed_secrets: 'bad(' is not a valid regular expression (missing ), unterminated "
            "subpattern at position 3); write one for each line, with a backslash before characters such as ( and +"
        ]
    )
