"""OpenAI's Responses API, as OpenAI and others serve it.

A chat prompt comes in, the body of a request comes out; a reply's data comes in, a `ProviderResponse` comes out.
`registry` lists it; users may subclass it.
Source: https://platform.openai.com/docs/api-reference/responses/create, and the package `openai`
(`types/responses/response_create_params.py`, `response_input_item_param.py`, `response.py`). The system text goes into
`instructions`, as in https://platform.openai.com/docs/guides/migrate-to-responses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, Unpack

from pytest_chatprompt.cases.message import FunctionCall, ToolCall
from pytest_chatprompt.prompt.chat_prompt import ChatPrompt, Content
from pytest_chatprompt.providers.arguments import check_names
from pytest_chatprompt.providers.chat.base import ChatProvider
from pytest_chatprompt.providers.chat.media_support import MediaTable, content_blocks
from pytest_chatprompt.providers.chat.openai_responses_media import RESPONSES_MEDIA, text_part
from pytest_chatprompt.providers.chat.openai_responses_tools import (
    responses_text_format,
    responses_tool_choice,
    responses_tools,
)
from pytest_chatprompt.providers.chat.payload import Payload
from pytest_chatprompt.providers.chat.setting_fields import SettingField
from pytest_chatprompt.providers.chat.settings import ChatSettings
from pytest_chatprompt.providers.chat.token_counts import count_at
from pytest_chatprompt.providers.chat.turns import Turn, split_prompt
from pytest_chatprompt.providers.preflight.models import OPENAI_MODELS, ModelLimits
from pytest_chatprompt.providers.preflight.preflight_input import ModelParameters
from pytest_chatprompt.providers.preflight.rule import Rule
from pytest_chatprompt.providers.preflight.rules import OPENAI_RESPONSES_RULES
from pytest_chatprompt.providers.response import ProviderResponse, TokenUsage

DEFAULT_MODEL: Final = "gpt-5.5"


class OpenAIResponsesProvider(ChatProvider):
    """Sends chat prompts to OpenAI's Responses API, at `{base_url}/responses`.

    Args:
        model: the model's name.
        base_url: including the version; `None` reads it in a live run from the environment variable
            `OPENAI_BASE_URL`, and without that it is `https://api.openai.com/v1`.
        settings: see `ChatSettings`; this API has neither `stop` nor `seed`.

    Raises:
        TypeError: there is no setting of that name.
        ValueError: a setting has an invalid value.
    """

    vendor = "OpenAI Responses"
    price_vendor = "openai"
    key_variable = "OPENAI_API_KEY"
    # openai 3.54 `lib/_client_auth.py`
    base_url_variable = "OPENAI_BASE_URL"
    default_base_url = "https://api.openai.com/v1"
    offline_api = "openai-responses"
    setting_fields: Mapping[str, SettingField] = {
        "temperature": SettingField(("temperature",)),
        "max_output_tokens": SettingField(("max_output_tokens",)),
        "top_p": SettingField(("top_p",)),
        "reasoning_effort": SettingField(("reasoning", "effort")),
    }
    media: ClassVar[MediaTable] = RESPONSES_MEDIA
    rules: ClassVar[tuple[Rule, ...]] = OPENAI_RESPONSES_RULES
    known_models: ClassVar[Mapping[str, ModelLimits]] = OPENAI_MODELS

    def __init__(
        self,
        *,
        model: str = DEFAULT_MODEL,
        base_url: str | None = None,
        **settings: Unpack[ChatSettings],
    ) -> None:
        # `ChatProvider` would accept an `api_version` too, and this API has none.
        check_names(self, settings, ChatSettings)
        super().__init__(model=model, base_url=base_url, **settings)

    def endpoint_path(self) -> str:
        """`/responses`."""
        return "/responses"

    def auth_headers(self, key: str) -> dict[str, str]:
        """The key as a bearer token."""
        return {"authorization": f"Bearer {key}"} if key else {}

    def build_payload(self, prompt: ChatPrompt) -> Payload:
        """The system text as `instructions`, the turns as items of `input`: messages, calls, and their results.

        Args:
            prompt: the messages to send.

        Raises:
            PayloadError: there is no turn, or a tool message answers no call.
        """
        split = split_prompt(prompt, self.vendor, joins_results=False)
        body: dict[str, Any] = {"model": self.model}
        if split.system:
            body["instructions"] = split.system
        body["input"] = [item for turn in split.turns for item in _items(turn)]
        self.settings_body(body)
        return Payload(body, split.adjustments)

    def tools_payload(self, tools: Sequence[Mapping[str, Any]]) -> Payload:
        """`tools`, each with its definition beside its type."""
        return Payload({"tools": responses_tools(tools)})

    def tool_choice_payload(self, choice: str | Mapping[str, Any]) -> Payload:
        """`tool_choice`."""
        return Payload({"tool_choice": responses_tool_choice(choice)})

    def response_format_payload(self, response_format: Mapping[str, Any]) -> Payload:
        """`text` with the format."""
        return Payload({"text": {"format": responses_text_format(response_format)}})

    def model_parameters(self, body: Mapping[str, Any]) -> ModelParameters:
        """The model, the temperature, and `max_output_tokens`."""
        return ModelParameters(str(body.get("model")), body.get("temperature"), body.get("max_output_tokens"))

    def read_reply(self, data: Any) -> ProviderResponse:
        """Read the messages and the calls of the output; a refusal, a filtered or a failed answer sets `blocked`."""
        output = data["output"]
        parts = [part for item in output if item["type"] == "message" for part in item["content"]]
        refusal = "".join(part["refusal"] for part in parts if part["type"] == "refusal")
        reason = (data.get("incomplete_details") or {}).get("reason")
        usage = data.get("usage") or {}
        return ProviderResponse(
            text="".join(part["text"] for part in parts if part["type"] == "output_text"),
            finish_reason=reason or data.get("status"),
            usage=TokenUsage(
                input_tokens=count_at(usage, "input_tokens"),
                output_tokens=count_at(usage, "output_tokens"),
                cache_read_tokens=count_at(usage, "input_tokens_details", "cached_tokens"),
                cache_write_tokens=count_at(usage, "input_tokens_details", "cache_write_tokens"),
                reasoning_tokens=count_at(usage, "output_tokens_details", "reasoning_tokens"),
            ),
            raw=data,
            tool_calls=tuple(
                ToolCall(id=item["call_id"], function=FunctionCall(name=item["name"], arguments=item["arguments"]))
                for item in output
                if item["type"] == "function_call"
            ),
            blocked=refusal
            or _failure(data.get("error"))
            or ("content_filter" if reason == "content_filter" else None),
        )


def _failure(error: Any) -> str | None:
    """Why the model failed, although the status is 200."""
    return None if error is None else f"{error.get('code')}: {error.get('message')}"


def _items(turn: Turn) -> Iterator[dict[str, Any]]:
    if turn.results:
        for result in turn.results:
            yield {"type": "function_call_output", "call_id": result.call_id, "output": _content(result.content)}
        return
    message = turn.message
    # A text comes before the calls of its turn, as the API's own output has them.
    if message.content or not message.tool_calls:
        yield {"role": message.role, "content": _content(message.content)}
    for call in message.tool_calls:
        function = call.function
        yield {"type": "function_call", "call_id": call.id, "name": function.name, "arguments": function.arguments}


def _content(content: Content) -> Any:
    """A text as it is, media and the texts between them as parts."""
    return content_blocks(content, RESPONSES_MEDIA, text_part) if isinstance(content, tuple) else content
