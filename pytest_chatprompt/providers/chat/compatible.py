"""`CompatibleProvider`: servers of other vendors that speak OpenAI's chat completions, at a URL of their own.

A chat prompt comes in, OpenAI's body comes out; what differs is the vendor's name, key and URL. A vendor is a subclass
of a few lines, such as `ollama` and `openrouter`; users may write more of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Unpack

from pytest_chatprompt.providers.chat.openai import MaxTokensParameter, OpenAIProvider
from pytest_chatprompt.providers.chat.settings import ChatSettings
from pytest_chatprompt.providers.preflight.models import ModelLimits


class CompatibleProvider(OpenAIProvider):
    """Sends chat prompts to a server with OpenAI's chat completions, at `{base_url}/chat/completions`.

    Args:
        model: the model's name.
        base_url: including the version; `None` reads it from the variable `base_url_variable`, if that is set.
        max_tokens_parameter: the name under which `max_output_tokens` is sent; these servers know the older one.
        settings: see `ChatSettings`.

    Raises:
        TypeError: there is no setting of that name.
        ValueError: a setting has an invalid value.
    """

    # OpenAI's prices are not theirs.
    price_vendor: ClassVar[str] = ""
    base_url_variable: ClassVar[str] = ""
    default_base_url: ClassVar[str] = ""
    # What is known about OpenAI's models says nothing about others.
    known_models: ClassVar[Mapping[str, ModelLimits]] = {}

    def __init__(
        self,
        *,
        model: str,
        base_url: str | None = None,
        max_tokens_parameter: MaxTokensParameter = "max_tokens",
        **settings: Unpack[ChatSettings],
    ) -> None:
        super().__init__(model=model, base_url=base_url, max_tokens_parameter=max_tokens_parameter, **settings)
