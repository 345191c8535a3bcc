"""Ollama's chat completions: OpenAI's, on this machine by default, and without a key.

A chat prompt comes in, the body of a request comes out; it is OpenAI's, and so is the reply. `registry` lists it; users
may subclass it.
Source: https://docs.ollama.com/api/openai-compatibility, and `openai/openai.go` of https://github.com/ollama/ollama,
whose `ChatCompletionRequest` has `max_tokens` and no `max_completion_tokens`.
"""

from __future__ import annotations

import os
from typing import ClassVar, Final, Unpack
from urllib.parse import urlsplit

from pytest_chatprompt.providers.chat.compatible import CompatibleProvider
from pytest_chatprompt.providers.chat.media_support import MediaTable
from pytest_chatprompt.providers.chat.openai import MaxTokensParameter
from pytest_chatprompt.providers.chat.openai_media import OLLAMA_MEDIA
from pytest_chatprompt.providers.chat.settings import ChatSettings
from pytest_chatprompt.providers.context import current_context
from pytest_chatprompt.providers.preflight.rule import Rule
from pytest_chatprompt.providers.preflight.rules import OLLAMA_RULES

# The model of the examples in Ollama's documentation.
DEFAULT_MODEL: Final = "gpt-oss:20b"
_PORT: Final = 11434


class OllamaProvider(CompatibleProvider):
    """Sends chat prompts to Ollama, at `{base_url}/chat/completions`.

    Args:
        model: the model's name; `ollama list` shows those that are there.
        base_url: including the version; `None` reads it in a live run from the environment variable `OLLAMA_BASE_URL`,
            else from `OLLAMA_HOST`, which has none; without these it is `http://localhost:11434/v1`.
        max_tokens_parameter: the name under which `max_output_tokens` is sent; Ollama knows `max_tokens` only.
        settings: see `ChatSettings`. A key is sent where there is one: Ollama's cloud wants it.

    Raises:
        TypeError: there is no setting of that name.
        ValueError: a setting has an invalid value.
    """

    vendor = "Ollama"
    key_variable = "OLLAMA_API_KEY"
    key_is_optional = True
    base_url_variable = "OLLAMA_BASE_URL"
    default_base_url = "http://localhost:11434/v1"
    media: ClassVar[MediaTable] = OLLAMA_MEDIA
    rules: ClassVar[tuple[Rule, ...]] = OLLAMA_RULES

    def __init__(
        self,
        *,
        model: str = DEFAULT_MODEL,
        base_url: str | None = None,
        max_tokens_parameter: MaxTokensParameter = "max_tokens",
        **settings: Unpack[ChatSettings],
    ) -> None:
        super().__init__(model=model, base_url=base_url, max_tokens_parameter=max_tokens_parameter, **settings)

    @property
    def base_url(self) -> str:
        """The base URL without a slash at its end.

        Raises:
            MissingSettingError: an environment variable holds no URL.
        """
        host = "" if current_context().is_offline else os.environ.get("OLLAMA_HOST", "")
        is_own = self.base_url_variable == OllamaProvider.base_url_variable
        if self._base_url or not host or not is_own or os.environ.get(self.base_url_variable):
            return super().base_url
        return self._checked_url("OLLAMA_HOST", _url_of_host(host))


def _url_of_host(host: str) -> str:
    """The URL for a value of `OLLAMA_HOST`, such as `0.0.0.0` or `example.com:80` (ollama 0.6 `_client.py`)."""
    scheme, _, address = host.partition("://")
    if not address:
        scheme, address, port = "http", host, _PORT
    else:
        port = {"http": 80, "https": 443}.get(scheme, _PORT)
    try:
        parts = urlsplit(f"{scheme}://{address}")
        name, port = parts.hostname or "127.0.0.1", parts.port or port
    except ValueError:
        # `check_base_url` says what is wrong with it.
        return host
    path = parts.path.strip("/")
    return "/".join(filter(None, (f"{scheme}://{f'[{name}]' if ':' in name else name}:{port}", path, "v1")))
