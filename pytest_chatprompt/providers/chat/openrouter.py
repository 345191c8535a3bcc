"""OpenRouter's chat completions: OpenAI's, for the models of many vendors.

A chat prompt comes in, the body of a request comes out; it is OpenAI's, and so is the reply, except errors with
status 200. `registry` lists it; users may subclass it.
Sources: https://openrouter.ai/docs/api-reference/overview, https://openrouter.ai/docs/api-reference/parameters and
https://openrouter.ai/docs/api/reference/errors-and-debugging.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Unpack

from pytest_chatprompt.providers.chat.compatible import CompatibleProvider
from pytest_chatprompt.providers.chat.media_support import MediaTable
from pytest_chatprompt.providers.chat.openai import MaxTokensParameter
from pytest_chatprompt.providers.chat.openai_media import OPENROUTER_MEDIA
from pytest_chatprompt.providers.chat.settings import ChatSettings
from pytest_chatprompt.providers.preflight.rule import Rule
from pytest_chatprompt.providers.preflight.rules import OPENROUTER_RULES
from pytest_chatprompt.providers.response import ProviderResponse

DEFAULT_MODEL: Final = "openai/gpt-5.5"


class OpenRouterProvider(CompatibleProvider):
    """Sends chat prompts to OpenRouter, at `{base_url}/chat/completions`.

    Args:
        model: the vendor and the model, such as `openai/gpt-5.5`.
        base_url: including the version; `None` reads it from the environment variable `OPENROUTER_API_BASE`, and
            without that it is `https://openrouter.ai/api/v1`.
        max_tokens_parameter: the name under which `max_output_tokens` is sent.
        settings: see `ChatSettings`. What only OpenRouter has, such as `provider` and `models`, goes into `extra_body`.

    Raises:
        TypeError: there is no setting of that name.
        ValueError: a setting has an invalid value.
    """

    vendor = "OpenRouter"
    price_vendor = "openrouter"
    key_variable = "OPENROUTER_API_KEY"
    base_url_variable = "OPENROUTER_API_BASE"
    default_base_url = "https://openrouter.ai/api/v1"
    media: ClassVar[MediaTable] = OPENROUTER_MEDIA
    rules: ClassVar[tuple[Rule, ...]] = OPENROUTER_RULES

    def __init__(
        self,
        *,
        model: str = DEFAULT_MODEL,
        base_url: str | None = None,
        max_tokens_parameter: MaxTokensParameter = "max_tokens",
        **settings: Unpack[ChatSettings],
    ) -> None:
        super().__init__(model=model, base_url=base_url, max_tokens_parameter=max_tokens_parameter, **settings)

    def read_reply(self, data: Any) -> ProviderResponse:
        """Read the first choice; an error of the model, which comes with status 200 too, sets `blocked`."""
        error = data.get("error")
        if error:
            return ProviderResponse(text="", raw=data, blocked=_describe(error))
        response = super().read_reply(data)
        error = data["choices"][0].get("error")
        return response.model_copy(update={"blocked": _describe(error)}) if error else response


def _describe(error: Mapping[str, Any]) -> str:
    return f"{error.get('code')}: {error.get('message')}"
