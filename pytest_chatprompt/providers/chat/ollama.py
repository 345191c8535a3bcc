"""Ollama's chat completions: OpenAI's, on this machine by default, and without a key.

A chat prompt comes in, the body of a request comes out; it is OpenAI's, and so is the reply. `registry` lists it; users
may subclass it.
Source: https://docs.ollama.com/api/openai-compatibility, and `openai/openai.go` of https://github.com/ollama/ollama,
whose `ChatCompletionRequest` has `max_tokens` and no `max_completion_tokens`.
"""

from __future__ import annotations

from typing import ClassVar, Final, Unpack

from pytest_chatprompt.providers.chat.compatible import CompatibleProvider
from pytest_chatprompt.providers.chat.media_support import MediaTable
from pytest_chatprompt.providers.chat.openai import MaxTokensParameter
from pytest_chatprompt.providers.chat.openai_media import OLLAMA_MEDIA
from pytest_chatprompt.providers.chat.settings import ChatSettings
from pytest_chatprompt.providers.preflight.rule import Rule
from pytest_chatprompt.providers.preflight.rules import OLLAMA_RULES

# The model of the examples in Ollama's documentation.
DEFAULT_MODEL: Final = "gpt-oss:20b"


class OllamaProvider(CompatibleProvider):
    """Sends chat prompts to Ollama, at `{base_url}/chat/completions`.

    Args:
        model: the model's name; `ollama list` shows those that are there.
        base_url: including the version; `None` reads it from the environment variable `OLLAMA_BASE_URL`, and without
            that it is `http://localhost:11434/v1`.
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
