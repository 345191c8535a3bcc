"""Recording: what leaves while a provider sends, and what a snapshot holds of it."""

from __future__ import annotations

import contextlib
import os
import socket
import urllib.error
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
    ChatMessage,
    EvalAPI,
    GeminiProvider,
    OpenAIProvider,
    ProviderError,
    ProviderRequest,
    ProviderResponse,
    RecordingError,
)
from pytest_chatprompt.payload import payload
from pytest_chatprompt.recording import record

REQUEST = ProviderRequest(
    question="hi", chat_prompt=(ChatMessage("user", "hi"),), metadata={"systemPrompt": ""}, adjustments=("one",)
)
OK = ProviderResponse(text="ok")


def recorded(provider: Any, request: ProviderRequest = REQUEST, api: EvalAPI | None = None) -> dict[str, Any]:
    return payload(record(provider, request, api or EvalAPI()), "it", Path("/root"))


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
        pytest.param(GeminiProvider(model="m"), "POST /v1beta/models/m:generateContent", id="gemini"),
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
    ):
        monkeypatch.delenv(variable, raising=False)
    data = recorded(provider)
    provider.close()
    assert list(data) == ["provider", "endpoint", "question", "request", "adjustments"]
    assert (data["provider"], data["endpoint"], data["question"], data["adjustments"]) == (
        "it",
        endpoint,
        "hi",
        ["one"],
    )


BUILT_IN = [AzureProvider, OpenAIProvider, AnthropicProvider, GeminiProvider]


@pytest.mark.parametrize("kind", BUILT_IN)
def test_a_built_in_provider_is_recorded_as_one_of_ones_own_is(kind: type[Any]) -> None:
    def seen(provider: Any, api: EvalAPI) -> list[Any]:
        with contextlib.closing(provider):
            recording = record(provider, REQUEST, api)
        response = recording.response.model_copy(update={"latency_seconds": 0.0})
        sent = [(one.method, one.url, one.headers.raw, one.content) for one in api.sent]
        return [recording.sent, response, sent, [call.response.json() for call in api.calls]]

    own = type("Own", (kind,), {})
    with_route = EvalAPI()
    with_route.get("https://elsewhere.example/").respond(200)
    recordings = [seen(kind(), EvalAPI()), seen(own(), EvalAPI()), seen(kind(), with_route)]
    assert recordings[0] == recordings[1] == recordings[2]
    assert recordings[0][2]


def test_what_was_sent_before_is_forgotten() -> None:
    api = EvalAPI()
    with contextlib.closing(OpenAIProvider()) as provider:
        for _ in range(3):
            record(provider, REQUEST, api)
    assert (len(api.sent), len(api.calls)) == (1, 3)


def test_a_built_in_provider_leaves_the_process_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(_: httpx.Request) -> httpx.Response:
        seen.append((dict(os.environ), vars(httpx.Client)["_transport_for_url"]))
        return httpx.Response(200, json=OpenAIProvider.offline_reply)

    seen: list[Any] = []
    api = EvalAPI()
    monkeypatch.setattr(api, "_answer", look)
    look(httpx.Request("GET", "https://x.example/"))
    with contextlib.closing(OpenAIProvider()) as provider:
        record(provider, REQUEST, api)
    assert seen[0] == seen[1]


def test_a_send_that_was_put_in_place_of_a_built_in_ones_is_recorded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    send = sending("https://x.example/v1/messages", json={"a": 1})
    with contextlib.closing(OpenAIProvider()) as one, contextlib.closing(OpenAIProvider()) as another:
        monkeypatch.setattr(one, "send", send)
        assert recorded(one)["endpoint"] == "POST /v1/messages"
        monkeypatch.setattr(OpenAIProvider, "send", staticmethod(send))
        assert recorded(another)["endpoint"] == "POST /v1/messages"


@pytest.mark.parametrize("kind", BUILT_IN)
def test_nothing_leaves_a_built_in_provider_by_another_way(kind: type[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def read_key(*_: object) -> str:
        socket.create_connection(("192.0.2.1", 80), timeout=1)
        return "key"

    monkeypatch.setattr(kind, "_key", read_key)
    with (
        contextlib.closing(kind()) as provider,
        pytest.raises(RecordingError, match=r"the provider reached for 192\.0\.2\.1"),
    ):
        record(provider, REQUEST, EvalAPI())


def test_what_the_environment_holds_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = recorded(AzureProvider())
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "not a url")
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
    monkeypatch.setenv("ALL_PROXY", "socks5://proxy.example:1")
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere")
    assert recorded(AzureProvider()) == plain


def test_what_the_provider_changed_comes_after_what_the_conversion_changed() -> None:
    request = REQUEST.model_copy(update={"chat_prompt": (ChatMessage("user", "hi", name="bob", number=1),)})
    provider = AnthropicProvider()
    assert recorded(provider, request)["adjustments"] == ["one", "message 1: name 'bob' left out, Anthropic has none"]
    provider.close()


def test_several_requests_are_listed_with_their_endpoints() -> None:
    api = EvalAPI()
    api.post("https://x.example/prepare").respond(204)
    send = sending("https://x.example/prepare", "https://x.example/v1/messages", json={"a": 1})
    assert recorded(send, api=api) == {
        "provider": "it",
        "question": "hi",
        "requests": [
            {"endpoint": "POST /prepare", "request": {"a": 1}},
            {"endpoint": "POST /v1/messages", "request": {"a": 1}},
        ],
        "adjustments": ["one"],
    }


def test_of_a_plain_function_the_messages_are_recorded() -> None:
    plain = REQUEST.model_copy(update={"adjustments": ()})
    assert recorded(lambda _: OK, plain) == {
        "provider": "it",
        "question": "hi",
        "messages": [{"role": "user", "content": "hi"}],
    }


def test_of_a_legacy_request_to_a_plain_function_there_are_no_messages() -> None:
    assert recorded(lambda _: OK, ProviderRequest(question="q")) == {"provider": "it", "question": "q", "messages": []}


def test_the_body_is_what_was_decoded_from_the_bytes() -> None:
    send = sending("https://x.example/v1/messages", content=b'{"b": 1.0, "a": [1e3, "\\u00e4"]}')
    data = recorded(send)["request"]
    assert list(data) == ["b", "a"]
    assert data == {"b": 1.0, "a": [1000.0, "ä"]}


def test_an_unanswered_request_is_told_whatever_the_provider_makes_of_it() -> None:
    def send(_: ProviderRequest) -> ProviderResponse:
        with contextlib.suppress(Exception):
            httpx.get("https://x.example/models")
        return OK

    with pytest.raises(RecordingError, match=r"nothing answers GET https://x\.example/models offline"):
        recorded(send)


def test_a_client_that_is_not_httpx_is_told_by_the_address() -> None:
    def send(_: ProviderRequest) -> ProviderResponse:
        with contextlib.suppress(urllib.error.URLError):
            urllib.request.urlopen("https://api.example/v1/chat/completions", b"{}")
        return OK

    with pytest.raises(RecordingError) as caught:
        recorded(send)
    assert str(caught.value) == (
        "the provider reached for api.example:443 with a client that is not httpx, and offline nothing may leave this "
        "machine; send through an httpx client, so that eval_api can answer it"
    )


def test_a_client_that_is_not_httpx_is_told_on_loopback_too() -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.handle_request)
        thread.start()

        def send(_: ProviderRequest) -> ProviderResponse:
            urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/", b"{}").close()
            return OK

        with pytest.raises(
            RecordingError, match=r"with a client that is not httpx, and what it sent cannot be recorded"
        ):
            recorded(send)
        thread.join()


def test_loopback_beside_an_httpx_request_is_the_providers_own_business() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def send(request: ProviderRequest) -> ProviderResponse:
            with socket.create_connection(listener.getsockname()):
                return sending("https://x.example/v1/messages", json={})(request)

        assert recorded(send)["endpoint"] == "POST /v1/messages"


@pytest.mark.parametrize(
    ("provider", "told"),
    [
        pytest.param("gpt", "the provider is str 'gpt', which has no send(request)", id="no provider"),
        pytest.param(lambda _: "text", "the provider gave back str, which is no ProviderResponse", id="a string"),
        pytest.param(
            type("Mine", (), {"send": lambda *_: None})(),
            "Mine.send gave back NoneType, which is no ProviderResponse",
            id="nothing",
        ),
    ],
)
def test_what_is_no_provider_is_told(provider: Any, told: str) -> None:
    with pytest.raises(ProviderError) as caught:
        recorded(provider)
    assert str(caught.value) == told


def test_an_async_provider_is_told() -> None:
    class Mine:
        async def send(self, _: ProviderRequest) -> ProviderResponse:
            return OK

    with pytest.raises(ProviderError, match=r"Mine\.send is async; make it a plain function"):
        recorded(Mine())


def test_an_error_of_the_provider_is_its_own() -> None:
    def send(_: ProviderRequest) -> ProviderResponse:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        recorded(send)
