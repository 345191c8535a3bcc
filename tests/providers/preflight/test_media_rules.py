"""Preflight of media: how many and how large ones each API takes."""

from __future__ import annotations

import pytest

from pytest_chatprompt import (
    AnthropicProvider,
    AzureProvider,
    ChatMessage,
    ChatProvider,
    GeminiProvider,
    OpenAIProvider,
    ProviderRequest,
)
from pytest_chatprompt.prompt.media import Media

OPENAI = OpenAIProvider(model="m")
AZURE = AzureProvider()
ANTHROPIC = AnthropicProvider(model="m")
GEMINI = GeminiProvider(model="m")
MEGABYTE = 1024 * 1024


def findings_of(provider: ChatProvider, *media: Media) -> list[tuple[str, int | None, str]]:
    """The findings about a conversation in which each of the media is a message."""
    prompt = [ChatMessage("user", (each,), number=number) for number, each in enumerate(media, start=1)]
    findings = provider.preflight(ProviderRequest(chat_prompt=tuple(prompt), metadata={"systemPrompt": ""}))
    return [(found.rule, found.message_number, found.text) for found in findings if found.rule != "merged-turns"]


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
    assert findings_of(ANTHROPIC, of_size("image", 5), of_size("document", 6)) == []
    text = "Anthropic takes images of up to 5 MB in base64, and a.png has 5.1 MB; make it smaller"
    assert findings_of(ANTHROPIC, of_size("image", 1), of_size("image", 5.1)) == [("media-size", 2, text)]
    without_path = Media("image", "", "image/png", bytes(4 * MEGABYTE))
    text = "Anthropic takes images of up to 5 MB in base64, and this one has 5.3 MB; make it smaller"
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


def test_openai_limits_documents_together() -> None:
    image, document = of_size("image", 30), of_size("document", 26)
    assert findings_of(OPENAI, image, image, document) == []
    text = (
        "OpenAI takes up to 50 MB of documents in a request, and up to here it has 52.0 MB in base64; "
        "send fewer or smaller ones"
    )
    assert findings_of(OPENAI, image, document, document) == [("media-total", 3, text)]
