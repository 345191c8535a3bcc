"""Anthropic's messages.

Source: https://docs.anthropic.com/en/api/messages, and the package `anthropic`
(`types/message_create_params.py`, `types/message.py`, `types/stop_reason.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Unpack

from pytest_chatprompt.chat_prompt import ChatMessage, ChatPrompt
from pytest_chatprompt.providers.chat import ChatProvider, ChatSettings, Payload, Settings
from pytest_chatprompt.providers.json_body import arguments_of, tool_call
from pytest_chatprompt.providers.models import ANTHROPIC_MODELS
from pytest_chatprompt.providers.rules import ANTHROPIC_RULES
from pytest_chatprompt.providers.settings import check_text
from pytest_chatprompt.providers.turns import Turn, split
from pytest_chatprompt.requests import ProviderResponse, TokenUsage

DEFAULT_MODEL: Final = "claude-sonnet-5-5"
DEFAULT_BASE_URL: Final = "https://api.anthropic.com"
# The API demands a cap. This one is long enough for an answer and short enough for a test.
DEFAULT_MAX_OUTPUT_TOKENS: Final = 4096
# The later version, 2026-10-21, takes the same but for a temperature (`providers.rules`).
DEFAULT_API_VERSION: Final = "2023-06-01"


class AnthropicProvider(ChatProvider):
    """Sends to `{base_url}/v1/messages`.

    Args:
        model: the model's name.
        base_url: without the version, as the vendor's SDK has it.
        api_version: the header `anthropic-version`, a date.
        settings: see `ChatSettings`.
    """

    vendor = "Anthropic"
    key_variable = "ANTHROPIC_API_KEY"
    offline_path = r"/v1/messages$"
    offline_reply: ClassVar[Mapping[str, Any]] = {
        "id": "msg_offline",
        "type": "message",
        "role": "assistant",
        "model": "offline",
        "content": [{"type": "text", "text": "(offline)"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }

    rules = ANTHROPIC_RULES
    known_models = ANTHROPIC_MODELS

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
        """`/v1/messages`."""
        return "/v1/messages"

    def auth_headers(self, key: str) -> dict[str, str]:
        """The key in Anthropic's own header, and the API's version."""
        headers = {"anthropic-version": self.api_version}
        return {"x-api-key": key, **headers} if key else headers

    def build_payload(self, prompt: ChatPrompt) -> Payload:
        """The system text at the top level, plain strings, and blocks for tool calls and their results.

        Raises:
            PayloadError: no turn is left, a tool message has no call, or a call's arguments are no JSON object.
        """
        turns = split(prompt, self.vendor)
        body: dict[str, Any] = {"model": self.model, "max_tokens": self._max_tokens()}
        if turns.system:
            body["system"] = turns.system
        body["messages"] = [_message(turn) for turn in turns.turns]
        if self.temperature is not None:
            body["temperature"] = self.temperature
        return Payload(body, turns.adjustments)

    def settings_in(self, body: Mapping[str, Any]) -> Settings:
        """The model's name, the temperature and the cap."""
        return Settings(str(body.get("model")), body.get("temperature"), body.get("max_tokens"))

    def _max_tokens(self) -> int:
        return DEFAULT_MAX_OUTPUT_TOKENS if self.max_output_tokens is None else self.max_output_tokens

    def read_reply(self, data: Any) -> ProviderResponse:
        """All text blocks, none of the thinking; a refusal is told in `blocked`."""
        stop_reason = data.get("stop_reason")
        usage = data.get("usage") or {}
        return ProviderResponse(
            text="".join(block["text"] for block in data["content"] if block["type"] == "text"),
            finish_reason=stop_reason,
            usage=TokenUsage(input_tokens=usage.get("input_tokens"), output_tokens=usage.get("output_tokens")),
            raw=data,
            tool_calls=tuple(
                tool_call(block["id"], block["name"], block["input"])
                for block in data["content"]
                if block["type"] == "tool_use"
            ),
            blocked="refusal" if stop_reason == "refusal" else None,
        )


def _message(turn: Turn) -> dict[str, Any]:
    if turn.results:
        blocks = [
            {"type": "tool_result", "tool_use_id": result.call_id, "content": result.content} for result in turn.results
        ]
        return {"role": "user", "content": blocks}
    message = turn.message
    return {"role": message.role, "content": _tool_blocks(message) if message.tool_calls else message.content}


def _tool_blocks(message: ChatMessage) -> list[dict[str, Any]]:
    # The API refuses empty text blocks, so a call without text is a call alone.
    text = [{"type": "text", "text": message.content}] if message.content else []
    calls = [
        {"type": "tool_use", "id": call.id, "name": call.function.name, "input": arguments_of(call, message)}
        for call in message.tool_calls
    ]
    return [*text, *calls]
