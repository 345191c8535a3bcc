"""OpenAI's chat completions, and every server that speaks them (Ollama, vLLM, OpenRouter, a gateway).

Source: https://platform.openai.com/docs/api-reference/chat/create, and the package `openai`
(`types/chat/completion_create_params.py`, `types/chat/chat_completion.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal, Unpack, get_args

from pytest_chatprompt.chat_prompt import ChatPrompt
from pytest_chatprompt.eval_message import FunctionCall, ToolCall
from pytest_chatprompt.providers.chat import ChatProvider, ChatSettings, Payload, Settings
from pytest_chatprompt.providers.models import OPENAI_MODELS
from pytest_chatprompt.providers.rules import OPENAI_RULES
from pytest_chatprompt.providers.settings import check_text
from pytest_chatprompt.requests import ProviderResponse, TokenUsage

DEFAULT_MODEL: Final = "gpt-5.5"
DEFAULT_BASE_URL: Final = "https://api.openai.com/v1"

MaxTokensParameter = Literal["max_completion_tokens", "max_tokens"]


class OpenAIProvider(ChatProvider):
    """Sends to `{base_url}/chat/completions`.

    Args:
        model: the model's name.
        base_url: up to and with the version, as the vendor's SDK has it.
        max_tokens_parameter: the cap's name; older servers want `max_tokens`.
        settings: see `ChatSettings`.
    """

    vendor = "OpenAI"
    key_variable = "OPENAI_API_KEY"
    offline_path = r"/chat/completions$"
    offline_reply: ClassVar[Mapping[str, Any]] = {
        "id": "chatcmpl-offline",
        "object": "chat.completion",
        "created": 0,
        "model": "offline",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "(offline)"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    }

    rules = OPENAI_RULES
    known_models = OPENAI_MODELS

    def __init__(
        self,
        *,
        model: str = DEFAULT_MODEL,
        base_url: str | None = DEFAULT_BASE_URL,
        max_tokens_parameter: MaxTokensParameter = "max_completion_tokens",
        **settings: Unpack[ChatSettings],
    ) -> None:
        super().__init__(base_url=base_url, **settings)
        check_text(self, "model", model)
        self.model = model
        check_text(self, "max_tokens_parameter", max_tokens_parameter, get_args(MaxTokensParameter))
        self.max_tokens_parameter = max_tokens_parameter

    @property
    def target(self) -> str:
        """The model and the base URL."""
        return f"the model {self.model!r} and the base URL {self.shown_base_url}"

    def endpoint_path(self) -> str:
        """`/chat/completions`."""
        return "/chat/completions"

    def auth_headers(self, key: str) -> dict[str, str]:
        """The key as a bearer token."""
        return {"authorization": f"Bearer {key}"} if key else {}

    def build_payload(self, prompt: ChatPrompt) -> Payload:
        """The messages as they are, and the settings."""
        return Payload({"model": self.model, **self.messages_and_settings(prompt)})

    def settings_in(self, body: Mapping[str, Any]) -> Settings:
        """The model's name, which Azure has in the path, the temperature and the cap under either name."""
        cap = body.get("max_completion_tokens", body.get("max_tokens"))
        return Settings(str(body.get("model", self.model)), body.get("temperature"), cap)

    def messages_and_settings(self, prompt: ChatPrompt) -> dict[str, Any]:
        """The body without the model's name."""
        body: dict[str, Any] = {"messages": [message.as_dict() for message in prompt]}
        if self.temperature is not None:
            body["temperature"] = self.temperature
        if self.max_output_tokens is not None:
            body[self.max_tokens_parameter] = self.max_output_tokens
        return body

    def read_reply(self, data: Any) -> ProviderResponse:
        """The first choice's text; a refusal and a filtered answer are told in `blocked`."""
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
            usage=TokenUsage(input_tokens=usage.get("prompt_tokens"), output_tokens=usage.get("completion_tokens")),
            raw=data,
            tool_calls=tuple(_call(call) for call in message.get("tool_calls") or () if "function" in call),
            blocked=blocked,
        )


def _call(call: Mapping[str, Any]) -> ToolCall:
    function = call["function"]
    return ToolCall(id=call["id"], function=FunctionCall(name=function["name"], arguments=function["arguments"]))
