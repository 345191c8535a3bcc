"""Azure OpenAI: its two paths, and where key and endpoint come from."""

from __future__ import annotations

import pytest

from pytest_chatprompt import AzureProvider, ChatMessage, MissingSettingError, ProviderRequest
from tests.apis.conversations import SYSTEM, USER
from tests.replies import plain_reply
from tests.server import Server


def test_the_path_names_deployment_and_version(server: Server) -> None:
    server.reply_with(plain_reply("azure-chat"))
    provider = AzureProvider(endpoint=f"{server.url}/", deployment="my gpt", api_version="2024-10-21", api_key="k1")
    assert provider.send(ProviderRequest(chat_prompt=(SYSTEM, USER))).text == "(offline)"
    provider.close()
    ((path, headers, body),) = server.requests
    assert path == "/openai/deployments/my%20gpt/chat/completions?api-version=2024-10-21"
    assert headers["api-key"] == "k1"
    assert "authorization" not in headers
    assert body == {"messages": [SYSTEM.as_dict(), USER.as_dict()]}


def test_without_a_version_the_v1_path_is_used_and_the_body_names_the_deployment() -> None:
    provider = AzureProvider(endpoint="https://x.example", deployment="d", api_version=None, max_output_tokens=5)
    assert provider.endpoint_path() == "/openai/v1/chat/completions"
    assert provider.build_payload((USER,)).body == {
        "model": "d",
        "messages": [{"role": "user", "content": "hi"}],
        "max_completion_tokens": 5,
    }


def test_key_and_endpoint_come_from_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.reply_with(plain_reply("azure-chat"))
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k-env")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.url)
    provider = AzureProvider()
    provider.send(ProviderRequest(chat_prompt=(ChatMessage("user", "hi"),)))
    provider.close()
    assert server.requests[0][1]["api-key"] == "k-env"


def test_an_empty_key_is_not_sent() -> None:
    assert AzureProvider(endpoint="https://x.example").auth_headers("") == {}


def test_the_error_for_a_missing_endpoint_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_OPENAI_ENDPOINT", raising=False)
    with pytest.raises(MissingSettingError) as caught:
        AzureProvider(api_key="k").send(ProviderRequest(question="hi"))
    assert str(caught.value) == (
        "no endpoint for Azure OpenAI: set the environment variable AZURE_OPENAI_ENDPOINT, "
        "or pass endpoint to AzureProvider"
    )
