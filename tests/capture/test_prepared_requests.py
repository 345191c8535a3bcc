"""Prepared requests: what built-in providers would send, as a whole exchange shows it."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest

from pytest_chatprompt import (
    AnthropicProvider,
    AzureProvider,
    BedrockProvider,
    CaptureError,
    ChatMessage,
    EvalAPI,
    GeminiProvider,
    MissingSettingError,
    MistralProvider,
    OllamaProvider,
    OpenAIProvider,
    OpenAIResponsesProvider,
    OpenRouterProvider,
    PayloadError,
    ProviderRequest,
    ProviderResponse,
)
from pytest_chatprompt.capture.preview import capture_prepared
from pytest_chatprompt.capture.provider_capture import capture_offline
from tests.apis.built_in import chat_providers

REQUEST = ProviderRequest(question="hi", chat_prompt=(ChatMessage("user", "hé\n"),))
# Anthropic has one system prompt, and preflight finds that the conversation ends in an answer.
MERGED = ProviderRequest(
    question="hi",
    chat_prompt=(
        ChatMessage("system", "zero"),
        ChatMessage("user", "one"),
        ChatMessage("system", "two"),
        ChatMessage("assistant", "three "),
    ),
)


@pytest.fixture
def api() -> EvalAPI:
    """A stand-in of the APIs that nobody reads."""
    api = EvalAPI()
    api.is_read = False
    return api


MAKERS: dict[str, Callable[[], Any]] = {
    "OpenAI": OpenAIProvider,
    "OpenAI below a path": lambda: OpenAIProvider(base_url="https://gateway.example/a%20b/v1/", api_key="sk-of-a-test"),
    "OpenAI with a user in the URL": lambda: OpenAIProvider(base_url="https://me:word@gateway.example/v1"),
    "OpenAI's Responses": OpenAIResponsesProvider,
    "Azure": AzureProvider,
    "Azure with a deployment that has to be escaped": lambda: AzureProvider(deployment="a/b c"),
    "Anthropic": AnthropicProvider,
    "Gemini": GeminiProvider,
    "Gemini with a model that has to be escaped": lambda: GeminiProvider(model="tuned models/ü"),
    "Ollama": OllamaProvider,
    "OpenRouter": OpenRouterProvider,
    "Bedrock": BedrockProvider,
    "Mistral": MistralProvider,
}


@pytest.mark.parametrize("message", [pytest.param(REQUEST, id="as is"), pytest.param(MERGED, id="adjusted")])
@pytest.mark.parametrize("name", MAKERS)
def test_it_is_what_an_exchange_shows(name: str, message: ProviderRequest, api: EvalAPI) -> None:
    prepared, sent = capture_prepared(MAKERS[name](), message, api), capture_offline(MAKERS[name](), message, EvalAPI())
    assert prepared is not None
    assert [(each.endpoint, each.body, each.url) for each in prepared.sent] == [
        (each.endpoint, each.body, each.url) for each in sent.sent
    ]
    assert (prepared.request, prepared.response.adjustments, prepared.response.findings) == (
        sent.request,
        sent.response.adjustments,
        sent.response.findings,
    )


def test_every_built_in_provider_is_compared_with_an_exchange() -> None:
    assert {type(make()) for make in MAKERS.values()} == set(chat_providers())


def test_a_url_that_no_stand_in_answers_is_shown_too(api: EvalAPI) -> None:
    provider = OpenAIResponsesProvider(base_url="https://gateway.example/api")
    prepared = capture_prepared(provider, REQUEST, api)
    assert prepared is not None
    assert [each.endpoint for each in prepared.sent] == ["POST /responses"]


def test_adjustments_and_findings_are_there(api: EvalAPI) -> None:
    prepared = capture_prepared(AnthropicProvider(), MERGED, api)
    assert prepared is not None
    assert prepared.response.adjustments
    assert prepared.response.findings


class _Subclass(OpenAIProvider):
    pass


def _with(provider: OpenAIProvider, name: str) -> OpenAIProvider:
    method: Any = lambda _request: ProviderResponse(text="ok")  # noqa: E731 - has no attribute __func__
    setattr(provider, name, method)
    return provider


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: lambda _request: "ok", id="a function"),
        pytest.param(_Subclass, id="a subclass"),
        pytest.param(lambda: _with(OpenAIProvider(), "send"), id="a replaced send"),
        pytest.param(lambda: _with(OpenAIProvider(), "send_prepared"), id="a replaced send_prepared"),
    ],
)
def test_others_have_to_send(make: Callable[[], Any], api: EvalAPI) -> None:
    assert capture_prepared(make(), REQUEST, api) is None


def test_a_whole_request_is_sent_where_it_may_be_read() -> None:
    assert capture_prepared(OpenAIProvider(), REQUEST, EvalAPI()) is None


@pytest.mark.parametrize(
    ("make", "error"),
    [
        pytest.param(lambda: OpenAIProvider(extra_body={"x": {1, 2}}), PayloadError, id="no JSON"),
        pytest.param(lambda: OpenAIProvider(api_key="a b"), MissingSettingError, id="a key that no header can hold"),
    ],
)
def test_errors_are_those_of_an_exchange(make: Callable[[], Any], error: type[Exception], api: EvalAPI) -> None:
    with pytest.raises(error) as prepared:
        capture_prepared(make(), REQUEST, api)
    with pytest.raises(error) as sent:
        capture_offline(make(), REQUEST, EvalAPI())
    assert str(prepared.value) == str(sent.value)


def test_a_provider_that_connects_while_it_prepares_is_an_error(api: EvalAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(_: OpenAIProvider) -> str:
        with pytest.raises(Exception, match="no connection to"):
            socket.create_connection(("192.0.2.1", 443), timeout=1)
        return "/chat/completions"

    monkeypatch.setattr(OpenAIProvider, "endpoint_path", connect)
    with pytest.raises(
        CaptureError, match=r"tried to connect to 192\.0\.2\.1:443 in a way that eval_api cannot answer"
    ):
        capture_prepared(OpenAIProvider(), REQUEST, api)


def test_the_key_is_a_secret_from_then_on(api: EvalAPI) -> None:
    key = "k3y-0f-a-t3st-4b9"
    capture_prepared(OpenAIProvider(api_key=key), REQUEST, api)
    assert api.redactor.find({"text": f"my key is {key}"}) is not None


def test_credentials_in_the_base_url_are_secrets_from_then_on(api: EvalAPI) -> None:
    capture_prepared(OpenAIProvider(base_url="https://me:pa55-w0rd-x9k2@gateway.example/v1"), REQUEST, api)
    assert api.redactor.find({"text": "it is pa55-w0rd-x9k2"}) is not None
