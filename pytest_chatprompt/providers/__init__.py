"""The built-in providers: a module for each API, with a pure request-to-body and a thin send."""

from __future__ import annotations

from typing import Final

from pytest_chatprompt.providers.anthropic import AnthropicProvider
from pytest_chatprompt.providers.azure import AzureProvider
from pytest_chatprompt.providers.chat import ChatProvider
from pytest_chatprompt.providers.gemini import GeminiProvider
from pytest_chatprompt.providers.openai import OpenAIProvider

__all__ = ["CHAT_PROVIDERS", "AnthropicProvider", "AzureProvider", "ChatProvider", "GeminiProvider", "OpenAIProvider"]

CHAT_PROVIDERS: Final[tuple[type[ChatProvider], ...]] = (
    AzureProvider,
    OpenAIProvider,
    AnthropicProvider,
    GeminiProvider,
)
