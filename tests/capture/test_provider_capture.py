"""Provider capture: what a provider sends, and what a snapshot shows of it."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest

from pytest_chatprompt import (
    AnthropicProvider,
    AzureProvider,
    BedrockProvider,
    CaptureError,
    ChatMessage,
    EvalAPI,
    GeminiProvider,
    MistralProvider,
    OllamaProvider,
    OpenAIProvider,
    OpenAIResponsesProvider,
    OpenRouterProvider,
    ProviderError,
    ProviderRequest,
    ProviderResponse,
)
from pytest_chatprompt.capture.provider_capture import capture_offline
from pytest_chatprompt.snapshots.shown_data import snapshot_data
from tests.apis.built_in import chat_providers

REQUEST = ProviderRequest(
    question="hi", chat_prompt=(ChatMessage("user", "hi"),), metadata={"systemPrompt": ""}, adjustments=("one",)
)
OK = ProviderResponse(text="ok")


def captured(provider: Any, request: ProviderRequest = REQUEST, api: EvalAPI | None = None) -> dict[str, Any]:
    return snapshot_data(capture_offline(provider, request, api or EvalAPI()), "it", Path("/root"))


def sending(*urls: str, **arguments: Any) -> Callable[[ProviderRequest], ProviderResponse]:
    def send(_: ProviderRequest) -> ProviderResponse:
        with httpx.Client() as client:
            for url in urls:
                client.post(url, **arguments)
        return OK

    return send


@pytest.mark.parametrize(
    ("provider", "endpoint"),
    [
        pytest.param(
            AzureProvider(), "POST /openai/deployments/gpt-5.5/chat/completions?api-version=2024-10-21", id="azure"
        ),
        pytest.param(
            AzureProvider(endpoint="https://gw.example/a/b", api_version=None),
            "POST /openai/v1/chat/completions",
            id="azure v1 behind a gateway",
        ),
        pytest.param(OpenAIProvider(), "POST /chat/completions", id="openai"),
        pytest.param(
            OpenAIProvider(base_url="http://localhost:11434/v1"), "POST /chat/completions", id="a compatible server"
        ),
        pytest.param(AnthropicProvider(), "POST /v1/messages", id="anthropic"),
        pytest.param(GeminiProvider(model="m"), "POST /v1/models/m:generateContent", id="gemini"),
        pytest.param(OpenAIResponsesProvider(), "POST /responses", id="openai_responses"),
        pytest.param(BedrockProvider(model="a.b-v1:0"), "POST /model/a.b-v1%3A0/converse", id="bedrock"),
        pytest.param(OllamaProvider(), "POST /chat/completions", id="ollama"),
        pytest.param(OpenRouterProvider(), "POST /chat/completions", id="openrouter"),
        pytest.param(MistralProvider(), "POST /chat/completions", id="mistral"),
    ],
)
def test_the_built_in_providers_work_with_nothing_set(
    provider: Any, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in (
        "AZURE_OPENAI_API_KEY",
        "AZURE_OPENAI_ENDPOINT",
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "GEMINI_API_KEY",
        "AWS_BEARER_TOKEN_BEDROCK",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
        "OPENROUTER_API_KEY",
        "MISTRAL_API_KEY",
    ):
        monkeypatch.delenv(variable, raising=False)
    # Where somebody has set these, snapshots are the same.
    monkeypatch.setenv("OLLAMA_BASE_URL", "http://gpu.example/mine/v1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "http://gw.example/mine")
    data = captured(provider)
    provider.close()
    assert list(data) == ["provider", "endpoint", "question", "request", "adjustments"]
    assert (data["provider"], data["endpoint"], data["question"], data["adjustments"]) == (
        "it",
        endpoint,
        "hi",
        ["one"],
    )


BUILT_IN = list(chat_providers())


@pytest.mark.parametrize("kind", BUILT_IN)
def test_a_built_in_provider_is_captured_like_a_subclass_of_it(kind: type[Any]) -> None:
    def seen(provider: Any, api: EvalAPI) -> list[Any]:
        with contextlib.closing(provider):
            exchange = capture_offline(provider, REQUEST, api)
        response = exchange.response.model_copy(update={"latency_seconds": 0.0})
        requests = [entry.request for entry in api.log]
        sent = [(one.method, one.url, one.headers.raw, one.content) for one in requests]
        return [exchange.sent, response, sent, [call.response.json() for call in api.calls]]

    own = type("Own", (kind,), {})
    with_route = EvalAPI()
    with_route.get("https://elsewhere.example/").respond(200)
    exchanges = [seen(kind(), EvalAPI()), seen(own(), EvalAPI()), seen(kind(), with_route)]
    assert exchanges[0] == exchanges[1] == exchanges[2]
    assert exchanges[0][2]


def test_each_capture_has_its_own_requests() -> None:
    api = EvalAPI()
    with contextlib.closing(OpenAIProvider()) as provider:
        exchanges = [capture_offline(provider, REQUEST, api) for _ in range(3)]
    assert [len(exchange.sent) for exchange in exchanges] == [1, 1, 1]
    assert (len(api.sent), len(api.calls)) == (3, 3)


def test_a_replaced_send_of_a_built_in_provider_is_captured_too(monkeypatch: pytest.MonkeyPatch) -> None:
    send = sending("https://x.example/v1/messages", json={"a": 1})
    with contextlib.closing(OpenAIProvider()) as one, contextlib.closing(OpenAIProvider()) as another:
        monkeypatch.setattr(one, "send", send)
        assert captured(one)["endpoint"] == "POST /v1/messages"
        monkeypatch.setattr(OpenAIProvider, "send", staticmethod(send))
        assert captured(another)["endpoint"] == "POST /v1/messages"


@pytest.mark.parametrize("kind", BUILT_IN)
def test_a_built_in_provider_cannot_reach_the_network_in_another_way(
    kind: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_key(*_: object) -> str:
        socket.create_connection(("192.0.2.1", 80), timeout=1)
        return "key"

    monkeypatch.setattr(kind, "_key", read_key)
    with (
        contextlib.closing(kind()) as provider,
        pytest.raises(CaptureError, match=r"the provider tried to connect to 192\.0\.2\.1"),
    ):
        capture_offline(provider, REQUEST, EvalAPI())


def test_the_environment_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = captured(AzureProvider())
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "not a url")
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
    monkeypatch.setenv("ALL_PROXY", "socks5://proxy.example:1")
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere")
    assert captured(AzureProvider()) == plain


def test_adjustments_of_the_provider_follow_those_of_the_conversion() -> None:
    request = REQUEST.model_copy(update={"chat_prompt": (ChatMessage("user", "hi", name="bob", number=1),)})
    provider = AnthropicProvider()
    assert captured(provider, request)["adjustments"] == ["one", "message 1: name 'bob' left out, Anthropic has none"]
    provider.close()


def test_several_requests_are_listed_with_their_endpoints() -> None:
    api = EvalAPI()
    api.post("https://x.example/prepare").respond(204)
    send = sending("https://x.example/prepare", "https://x.example/v1/messages", json={"a": 1})
    assert captured(send, api=api) == {
        "provider": "it",
        "question": "hi",
        "requests": [
            {"endpoint": "POST /prepare", "request": {"a": 1}},
            {"endpoint": "POST /v1/messages", "request": {"a": 1}},
        ],
        "adjustments": ["one"],
    }


def test_of_a_plain_function_the_messages_are_captured() -> None:
    plain = REQUEST.model_copy(update={"adjustments": ()})
    assert captured(lambda _: OK, plain) == {
        "provider": "it",
        "question": "hi",
        "messages": [{"role": "user", "content": "hi"}],
    }


def test_a_legacy_request_to_a_plain_function_has_no_messages() -> None:
    assert captured(lambda _: OK, ProviderRequest(question="q")) == {"provider": "it", "question": "q", "messages": []}


def test_the_body_is_decoded_from_the_bytes_sent() -> None:
    send = sending("https://x.example/v1/messages", content=b'{"b": 1.0, "a": [1e+30, "\\u00e4"]}')
    data = captured(send)["request"]
    assert list(data) == ["b", "a"]
    assert data == {"b": 1.0, "a": [1e30, "ä"]}


def test_an_unanswered_request_is_an_error_even_if_the_provider_swallows_it() -> None:
    def send(_: ProviderRequest) -> ProviderResponse:
        with contextlib.suppress(Exception):
            httpx.get("https://x.example/models")
        return OK

    with pytest.raises(CaptureError, match=r"nothing answers GET https://x\.example/models offline"):
        captured(send)


def test_a_client_other_than_httpx_is_captured() -> None:
    def send(_: ProviderRequest) -> str:
        with urllib.request.urlopen("https://api.example/v1/chat/completions", b'{"a": 1}') as reply:
            text: str = json.load(reply)["choices"][0]["message"]["content"]
        return text

    exchange = capture_offline(send, REQUEST, EvalAPI())
    assert exchange.response.text == "(offline)"
    assert [(sent.endpoint, sent.body) for sent in exchange.sent] == [("POST /v1/chat/completions", {"a": 1})]


def test_a_socket_is_an_error_that_names_the_address_even_if_the_provider_swallows_it() -> None:
    def send(_: ProviderRequest) -> ProviderResponse:
        with contextlib.suppress(OSError):
            socket.create_connection(("api.example", 443))
        return OK

    with pytest.raises(
        CaptureError, match=r"^the provider tried to connect to api\.example:443 in a way that eval_api"
    ):
        captured(send)


def test_a_provider_that_sends_only_to_this_machine_where_nothing_is_known_is_an_error() -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.handle_request)
        thread.start()

        def send(_: ProviderRequest) -> ProviderResponse:
            urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/", b"{}").close()
            return OK

        with pytest.raises(CaptureError, match=r"connected to 127\.0\.0\.1:\d+, and none of its requests was captured"):
            captured(send)
        thread.join()


def test_a_loopback_connection_beside_an_httpx_request_is_allowed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def send(request: ProviderRequest) -> ProviderResponse:
            with socket.create_connection(listener.getsockname()):
                return sending("https://x.example/v1/messages", json={})(request)

        assert captured(send)["endpoint"] == "POST /v1/messages"


@pytest.mark.parametrize(
    ("provider", "message"),
    [
        pytest.param("gpt", "the provider is str 'gpt', which has no send(request)", id="not a provider"),
        pytest.param(lambda _: 1, "the provider returned int, not a ProviderResponse or a str", id="a number"),
        pytest.param(
            type("Mine", (), {"send": lambda *_: None})(),
            "Mine.send returned NoneType, not a ProviderResponse or a str",
            id="nothing",
        ),
    ],
)
def test_what_is_not_a_provider_is_an_error(provider: Any, message: str) -> None:
    with pytest.raises(ProviderError) as caught:
        captured(provider)
    assert str(caught.value) == message


def test_an_error_of_the_provider_is_raised_unchanged() -> None:
    def send(_: ProviderRequest) -> ProviderResponse:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        captured(send)


def test_what_the_first_capture_imports_counts_for_no_latency() -> None:
    program = """
import sys
from types import SimpleNamespace
from pytest_chatprompt.capture import provider_capture
from pytest_chatprompt.capture.live_capture import LiveCaptureRouter
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.prompt.request import ProviderRequest

class Finder:
    def find_spec(self, name, path, target=None):
        if name.startswith("pytest_chatprompt."):
            print(name)

def read_clock():
    print("clock")
    return 0.0

sys.meta_path.insert(0, Finder())
provider_capture.time = SimpleNamespace(monotonic=read_clock)
provider_capture.capture_live(lambda _: "an answer", ProviderRequest(question="hi"), LiveCaptureRouter(Redactor({})))
"""
    command = [sys.executable, "-c", program]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert "pytest_chatprompt.capture.clients.seams" in lines
    assert lines[-2:] == ["clock", "clock"]
