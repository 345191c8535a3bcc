"""OpenRouter's chat completions: OpenAI's, for the models of many vendors, except errors with status 200.

Sources: https://openrouter.ai/docs/api-reference/overview, https://openrouter.ai/docs/api-reference/parameters and
https://openrouter.ai/docs/api/reference/errors-and-debugging.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from pytest_chatprompt.apis import message_rules, option_rules
from pytest_chatprompt.apis.openai import CompatibleProvider, audio_part, document_part, image_part
from pytest_chatprompt.apis.preflight import Rule, about_calls, about_definitions
from pytest_chatprompt.apis.vendor_api import MediaSupport, MediaTable
from pytest_chatprompt.cases.message import Role
from pytest_chatprompt.providers.response import ProviderResponse

_TOOLS: Final = "https://openrouter.ai/docs/features/tool-calling"


# https://openrouter.ai/docs/features/multimodal/images, `/pdfs` and `/audio`, and the package `openrouter`
# (`components/chatcontentitems.py`): all messages but the system's may have media, and `file_data` may be a URL.
_ROLES_OF_OPENROUTER: Final[tuple[Role, ...]] = ("user", "assistant", "tool")


class OpenRouterProvider(CompatibleProvider):
    """Sends chat prompts to OpenRouter, at `{base_url}/chat/completions`.

    Args:
        model: the vendor and the model, such as `openai/gpt-5.5`.
        base_url: including the version; `None` reads it from the environment variable `OPENROUTER_API_BASE`, and
            without that it is `https://openrouter.ai/api/v1`.
        max_tokens_parameter: the name under which `max_output_tokens` is sent.
        settings: see `ChatSettings`. What only OpenRouter has, such as `provider` and `models`, goes into `extra_body`.
    """

    default_model = "openai/gpt-5.5"
    vendor = "OpenRouter"
    price_vendor = "openrouter"
    key_variable = "OPENROUTER_API_KEY"
    base_url_variable = "OPENROUTER_API_BASE"
    default_base_url = "https://openrouter.ai/api/v1"
    name = "openrouter"
    media: ClassVar[MediaTable] = {
        "image": MediaSupport(image_part, roles=_ROLES_OF_OPENROUTER, takes_urls=True, takes_detail=True),
        "document": MediaSupport(document_part, roles=_ROLES_OF_OPENROUTER, takes_urls=True),
        "audio": MediaSupport(audio_part, roles=_ROLES_OF_OPENROUTER),
    }
    # `components/chatcontenttext.py`; images and files have no mark.
    cached_kinds = ("text",)
    rules = (
        about_calls("tool-call-id", _TOOLS, message_rules.results_without_id),
        about_calls("tool-result-without-call", _TOOLS, message_rules.results_without_call),
        about_calls("tool-call-without-result", _TOOLS, message_rules.calls_without_results),
        about_definitions("tool-choice", _TOOLS, option_rules.choices_without_tools),
        Rule("temperature", "https://openrouter.ai/docs/api-reference/parameters", option_rules.temperature_range(2)),
    )

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
