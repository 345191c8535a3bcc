"""Previews: for which providers they can be made without calling `send`, and what they show."""

from __future__ import annotations

import contextlib

import pytest

from pytest_chatprompt import CodexProvider, OpenAIProvider, ProviderRequest, ProviderResponse
from pytest_chatprompt.capture.preview import can_preview, preview_prepared
from pytest_chatprompt.prompt.chat_prompt import ChatMessage


class WithOwnSend(OpenAIProvider):
    def send(self, request: ProviderRequest) -> ProviderResponse:
        return super().send(request)


def test_a_chat_provider_and_an_agent_can_be_previewed() -> None:
    with contextlib.closing(OpenAIProvider()) as provider:
        assert can_preview(provider)
    assert can_preview(CodexProvider())


def test_a_provider_that_sends_in_its_own_way_cannot() -> None:
    with contextlib.closing(WithOwnSend()) as provider:
        assert not can_preview(provider)
    assert not can_preview(lambda _: ProviderResponse(text=""))


@pytest.mark.parametrize("method", ["send", "send_prepared"])
def test_a_provider_whose_method_was_replaced_cannot(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with contextlib.closing(OpenAIProvider()) as provider:
        monkeypatch.setattr(provider, method, lambda _: ProviderResponse(text=""))
        assert not can_preview(provider)


REQUEST = ProviderRequest(chat_prompt=(ChatMessage(role="user", content="Hello."),))


def make_provider(base_url: str = "https://api.example/v1") -> OpenAIProvider:
    return OpenAIProvider(base_url=base_url, api_key="sk-live-0123456789")


def test_the_same_url_below_another_base_url_is_another_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OpenAIProvider, "billing", lambda *_: None)
    first = preview_prepared(make_provider(), REQUEST)
    provider = make_provider("https://api.example")
    monkeypatch.setattr(provider, "endpoint_path", lambda: "/v1/chat/completions")
    again = preview_prepared(provider, REQUEST)
    assert again.prepared == first.prepared
    assert [each.sent[0].endpoint for each in (first, again)] == ["POST /chat/completions", "POST /v1/chat/completions"]
