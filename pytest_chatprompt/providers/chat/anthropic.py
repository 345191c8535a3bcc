"""Anthropic's messages API.

A chat prompt comes in, the body of a request comes out; a reply's data comes in, a `ProviderResponse` comes out.
`registry` lists it; users may subclass it.
Source: https://docs.anthropic.com/en/api/messages, and the package `anthropic`
(`types/message_create_params.py`, `types/message.py`, `types/stop_reason.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Unpack

from pytest_chatprompt.prompt.chat_prompt import ChatMessage, ChatPrompt, Content
from pytest_chatprompt.providers.chat.anthropic_media import ANTHROPIC_MEDIA, text_block
from pytest_chatprompt.providers.chat.anthropic_tools import (
    anthropic_output_format,
    anthropic_tool_choice,
    anthropic_tools,
)
from pytest_chatprompt.providers.chat.base import ChatProvider
from pytest_chatprompt.providers.chat.json_body import make_tool_call, parse_arguments
from pytest_chatprompt.providers.chat.media_support import MediaTable, content_blocks
from pytest_chatprompt.providers.chat.payload import Payload
from pytest_chatprompt.providers.chat.setting_fields import SettingField, effort_among, to_list
from pytest_chatprompt.providers.chat.settings import ChatSettings
from pytest_chatprompt.providers.chat.token_counts import count_at, total
from pytest_chatprompt.providers.chat.turns import Turn, split_prompt
from pytest_chatprompt.providers.preflight.models import ANTHROPIC_MODELS, ModelLimits
from pytest_chatprompt.providers.preflight.preflight_input import ModelParameters
from pytest_chatprompt.providers.preflight.rule import Rule
from pytest_chatprompt.providers.preflight.rules import ANTHROPIC_RULES
from pytest_chatprompt.providers.response import ProviderResponse, TokenUsage

DEFAULT_MODEL: Final = "claude-sonnet-5-5"
# The API demands a value. This one is large enough for an answer and small enough for a test.
DEFAULT_MAX_OUTPUT_TOKENS: Final = 4096
# The later version, 2026-10-21, accepts the same except for a temperature (the rule `temperature-removed`).
DEFAULT_API_VERSION: Final = "2023-06-01"


# `types/output_config_param.py`
_effort: Final = effort_among("Anthropic", {effort: effort for effort in ("low", "medium", "high", "xhigh", "max")})


class AnthropicProvider(ChatProvider):
    """Sends chat prompts to Anthropic, at `{base_url}/v1/messages`.

    Args:
        model: the model's name.
        base_url: without the version; `None` reads it in a live run from the environment variable
            `ANTHROPIC_BASE_URL`, and without that it is `https://api.anthropic.com`.
        api_version: a date, sent in the header `anthropic-version`.
        settings: see `ChatSettings`; without `max_output_tokens`, 4096 is sent.

    Raises:
        TypeError: there is no setting of that name.
        ValueError: a setting has an invalid value.
    """

    vendor = "Anthropic"
    price_vendor = "anthropic"
    key_variable = "ANTHROPIC_API_KEY"
    # anthropic 2.12 `_client.py`
    base_url_variable = "ANTHROPIC_BASE_URL"
    default_base_url = "https://api.anthropic.com"
    offline_api = "anthropic"
    setting_fields: Mapping[str, SettingField] = {
        "max_output_tokens": SettingField(("max_tokens",)),
        "temperature": SettingField(("temperature",)),
        "top_p": SettingField(("top_p",)),
        "stop": SettingField(("stop_sequences",), to_list),
        "reasoning_effort": SettingField(("output_config", "effort"), _effort),
    }
    media: ClassVar[MediaTable] = ANTHROPIC_MEDIA
    rules: ClassVar[tuple[Rule, ...]] = ANTHROPIC_RULES
    known_models: ClassVar[Mapping[str, ModelLimits]] = ANTHROPIC_MODELS
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
        """`/v1/messages`."""
        return "/v1/messages"

    def auth_headers(self, key: str) -> dict[str, str]:
        """The key in Anthropic's own header, and the API's version."""
        headers = {"anthropic-version": self.api_version}
        return {"x-api-key": key, **headers} if key else headers

    def build_payload(self, prompt: ChatPrompt) -> Payload:
        """The system text as `system`, the turns as strings, or as blocks for tool calls and their results.

        Args:
            prompt: the messages to send.

        Raises:
            PayloadError: there is no turn, a tool message answers no call, or a call's arguments are not a JSON object.
        """
        split = split_prompt(prompt, self.vendor)
        max_tokens = DEFAULT_MAX_OUTPUT_TOKENS if self.max_output_tokens is None else self.max_output_tokens
        body: dict[str, Any] = {"model": self.model, "max_tokens": max_tokens}
        if split.system:
            body["system"] = split.system
        body["messages"] = [_message(turn) for turn in split.turns]
        self.settings_body(body)
        return Payload(body, split.adjustments)

    def tools_payload(self, tools: Sequence[Mapping[str, Any]]) -> Payload:
        """`tools`, with the schema of the arguments as `input_schema`."""
        return Payload({"tools": anthropic_tools(tools, self.vendor)})

    def tool_choice_payload(self, choice: str | Mapping[str, Any]) -> Payload:
        """`tool_choice`: `auto`, `none`, `any` or one tool."""
        return Payload({"tool_choice": anthropic_tool_choice(choice, self.vendor)})

    def response_format_payload(self, response_format: Mapping[str, Any]) -> Payload:
        """`output_config` with the schema."""
        return anthropic_output_format(response_format, self.vendor)

    def model_parameters(self, body: Mapping[str, Any]) -> ModelParameters:
        """The model, the temperature, and `max_tokens`."""
        return ModelParameters(str(body.get("model")), body.get("temperature"), body.get("max_tokens"))

    def read_reply(self, data: Any) -> ProviderResponse:
        """Read the text blocks, without the thinking; a refusal sets `blocked`."""
        stop_reason = data.get("stop_reason")
        usage = data.get("usage") or {}
        return ProviderResponse(
            text="".join(block["text"] for block in data["content"] if block["type"] == "text"),
            finish_reason=stop_reason,
            usage=_usage(usage),
            raw=data,
            tool_calls=tuple(
                make_tool_call(block["id"], block["name"], block["input"])
                for block in data["content"]
                if block["type"] == "tool_use"
            ),
            blocked="refusal" if stop_reason == "refusal" else None,
        )


def _usage(usage: Mapping[str, Any]) -> TokenUsage:
    """The counts of a reply. The API counts what it reads from its cache, and writes to it, beside the input."""
    read, written = count_at(usage, "cache_read_input_tokens"), count_at(usage, "cache_creation_input_tokens")
    return TokenUsage(
        input_tokens=total(count_at(usage, "input_tokens"), read, written),
        output_tokens=count_at(usage, "output_tokens"),
        cache_read_tokens=read,
        cache_write_tokens=written,
        cache_write_1h_tokens=count_at(usage, "cache_creation", "ephemeral_1h_input_tokens"),
        reasoning_tokens=count_at(usage, "output_tokens_details", "thinking_tokens"),
    )


def _message(turn: Turn) -> dict[str, Any]:
    if turn.results:
        blocks = [
            {"type": "tool_result", "tool_use_id": result.call_id, "content": _content(result.content)}
            for result in turn.results
        ]
        return {"role": "user", "content": blocks}
    message = turn.message
    return {"role": message.role, "content": _tool_blocks(message) if message.tool_calls else _content(message.content)}


def _content(content: Content) -> Any:
    """A text as it is, media and the texts between them as blocks."""
    return content_blocks(content, ANTHROPIC_MEDIA, text_block) if isinstance(content, tuple) else content


def _tool_blocks(message: ChatMessage) -> list[dict[str, Any]]:
    # The API refuses empty text blocks.
    text = content_blocks(message.content, ANTHROPIC_MEDIA, text_block)
    calls = [
        {"type": "tool_use", "id": call.id, "name": call.function.name, "input": parse_arguments(call, message)}
        for call in message.tool_calls
    ]
    return [*text, *calls]
