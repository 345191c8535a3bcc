"""`ClaudeProvider`: its command line, its environment, its answers and its errors."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_chatprompt import AgentError, ClaudeProvider, ProviderRequest, TokenUsage
from pytest_chatprompt.capture.server.table import REDIRECTED_APIS
from pytest_chatprompt.providers.agents.base import PLACEHOLDER_FOLDER
from pytest_chatprompt.providers.context import SendContext, use_context
from tests.providers.agents.fake_agents import write_executable

pytestmark = pytest.mark.usefixtures("no_leftovers")

REQUEST = ProviderRequest(question="What is\u2028this?")
# As Claude Code 2.1.197 prints it, but for what nobody reads.
RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "num_turns": 2,
    "result": "An answer.",
    "stop_reason": "end_turn",
    "total_cost_usd": 0.25,
    "usage": {
        "input_tokens": 3,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 100,
        "output_tokens": 4,
        "service_tier": "standard",
    },
    "permission_denials": [],
}
# Answers with everything that it was given.
ECHO = """
document = sys.stdin.read()
text = json.dumps({"argv": sys.argv[1:], "document": document, "cwd": os.getcwd(), "environ": dict(os.environ)})
print(json.dumps({"type": "result", "is_error": False, "result": text}))
"""


def claude(folder: Path, body: str, **settings: Any) -> ClaudeProvider:
    return ClaudeProvider(executable=str(write_executable(folder, "claude", body)), **settings)


def printing(*events: object) -> str:
    return f"sys.stdin.read(); print({json.dumps(events[0] if len(events) == 1 else events)!r})"


def echoed(folder: Path, **settings: Any) -> Any:
    """What a program gets in place of Claude Code."""
    return json.loads(claude(folder, ECHO, **settings).send(REQUEST).text)


def error_message(folder: Path, body: str) -> str:
    """The error of a run in which Claude Code is the given program."""
    with pytest.raises(AgentError) as caught:
        claude(folder, body).send(REQUEST)
    return str(caught.value).replace(f"{folder}/", "")


def test_the_command_line_is_one_of_claude_p() -> None:
    provider = ClaudeProvider(
        model="opus", allowed_tools=["Edit", "Bash(git *)"], extra_args=("--permission-mode", "acceptEdits")
    )
    invocation = provider.build_invocation(REQUEST, PLACEHOLDER_FOLDER)
    assert invocation.argv == (
        "claude", "-p", "--output-format", "json", "--model", "opus", "--allowed-tools", "Edit", "Bash(git *)",
        "--permission-mode", "acceptEdits",
    )  # fmt: skip
    assert invocation.stdin == invocation.prompt


@pytest.mark.parametrize(
    ("context", "extra_args", "end"),
    [
        pytest.param(SendContext(is_offline=True, environ={}), (), ["--no-session-persistence"], id="offline"),
        pytest.param(
            SendContext(is_offline=True, environ={}),
            ("--no-session-persistence",),
            ["--no-session-persistence"],
            id="an option that may stand once only",
        ),
        pytest.param(SendContext(environ={}), (), [], id="live"),
        pytest.param(SendContext(is_offline=True), (), [], id="not started"),
    ],
)
def test_a_capture_offline_leaves_no_session_behind(
    context: SendContext, extra_args: tuple[str, ...], end: list[str]
) -> None:
    with use_context(context):
        argv = ClaudeProvider(extra_args=extra_args).build_invocation(REQUEST, PLACEHOLDER_FOLDER).argv
    assert list(argv[4:]) == end


@pytest.mark.parametrize("name", ["allowed_tools", "extra_args"])
def test_a_text_is_no_list_of_arguments(name: str) -> None:
    arguments: dict[str, Any] = {name: "Edit"}
    with pytest.raises(ValueError, match=rf"^ClaudeProvider: {name} must be a valid list, but is 'Edit'$"):
        ClaudeProvider(**arguments)


def test_the_document_is_sent_and_the_result_is_the_answer(tmp_path: Path) -> None:
    response = claude(tmp_path, printing(RESULT)).send(REQUEST)
    assert (response.text, response.finish_reason, response.cost_usd) == ("An answer.", "end_turn", 0.25)
    assert response.usage == TokenUsage(input_tokens=123, output_tokens=4, cache_read_tokens=100, cache_write_tokens=20)
    assert response.raw == RESULT
    given = echoed(tmp_path)
    assert given["document"] == "[[ ## user_query ## ]]\n\nWhat is\u2028this?"
    assert Path(given["cwd"]).name.startswith("chatprompt-")
    assert echoed(tmp_path, cwd=tmp_path)["cwd"] == str(tmp_path)


@pytest.mark.parametrize("left_out", ["usage", "stop_reason", "total_cost_usd"])
def test_what_a_result_does_not_say_is_not_known(tmp_path: Path, left_out: str) -> None:
    response = claude(tmp_path, printing({key: value for key, value in RESULT.items() if key != left_out})).send(
        REQUEST
    )
    assert response.text == "An answer."
    unknown = {"usage": response.usage == TokenUsage(), "stop_reason": response.finish_reason is None}
    assert {**unknown, "total_cost_usd": response.cost_usd is None}[left_out]


def test_the_result_is_the_last_event_where_all_are_printed(tmp_path: Path) -> None:
    response = claude(tmp_path, printing({"type": "system"}, RESULT)).send(REQUEST)
    assert response.text == "An answer."
    assert [event["type"] for event in response.raw] == ["system", "result"]


def test_it_gets_no_keys_of_other_vendors_but_those_that_env_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = {name for api in REDIRECTED_APIS for name in api.keys}
    own = {"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"}
    for name in (*keys, "GITHUB_TOKEN"):
        monkeypatch.setenv(name, f"real-{name}")
    environ = echoed(tmp_path, env={"GROQ_API_KEY": "mine"})["environ"]
    assert {name for name in keys if environ[name] == f"real-{name}"} == own
    assert environ["GROQ_API_KEY"] == "mine"
    assert {environ[name] for name in keys - own} == {"", "mine"}
    # A tool may need it.
    assert environ["GITHUB_TOKEN"] == "real-GITHUB_TOKEN"


def test_it_sends_nothing_but_what_the_task_needs_unless_env_says_otherwise(tmp_path: Path) -> None:
    assert echoed(tmp_path)["environ"]["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] == "1"
    own = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": ""}
    assert echoed(tmp_path, env=own)["environ"]["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] == ""


@pytest.mark.parametrize(
    ("environment", "value"),
    [
        pytest.param({}, "true", id="else it would send all tools to our server, and few to Anthropic"),
        pytest.param({"ENABLE_TOOL_SEARCH": "auto"}, "auto", id="set"),
        pytest.param({"ANTHROPIC_BASE_URL": "https://gateway.example"}, None, id="a gateway, where it sends all too"),
    ],
)
def test_a_capture_shows_the_tools_that_it_sends_to_the_real_api(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], value: str | None
) -> None:
    for name in ("ENABLE_TOOL_SEARCH", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, content in environment.items():
        monkeypatch.setenv(name, content)
    assert echoed(tmp_path)["environ"].get("ENABLE_TOOL_SEARCH") == environment.get("ENABLE_TOOL_SEARCH")
    with use_context(SendContext(environ={"ANTHROPIC_BASE_URL": "http://127.0.0.1:5000/anthropic"})):
        environ = echoed(tmp_path)["environ"]
    assert environ.get("ENABLE_TOOL_SEARCH") == value
    assert environ["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:5000/anthropic"


def test_the_machine_and_the_folder_of_notes_have_placeholders() -> None:
    user = {"device_id": "622ed975acc2a393", "account_uuid": "", "session_id": "1"}
    body = {
        "metadata": {"user_id": json.dumps(user, separators=(",", ":"))},
        "system": [{"text": "a memory at `/home/.claude/projects/-tmp-chatprompt-c-bcsfch/memory/`"}],
    }
    assert ClaudeProvider().stable_body(body) == {
        "metadata": {"user_id": '{"device_id":"{device}","account_uuid":"","session_id":"1"}'},
        "system": [{"text": "a memory at `/home/.claude/projects/{folder}/memory/`"}],
    }
    assert ClaudeProvider().stable_body(None) is None


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(
            f"{printing({**RESULT, 'is_error': True, 'result': 'Not logged in · Please run /login'})}; sys.exit(1)",
            "claude exited with status 1: Not logged in · Please run /login",
            id="no login",
        ),
        pytest.param(
            f"{printing({'type': 'result', 'subtype': 'error_max_turns', 'is_error': True})}; sys.exit(1)",
            "claude exited with status 1: error_max_turns",
            id="without a text",
        ),
        pytest.param(
            printing({**RESULT, "is_error": True, "result": "API Error: 400"}),
            "claude exited with status 0: API Error: 400",
            id="in spite of its status",
        ),
        pytest.param(
            "print('error: unknown option', file=sys.stderr); sys.exit(1)",
            "claude exited with status 1; the end of its standard error:\nerror: unknown option",
            id="no JSON at all",
        ),
        pytest.param("print('hello')", "claude exited without an answer in JSON", id="a text"),
        pytest.param("print('[' * 100_000)", "claude exited without an answer in JSON", id="hostile"),
        pytest.param(printing({"type": "system"}), "claude exited without an answer in JSON", id="another event"),
        pytest.param("print('[]')", "claude exited without an answer in JSON", id="no event"),
        pytest.param(
            printing({**RESULT, "result": " "}), "claude exited without an answer in JSON", id="an empty answer"
        ),
    ],
)  # fmt: skip
def test_a_failure_says_what_claude_code_says(tmp_path: Path, body: str, message: str) -> None:
    assert error_message(tmp_path, body) == message


def test_a_missing_program_says_how_to_choose_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shutil.which("claude") is None
    with pytest.raises(
        AgentError,
        match=r"^executable 'claude' not found on PATH; install it, or pass executable=\.\.\. to ClaudeProvider$",
    ):
        ClaudeProvider().send(REQUEST)
