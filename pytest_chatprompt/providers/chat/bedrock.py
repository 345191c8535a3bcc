"""Amazon Bedrock's Converse API, which is the same for the models of all vendors there.

A chat prompt comes in, the body of a request comes out; a reply's data comes in, a `ProviderResponse` comes out.
`registry` lists it; users may subclass it. Requests carry a Bedrock API key, or are signed by `http.aws_signature`.
Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html, the model of the API in
botocore (`data/bedrock-runtime`), and https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys-use.html.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Unpack
from urllib.parse import quote

import httpx

from pytest_chatprompt.cases.fields import NonEmptyString
from pytest_chatprompt.errors import MissingSettingError
from pytest_chatprompt.prompt.chat_prompt import ChatMessage, ChatPrompt, ContentPart, describe_messages
from pytest_chatprompt.providers.arguments import check_names, check_setting
from pytest_chatprompt.providers.chat.base import ChatProvider
from pytest_chatprompt.providers.chat.bedrock_media import BEDROCK_MEDIA, number_documents, text_block
from pytest_chatprompt.providers.chat.bedrock_tools import bedrock_output_format, bedrock_tool_choice, bedrock_tools
from pytest_chatprompt.providers.chat.json_body import make_tool_call, parse_arguments
from pytest_chatprompt.providers.chat.media_support import MediaTable, content_blocks
from pytest_chatprompt.providers.chat.payload import Payload
from pytest_chatprompt.providers.chat.setting_fields import SettingField, effort_among, to_list
from pytest_chatprompt.providers.chat.settings import ChatSettings
from pytest_chatprompt.providers.chat.token_counts import count_at, total
from pytest_chatprompt.providers.chat.turns import Turn, split_prompt
from pytest_chatprompt.providers.context import current_context
from pytest_chatprompt.providers.http.aws_signature import AWSSigner
from pytest_chatprompt.providers.http.error_replies import ErrorContext
from pytest_chatprompt.providers.preflight.models import BEDROCK_MODELS, ModelLimits
from pytest_chatprompt.providers.preflight.preflight_input import ModelParameters
from pytest_chatprompt.providers.preflight.rule import Rule
from pytest_chatprompt.providers.preflight.rules import BEDROCK_RULES
from pytest_chatprompt.providers.response import ProviderResponse, TokenUsage

# An inference profile that every region has.
DEFAULT_MODEL: Final = "global.anthropic.claude-sonnet-5-5"
_OFFLINE_REGION: Final = "us-east-1"
_REGION_VARIABLES: Final = ("AWS_REGION", "AWS_DEFAULT_REGION")
# Where all SDKs of AWS read the URL (https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html).
_URL_VARIABLES: Final = ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL")
_IGNORES_URLS: Final = "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"
# What errors of signed requests name in place of the key.
_CREDENTIAL_VARIABLES: Final = "AWS_PROFILE or AWS_ACCESS_KEY_ID"
_BLOCKING_REASONS: Final = frozenset({"guardrail_intervened", "content_filtered"})

# `OutputConfig` in botocore
_effort: Final = effort_among(
    "Amazon Bedrock", {effort: effort for effort in ("low", "medium", "high", "xhigh", "max")}
)


class BedrockProvider(ChatProvider):
    """Sends chat prompts to Amazon Bedrock, at `{base_url}/model/{model}/converse`.

    Args:
        model: the id or the ARN of a model or of an inference profile.
        region: the region of AWS; `None` reads it from the environment variables `AWS_REGION` and `AWS_DEFAULT_REGION`,
            then from the profile.
        base_url: without the path; `None` reads it in a live run from the environment variables
            `AWS_ENDPOINT_URL_BEDROCK_RUNTIME` and `AWS_ENDPOINT_URL`, then from the profile, unless
            `AWS_IGNORE_CONFIGURED_ENDPOINT_URLS` says not to; without these it is the region's.
        settings: see `ChatSettings`; this API has no `seed`. `api_key` is a Bedrock API key. Without one, requests are
            signed with the credentials that the tools of AWS use.

    Raises:
        TypeError: there is no setting of that name.
        ValueError: a setting has an invalid value.
    """

    vendor = "Amazon Bedrock"
    price_vendor = "aws"
    key_variable = "AWS_BEARER_TOKEN_BEDROCK"
    key_is_optional = True
    offline_api = "bedrock"
    setting_fields: Mapping[str, SettingField] = {
        "max_output_tokens": SettingField(("inferenceConfig", "maxTokens")),
        "temperature": SettingField(("inferenceConfig", "temperature")),
        "top_p": SettingField(("inferenceConfig", "topP")),
        "stop": SettingField(("inferenceConfig", "stopSequences"), to_list),
        "reasoning_effort": SettingField(("outputConfig", "effort"), _effort),
    }
    media: ClassVar[MediaTable] = BEDROCK_MEDIA
    rules: ClassVar[tuple[Rule, ...]] = BEDROCK_RULES
    known_models: ClassVar[Mapping[str, ModelLimits]] = BEDROCK_MODELS

    def __init__(
        self,
        *,
        model: str = DEFAULT_MODEL,
        region: str | None = None,
        base_url: str | None = None,
        **settings: Unpack[ChatSettings],
    ) -> None:
        # `ChatProvider` would accept an `api_version` too, and this API has none.
        check_names(self, settings, ChatSettings)
        check_setting(self, "region", region, NonEmptyString | None)
        super().__init__(model=model, base_url=base_url, **settings)
        self._region = region
        self._signer = AWSSigner(self.vendor, "bedrock", f"set the environment variable {self.key_variable}")

    @property
    def region(self) -> str:
        """The region of AWS.

        Raises:
            MissingSettingError: nothing sets it.
        """
        if current_context().is_offline:
            return self._region or _OFFLINE_REGION
        region = self._region or _first_variable(_REGION_VARIABLES) or self._signer.profile_region()
        if region is None:
            raise MissingSettingError(
                f"no region for {self.vendor}: set the environment variable {_REGION_VARIABLES[0]}, "
                f"or pass region to {type(self).__name__}"
            )
        return region

    @property
    def base_url(self) -> str:
        """The base URL without a slash at its end.

        Raises:
            MissingSettingError: see `region`; an environment variable or the profile holds no URL.
        """
        base_url = self._base_url or self._configured_url() or f"https://bedrock-runtime.{self.region}.amazonaws.com"
        return base_url.rstrip("/")

    def _configured_url(self) -> str:
        # As `ConfiguredEndpointProvider` of botocore 1.44 (`configprovider.py`).
        if current_context().is_offline or os.environ.get(_IGNORES_URLS, "").lower() == "true":
            return ""
        url = self._url_in(*_URL_VARIABLES)
        profile = "" if url else self._signer.profile_endpoint()
        return self._checked_url("endpoint_url of the AWS profile", profile) if profile else url

    def endpoint_path(self) -> str:
        """The path of the model, which only the path names."""
        return f"/model/{quote(self.model, safe='~')}/converse"

    def auth_headers(self, key: str) -> dict[str, str]:
        """The key as a bearer token."""
        return {"authorization": f"Bearer {key}"} if key else {}

    def authorize(self, request: httpx.Request) -> dict[str, str]:
        """The key, or without one a signature. Offline nothing is signed.

        Args:
            request: as it is about to be sent.

        Raises:
            MissingSettingError: there are neither a key nor credentials, or botocore is not installed.
        """
        headers = self.credentials()
        return headers if headers or current_context().is_offline else self._signer.sign(request, self.region)

    def build_payload(self, prompt: ChatPrompt) -> Payload:
        """The system text as `system`, the turns as lists of blocks; what the user says to tool results is with them.

        Args:
            prompt: the messages to send.

        Raises:
            PayloadError: there is no turn, a tool message answers no call, or a call's arguments are not a JSON object.
        """
        split = split_prompt(prompt, self.vendor)
        body: dict[str, Any] = {}
        if split.system:
            body["system"] = [{"text": split.system}]
        joined: list[str] = []
        body["messages"] = []
        for before, turn in zip((None, *split.turns), split.turns, strict=False):
            message = _message(turn)
            if before is not None and before.results and message["role"] == "user":
                # Roles alternate, and tool results are the user's.
                body["messages"][-1]["content"] += message["content"]
                joined.append(f"{describe_messages([turn.message])}: sent in one turn with the tool results before it")
            else:
                body["messages"].append(message)
        number_documents(body["messages"])
        self.settings_body(body)
        return Payload(body, (*split.adjustments, *joined))

    def tools_payload(self, tools: Sequence[Mapping[str, Any]]) -> Payload:
        """`toolConfig` with the specification of each function."""
        return Payload({"toolConfig": {"tools": bedrock_tools(tools, self.vendor)}})

    def tool_choice_payload(self, choice: str | Mapping[str, Any]) -> Payload:
        """`toolConfig` with the choice: `auto`, `any` or one tool."""
        return Payload({"toolConfig": {"toolChoice": bedrock_tool_choice(choice, self.vendor)}})

    def response_format_payload(self, response_format: Mapping[str, Any]) -> Payload:
        """`outputConfig` with the schema."""
        return bedrock_output_format(response_format, self.vendor)

    def model_parameters(self, body: Mapping[str, Any]) -> ModelParameters:
        """The model that the path names, and the parameters in `inferenceConfig`."""
        config = body.get("inferenceConfig")
        config = config if isinstance(config, dict) else {}
        return ModelParameters(self.model, config.get("temperature"), config.get("maxTokens"))

    def read_reply(self, data: Any) -> ProviderResponse:
        """Read the text blocks, without the reasoning; a filter or a guardrail that intervened sets `blocked`."""
        blocks = data["output"]["message"]["content"]
        stop_reason = data.get("stopReason")
        usage = data.get("usage") or {}
        return ProviderResponse(
            text="".join(map(_text, blocks)),
            finish_reason=stop_reason,
            usage=_usage(usage),
            raw=data,
            tool_calls=tuple(
                make_tool_call(call["toolUseId"], call["name"], call["input"])
                for block in blocks
                if (call := block.get("toolUse"))
            ),
            blocked=stop_reason if stop_reason in _BLOCKING_REASONS else None,
        )

    def _error_context(self, target: str | None = None) -> ErrorContext:
        context = super()._error_context(target)
        return context if self._key() else context._replace(key_variable=_CREDENTIAL_VARIABLES)


def _first_variable(names: Sequence[str]) -> str | None:
    """The value of the first environment variable that is set, and not empty."""
    return next((value for name in names if (value := os.environ.get(name))), None)


def _text(block: Mapping[str, Any]) -> str:
    """The text of a block of a reply; where documents are cited, it is in parts beside the citations."""
    cited = (block.get("citationsContent") or {}).get("content") or ()
    return "".join((block.get("text", ""), *(part["text"] for part in cited)))


def _usage(usage: Mapping[str, Any]) -> TokenUsage:
    """The counts of a reply. The API counts what it reads from its cache, and writes to it, beside the input."""
    read, written = count_at(usage, "cacheReadInputTokens"), count_at(usage, "cacheWriteInputTokens")
    details = usage.get("cacheDetails") or []
    return TokenUsage(
        input_tokens=total(count_at(usage, "inputTokens"), read, written),
        output_tokens=count_at(usage, "outputTokens"),
        cache_read_tokens=read,
        cache_write_tokens=written,
        cache_write_1h_tokens=total(*(count_at(entry, "inputTokens") for entry in details if entry.get("ttl") == "1h")),
    )


def _message(turn: Turn) -> dict[str, Any]:
    if turn.results:
        blocks = [
            {"toolResult": {"toolUseId": result.call_id, "content": _result_blocks(result.content)}}
            for result in turn.results
        ]
        return {"role": "user", "content": blocks}
    return {"role": turn.message.role, "content": _blocks(turn.message)}


def _blocks(message: ChatMessage) -> list[dict[str, Any]]:
    content = content_blocks(message.content, BEDROCK_MEDIA, text_block)
    calls = [
        {"toolUse": {"toolUseId": call.id, "name": call.function.name, "input": parse_arguments(call, message)}}
        for call in message.tool_calls
    ]
    return [*content, *calls]


def _result_blocks(content: str | tuple[ContentPart, ...]) -> list[dict[str, Any]]:
    # A result has to have a block, even if it is empty.
    return content_blocks(content, BEDROCK_MEDIA, text_block) or [text_block("")]
