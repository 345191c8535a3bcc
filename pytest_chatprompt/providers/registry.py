"""The table of the built-in providers: one line for each.

`fixtures` makes a provider of each line; `capture` reads the placeholders of their keys here. `options`, `eval_schema`
and `items.setting_names` list the names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pytest_chatprompt.providers.agents.base import AgentProvider
from pytest_chatprompt.providers.agents.cli import CLIProvider
from pytest_chatprompt.providers.agents.codex import CodexProvider
from pytest_chatprompt.providers.agents.vscode import VSCodeProvider
from pytest_chatprompt.providers.chat.anthropic import AnthropicProvider
from pytest_chatprompt.providers.chat.azure import AzureProvider
from pytest_chatprompt.providers.chat.base import ChatProvider
from pytest_chatprompt.providers.chat.bedrock import BedrockProvider
from pytest_chatprompt.providers.chat.gemini import GeminiProvider
from pytest_chatprompt.providers.chat.ollama import OllamaProvider
from pytest_chatprompt.providers.chat.openai import OpenAIProvider
from pytest_chatprompt.providers.chat.openai_responses import OpenAIResponsesProvider
from pytest_chatprompt.providers.chat.openrouter import OpenRouterProvider

# By the name that an eval file uses; the fixture of each is called `<name>_provider`.
PROVIDERS: Final[Mapping[str, type[ChatProvider] | type[AgentProvider]]] = {
    "openai": OpenAIProvider,
    "openai_responses": OpenAIResponsesProvider,
    "azure": AzureProvider,
    "anthropic": AnthropicProvider,
    "gemini": GeminiProvider,
    "bedrock": BedrockProvider,
    "ollama": OllamaProvider,
    "openrouter": OpenRouterProvider,
    "vscode": VSCodeProvider,
    "codex": CodexProvider,
    "cli": CLIProvider,
}
CHAT_PROVIDERS: Final = tuple(provider for provider in PROVIDERS.values() if issubclass(provider, ChatProvider))
