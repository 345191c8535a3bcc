"""The tables of the built-in providers and of the APIs that are answered and read: one line for each."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from pytest_chatprompt.apis.chat_provider import ChatProvider
    from pytest_chatprompt.apis.model_api import ModelAPI

# By the name that an eval file uses; the fixture of each is called `<name>_provider`. Most runs use one provider, so a
# module is imported when its class is asked for.
PROVIDERS: Final = {
    "openai": "apis.openai.OpenAIProvider",
    "openai_responses": "apis.openai_responses.OpenAIResponsesProvider",
    "azure": "apis.azure.AzureProvider",
    "anthropic": "apis.anthropic.AnthropicProvider",
    "gemini": "apis.gemini.GeminiProvider",
    "bedrock": "apis.bedrock.BedrockProvider",
    "ollama": "apis.ollama.OllamaProvider",
    "openrouter": "apis.openrouter.OpenRouterProvider",
    "mistral": "apis.mistral.MistralProvider",
    "vscode": "providers.agents.vscode.VSCodeProvider",
    "codex": "providers.agents.codex.CodexProvider",
    "claude": "providers.agents.claude.ClaudeProvider",
    "cli": "providers.agents.cli.CLIProvider",
}


class _API(NamedTuple):
    """A line of the table: the module and the class, and patterns for the end of the path and for the hosts."""

    place: str
    path: str
    hosts: str = ""


_MISTRAL_HOSTS: Final = r"(^|\.)mistral\.ai$"
_EMBEDDINGS_PATH: Final = r"(^|/v\d+\w*|/openai|/deployments/[^/]+)/embeddings/?$"

# By the name that `offline_api` of a provider names. Of two with the same path, the narrower one first.
_APIS: Final = {
    "azure-chat": _API("azure.AzureChat", r"/openai/deployments/[^/]+/chat/completions/?$"),
    "mistral": _API("mistral.MistralChat", r"/chat/completions/?$", _MISTRAL_HOSTS),
    "mistral-embeddings": _API("mistral.MistralEmbeddings", _EMBEDDINGS_PATH, _MISTRAL_HOSTS),
    "openai-chat": _API("openai.OpenAIChat", r"/chat/completions/?$"),
    "openai-responses": _API("openai_responses.OpenAIResponses", r"(^|/v\d+\w*|/openai|/codex)/responses/?$"),
    "openai-embeddings": _API("openai_embeddings.OpenAIEmbeddings", _EMBEDDINGS_PATH),
    "anthropic": _API(
        "anthropic.AnthropicMessages",
        r"/v1/messages/?$|/publishers/anthropic/models/[^/:@]+[^/:]*:(stream)?[rR]awPredict$",
    ),
    "gemini": _API("gemini.GeminiGenerateContent", r"/[^/:]+:(g|streamG)enerateContent$"),
    "bedrock": _API("bedrock.BedrockConverse", r"/model/.+/converse(-stream)?$"),
    "ollama-chat": _API("ollama.OllamaChat", r"/api/chat/?$"),
    "ollama-generate": _API("ollama.OllamaGenerate", r"/api/generate/?$"),
    "cohere": _API("cohere.CohereChat", r"/v2/chat/?$"),
}
API_NAMES: Final = tuple(_APIS)

# The APIs that others than their vendor serve: at other hosts, its rules of preflight hold for its models alone.
_SHARED: Final = ("openai-chat", "openai-responses", "anthropic")
# The ends of hosts that serve OpenAI's chat completions and have a provider with rules of their own.
_HOSTS: Final = {".azure.com": "azure", "openrouter.ai": "openrouter", "ollama.com": "ollama", ":11434": "ollama"}


def get_provider(name: str) -> Any:
    """The class of a built-in provider."""
    return _import(PROVIDERS[name])


def is_built_in_class(provider_class: type) -> bool:
    """Whether a class is one of the table; none of them is imported to know it."""
    name = f"{provider_class.__module__}.{provider_class.__qualname__}"
    return name.removeprefix("pytest_chatprompt.") in PROVIDERS.values()


@lru_cache(maxsize=256)
def find_api(method: str, path: str, host: str = "") -> ModelAPI | None:
    """Find the API that a request is for; `None` if the table has no such API."""
    names = _APIS if method.upper() == "POST" else ()
    found = (name for name in names if is_path_of(name, path) and re.search(_APIS[name].hosts, host))
    return next(map(get_api, found), None)


def provider_of(api: str) -> type[ChatProvider] | None:
    """The built-in provider that sends to an API: it stands in the API's module, which has its name."""
    name = _APIS[api].place.partition(".")[0]
    provider = get_provider(name) if name in PROVIDERS else None
    return provider if provider is not None and provider.offline_api == api else None


def rules_of(api: str, host: str, model: str) -> type[ChatProvider] | None:
    """The provider whose rules hold for a request to an API, at a host with its port; `None` if there is none."""
    by_host = next((vendor for end, vendor in _HOSTS.items() if host.endswith(end)), None)
    if api == "openai-chat" and by_host is not None:
        return get_provider(by_host)  # type: ignore[no-any-return]
    provider = provider_of(api)
    if provider is None:
        return None
    # Most runs look at no request that they have not made.
    from pytest_chatprompt.apis.preflight import UNKNOWN, find_limits  # noqa: PLC0415

    is_vendor = api not in _SHARED or f"//{host}/" in f"{provider.default_base_url}/"
    return provider if is_vendor or find_limits(model, provider.known_models) != UNKNOWN else None


def is_path_of(name: str, path: str) -> bool:
    """Whether an API answers at a path, on any host; it need not be imported to know it."""
    return re.search(_APIS[name].path, path) is not None


@cache
def get_api(name: str) -> ModelAPI:
    """The API of a name; a `LookupError` lists the names."""
    if name not in _APIS:
        raise LookupError(f"no API is called {name!r}; there are {', '.join(_APIS)}")
    api: ModelAPI = _import(f"apis.{_APIS[name].place}")(name)
    return api


def _import(place: str) -> Any:
    module, _, class_name = place.rpartition(".")
    return getattr(import_module(f"pytest_chatprompt.{module}"), class_name)
