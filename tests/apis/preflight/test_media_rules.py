"""Preflight of media: how many and how large ones each API takes."""

from __future__ import annotations

import pytest

from pytest_chatprompt import (
    AnthropicProvider,
    AzureProvider,
    BedrockProvider,
    ChatMessage,
    ChatProvider,
    OllamaProvider,
    OpenRouterProvider,
    ProviderRequest,
)
from pytest_chatprompt.apis.preflight import PreflightInput, apply_rules
from pytest_chatprompt.prompt.chat_prompt import Media
from tests.apis.built_in import preflight_of

AZURE = AzureProvider()
ANTHROPIC = AnthropicProvider(model="m")
BEDROCK = BedrockProvider(model="m")
MEGABYTE = 1024 * 1024


def findings_of(provider: ChatProvider, *media: Media) -> list[tuple[str, int | None, str]]:
    """The findings of the sizes and numbers in a conversation in which each of the media is a message."""
    prompt = tuple(ChatMessage("user", (each,), number=number) for number, each in enumerate(media, start=1))
    # No body is made: it would be large.
    request = PreflightInput(vendor=provider.vendor, model="m", prompt=prompt)
    rules = [rule for rule in provider.rules if rule.topic == "media" and rule.name != "document-text"]
    return [(found.rule, found.message_number, found.text) for found in apply_rules(request, rules)]


def findings_of_message(provider: ChatProvider, *content: str | Media) -> list[tuple[str, int | None, str]]:
    """The findings about one user message."""
    prompt = (ChatMessage("user", content, number=1),)
    findings = preflight_of(provider, ProviderRequest(chat_prompt=prompt, metadata={"systemPrompt": ""}))
    return [(found.rule, found.message_number, found.text) for found in findings]


def of_size(megabytes: float) -> Media:
    """An image with this many bytes."""
    return Media("image", "a.png", "image/png", bytes(int(megabytes * MEGABYTE)))


AT_URL = Media("image", "https://x.example/a.png", "image/png")


def test_more_images_than_azure_takes_are_found() -> None:
    assert findings_of(AZURE, *[AT_URL] * 50) == []
    text = "Azure OpenAI takes up to 50 images in a request, and this one has 52; send fewer"
    assert findings_of(AZURE, *[AT_URL] * 52) == [("image-count", 51, text)]


def test_an_image_that_is_too_large_for_anthropic_is_found() -> None:
    assert findings_of(ANTHROPIC, of_size(7.5), of_pages(8)) == []
    text = "Anthropic takes images of up to 7.5 MB, and a.png has 7.6 MB; make it smaller"
    assert findings_of(ANTHROPIC, of_size(1), of_size(7.6)) == [("media-size", 2, text)]
    without_path = Media("image", "", "image/png", bytes(8 * MEGABYTE))
    text = "Anthropic takes images of up to 7.5 MB, and this one has 8.0 MB; make it smaller"
    assert findings_of(ANTHROPIC, without_path) == [("media-size", 1, text)]


def of_pages(megabytes: float) -> Media:
    """A document with this many bytes."""
    return Media("document", "a.pdf", "application/pdf", bytes(int(megabytes * MEGABYTE)))


SMALL = Media("image", "a.png", "image/png", b"\x89PNG")
PAGE = Media("document", "a.pdf", "application/pdf", b"%PDF-")


def test_bedrock_limits_the_documents_of_a_request() -> None:
    assert findings_of(BEDROCK, *[PAGE] * 5) == []
    text = "Amazon Bedrock takes up to 5 documents in a request, and this one has 6; send fewer"
    assert findings_of(BEDROCK, *[PAGE] * 6) == [("document-count", 6, text)]


def test_bedrock_limits_the_bytes_of_each_image_and_document() -> None:
    image = Media("image", "a.png", "image/png", bytes(int(3.75 * MEGABYTE)))
    assert findings_of(BEDROCK, image, of_pages(4.5)) == []
    text = "Amazon Bedrock takes documents of up to 4.5 MB, and a.pdf has 4.6 MB; make it smaller"
    assert findings_of(BEDROCK, of_pages(4.6)) == [("document-size", 1, text)]
    text = "Amazon Bedrock takes images of up to 3.75 MB, and this one has 4.0 MB; make it smaller"
    assert findings_of(BEDROCK, Media("image", "", "image/png", bytes(4 * MEGABYTE))) == [("media-size", 1, text)]


def test_bedrock_wants_a_text_beside_a_document() -> None:
    assert findings_of_message(BEDROCK, PAGE, "Sum it up.") == []
    assert findings_of_message(BEDROCK, SMALL) == []
    text = "Amazon Bedrock refuses a message with a document and no text; add a text part that says what to do with it"
    assert findings_of_message(BEDROCK, PAGE, SMALL) == [("document-text", 1, text)]


@pytest.mark.parametrize("provider", [OllamaProvider(), OpenRouterProvider()], ids=["ollama", "openrouter"])
def test_no_limit_is_known_where_it_depends_on_the_model(provider: ChatProvider) -> None:
    assert findings_of(provider, *[SMALL] * 2000) == []
