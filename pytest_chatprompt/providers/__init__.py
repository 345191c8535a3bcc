"""The built-in providers: a module for each API or agent, with a pure request-to-payload and a thin send."""

from __future__ import annotations

from typing import Final

from pytest_chatprompt.providers.agent import AgentProvider
from pytest_chatprompt.providers.anthropic import AnthropicProvider
from pytest_chatprompt.providers.azure import AzureProvider
from pytest_chatprompt.providers.chat import ChatProvider
from pytest_chatprompt.providers.cli import CLIProvider
from pytest_chatprompt.providers.codex import CodexProvider
from pytest_chatprompt.providers.gemini import GeminiProvider
from pytest_chatprompt.providers.openai import OpenAIProvider
from pytest_chatprompt.providers.vscode import VSCodeProvider

__all__ = [
    "CHAT_PROVIDERS",
    "AgentProvider",
    "AnthropicProvider",
    "AzureProvider",
    "CLIProvider",
    "ChatProvider",
    "CodexProvider",
    "GeminiProvider",
    "OpenAIProvider",
    "VSCodeProvider",
]

CHAT_PROVIDERS: Final[tuple[type[ChatProvider], ...]] = (
    AzureProvider,
    OpenAIProvider,
    AnthropicProvider,
    GeminiProvider,
)
