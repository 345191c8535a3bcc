"""Parity of Ollama and OpenRouter: both send what OpenAI's SDK sends to their URLs."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from pytest_chatprompt import CompatibleProvider, OllamaProvider, OpenRouterProvider
from tests.apis.sdk_differences import as_ours
from tests.apis.test_parity import (
    MEDIA,
    PDF_URL,
    Conversation,
    Options,
    each_conversation,
    openai_arguments,
    options_of,
    received_request,
    sent_by,
    sent_media,
    sent_with,
)
from tests.replies import plain_reply
from tests.server import Server

each_provider = pytest.mark.parametrize("provider", [OllamaProvider, OpenRouterProvider])


@each_provider
@each_conversation
def test_they_send_what_openais_sdk_sends(
    provider: type[CompatibleProvider], conversation: Conversation, server: Server
) -> None:
    server.reply_with(plain_reply("openai-chat"))
    with openai.OpenAI(api_key="k", base_url=f"{server.url}/v1", max_retries=0) as client:
        client.chat.completions.create(model="m", **openai_arguments(conversation, "max_tokens"))
    theirs = as_ours(received_request(server), "OpenAI and the like")
    ours = provider(model="m", base_url=f"{server.url}/v1", api_key="k", **conversation.settings)
    assert sent_by(ours, conversation, server) == theirs


# The media that OpenAI's API does not take, and OpenRouter does.
OPENROUTER_PARTS: dict[str, list[dict[str, Any]]] = {
    "a document at a URL": [{"type": "file", "file": {"filename": "report.pdf", "file_data": PDF_URL}}]
}


def sent_by_openai(parts: Any, server: Server) -> tuple[str, Any]:
    with openai.OpenAI(api_key="k", base_url=f"{server.url}/v1", max_retries=0) as client:
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": parts}])
    return received_request(server)


@pytest.mark.parametrize("name", ["a PNG", "a JPEG", "a WebP", "a WAV", "an MP3"])
def test_ollama_sends_the_media_that_openais_sdk_sends(name: str, server: Server) -> None:
    server.reply_with(plain_reply("openai-chat"))
    theirs = sent_by_openai(MEDIA[name].openai, server)
    ours = OllamaProvider(model="m", base_url=f"{server.url}/v1", api_key="k")
    assert sent_media(ours, MEDIA[name], server) == theirs


@pytest.mark.parametrize("name", [name for name in MEDIA if name != "a sound at a URL"])
def test_openrouter_sends_the_media_that_openais_sdk_sends(name: str, server: Server) -> None:
    server.reply_with(plain_reply("openai-chat"))
    theirs = sent_by_openai(OPENROUTER_PARTS.get(name, MEDIA[name].openai), server)
    ours = OpenRouterProvider(model="m", base_url=f"{server.url}/v1", api_key="k")
    assert sent_media(ours, MEDIA[name], server) == theirs


@each_provider
@options_of("openai")
def test_they_send_the_options_that_openais_sdk_sends(
    provider: type[CompatibleProvider], options: Options, server: Server
) -> None:
    server.reply_with(plain_reply("openai-chat"))
    messages: Any = [{"role": "user", "content": "hi"}]
    # As their documentation says: https://docs.ollama.com/api/openai-compatibility,
    # https://openrouter.ai/docs/api-reference/parameters
    names = {"max_completion_tokens": "max_tokens"}
    settings = {names.get(name, name): value for name, value in options.openai.items()}
    with openai.OpenAI(api_key="k", base_url=f"{server.url}/v1", max_retries=0) as client:
        client.chat.completions.create(model="other", messages=messages, **options.request, **settings)
    theirs = received_request(server)
    assert sent_with(provider(model="m", base_url=f"{server.url}/v1", api_key="k"), options, server) == theirs
