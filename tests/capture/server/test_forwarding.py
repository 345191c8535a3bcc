"""Forwarding: the server as a proxy of the real API, which gets the real key that the client never sees."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import httpx
import pytest

from pytest_chatprompt.capture.live_capture import LiveCaptureRouter
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.capture.server.capture_server import CaptureServer
from tests.capture.server.conftest import DEADLINE_SECONDS, StartServer
from tests.raw_server import RawServer, read_request
from tests.server import Reply, Server

REAL_KEY = "sk-real-0123456789"
ASK = """
import os, openai
client = openai.OpenAI(max_retries=0)
print(os.environ["OPENAI_API_KEY"] == client.api_key != {key!r})
print(client.chat.completions.create(model="m", messages=[]).choices[0].message.content)
"""
seen: list[httpx.Request] = []


@pytest.fixture
def live_server(start_server: StartServer, server: Server, monkeypatch: pytest.MonkeyPatch) -> CaptureServer:
    """A server that forwards to the test server, in place of OpenAI's API, Gemini's and Bedrock's."""
    seen.clear()
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/gateway/v1")
    monkeypatch.setenv("OPENAI_API_KEY", REAL_KEY)
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.setenv("GOOGLE_API_KEY", "AIza-real&=")
    monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", server.url)
    monkeypatch.delenv("AZURE_OPENAI_ENDPOINT", raising=False)
    monkeypatch.delenv("AZURE_API_BASE", raising=False)
    for name in ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE", "ANTHROPIC_API_URL", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    server.reply = Reply()
    return start_server(seen.append, is_live=True)


def post(server: CaptureServer, path: str, **headers: str) -> httpx.Response:
    with httpx.Client(timeout=DEADLINE_SECONDS, trust_env=False) as client:
        return client.post(server.url + path, json={"a": 1}, headers=headers)


def test_a_child_process_reaches_the_real_api_without_ever_having_the_key(
    live_server: CaptureServer, server: Server
) -> None:
    environment = {**os.environ, **live_server.environ}
    assert REAL_KEY not in environment.values()
    child = subprocess.run(
        [sys.executable, "-c", ASK.format(key=REAL_KEY)], env=environment, capture_output=True, text=True, check=False
    )
    assert (child.stdout, child.stderr) == ("True\na real answer\n", "")
    (request,) = seen
    assert str(request.url) == "https://api.openai.com/v1/chat/completions"
    ((path, headers, body),) = server.requests
    assert (path, body) == ("/gateway/v1/chat/completions", {"messages": [], "model": "m"})
    assert headers["authorization"] == f"Bearer {REAL_KEY}"
    assert headers["host"] == server.url.removeprefix("http://")
    assert headers["user-agent"].startswith("OpenAI/Python")
    assert REAL_KEY not in str(request.headers.raw)


def test_the_key_of_a_query_is_replaced_and_quoted(live_server: CaptureServer, server: Server) -> None:
    key = live_server.environ["GEMINI_API_KEY"]
    post(live_server, f"/gemini/v1beta/models/m:generateContent?alt=sse&key={key}")
    assert server.requests[0][0] == "/v1beta/models/m:generateContent?alt=sse&key=AIza-real%26%3D"
    assert live_server.errors == []


def test_a_key_of_the_clients_own_is_sent_as_it_is(live_server: CaptureServer, server: Server) -> None:
    for own in ("Bearer one", "Bearer two"):
        post(live_server, "/openai/v1/x", authorization=own)
    assert [headers["authorization"] for _, headers, _ in server.requests] == ["Bearer one", "Bearer two"]


def test_variables_that_lead_this_very_process_here_are_no_real_ones(
    live_server: CaptureServer, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in live_server.environ.items():
        monkeypatch.setenv(name, value)
    post(live_server, "/openai/v1/x", authorization=f"Bearer {os.environ['OPENAI_API_KEY']}")
    assert (server.requests[0][0], server.requests[0][1]["authorization"]) == ("/gateway/v1/x", f"Bearer {REAL_KEY}")


def test_the_reply_comes_back_as_it_is(live_server: CaptureServer, server: Server) -> None:
    server.reply = Reply({"error": {"message": "slow down"}}, status=429, headers={"retry-after": "7"})
    reply = post(live_server, "/openai/v1/x")
    assert (reply.status_code, reply.headers["retry-after"]) == (429, "7")
    assert reply.json() == {"error": {"message": "slow down"}}


def test_a_stream_comes_through_event_by_event(
    start_server: StartServer, raw_server: RawServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrived = threading.Event()

    def talk(connection: object, _: int) -> None:
        read_request(connection)  # type: ignore[arg-type]
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        connection.sendall(head + b"9\r\ndata: 1\n\n\r\n")  # type: ignore[attr-defined]
        assert arrived.wait(DEADLINE_SECONDS)
        connection.sendall(b"9\r\ndata: 2\n\n\r\n0\r\n\r\n")  # type: ignore[attr-defined]

    raw_server.talk = talk
    monkeypatch.setenv("OPENAI_BASE_URL", raw_server.url)
    server = start_server(lambda _: None, is_live=True)
    with (
        httpx.Client(timeout=DEADLINE_SECONDS, trust_env=False) as client,
        client.stream("POST", f"{server.url}/openai/v1/responses", json={}) as reply,
    ):
        lines = []
        for line in reply.iter_lines():
            lines += [line] if line else []
            arrived.set()
    assert lines == ["data: 1", "data: 2"]


def test_a_function_may_forward_by_itself(
    start_server: StartServer, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    server.reply = Reply({"a": 1})
    replies: list[httpx.Response] = []

    def keep(request: httpx.Request) -> httpx.Response:
        replies.append(capture.forward(request))
        replies[0].read()
        return replies[0]

    capture = start_server(keep, is_live=True)
    assert post(capture, "/openai/v1/x").json() == {"a": 1}
    assert replies[0].json() == {"a": 1}


@pytest.mark.parametrize(
    ("path", "headers", "message"),
    [
        pytest.param(
            "/v1/chat/completions",
            {},
            "cannot be sent on, since its path names no API; it must begin with the name of one: openai, azure, ",
            id="no API",
        ),
        pytest.param(
            "/azure/openai/v1/responses?key=1",
            {},
            "POST https://azure-openai.invalid/openai/v1/responses cannot be sent on: set AZURE_OPENAI_ENDPOINT to the URL of your API",
            id="an endpoint that nobody knows",
        ),
        pytest.param(
            "/bedrock/model/m/converse",
            {"authorization": "AWS4-HMAC-SHA256 Credential=placeholder/..."},
            "POST https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse is signed for this machine (SigV4) and "
            "cannot be sent on; let the client use a key of Bedrock, in AWS_BEARER_TOKEN_BEDROCK",
            id="a signature",
        ),
        pytest.param(
            "/anthropic/v1/messages",
            {"x-api-key": "PLACEHOLDER"},
            "POST https://api.anthropic.com/v1/messages cannot be sent on without a key: set ANTHROPIC_API_KEY",
            id="no key",
        ),
    ],
)
def test_what_cannot_be_forwarded_says_why(
    live_server: CaptureServer, server: Server, path: str, headers: dict[str, str], message: str
) -> None:
    placeholder = live_server.environ["OPENAI_API_KEY"]
    headers = {name: value.replace("PLACEHOLDER", placeholder) for name, value in headers.items()}
    reply = post(live_server, path, **headers)
    assert reply.status_code == 404
    assert message in reply.json()["error"]["message"]
    assert message in str(live_server.errors[0])
    assert server.requests == []


def test_an_api_that_cannot_be_reached_is_an_error_that_says_so(
    live_server: CaptureServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    reply = post(live_server, "/openai/v1/x")
    assert reply.json()["message"].startswith("POST https://api.openai.com/v1/x got no reply: ConnectError(")


def test_a_live_capture_of_this_process_does_not_take_what_is_forwarded(
    live_server: CaptureServer, server: Server
) -> None:
    with LiveCaptureRouter(Redactor({})).capture() as capture:
        post(live_server, "/openai/v1/x")
    assert [str(entry.request.url) for entry in capture.log] == [f"{live_server.url}/openai/v1/x"]
    assert len(server.requests) == 1
