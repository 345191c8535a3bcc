"""Ollama, OpenRouter and Mistral, and what they share: OpenAI's API with a name, a key and a URL of their own."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt import (
    ChatMessage,
    CompatibleProvider,
    MissingSettingError,
    MistralProvider,
    OllamaProvider,
    OpenRouterProvider,
    ProviderRequest,
)
from pytest_chatprompt.providers.context import SendContext, use_context
from tests.apis.built_in import preflight_of
from tests.replies import plain_reply
from tests.server import Server

HI = ProviderRequest(chat_prompt=(ChatMessage("user", "hi"),), metadata={"systemPrompt": ""})
OFFLINE = SendContext(is_offline=True)


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is set on this machine."""
    for name in ("OLLAMA_API_KEY", "OLLAMA_BASE_URL", "OPENROUTER_API_KEY", "OPENROUTER_API_BASE", "MISTRAL_API_BASE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("provider", "default", "variable"),
    [
        pytest.param(OllamaProvider, "http://localhost:11434/v1", "OLLAMA_BASE_URL", id="ollama"),
        pytest.param(OpenRouterProvider, "https://openrouter.ai/api/v1", "OPENROUTER_API_BASE", id="openrouter"),
        pytest.param(MistralProvider, "https://api.mistral.ai/v1", "MISTRAL_API_BASE", id="mistral"),
    ],
)
def test_the_url_is_that_of_the_argument_then_of_the_variable_then_the_vendors(
    provider: Any, default: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert provider().base_url == default
    monkeypatch.setenv(variable, "")
    assert provider().base_url == default
    monkeypatch.setenv(variable, "http://gpu.example:1/v1/")
    assert provider().base_url == "http://gpu.example:1/v1"
    assert provider(base_url="http://mine.example/v1/").base_url == "http://mine.example/v1"
    # Offline the environment does not count, or the endpoint in a snapshot could depend on it.
    with use_context(OFFLINE):
        assert provider().base_url == default


def test_ollama_needs_no_key_and_sends_one_where_there_is_one(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.reply_with(plain_reply("openai-chat"))
    monkeypatch.setenv("OLLAMA_BASE_URL", f"{server.url}/v1")
    provider = OllamaProvider(max_output_tokens=5)
    assert provider.send(HI).text == "(offline)"
    monkeypatch.setenv("OLLAMA_API_KEY", "k1")
    provider.send(HI)
    provider.close()
    (path, without, body), (_, with_key, _) = server.requests
    assert path == "/v1/chat/completions"
    assert ("authorization" in without, with_key["authorization"]) == (False, "Bearer k1")
    assert body == {"model": "gpt-oss:20b", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 5}


def test_openrouter_needs_a_key() -> None:
    with pytest.raises(MissingSettingError) as caught:
        OpenRouterProvider().send(HI)
    assert str(caught.value) == (
        "no key for OpenRouter: set the environment variable OPENROUTER_API_KEY, or pass api_key to OpenRouterProvider"
    )


def test_the_newer_name_of_the_limit_can_be_chosen() -> None:
    provider = OpenRouterProvider(max_tokens_parameter="max_completion_tokens", max_output_tokens=5)
    body = provider.build_payload((ChatMessage("user", "hi"),)).body
    assert (body["model"], body["max_completion_tokens"]) == ("openai/gpt-5.5", 5)


def test_another_vendor_is_a_subclass_of_a_few_lines() -> None:
    class TogetherProvider(CompatibleProvider):
        vendor = "Together"
        key_variable = "TOGETHER_API_KEY"
        base_url_variable = "TOGETHER_BASE_URL"
        default_base_url = "https://api.together.ai/v1"

    provider = TogetherProvider(model="m")
    assert provider.target == "the model 'm' and the base URL https://api.together.ai/v1"
    # What is known about OpenAI's models says nothing about those of others with the same name.
    assert preflight_of(TogetherProvider(model="o4-mini"), HI.model_copy(update={"settings": {"temperature": 0}})) == ()
    arguments: Any = {"modle": "n"}
    with pytest.raises(TypeError, match="TogetherProvider has no setting 'modle'"):
        TogetherProvider(model="m", **arguments)


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        pytest.param({"error": {"code": 502, "message": "Upstream is down."}}, "", id="in place of choices"),
        pytest.param(
            {
                "choices": [
                    {
                        "error": {"code": 502, "message": "Upstream is down."},
                        "finish_reason": "error",
                        "message": {"role": "assistant", "content": "Half"},
                    }
                ]
            },
            "Half",
            id="in the choice",
        ),
    ],
)
def test_an_error_of_openrouter_with_status_200_is_no_answer(reply: dict[str, Any], text: str) -> None:
    response = OpenRouterProvider().read_reply(reply)
    assert (response.text, response.blocked) == (text, "502: Upstream is down.")


def test_a_reply_of_openrouter_without_an_error_is_an_answer() -> None:
    reply = {"choices": [{"error": None, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hi"}}]}
    response = OpenRouterProvider().read_reply(reply)
    assert (response.text, response.blocked) == ("Hi", None)
