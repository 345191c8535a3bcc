"""Preflight of media: how many and how large ones each API takes."""

from __future__ import annotations

import pytest

from pytest_chatprompt import (
    AnthropicProvider,
    AzureProvider,
    BedrockProvider,
    ChatMessage,
    ChatProvider,
    GeminiProvider,
    OllamaProvider,
    OpenAIProvider,
    OpenAIResponsesProvider,
    OpenRouterProvider,
    ProviderRequest,
)
from pytest_chatprompt.apis.preflight import PreflightInput, apply_rules
from pytest_chatprompt.prompt.chat_prompt import Media

OPENAI = OpenAIProvider(model="m")
AZURE = AzureProvider()
ANTHROPIC = AnthropicProvider(model="m")
GEMINI = GeminiProvider(model="m")
RESPONSES = OpenAIResponsesProvider(model="m")
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
    findings = provider.preflight(ProviderRequest(chat_prompt=prompt, metadata={"systemPrompt": ""}))
    return [(found.rule, found.message_number, found.text) for found in findings]


def of_size(kind: str, megabytes: float) -> Media:
    """Media whose base64 has this size."""
    content = bytes(int(megabytes * MEGABYTE) // 4 * 3)
    if kind == "document":
        return Media("document", "a.pdf", "application/pdf", content)
    return Media("image", "a.png", "image/png", content)


AT_URL = Media("image", "https://x.example/a.png", "image/png")


@pytest.mark.parametrize(
    ("provider", "limit"),
    [
        pytest.param(OPENAI, 1500, id="openai"),
        pytest.param(RESPONSES, 1500, id="openai_responses"),
        pytest.param(AZURE, 50, id="azure"),
        pytest.param(ANTHROPIC, 600, id="anthropic"),
        pytest.param(GEMINI, 3600, id="gemini"),
    ],
)
def test_more_images_than_an_api_takes_are_found(provider: ChatProvider, limit: int) -> None:
    assert findings_of(provider, *[AT_URL] * limit) == []
    text = f"{provider.vendor} takes up to {limit} images in a request, and this one has {limit + 2}; send fewer"
    assert findings_of(provider, *[AT_URL] * (limit + 2)) == [("image-count", limit + 1, text)]


def test_an_image_that_is_too_large_for_anthropic_is_found() -> None:
    assert findings_of(ANTHROPIC, of_size("image", 10), of_size("document", 11)) == []
    text = "Anthropic takes images of up to 10 MB in base64, and a.png has 10.1 MB; make it smaller"
    assert findings_of(ANTHROPIC, of_size("image", 1), of_size("image", 10.1)) == [("media-size", 2, text)]
    without_path = Media("image", "", "image/png", bytes(8 * MEGABYTE))
    text = "Anthropic takes images of up to 10 MB in base64, and this one has 10.7 MB; make it smaller"
    assert findings_of(ANTHROPIC, without_path) == [("media-size", 1, text)]


def test_media_that_are_too_large_together_are_found_once() -> None:
    ten = of_size("document", 10)
    assert findings_of(ANTHROPIC, ten, ten, ten) == []
    text = (
        "Anthropic takes up to 32 MB of files in a request, and up to here it has 40.0 MB in base64; "
        "send fewer or smaller ones"
    )
    assert findings_of(ANTHROPIC, *[ten] * 5) == [("media-total", 4, text)]
    assert [(rule, number) for rule, number, _ in findings_of(GEMINI, *[of_size("document", 26)] * 4)] == [
        ("media-total", 4)
    ]


@pytest.mark.parametrize("provider", [OPENAI, RESPONSES], ids=["openai", "openai_responses"])
def test_openai_limits_the_bytes_of_documents_together(provider: ChatProvider) -> None:
    image, document = Media("image", "a.png", "image/png", bytes(30 * MEGABYTE)), of_pages(25)
    assert findings_of(provider, image, document, document) == []
    text = (
        f"{provider.vendor} takes up to 50 MB of documents in a request, and up to here it has 50.5 MB; "
        "send fewer or smaller ones"
    )
    assert findings_of(provider, image, document, of_pages(25.5)) == [("media-total", 3, text)]


def of_pages(megabytes: float) -> Media:
    """A document with this many bytes."""
    return Media("document", "a.pdf", "application/pdf", bytes(int(megabytes * MEGABYTE)))


SMALL = Media("image", "a.png", "image/png", b"\x89PNG")
PAGE = Media("document", "a.pdf", "application/pdf", b"%PDF-")


def test_bedrock_limits_the_images_of_a_message() -> None:
    assert findings_of_message(BEDROCK, "Look:", *[SMALL] * 20) == []
    assert findings_of(BEDROCK, *[SMALL] * 21) == []
    text = "Amazon Bedrock takes up to 20 images in a message, and this one has 21; send fewer"
    assert findings_of_message(BEDROCK, "Look:", *[SMALL] * 21) == [("image-count", 1, text)]


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
