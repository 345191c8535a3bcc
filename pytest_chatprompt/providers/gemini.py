"""Google's Gemini API.

Source: https://ai.google.dev/api/generate-content, and the package `google-genai` (`types.py`,
`models.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Unpack
from urllib.parse import quote

from pytest_chatprompt.chat_prompt import ChatMessage, ChatPrompt
from pytest_chatprompt.providers.chat import ChatProvider, ChatSettings, Payload, Settings
from pytest_chatprompt.providers.json_body import arguments_of, tool_call
from pytest_chatprompt.providers.models import GEMINI_MODELS
from pytest_chatprompt.providers.rules import GEMINI_RULES
from pytest_chatprompt.providers.settings import check_text
from pytest_chatprompt.providers.turns import Turn, split
from pytest_chatprompt.requests import ProviderResponse, TokenUsage

DEFAULT_MODEL: Final = "gemini-3.8-flash"
# The version of the reference and of its requests. The SDK has gone on to `v1` (google-genai 3.4).
DEFAULT_API_VERSION: Final = "v1beta"
DEFAULT_BASE_URL: Final = "https://generativelanguage.googleapis.com"
# The finish reasons under which the answer was withheld (`FinishReason` of google-genai).
_BLOCKING: Final = frozenset(
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


class GeminiProvider(ChatProvider):
    """Sends to `{base_url}/{api_version}/models/{model}:generateContent`.

    Args:
        model: the model's name, or its whole resource name (`tunedModels/...`).
        base_url: without the version, as the vendor's SDK has it.
        api_version: the API's version, `v1beta` or `v1`.
        settings: see `ChatSettings`.
    """

    vendor = "Gemini"
    key_variable = "GEMINI_API_KEY"
    offline_path = r":generateContent$"
    offline_reply: ClassVar[Mapping[str, Any]] = {
        "candidates": [
            {
                "content": {"role": "model", "parts": [{"text": "(offline)"}]},
                "finishReason": "STOP",
                "index": 0,
            }
        ],
        "usageMetadata": {"promptTokenCount": 0, "candidatesTokenCount": 0, "totalTokenCount": 0},
    }

    rules = GEMINI_RULES
    known_models = GEMINI_MODELS

    def __init__(
        self,
        *,
        model: str = DEFAULT_MODEL,
        base_url: str = DEFAULT_BASE_URL,
        api_version: str = DEFAULT_API_VERSION,
        **settings: Unpack[ChatSettings],
    ) -> None:
        super().__init__(base_url=base_url, **settings)
        check_text(self, "model", model)
        self.model = model
        check_text(self, "api_version", api_version)
        self.api_version: str = api_version

    @property
    def target(self) -> str:
        """The model and the base URL."""
        return f"the model {self.model!r} and the base URL {self.shown_base_url}"

    def endpoint_path(self) -> str:
        """The model's path; it names the model, the body does not."""
        resource = self.model if "/" in self.model else f"models/{self.model}"
        return f"/{quote(self.api_version, safe='')}/{quote(resource)}:generateContent"

    def auth_headers(self, key: str) -> dict[str, str]:
        """The key in a header, never in the URL."""
        return {"x-goog-api-key": key} if key else {}

    def build_payload(self, prompt: ChatPrompt) -> Payload:
        """`systemInstruction`, and `contents` with the roles user and model.

        Raises:
            PayloadError: no turn is left, a tool message has no call, or a call's arguments are no JSON object.
        """
        turns = split(prompt, self.vendor)
        body: dict[str, Any] = {}
        if turns.system:
            body["systemInstruction"] = {"parts": [{"text": turns.system}]}
        body["contents"] = [_content(turn) for turn in turns.turns]
        config: dict[str, Any] = {}
        if self.temperature is not None:
            config["temperature"] = self.temperature
        if self.max_output_tokens is not None:
            config["maxOutputTokens"] = self.max_output_tokens
        if config:
            body["generationConfig"] = config
        return Payload(body, turns.adjustments)

    def settings_in(self, body: Mapping[str, Any]) -> Settings:
        """The model's name, which stands in the path, and the settings of `generationConfig`."""
        config = body.get("generationConfig")
        config = config if isinstance(config, dict) else {}
        return Settings(self.model.rpartition("/")[2], config.get("temperature"), config.get("maxOutputTokens"))

    def read_reply(self, data: Any) -> ProviderResponse:
        """All text parts, none of the thoughts; a blocked prompt or answer is told in `blocked`."""
        block_reason = (data.get("promptFeedback") or {}).get("blockReason")
        candidate = {} if block_reason else data["candidates"][0]
        parts = (candidate.get("content") or {}).get("parts") or []
        finish_reason = candidate.get("finishReason")
        usage = data.get("usageMetadata") or {}
        return ProviderResponse(
            text="".join(part.get("text", "") for part in parts if not part.get("thought")),
            finish_reason=finish_reason,
            usage=TokenUsage(input_tokens=usage.get("promptTokenCount"), output_tokens=_output_tokens(usage)),
            raw=data,
            tool_calls=tuple(
                # Older models give their calls no id.
                tool_call(call.get("id") or call["name"], call["name"], call.get("args") or {})
                for part in parts
                if (call := part.get("functionCall"))
            ),
            blocked=block_reason or (finish_reason if finish_reason in _BLOCKING else None),
        )


def _output_tokens(usage: Mapping[str, Any]) -> int | None:
    """Candidates and thoughts together: both are billed as output."""
    counts = [usage[key] for key in ("candidatesTokenCount", "thoughtsTokenCount") if usage.get(key) is not None]
    return sum(counts) if counts else None


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
    text = [{"text": message.content}] if message.content else []
    calls = [
        {"functionCall": {"id": call.id, "name": call.function.name, "args": arguments_of(call, message)}}
        for call in message.tool_calls
    ]
    return [*text, *calls]
