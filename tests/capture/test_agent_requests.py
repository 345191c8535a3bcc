"""What an agent sends to its model, while it is really run."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from pytest_chatprompt import AgentError, CaptureError, CLIProvider, EvalAPI, ProviderRequest
from pytest_chatprompt.capture.guard import guard_network
from pytest_chatprompt.capture.live_capture import LiveCaptureRouter
from pytest_chatprompt.capture.provider_capture import capture_live, capture_offline
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.snapshots.shown_data import payload_data, snapshot_data
from tests.providers.agents.fake_agents import agent_command
from tests.server import Reply, Server

pytestmark = pytest.mark.usefixtures("no_leftovers")

REQUEST = ProviderRequest(question="What is this?", eval_case_id="a")
# Asks the model twice, and tells what it answered; its key is printed on standard error.
AGENT = """
import urllib.request, uuid
def ask(**more):
    body = {"model": "m", "messages": [{"role": "user", "content": document}], **more}
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps(body).encode(),
        {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]},
    )
    return json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]
document = sys.stdin.read()
session = str(uuid.uuid4())
print(ask(session=session, cwd=os.getcwd(), started=time.time()), end=" ")
print(ask(session=session, url=pathlib.Path(os.getcwd()).as_uri()), end="")
"""
SENT = {"model": "m", "messages": [{"role": "user", "content": "[[ ## user_query ## ]]\n\nWhat is this?"}]}


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key and no URL of this machine's."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)


def captured(body: str, api: EvalAPI | None = None, **settings: Any) -> dict[str, Any]:
    """The snapshot of an agent, a Python program, that is run offline."""
    provider = CLIProvider(agent_command(body), capture=True, **settings)
    with guard_network():
        exchange = capture_offline(provider, REQUEST, api or EvalAPI())
    assert payload_data(exchange, Path("/root"))["requests"]
    return {"answer": exchange.response.text, **snapshot_data(exchange, "cli", Path("/root"))}


def test_the_snapshot_shows_what_the_agent_sends_and_is_the_same_in_each_run() -> None:
    data = captured(AGENT)
    assert data["answer"] == "(offline) (offline)"
    assert list(data) == ["answer", "provider", "question", "argv", "prompt", "files", "requests"]
    assert data["requests"] == [
        {
            "endpoint": "POST /v1/chat/completions",
            "request": {**SENT, "session": "{id 1}", "cwd": "{folder}", "started": "{time}"},
        },
        {
            "endpoint": "POST /v1/chat/completions",
            "request": {**SENT, "session": "{id 1}", "url": "file://{folder}"},
        },
    ]
    assert captured(AGENT) == data


def test_the_root_folder_is_a_placeholder(tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    body = (
        f"document, folder = sys.stdin.read(), {str(tmp_path)!r}\n"
        + AGENT[: AGENT.index("document =")]
        + ("ask(folders=[folder + '/project', folder + '/project/src', folder + '/project-2'], n=1)")
    )
    provider = CLIProvider(agent_command(body), capture=True, cwd=root)
    exchange = capture_offline(provider, REQUEST, EvalAPI())
    (sent,) = snapshot_data(exchange, "cli", root)["requests"]
    assert sent["request"]["folders"] == ["{rootdir}", "{rootdir}/src", f"{tmp_path}/project-2"]
    assert sent["request"]["n"] == 1


def test_routes_of_the_test_answer_the_agent() -> None:
    api = EvalAPI()
    api.post("https://api.openai.com/v1/chat/completions").respond(
        json={"choices": [{"message": {"content": "routed"}}]}
    )
    assert captured(AGENT, api)["answer"] == "routed routed"
    assert [str(request.url) for request in api.sent] == ["https://api.openai.com/v1/chat/completions"] * 2


def test_a_request_that_nothing_answers_fails_even_if_the_agent_goes_on() -> None:
    body = """
import urllib.error
try:
    urllib.request.urlopen(os.environ["OPENAI_BASE_URL"] + "/unknown")
except urllib.error.HTTPError as error:
    print(error.code)
"""
    with pytest.raises(CaptureError, match=r"nothing answers GET https://api\.openai\.com/v1/unknown offline"):
        captured("import urllib.request" + body)


def test_the_failure_of_an_agent_is_told() -> None:
    with pytest.raises(AgentError, match="exited with status 3"):
        captured(AGENT + "\nsys.exit(3)")


def test_an_agent_that_sends_nothing_to_the_server_is_an_error() -> None:
    with pytest.raises(CaptureError, match="sent nothing to the server that captures what it sends: it may not read"):
        captured("print('done')")


def test_an_agent_stays_offline_with_whatever_else_it_sends() -> None:
    body = (
        AGENT
        + """
try:
    urllib.request.urlopen("https://other.example/")
except OSError as error:
    print(error)
"""
    )
    answer = captured(body)["answer"]
    assert "Tunnel connection failed: 403" in answer


def test_variables_of_the_setting_env_lead_nowhere_else() -> None:
    data = captured(AGENT, env={"OPENAI_BASE_URL": "http://192.0.2.1/v1", "OPENAI_API_KEY": "sk-real-0123456789"})
    assert len(data["requests"]) == 2


def test_the_healthcheck_is_left_out_offline() -> None:
    assert captured(AGENT, healthcheck=agent_command("sys.exit(1)"))["answer"] == "(offline) (offline)"


def test_live_the_agent_reaches_its_api_with_the_real_key(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    server.reply = Reply()
    redactor = Redactor({})
    check = agent_command(f"open({str(tmp_path / 'checked')!r}, 'w').write(os.environ['OPENAI_BASE_URL'])")
    provider = CLIProvider(
        agent_command(AGENT), capture=True, env={"OPENAI_API_KEY": "sk-real-0123456789"}, healthcheck=check
    )
    exchange = capture_live(provider, REQUEST, LiveCaptureRouter(redactor))
    assert exchange.response.text == "a real answer a real answer"
    assert [headers["authorization"] for _, headers, _ in server.requests] == ["Bearer sk-real-0123456789"] * 2
    offline = capture_offline(CLIProvider(agent_command(AGENT), capture=True), REQUEST, EvalAPI())
    assert exchange.sent == offline.sent
    # What a healthcheck sends is not captured.
    assert (tmp_path / "checked").read_text() == os.environ["OPENAI_BASE_URL"]


def test_live_a_request_that_cannot_be_forwarded_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real-0123456789")
    provider = CLIProvider(agent_command(AGENT), capture=True)
    with pytest.raises(CaptureError, match="chat/completions got no reply: ConnectError"):
        capture_live(provider, REQUEST, LiveCaptureRouter(Redactor({})))


def test_no_thread_is_left() -> None:
    before = set(threading.enumerate())
    captured(AGENT)
    assert set(threading.enumerate()) == before
