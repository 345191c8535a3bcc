"""The real Codex: the document reaches its model; what it sends is captured, and is the same in each run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import httpx
import pytest

from pytest_chatprompt import CodexProvider, EvalAPI, ProviderRequest
from pytest_chatprompt.capture.guard import guard_network
from pytest_chatprompt.capture.live_capture import LiveCaptureRouter
from pytest_chatprompt.capture.provider_capture import capture_live, capture_offline
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.capture.server.capture_server import CaptureServer
from pytest_chatprompt.snapshots.shown_data import snapshot_data
from tests.clients.node.conftest import EVENT_STREAM, FOLDER, responses_stream

REQUEST = ProviderRequest(question="Say hello.", eval_case_id="a")
URL = "https://api.openai.com/v1/responses"


EXECUTABLE = str(FOLDER / "node_modules/.bin/codex")


@pytest.fixture
def codex(tmp_path: Path) -> CodexProvider:
    """Codex with an empty home, below the root folder."""
    home = tmp_path / "home"
    home.mkdir()
    return CodexProvider(executable=EXECUTABLE, capture=True, env={"CODEX_HOME": str(home), "TZ": "UTC"})


def answer(_: httpx.Request) -> httpx.Response:
    return httpx.Response(200, headers=EVENT_STREAM, content=responses_stream("hello"))


def captured(codex: CodexProvider, root: Path) -> dict[str, Any]:
    """The data of a snapshot of an offline run."""
    api = EvalAPI()
    api.post(URL).mock(side_effect=answer)
    with guard_network():
        exchange = capture_offline(codex, REQUEST, api)
    assert exchange.response.text == "hello"
    assert exchange.response.usage is not None
    assert exchange.response.usage.output_tokens == 2
    return snapshot_data(exchange, "codex", root)


def test_what_codex_sends_is_captured_offline_and_is_the_same_in_each_run(codex: CodexProvider, tmp_path: Path) -> None:
    data = captured(codex, tmp_path)
    assert data["argv"][:2] == ["codex", "exec"]
    (sent,) = data["requests"]
    assert sent["endpoint"] == "POST /v1/responses"
    texts = [part["text"] for item in sent["request"]["input"] for part in item.get("content", ())]
    assert texts[-1] == "[[ ## user_query ## ]]\n\nSay hello."
    assert any("<cwd>{folder}</cwd>" in text for text in texts)
    assert str(tmp_path) not in str(data)
    assert list(sent["request"]["client_metadata"]) == sorted(sent["request"]["client_metadata"])
    assert Redactor(os.environ).find(data) is None
    # The order of keys counts too.
    assert repr(captured(codex, tmp_path)) == repr(data)


def test_live_codex_reaches_the_api_through_the_server(
    codex: CodexProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys: list[str] = []

    def real_api(request: httpx.Request) -> httpx.Response:
        keys.append(request.headers["authorization"])
        return answer(request)

    api = CaptureServer(real_api)
    monkeypatch.setenv("OPENAI_BASE_URL", api.environ["OPENAI_BASE_URL"])
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real-0123456789")
    try:
        exchange = capture_live(codex, REQUEST, LiveCaptureRouter(Redactor({})))
    finally:
        api.close()
    assert exchange.response.text == "hello"
    assert keys == ["Bearer sk-real-0123456789"]
    assert snapshot_data(exchange, "codex", tmp_path) == captured(codex, tmp_path)


def test_the_document_reaches_the_api_byte_for_byte(tmp_path: Path) -> None:
    bodies: list[Any] = []

    def real_api(request: httpx.Request) -> httpx.Response:
        bodies.append(json.loads(request.content))
        return answer(request)

    api = CaptureServer(real_api)
    settings = {
        "name": "stub",
        "base_url": api.environ["OPENAI_BASE_URL"],
        "wire_api": "responses",
        "request_max_retries": 0,
        "stream_max_retries": 0,
    }
    provider = CodexProvider(
        executable=EXECUTABLE,
        model="stub",
        sandbox="read-only",
        config={"model_provider": "stub", **{f"model_providers.stub.{key}": value for key, value in settings.items()}},
        env={"CODEX_HOME": str(tmp_path), "HOME": str(tmp_path), "OPENAI_API_KEY": "none"},
        timeout_seconds=120,
    )
    question = "'single' \"double\" `back` $HOME \\ \t trailing \n\n ü😀 \u2028\n" + "long line " * 10_000 + "\n\n"
    request = ProviderRequest(question=question, input_files=(tmp_path / "x.py",))
    try:
        response = provider.send(request)
    finally:
        api.close()
    assert response.text == "hello"
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.output_tokens) == (3, 2)
    texts = [part["text"] for item in bodies[0]["input"] if item.get("role") == "user" for part in item["content"]]
    assert texts[-1] == provider.build_invocation(request, tmp_path).prompt
