"""Previews: for which providers they can be made without calling `send`."""

from __future__ import annotations

import contextlib

import pytest

from pytest_chatprompt import CodexProvider, OpenAIProvider, ProviderRequest, ProviderResponse
from pytest_chatprompt.capture.preview import can_preview


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
