"""Google's Gemini API.

A chat prompt comes in, the body of a request comes out; a reply's data comes in, a `ProviderResponse` comes out.
`registry` lists it; users may subclass it.
Source: https://ai.google.dev/api/generate-content, and the package `google-genai` (`types.py`,
`models.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Unpack
from urllib.parse import quote

from pytest_chatprompt.prompt.chat_prompt import ChatMessage, ChatPrompt
from pytest_chatprompt.providers.chat.base import ChatProvider
from pytest_chatprompt.providers.chat.gemini_media import GEMINI_MEDIA, text_part
from pytest_chatprompt.providers.chat.gemini_tools import gemini_response_format, gemini_tool_config, gemini_tools
from pytest_chatprompt.providers.chat.json_body import make_tool_call, parse_arguments
from pytest_chatprompt.providers.chat.media_support import MediaTable, content_blocks
from pytest_chatprompt.providers.chat.payload import Payload
from pytest_chatprompt.providers.chat.setting_fields import SettingField, effort_among, to_list
from pytest_chatprompt.providers.chat.settings import ChatSettings
from pytest_chatprompt.providers.chat.token_counts import count_at, total
from pytest_chatprompt.providers.chat.turns import Turn, split_prompt
from pytest_chatprompt.providers.preflight.models import GEMINI_MODELS, ModelLimits
from pytest_chatprompt.providers.preflight.preflight_input import ModelParameters
from pytest_chatprompt.providers.preflight.rule import Rule
from pytest_chatprompt.providers.preflight.rules import GEMINI_RULES
from pytest_chatprompt.providers.response import ProviderResponse, TokenUsage

DEFAULT_MODEL: Final = "gemini-3.8-flash"
# The default of the SDK since its version 3 (google-genai 3.4, `_api_client.py`: `GOOGLE_AI_API_DEFAULT_VERSION`).
DEFAULT_API_VERSION: Final = "v1"
# The finish reasons of an answer that was withheld (`FinishReason` of google-genai).
_BLOCKING_REASONS: Final = frozenset(
    {
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "MODEL_ARMOR",
        "IMAGE_SAFETY",
    }
)


# `ThinkingLevel` of google-genai
_effort: Final = effort_among(
    "Gemini", {effort: effort.upper() for effort in ("minimal", "low", "medium", "high", "xhigh")}
)


class GeminiProvider(ChatProvider):
    """Sends chat prompts to Gemini, at `{base_url}/{api_version}/models/{model}:generateContent`.

    Args:
        model: the model's name, or its whole resource name (`tunedModels/...`).
        base_url: without the version; `None` reads it in a live run from the environment variable
            `GOOGLE_GEMINI_BASE_URL`, and without that it is `https://generativelanguage.googleapis.com`.
        api_version: the API's version, `v1` or `v1beta`.
        settings: see `ChatSettings`.

    Raises:
        TypeError: there is no setting of that name.
        ValueError: a setting has an invalid value.
    """

    vendor = "Gemini"
    price_vendor = "google"
    key_variable = "GEMINI_API_KEY"
    # google-genai 3.4 `_base_url.py`
    base_url_variable = "GOOGLE_GEMINI_BASE_URL"
    default_base_url = "https://generativelanguage.googleapis.com"
    offline_api = "gemini"
    setting_fields: Mapping[str, SettingField] = {
        "temperature": SettingField(("generationConfig", "temperature")),
        "max_output_tokens": SettingField(("generationConfig", "maxOutputTokens")),
        "top_p": SettingField(("generationConfig", "topP")),
        "stop": SettingField(("generationConfig", "stopSequences"), to_list),
        "seed": SettingField(("generationConfig", "seed")),
        "reasoning_effort": SettingField(("generationConfig", "thinkingConfig", "thinkingLevel"), _effort),
    }
    media: ClassVar[MediaTable] = GEMINI_MEDIA
    rules: ClassVar[tuple[Rule, ...]] = GEMINI_RULES
    known_models: ClassVar[Mapping[str, ModelLimits]] = GEMINI_MODELS
    api_version: str

    def __init__(
        self,
        *,
        model: str = DEFAULT_MODEL,
        base_url: str | None = None,
        api_version: str = DEFAULT_API_VERSION,
        **settings: Unpack[ChatSettings],
    ) -> None:
        super().__init__(model=model, base_url=base_url, api_version=api_version, **settings)

    def endpoint_path(self) -> str:
        """The path of the model, which only the path names."""
        resource = self.model if "/" in self.model else f"models/{self.model}"
        return f"/{quote(self.api_version, safe='')}/{quote(resource)}:generateContent"

    def auth_headers(self, key: str) -> dict[str, str]:
        """The key in a header, never in the URL."""
        return {"x-goog-api-key": key} if key else {}

    def build_payload(self, prompt: ChatPrompt) -> Payload:
        """The system text as `systemInstruction`, the turns as `contents` of the roles `user` and `model`.

        Args:
            prompt: the messages to send.

        Raises:
            PayloadError: there is no turn, a tool message answers no call, or a call's arguments are not a JSON object.
        """
        split = split_prompt(prompt, self.vendor)
        body: dict[str, Any] = {}
        if split.system:
            body["systemInstruction"] = {"parts": [{"text": split.system}]}
        body["contents"] = [_content(turn) for turn in split.turns]
        self.settings_body(body)
        return Payload(body, split.adjustments)

    def tools_payload(self, tools: Sequence[Mapping[str, Any]]) -> Payload:
        """`tools` with the declarations of all functions."""
        return gemini_tools(tools, self.vendor)

    def tool_choice_payload(self, choice: str | Mapping[str, Any]) -> Payload:
        """`toolConfig` with the mode, and the names of the functions to choose from."""
        return Payload({"toolConfig": gemini_tool_config(choice, self.vendor)})

    def response_format_payload(self, response_format: Mapping[str, Any]) -> Payload:
        """The media type and the schema, in `generationConfig`."""
        return gemini_response_format(response_format, self.vendor)

    def model_parameters(self, body: Mapping[str, Any]) -> ModelParameters:
        """The model that the path names, and the parameters in `generationConfig`."""
        config = body.get("generationConfig")
        config = config if isinstance(config, dict) else {}
        return ModelParameters(self.model.rpartition("/")[2], config.get("temperature"), config.get("maxOutputTokens"))

    def read_reply(self, data: Any) -> ProviderResponse:
        """Read the first candidate, without its thoughts; a blocked prompt or answer sets `blocked`."""
        block_reason = (data.get("promptFeedback") or {}).get("blockReason")
        candidate = {} if block_reason else data["candidates"][0]
        parts = (candidate.get("content") or {}).get("parts") or []
        finish_reason = candidate.get("finishReason")
        usage = data.get("usageMetadata") or {}
        return ProviderResponse(
            text="".join(part.get("text", "") for part in parts if not part.get("thought")),
            finish_reason=finish_reason,
            usage=_usage(usage),
            raw=data,
            tool_calls=tuple(
                # Older models send no id with a call.
                make_tool_call(call.get("id") or call["name"], call["name"], call.get("args") or {})
                for part in parts
                if (call := part.get("functionCall"))
            ),
            blocked=block_reason or (finish_reason if finish_reason in _BLOCKING_REASONS else None),
        )


def _usage(usage: Mapping[str, Any]) -> TokenUsage:
    """The counts of a reply: thoughts are billed as output, and what tools of the API gave as input."""
    thoughts = count_at(usage, "thoughtsTokenCount")
    return TokenUsage(
        input_tokens=total(count_at(usage, "promptTokenCount"), count_at(usage, "toolUsePromptTokenCount")),
        output_tokens=total(count_at(usage, "candidatesTokenCount"), thoughts),
        cache_read_tokens=count_at(usage, "cachedContentTokenCount"),
        reasoning_tokens=thoughts,
    )


def _content(turn: Turn) -> dict[str, Any]:
    if turn.results:
        return {
            "role": "user",
            "parts": [
                {
                    "functionResponse": {
                        "id": result.call_id,
                        "name": result.function_name,
                        "response": {"result": result.content},
                    }
                }
                for result in turn.results
            ],
        }
    role = "model" if turn.message.role == "assistant" else "user"
    return {"role": role, "parts": _parts(turn.message)}


def _parts(message: ChatMessage) -> list[dict[str, Any]]:
    content = content_blocks(message.content, GEMINI_MEDIA, text_part)
    calls = [
        {"functionCall": {"id": call.id, "name": call.function.name, "args": parse_arguments(call, message)}}
        for call in message.tool_calls
    ]
    return [*content, *calls]
