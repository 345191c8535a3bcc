"""Agents in whole pytest runs: captured offline, started in live runs."""

from __future__ import annotations

import pytest

from tests.providers.agents.fake_agents import agent_command, write_executable
from tests.runs.conftest import HELLO, Run, case_ids, eval_file
from tests.server import Reply, Server

CONFTEST = """
import pytest
from pytest_chatprompt import CLIProvider

@pytest.fixture(scope="session")
def cli_provider():
    return CLIProvider({command!r})
"""

FILES = """
guideline_patterns: ["**/*.guide.md"]
evalcases:
  - id: hello
    input_messages:
      - role: user
        content: [{type: text, value: hello}, {type: file, value: x.py}, {type: file, value: ../a.guide.md}]
"""


def test_offline_no_agent_is_started_and_the_snapshot_shows_the_invocation(run: Run) -> None:
    run.write({"evals/a.eval.yaml": "provider: [codex, vscode, cli]" + FILES, "evals/x.py": "1", "a.guide.md": "A"})
    run.write({"conftest.py": CONFTEST.format(command=["agent", "--task", "{prompt_file}", "--to", "{output_file}"])})
    run.update("-W", "error").assert_outcomes(passed=3)
    assert (
        (run.path / "evals/__snapshots__/a.eval/hello[codex].yaml").read_text()
        == """\
provider: codex
question: |-
  hello
  === x.py ===
  1
  <Attached: ../a.guide.md>
argv:
- codex
- exec
- --json
- --skip-git-repo-check
- --color
- never
- --output-last-message
- "{folder}/last-message.md"
- "-"
prompt: |-
  Read all of these files before you do anything else. If one of them is missing, stop with an error that names it.

  Guidelines:
  - [a.guide.md](file://{rootdir}/a.guide.md)

  Files:
  - [x.py](file://{rootdir}/evals/x.py)

  [[ ## user_query ## ]]

  hello
  === x.py ===
  1
  <Attached: ../a.guide.md>
files:
- evals/x.py
- a.guide.md
"""
    )
    data = run.snapshot("evals/__snapshots__/a.eval/hello[vscode].yaml")
    assert data["argv"] == [
        "code", "chat", "--mode", "agent", "--add-file", "evals/x.py", "--add-file", "a.guide.md",
        "Do what the attached document from standard input asks for.", "-",
    ]  # fmt: skip
    assert "file://{folder}/response.md" in str(data["prompt"])
    data = run.snapshot("evals/__snapshots__/a.eval/hello[cli].yaml")
    assert data["argv"] == ["agent", "--task", "{folder}/prompt.md", "--to", "{folder}/output.md"]
    run().assert_outcomes(passed=3)


def test_the_snapshot_of_an_agent_lists_only_adjustments_of_the_question(run: Run) -> None:
    case = FILES + "      - {role: user, content: ' '}\n      - {role: system, content: late}\n"
    run.write({"evals/a.eval.yaml": "provider: [codex, azure]" + case, "evals/x.py": "1", "a.guide.md": "A"})
    run.update()
    dropped = "message 2: dropped, nothing left in it"
    assert run.snapshot("evals/__snapshots__/a.eval/hello[codex].yaml")["adjustments"] == [dropped]
    assert run.snapshot("evals/__snapshots__/a.eval/hello[azure].yaml")["adjustments"] == [
        "message 1: guideline ../a.guide.md moved to the system message (matched **/*.guide.md)",
        dropped,
        "message 3: system message moved to the start",
    ]


@pytest.mark.parametrize("option", ["--snapshot-update", "--chatprompt-live", "--chatprompt-replay"])
def test_a_cli_without_a_command_is_an_error_that_says_what_to_write(run: Run, option: str) -> None:
    run.write({"a.eval.yaml": "provider: cli" + HELLO})
    result = run(option)
    result.assert_outcomes(errors=1)
    assert run.snapshots() == []
    advice = 'return CLIProvider(["my-agent", "--task", "{prompt_file}"])'
    text = "the provider 'cli' has no command; write the one of your agent into conftest.py, in a fixture cli_provider of the session"
    assert f"a.eval.yaml:3:5: case 'hello': {text}: {advice}" in result.outlines
    # The advice works.
    fixture = f'@pytest.fixture(scope="session")\ndef cli_provider():\n    {advice}\n'
    run.write({"conftest.py": f"import pytest\nfrom pytest_chatprompt import CLIProvider\n{fixture}"})
    run.update().assert_outcomes(passed=1)


NOT_AWAITED = """
import pytest
from pytest_chatprompt import VSCodeProvider

@pytest.fixture(scope="session")
def vscode_provider():
    return VSCodeProvider(executable={executable!r}, wait=False)

@pytest.fixture(autouse=True)
def check(eval_response):
    assert eval_response.text

def pytest_chatprompt_response(response):
    assert response.text
"""


def test_a_case_whose_answer_is_not_awaited_passes_and_nothing_is_checked_or_recorded(run: Run) -> None:
    code = write_executable(run.path, "code", f"open({str(run.path / 'started')!r}, 'a').write('x')")
    run.write({"a.eval.yaml": "provider: vscode" + HELLO, "conftest.py": NOT_AWAITED.format(executable=str(code))})
    run.update().assert_outcomes(passed=1)
    snapshots = run.snapshots()
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=1)
    assert (run.path / "started").read_text() == "x"
    assert run.snapshots() == snapshots


def test_a_live_run_starts_the_agent_only_if_the_snapshot_matches(run: Run) -> None:
    command = agent_command(f"open({str(run.path / 'started')!r}, 'a').write('x'); print('answer')")
    run.write({"a.eval.yaml": "provider: cli" + HELLO, "conftest.py": CONFTEST.format(command=command)})
    run("--chatprompt-live").assert_outcomes(failed=1)
    assert not (run.path / "started").exists()
    run.update("--chatprompt-live").assert_outcomes(passed=1)
    run("--chatprompt-live").assert_outcomes(passed=1)
    assert (run.path / "started").read_text() == "xx"


def test_a_failing_agent_fails_its_case(run: Run) -> None:
    run.write({"a.eval.yaml": "provider: cli" + HELLO, "conftest.py": CONFTEST.format(command=["no-agent"])})
    run.update()
    result = run("--chatprompt-live")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "a.eval.yaml:3:5: case 'hello': executable 'no-agent' not found on PATH; install it,"
            " or pass another command to CLIProvider"
        ]
    )


CAPTURED = """
import pytest
from pytest_chatprompt import CLIProvider

@pytest.fixture(scope="session")
def cli_provider():
    return CLIProvider({command!r}, capture=True, env={{"OPENAI_API_KEY": {key!r}}})
"""
ASK_THE_MODEL = """
import urllib.request
body = json.dumps({"model": "m", "input": sys.stdin.read(), "cwd": os.getcwd()}).encode()
headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, headers)
print(json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"], end="")
"""


def test_a_captured_agent_runs_offline_and_the_snapshot_shows_what_it_sends_to_its_model(
    run: Run, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-live-0123456789"
    run.write({"a.eval.yaml": "provider: cli" + HELLO})
    run.write({"conftest.py": CAPTURED.format(command=agent_command(ASK_THE_MODEL), key=key)})
    run.update("-W", "error").assert_outcomes(passed=1)
    data = run.snapshot("__snapshots__/a.eval/hello[cli].yaml")
    document = "[[ ## user_query ## ]]\n\nhello"
    assert data["prompt"] == document
    assert data["requests"] == [
        {"endpoint": "POST /v1/chat/completions", "request": {"model": "m", "input": document, "cwd": "{folder}"}}
    ]
    assert key not in str(data)

    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    server.reply = Reply()
    run("--chatprompt-live", "--chatprompt-record", "-W", "error").assert_outcomes(passed=1)
    ((path, headers, _),) = server.requests
    assert (path, headers["authorization"]) == ("/v1/chat/completions", f"Bearer {key}")
    run("--chatprompt-replay").assert_outcomes(passed=1)
    assert len(server.requests) == 1


CLAUDE = """
import pytest
from pytest_chatprompt import ClaudeProvider

@pytest.fixture(scope="session")
def claude_provider():
    return ClaudeProvider(executable={executable!r}, model="opus", allowed_tools=["Edit"], capture=True)
"""
# Sends as Claude Code does, and prints what that prints.
SEND_AS_CLAUDE = """
import contextlib, urllib.error, urllib.request, uuid
if not os.environ.get("HTTP_PROXY"):
    # It opens a connection beforehand.
    with contextlib.suppress(urllib.error.HTTPError):
        urllib.request.urlopen(urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"], method="HEAD"))
ask = sys.argv[sys.argv.index("--model") + 1]
user = json.dumps({"device_id": os.urandom(32).hex(), "session_id": str(uuid.uuid4())}, separators=(",", ":"))
messages = [{"role": "user", "content": sys.stdin.read()}]
body = json.dumps({"model": ask, "max_tokens": 9, "messages": messages, "metadata": {"user_id": user}}).encode()
headers = {"content-type": "application/json", "x-api-key": os.environ["ANTHROPIC_API_KEY"]}
request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages?beta=true", body, headers)
reply = json.load(urllib.request.urlopen(request))
print(json.dumps({"type": "result", "is_error": False, "result": reply["content"][0]["text"], "usage": reply["usage"]}))
"""


def test_claude_code_is_captured_as_codex_is(run: Run, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    claude = write_executable(run.path, "claude", SEND_AS_CLAUDE)
    run.write({"a.eval.yaml": "provider: claude" + HELLO, "conftest.py": CLAUDE.format(executable=str(claude))})
    run.update("-W", "error").assert_outcomes(passed=1)
    data = run.snapshot("__snapshots__/a.eval/hello[claude].yaml")
    assert data["argv"] == ["claude", "-p", "--output-format", "json", "--model", "opus", "--allowed-tools", "Edit"]
    document = "[[ ## user_query ## ]]\n\nhello"
    assert data["requests"] == [
        {
            "endpoint": "POST /v1/messages?beta=true",
            "request": {
                "model": "opus",
                "max_tokens": 9,
                "messages": [{"role": "user", "content": document}],
                "metadata": {"user_id": '{"device_id":"{device}","session_id":"{id 1}"}'},
            },
        }
    ]

    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-live-0123456789")
    server.reply = Reply({"content": [{"type": "text", "text": "Hi."}], "usage": {"input_tokens": 3}})
    run("--chatprompt-live", "--chatprompt-record", "-W", "error").assert_outcomes(passed=1)
    ((path, headers, _),) = server.requests
    assert (path, headers["x-api-key"]) == ("/v1/messages?beta=true", "sk-ant-live-0123456789")
    run("--chatprompt-replay").assert_outcomes(passed=1)
    assert len(server.requests) == 1


def test_a_change_in_what_a_captured_agent_sends_is_a_difference(run: Run) -> None:
    run.write({"a.eval.yaml": "provider: cli" + HELLO})
    run.write({"conftest.py": CAPTURED.format(command=agent_command(ASK_THE_MODEL), key="k")})
    run.update()
    changed = ASK_THE_MODEL.replace('"m"', '"changed"')
    run.write({"conftest.py": CAPTURED.format(command=agent_command(changed), key="k")})
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*- *model: m", "*+ *model: changed"])


def test_captured_agents_run_one_at_a_time_in_a_live_run_too(
    run: Run, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = run.path / "log"
    note = "open({log!r}, 'a').write({word!r})\n"
    start, end = (note.format(log=str(log), word=word) for word in ("start ", "end "))
    command = agent_command(start + ASK_THE_MODEL + "time.sleep(0.1)\n" + end)
    run.write({"a.eval.yaml": eval_file(case_ids(2), "cli")})
    run.write({"conftest.py": CAPTURED.format(command=command, key="k")})
    run.update()
    log.unlink()
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    server.reply = Reply()
    run("--chatprompt-live").assert_outcomes(passed=2)
    # Each case is compared with its snapshot first.
    assert log.read_text() == "start end " * 4
