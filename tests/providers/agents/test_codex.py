"""`CodexProvider`: its command line, its answers and its errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_chatprompt import AgentError, CodexProvider, ProviderRequest, TokenUsage
from pytest_chatprompt.providers.agents.base import PLACEHOLDER_FOLDER
from pytest_chatprompt.providers.context import SendContext, use_context
from tests.providers.agents.fake_agents import write_executable

pytestmark = pytest.mark.usefixtures("no_leftovers")

# Answers with everything that it was given, and prints events.
ECHO = """
document = sys.stdin.read()
out = sys.argv[sys.argv.index("--output-last-message") + 1]
print(json.dumps({"type": "thread.started"}))
print("not an event")
print(json.dumps(["no object"]))
USAGE = {"input_tokens": 8, "cached_input_tokens": 5, "cache_write_input_tokens": 2, "output_tokens": 4}
print(json.dumps({"type": "turn.completed", "usage": {**USAGE, "reasoning_output_tokens": 1}}))
pathlib.Path(out).write_text(json.dumps({"argv": sys.argv[1:], "document": document, "cwd": os.getcwd(), "mine": os.environ.get("MINE")}))
"""
REQUEST = ProviderRequest(question="What is\u2028this?")


def error_message(folder: Path, body: str) -> str:
    """The error of a run in which Codex is the given program."""
    provider = CodexProvider(executable=str(write_executable(folder, "codex", f"sys.stdin.read()\n{body}")))
    with pytest.raises(AgentError) as caught:
        provider.send(REQUEST)
    return str(caught.value).replace(f"{folder}/", "")


def test_the_command_line_is_one_of_codex_exec() -> None:
    provider = CodexProvider(
        model="gpt-x",
        sandbox="read-only",
        config={"model_provider": "mine", "a.b": True, "c": [1, "x"]},
        extra_args=("--ephemeral",),
    )
    invocation = provider.build_invocation(REQUEST, PLACEHOLDER_FOLDER)
    assert invocation.argv == (
        "codex", "exec", "--json", "--skip-git-repo-check", "--color", "never",
        "--output-last-message", str(PLACEHOLDER_FOLDER / "last-message.md"),
        "--model", "gpt-x", "--sandbox", "read-only",
        "-c", 'model_provider="mine"', "-c", "a.b=true", "-c", 'c=[1, "x"]', "--ephemeral", "-",
    )  # fmt: skip
    assert invocation.stdin == invocation.prompt


@pytest.mark.parametrize(
    ("is_offline", "extra_args", "end"),
    [
        pytest.param(True, (), ["--ephemeral", "-"], id="offline, where no session is kept"),
        pytest.param(True, ("--ephemeral",), ["--ephemeral", "-"], id="an option that may stand once only"),
        pytest.param(False, (), ["-"], id="live"),
    ],
)
def test_a_capture_leads_codex_to_its_server(is_offline: bool, extra_args: tuple[str, ...], end: list[str]) -> None:
    provider = CodexProvider(config={"model_provider": "mine"}, extra_args=extra_args)
    environ = {"OPENAI_BASE_URL": "http://127.0.0.1:5000/openai/v1"}
    with use_context(SendContext(is_offline=is_offline, environ=environ)):
        argv = provider.build_invocation(REQUEST, PLACEHOLDER_FOLDER).argv
    assert list(argv[8:]) == [
        "-c", 'model_provider="mine"',
        "-c", 'model_providers.chatprompt.name="OpenAI"',
        "-c", 'model_providers.chatprompt.base_url="http://127.0.0.1:5000/openai/v1"',
        "-c", 'model_providers.chatprompt.env_key="OPENAI_API_KEY"',
        "-c", 'model_providers.chatprompt.wire_api="responses"',
        "-c", "model_providers.chatprompt.supports_websockets=false",
        "-c", 'model_provider="chatprompt"',
        *end,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "stable"),
    [
        pytest.param(
            {"client_metadata": {"b": 1, "a": 2}, "model": "m"}, {"client_metadata": {"a": 2, "b": 1}, "model": "m"},
            id="in any order",
        ),
        pytest.param({"model": "m"}, {"model": "m"}, id="none"),
        pytest.param({"client_metadata": "x"}, {"client_metadata": "x"}, id="something else"),
        pytest.param(None, None, id="no body"),
    ],
)  # fmt: skip
def test_the_metadata_of_codex_is_sorted(body: Any, stable: Any) -> None:
    assert json.dumps(CodexProvider().stable_body(body)) == json.dumps(stable)


def test_the_document_is_sent_and_the_last_message_is_the_answer(tmp_path: Path) -> None:
    path = write_executable(tmp_path, "codex", ECHO)
    provider = CodexProvider(executable=str(path), env={"MINE": "1"})
    response = provider.send(REQUEST)
    answer = json.loads(response.text)
    assert answer["document"] == "[[ ## user_query ## ]]\n\nWhat is\u2028this?"
    assert answer["argv"][-1] == "-"
    assert answer["mine"] == "1"
    assert Path(answer["cwd"]).name.startswith("chatprompt-")
    assert response.usage == TokenUsage(
        input_tokens=8, output_tokens=4, cache_read_tokens=5, cache_write_tokens=2, reasoning_tokens=1
    )
    assert response.finish_reason == "turn.completed"
    assert response.raw[0] == {"type": "thread.started"}


# Events of 30 MB, of which the last ones count.
FLOOD = """
print(json.dumps({"type": "thread.started"}))
event = json.dumps({"type": "item.completed", "item": "x" * 1_000_000})
for _ in range(30):
    print(event)
print(json.dumps({"type": "turn.completed", "usage": {"input_tokens": 3, "output_tokens": 4}}))
pathlib.Path(sys.argv[sys.argv.index("--output-last-message") + 1]).write_text("done")
"""


def test_all_of_many_events_are_kept(tmp_path: Path) -> None:
    response = CodexProvider(executable=str(write_executable(tmp_path, "codex", FLOOD))).send(REQUEST)
    assert response.text == "done"
    assert (response.usage.input_tokens, response.usage.output_tokens) == (3, 4)
    assert [event["type"] for event in response.raw] == ["thread.started", *["item.completed"] * 30, "turn.completed"]


def test_cwd_sets_the_working_folder(tmp_path: Path) -> None:
    provider = CodexProvider(executable=str(write_executable(tmp_path, "codex", ECHO)), cwd=tmp_path)
    assert json.loads(provider.send(REQUEST).text)["cwd"] == str(tmp_path)


def test_the_error_of_a_failed_turn_quotes_codex(tmp_path: Path) -> None:
    body = 'print(json.dumps({"type": "turn.failed", "error": {"message": "quota is used up"}}))'
    assert error_message(tmp_path, body) == "codex failed: quota is used up"


def test_the_error_of_a_failed_run_has_the_status_the_message_and_the_standard_error(tmp_path: Path) -> None:
    body = 'print(json.dumps({"type": "error", "message": "no login"})); print("oops", file=sys.stderr); sys.exit(2)'
    assert error_message(tmp_path, body) == "codex exited with status 2: no login; the end of its standard error:\noops"
    assert error_message(tmp_path, "sys.exit(2)") == "codex exited with status 2"


def test_an_empty_last_message_is_an_error(tmp_path: Path) -> None:
    body = 'pathlib.Path(sys.argv[sys.argv.index("--output-last-message") + 1]).write_text(" \\n")'
    assert error_message(tmp_path, body) == "codex exited without a last message"
    assert error_message(tmp_path, "") == "codex exited without a last message"


def test_the_error_about_a_missing_executable_says_how_to_choose_another(tmp_path: Path) -> None:
    with pytest.raises(AgentError) as caught:
        CodexProvider(executable="codex-of-nobody", cwd=tmp_path).send(REQUEST)
    assert str(caught.value) == (
        "executable 'codex-of-nobody' not found on PATH; install it, or pass executable=... to CodexProvider"
    )


def test_a_text_is_no_list_of_arguments() -> None:
    with pytest.raises(ValueError, match=r"^CodexProvider: extra_args must be a valid list, but is '--verbose'$"):
        CodexProvider(extra_args="--verbose")
