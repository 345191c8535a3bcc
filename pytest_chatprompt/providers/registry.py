"""The table of the built-in providers: one line for each.

`fixtures` makes a provider of each line. `options`, `eval_schema` and `items.code_case` list the names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pytest_chatprompt.providers.agents.base import AgentProvider
    from pytest_chatprompt.providers.chat.base import ChatProvider

# By the name that an eval file uses; the fixture of each is called `<name>_provider`. Most runs use one provider, so a
# module is imported when its class is asked for.
_PLACES: Final = {
    "openai": "chat.openai.OpenAIProvider",
    "openai_responses": "chat.openai_responses.OpenAIResponsesProvider",
    "azure": "chat.azure.AzureProvider",
    "anthropic": "chat.anthropic.AnthropicProvider",
    "gemini": "chat.gemini.GeminiProvider",
    "bedrock": "chat.bedrock.BedrockProvider",
    "ollama": "chat.ollama.OllamaProvider",
    "openrouter": "chat.openrouter.OpenRouterProvider",
    "vscode": "agents.vscode.VSCodeProvider",
    "codex": "agents.codex.CodexProvider",
    "cli": "agents.cli.CLIProvider",
}
_ROOM: Final = "pytest_chatprompt.providers"
_PLACES_IN_FULL: Final = frozenset(f"{_ROOM}.{place}" for place in _PLACES.values())


class _Providers(Mapping[str, "type[ChatProvider] | type[AgentProvider]"]):
    """The classes by name."""

    def __getitem__(self, name: str) -> Any:
        module, _, class_name = _PLACES[name].rpartition(".")
        return getattr(import_module(f"{_ROOM}.{module}"), class_name)

    def __iter__(self) -> Iterator[str]:
        return iter(_PLACES)

    def __len__(self) -> int:
        return len(_PLACES)


PROVIDERS: Final = _Providers()


@cache
def chat_providers() -> tuple[type[ChatProvider], ...]:
    """The classes that speak an API, in the order of the table."""
    from pytest_chatprompt.providers.chat.base import ChatProvider  # noqa: PLC0415

    return tuple(provider for provider in PROVIDERS.values() if issubclass(provider, ChatProvider))


def is_built_in_class(provider_class: type) -> bool:
    """Whether a class is one of the table; none of them is imported to know it."""
    return f"{provider_class.__module__}.{provider_class.__qualname__}" in _PLACES_IN_FULL
