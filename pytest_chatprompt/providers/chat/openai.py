"""OpenAI's chat completions, and every server that has the same API (Ollama, vLLM, OpenRouter, a gateway).

A chat prompt comes in, the body of a request comes out; a reply's data comes in, a `ProviderResponse` comes out.
`registry` lists it; `azure` and `compatible` build on it, and users may subclass it.
Source: https://platform.openai.com/docs/api-reference/chat/create, and the package `openai`
(`types/chat/completion_create_params.py`, `types/chat/chat_completion.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Literal, Unpack

from pytest_chatprompt.cases.message import FunctionCall, ToolCall
from pytest_chatprompt.prompt.chat_prompt import ChatMessage, ChatPrompt
from pytest_chatprompt.providers.arguments import check_names, check_setting
from pytest_chatprompt.providers.chat.base import ChatProvider
from pytest_chatprompt.providers.chat.media_support import MediaTable, content_blocks
from pytest_chatprompt.providers.chat.openai_media import OPENAI_MEDIA, text_part
from pytest_chatprompt.providers.chat.openai_tools import chat_response_format, chat_tool_choice, chat_tools
from pytest_chatprompt.providers.chat.payload import Payload
from pytest_chatprompt.providers.chat.setting_fields import SettingField
from pytest_chatprompt.providers.chat.settings import ChatSettings
from pytest_chatprompt.providers.chat.token_counts import count_at
from pytest_chatprompt.providers.preflight.models import OPENAI_MODELS, ModelLimits
from pytest_chatprompt.providers.preflight.preflight_input import ModelParameters
from pytest_chatprompt.providers.preflight.rule import Rule
from pytest_chatprompt.providers.preflight.rules import OPENAI_RULES
from pytest_chatprompt.providers.response import ProviderResponse, TokenUsage

DEFAULT_MODEL: Final = "gpt-5.5"

MaxTokensParameter = Literal["max_completion_tokens", "max_tokens"]


class OpenAIProvider(ChatProvider):
    """Sends chat prompts to OpenAI, or to a compatible server, at `{base_url}/chat/completions`.

    Args:
        model: the model's name.
        base_url: including the version; `None` reads it in a live run from the environment variable
            `OPENAI_BASE_URL`, and without that it is `https://api.openai.com/v1`.
        max_tokens_parameter: the name under which `max_output_tokens` is sent; older servers want `max_tokens`.
        settings: see `ChatSettings`.

    Raises:
        TypeError: there is no setting of that name.
        ValueError: a setting has an invalid value.
    """

    vendor = "OpenAI"
    price_vendor = "openai"
    key_variable = "OPENAI_API_KEY"
    # openai 3.54 `lib/_client_auth.py`
    base_url_variable = "OPENAI_BASE_URL"
    default_base_url = "https://api.openai.com/v1"
    offline_api = "openai-chat"
    setting_fields: Mapping[str, SettingField] = {
        "temperature": SettingField(("temperature",)),
        "max_output_tokens": SettingField(("max_completion_tokens",)),
        "top_p": SettingField(("top_p",)),
        "stop": SettingField(("stop",)),
        "seed": SettingField(("seed",)),
        "reasoning_effort": SettingField(("reasoning_effort",)),
    }
    media: ClassVar[MediaTable] = OPENAI_MEDIA
    rules: ClassVar[tuple[Rule, ...]] = OPENAI_RULES
    known_models: ClassVar[Mapping[str, ModelLimits]] = OPENAI_MODELS

    def __init__(
        self,
        *,
        model: str = DEFAULT_MODEL,
        base_url: str | None = None,
        max_tokens_parameter: MaxTokensParameter = "max_completion_tokens",
        **settings: Unpack[ChatSettings],
    ) -> None:
        # `ChatProvider` would accept an `api_version` too, and this API has none.
        check_names(self, settings, ChatSettings)
        check_setting(self, "max_tokens_parameter", max_tokens_parameter, MaxTokensParameter)
        super().__init__(model=model, base_url=base_url, **settings)
        self.max_tokens_parameter = max_tokens_parameter
        if max_tokens_parameter != "max_completion_tokens":
            self.setting_fields = {**self.setting_fields, "max_output_tokens": SettingField((max_tokens_parameter,))}

    def endpoint_path(self) -> str:
        """`/chat/completions`."""
        return "/chat/completions"

    def auth_headers(self, key: str) -> dict[str, str]:
        """The key as a bearer token."""
        return {"authorization": f"Bearer {key}"} if key else {}

    def build_payload(self, prompt: ChatPrompt) -> Payload:
        """The model's name, the messages unchanged, and the settings."""
        return Payload({"model": self.model, **self.body_without_model(prompt)})

    def model_parameters(self, body: Mapping[str, Any]) -> ModelParameters:
        """The model, which Azure has in the path, the temperature, and the token limit under either of its names."""
        max_output_tokens = body.get("max_completion_tokens", body.get("max_tokens"))
        return ModelParameters(str(body.get("model", self.model)), body.get("temperature"), max_output_tokens)

    def body_without_model(self, prompt: ChatPrompt) -> dict[str, Any]:
        """The messages and the settings, for a path that names the model already."""
        body: dict[str, Any] = {"messages": [self._message(message) for message in prompt]}
        self.settings_body(body)
        return body

    def _message(self, message: ChatMessage) -> dict[str, Any]:
        data = message.as_dict()
        if message.media:
            data["content"] = content_blocks(message.content, self.media, text_part)
        return data

    def tools_payload(self, tools: Sequence[Mapping[str, Any]]) -> Payload:
        """`tools`, each with its definition nested."""
        return Payload({"tools": chat_tools(tools, self.vendor)})

    def tool_choice_payload(self, choice: str | Mapping[str, Any]) -> Payload:
        """`tool_choice`."""
        return Payload({"tool_choice": chat_tool_choice(choice, self.vendor)})

    def response_format_payload(self, response_format: Mapping[str, Any]) -> Payload:
        """`response_format`, with its schema nested."""
        return Payload({"response_format": chat_response_format(response_format)})

    def read_reply(self, data: Any) -> ProviderResponse:
        """Read the first choice; a refusal or a filtered answer sets `blocked`."""
        choice = data["choices"][0]
        message = choice["message"]
        content = message.get("content")
        if isinstance(content, list):
            content = "".join(part["text"] for part in content if part.get("type") == "text")
        finish_reason = choice.get("finish_reason")
        blocked = message.get("refusal") or ("content_filter" if finish_reason == "content_filter" else None)
        usage = data.get("usage") or {}
        return ProviderResponse(
            text=content or "",
            finish_reason=finish_reason,
            usage=TokenUsage(
                input_tokens=count_at(usage, "prompt_tokens"),
                output_tokens=count_at(usage, "completion_tokens"),
                cache_read_tokens=count_at(usage, "prompt_tokens_details", "cached_tokens"),
                cache_write_tokens=count_at(usage, "prompt_tokens_details", "cache_write_tokens"),
                reasoning_tokens=count_at(usage, "completion_tokens_details", "reasoning_tokens"),
            ),
            raw=data,
            tool_calls=tuple(_tool_call(call) for call in message.get("tool_calls") or () if "function" in call),
            blocked=blocked,
        )


def _tool_call(call: Mapping[str, Any]) -> ToolCall:
    function = call["function"]
    return ToolCall(id=call["id"], function=FunctionCall(name=function["name"], arguments=function["arguments"]))
