"""Anthropic's Messages API, as Anthropic and others serve it, and as Vertex serves it by `rawPredict`.

Sources: https://docs.claude.com/en/api/messages,
https://platform.claude.com/docs/en/build-with-claude/structured-outputs, and the package `anthropic` (`types/`:
requests in `message_create_params.py`, `tool_param.py` and `output_config_param.py`, replies in `message.py`;
`lib/vertex/`).
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Final, cast

import httpx

from pytest_chatprompt.apis import message_rules, option_rules
from pytest_chatprompt.apis.chat_provider import BlocksProvider
from pytest_chatprompt.apis.conversation import (
    Conversation,
    ConversationTurn,
    Part,
    Thought,
    UnreadPart,
    as_items,
    as_mapping,
    as_text,
    first_of,
    json_text,
    read_base64,
    read_call,
    read_messages,
    read_url,
    result_parts,
)
from pytest_chatprompt.apis.fitting import Turn, split_prompt
from pytest_chatprompt.apis.model_api import ERROR_WORDS, EventsAPI, FinishReasons, joined, make_response, pieces
from pytest_chatprompt.apis.preflight import ModelLimits, Rule, about_calls, about_definitions, about_media
from pytest_chatprompt.apis.reply import Answer, Definitions, ModelRequest
from pytest_chatprompt.apis.vendor_api import (
    NO_ARGUMENTS,
    MediaSupport,
    MediaTable,
    Payload,
    SettingField,
    choose_one,
    effort_among,
    given,
    left_out,
    require_schema,
    to_list,
    write_tools,
)
from pytest_chatprompt.prompt.chat_prompt import ChatMessage, ChatPrompt, Media
from pytest_chatprompt.prompt.request import FunctionTool
from pytest_chatprompt.providers.response import ProviderResponse


def _block(media: Media) -> dict[str, Any]:
    if media.content is None:
        return {"type": media.kind, "source": {"type": "url", "url": media.url}}
    return {"type": media.kind, "source": {"type": "base64", "media_type": media.media_type, "data": media.base64}}


# `types/output_config_param.py`
_effort: Final = effort_among("Anthropic", "low", "medium", "high", "xhigh", "max")

_MESSAGES: Final = "https://platform.claude.com/docs/en/api/messages/create"
_ERRORS: Final = "https://github.com/anthropics/skills/blob/main/skills/claude-api/shared/error-codes.md"
ANTHROPIC_PREFILL: Final = "https://platform.claude.com/docs/en/api/errors#prefill-not-supported"
_TOOLS: Final = "https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls"
# That the type is an object is in `InputSchemaTyped` of anthropic 2.14.
_ROOTS: Final = "https://github.com/anthropics/claude-code/issues/5973"
# "tools: Tool names must be unique."
_UNIQUE: Final = "https://github.com/anthropics/claude-code/issues/10687"
_TOOL_NAMES: Final = "https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools"
_SCHEMAS: Final = "https://platform.claude.com/docs/en/build-with-claude/structured-outputs"
_MODELS: Final = "https://platform.claude.com/docs/en/about-claude/models/overview"
ANTHROPIC_SAMPLING: Final = "https://platform.claude.com/docs/en/api/versioning"
_IMAGES: Final = "https://platform.claude.com/docs/en/build-with-claude/vision"
_NAME: Final = (r"[a-zA-Z0-9_-]{1,128}", "1 to 128 of a-z, A-Z, 0-9, _ and -")


ANTHROPIC_MODELS: Final[Mapping[str, ModelLimits]] = {
    "claude-3*": ModelLimits(),
    "claude-*-4-5*": ModelLimits(max_output_tokens=64_000, prefill=True, temperature=True),
    "claude-*-4-6*": ModelLimits(max_output_tokens=128_000, prefill=False, temperature=True),
    "claude-*-4-[78]*": ModelLimits(max_output_tokens=128_000, prefill=False, temperature=False),
    "claude-mythos-preview*": ModelLimits(prefill=False),
    "claude-*-5*": ModelLimits(max_output_tokens=128_000, prefill=False, temperature=False),
}


class AnthropicProvider(BlocksProvider):
    """Sends chat prompts to Anthropic, at `{base_url}/v1/messages`.

    Args:
        model: the model's name.
        base_url: without the version; `None` reads it in a live run from the environment variable
            `ANTHROPIC_BASE_URL`, and without that it is `https://api.anthropic.com`.
        api_version: a date, sent in the header `anthropic-version`.
        settings: see `ChatSettings`; without `max_output_tokens`, 4096 is sent.
    """

    default_model = "claude-sonnet-5-5"
    # The later version, 2026-10-21, accepts the same except for a temperature (the rule `temperature-removed`).
    default_api_version = "2023-06-01"
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
    name = "anthropic"
    media: ClassVar[MediaTable] = {
        "image": MediaSupport(_block, roles=("user", "tool"), takes_urls=True),
        "document": MediaSupport(_block, roles=("user", "tool"), takes_urls=True),
    }
    cached_kinds = ("text", "image", "document")
    takes_tool_errors = True
    rules = (
        *option_rules.block_rules(_TOOLS, _TOOL_NAMES, _TOOL_NAMES, _UNIQUE, _NAME),
        about_calls("tool-call-id-twice", _TOOLS, message_rules.call_ids_used_twice),
        about_definitions("tool-schema", _ROOTS, option_rules.roots_of_parameters("oneOf", "anyOf", "allOf")),
        about_definitions("schema-additional-properties", _SCHEMAS, option_rules.open_objects),
        about_media("media-size", _IMAGES, message_rules.too_large("image", 7.5)),
        Rule("first-turn", _ERRORS, message_rules.first_turn_not_the_users),
        Rule("merged-turns", _MESSAGES, message_rules.merged_turns),
        Rule("prefill", ANTHROPIC_PREFILL, message_rules.prefill_not_supported),
        Rule("output-cap", _MODELS, option_rules.max_output_tokens_above_limit),
        Rule("temperature", _MESSAGES, option_rules.temperature_range(1)),
        Rule("temperature-fixed", ANTHROPIC_SAMPLING, option_rules.temperature_not_accepted),
        Rule("temperature-removed", ANTHROPIC_SAMPLING, option_rules.temperature_removed),
        Rule("sampling-fixed", ANTHROPIC_SAMPLING, option_rules.sampling_not_accepted(("top_p",))),
        Rule("sampling-removed", ANTHROPIC_SAMPLING, option_rules.top_p_removed),
    )
    known_models: ClassVar[Mapping[str, ModelLimits]] = ANTHROPIC_MODELS
    api_version: str

    def endpoint_path(self) -> str:
        """`/v1/messages`."""
        return "/v1/messages"

    def auth_headers(self, key: str) -> dict[str, str]:
        """The key in Anthropic's own header, and the API's version."""
        headers = {"anthropic-version": self.api_version}
        return {"x-api-key": key, **headers} if key else headers

    def build_payload(self, prompt: ChatPrompt) -> Payload:
        """The system text as `system`, the turns as strings, or as blocks for tool calls and their results."""
        split = split_prompt(prompt, self.vendor)
        # The API demands a value. This one is large enough for an answer and small enough for a test.
        max_tokens = 4096 if self.max_output_tokens is None else self.max_output_tokens
        body: dict[str, Any] = {"model": self.model, "max_tokens": max_tokens}
        if split.system:
            body["system"] = self.text_or_blocks(split.system)
        body["messages"] = [turn.raw or self._message(turn) for turn in split.turns]
        self.settings_body(body)
        return Payload(body, split.adjustments)

    def _message(self, turn: Turn) -> dict[str, Any]:
        if turn.results or turn.message.tool_calls:
            return {"role": "user" if turn.results else "assistant", "content": self.turn_blocks(turn)}
        return {"role": turn.message.role, "content": self.text_or_blocks(turn.message.content)}

    @staticmethod
    def call_block(call_id: str, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """A `ToolUseBlockParam`."""
        return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}

    def result_block(self, result: ChatMessage) -> dict[str, Any]:
        """A `ToolResultBlockParam`."""
        content = self.text_or_blocks(result.content)
        block = {"type": "tool_result", "tool_use_id": result.tool_call_id, "content": content}
        return {**block, "is_error": True} if result.is_error else block

    def tools_payload(self, tools: Sequence[Mapping[str, Any]]) -> Payload:
        """`tools`, with the schema of the arguments as `input_schema`."""
        return Payload({"tools": write_tools(tools, self.vendor, _tool)})

    def tool_choice_payload(self, choice: str | Mapping[str, Any]) -> Payload:
        """`tool_choice`: `auto`, `none`, `any` or one tool."""
        read = choose_one(choice, self.vendor, "auto, none, required")
        if read.names:
            return Payload({"tool_choice": {"type": "tool", "name": read.names[0]}})
        return Payload({"tool_choice": {"type": "any" if read.mode == "required" else read.mode}})

    def response_format_payload(self, response_format: Mapping[str, Any]) -> Payload:
        """`output_config` with the schema."""
        schema = require_schema(response_format, self.vendor)
        if schema is None:
            return Payload({})
        # All schemas are strict there.
        names = ("name", "description", *(["strict"] if schema.strict is False else []))
        output_format = {"type": "json_schema", "schema": schema.schema}
        return Payload({"output_config": {"format": output_format}}, left_out(schema, self.vendor, *names))

    def read_reply(self, data: Any) -> ProviderResponse:
        """Read the text blocks, without the thinking; a refusal sets `blocked`."""
        blocks, reason = data["content"], data.get("stop_reason")
        return make_response(
            data,
            "".join(block["text"] for block in blocks if block["type"] == "text"),
            [(block["id"], block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"],
            finish_reason=reason,
            blocked="refusal" if reason == "refusal" else None,
        )


def _tool(tool: FunctionTool) -> dict[str, Any]:
    schema = NO_ARGUMENTS if tool.parameters is None else tool.parameters
    return given(name=tool.name, description=tool.description, strict=tool.strict, input_schema=schema)


class AnthropicMessages(EventsAPI):
    """Anthropic's Messages API."""

    call_ids = "toolu_{digest}"
    # https://docs.claude.com/en/docs/build-with-claude/prompt-caching
    prompt_keys = ("model", "output_config", "output_format", "tools", "system", "messages")
    finish_reasons = FinishReasons("end_turn", "max_tokens", "tool_use", "refusal")
    # `types/shared/` of the package; https://docs.claude.com/en/api/errors
    error_words: ClassVar[Mapping[int, str]] = {
        **ERROR_WORDS,
        408: "timeout_error",
        413: "request_too_large",
        504: "timeout_error",
        529: "overloaded_error",
        5: "api_error",
    }

    def definitions(self, body: Mapping[str, Any]) -> Definitions:
        """Read `tools`, `tool_choice`, `output_config.format` and its older form `output_format`."""
        tools = [
            # Tools of Anthropic's own have no schema.
            {**tool, "type": "function", "parameters": tool["input_schema"]}
            if isinstance(tool.get("input_schema"), Mapping)
            else {"type": "raw", "raw": tool}
            for tool in map(as_mapping, as_items(body.get("tools")))
        ]
        choice = as_mapping(body.get("tool_choice"))
        kind = choice.get("type")
        chosen = {"type": "function", "name": choice.get("name")} if kind == "tool" else kind
        wanted = as_mapping(as_mapping(body.get("output_config")).get("format") or body.get("output_format"))
        is_schema = wanted.get("type") == "json_schema"
        return Definitions.read(tools, chosen, schema=with_limits(wanted.get("schema")) if is_schema else None)

    def api_version(self, request: httpx.Request) -> str | None:
        """The date in a header."""
        return cast("str | None", request.headers.get("anthropic-version"))

    def headers(self, model_request: ModelRequest) -> Mapping[str, str]:
        """The id of the request, under Anthropic's own name."""
        return {"request-id": f"req_{model_request.digest[:24]}"}

    def body(self, model_request: ModelRequest, answer: Answer) -> dict[str, Any]:
        """The body of the reply, a `Message`."""
        text = {"type": "text", "text": answer.text, "citations": None}
        content: list[dict[str, Any]] = [] if answer.text is None else [text]
        content += [AnthropicProvider.call_block(call.id, call.name, call.arguments) for call in answer.tool_calls]
        return {
            "id": f"msg_{answer.digest[:24]}",
            "type": "message",
            "role": "assistant",
            "model": model_request.replied_model,
            "content": content,
            "stop_reason": self.finish_reason(answer),
            "stop_sequence": None,
            "usage": {
                "input_tokens": answer.input_tokens,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": answer.output_tokens,
            },
        }

    def events(self, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """The events of a message."""
        begun = {**body, "content": [], "stop_reason": None, "usage": {**body["usage"], "output_tokens": 0}}
        yield {"type": "message_start", "message": begun}
        yield {"type": "ping"}
        for index, block in enumerate(body["content"]):
            empty, kind, key, text = {**block, "text": ""}, "text_delta", "text", block.get("text")
            if text is None:
                empty, kind, key = {**block, "input": {}}, "input_json_delta", "partial_json"
                text = json_text(block["input"])
            yield {"type": "content_block_start", "index": index, "content_block": empty}
            for piece in pieces(text):
                yield {"type": "content_block_delta", "index": index, "delta": {"type": kind, key: piece}}
            yield {"type": "content_block_stop", "index": index}
        ended = {"stop_reason": body["stop_reason"], "stop_sequence": body["stop_sequence"]}
        yield {"type": "message_delta", "delta": ended, "usage": body["usage"]}
        yield {"type": "message_stop"}

    def join_stream(self, events: Sequence[Any]) -> Any:
        """The message, with the texts and the inputs of its blocks put together."""
        message: Any = {}
        for event in events:
            match event.get("type"):
                case "message_start":
                    message = {**event["message"], "content": []}
                case "content_block_start" | "content_block_delta":
                    # The type of a delta is not the block's.
                    block = event.get("content_block") or {**event["delta"], "type": None}
                    message = joined(message, {"content": [{**block, "index": event["index"]}]})
                case "message_delta":
                    message = joined(message, {**event["delta"], "usage": event["usage"]})
        for block in message["content"]:
            if written := block.pop("partial_json", ""):
                block["input"] = json.loads(written)
        return message

    def error_body(self, model_request: ModelRequest, status: int, message: str) -> Any:
        """The body of an error in Anthropic's shape."""
        error = {"type": self.error_word(status), "message": message}
        return {"type": "error", "error": error, "request_id": f"req_{model_request.digest[:24]}"}

    def read_conversation(self, body: Any) -> Conversation:
        """Read `system` and `messages`."""
        sent = as_mapping(body)
        return read_messages(sent.get("system"), sent.get("messages"), _read_block)


def _read_block(block: Any) -> Iterable[Part | ConversationTurn]:
    content = as_mapping(block)
    match content.get("type"):
        case "text":
            yield as_text(content.get("text"))
        case "image" | "document" as kind if isinstance(content.get("source"), Mapping):
            yield _read_source(content["source"], kind, content.get("title"))
        case "tool_use":
            yield read_call(content.get("name"), content.get("input"), content.get("id"))
        case "tool_result":
            parts = result_parts(content.get("content"), _read_block)
            call_id, is_error = as_text(content.get("tool_use_id")), content.get("is_error") is True
            yield ConversationTurn("tool", parts, "", call_id, is_error)
        case "thinking":
            yield Thought(as_text(content.get("thinking")))
        case "redacted_thinking":
            yield Thought()
        case _:
            yield UnreadPart(json_text(block))


def _read_source(source: Mapping[str, Any], kind: str, title: Any) -> Part:
    match source.get("type"):
        case "base64":
            return read_base64(source.get("data"), source.get("media_type"), kind, title)
        case "url" | "file":
            return read_url(first_of(source, "url", "file_id"), kind)
        case "text":
            return as_text(source.get("data"))
        case "content":
            return "\n".join(map(str, result_parts(source.get("content"), _read_block)))
    return UnreadPart(json_text(source))


# The keywords that the SDK moves: those with a text, and those with other data.
_TEXTS: Final = ("pattern", "format", "contentMediaType")
_LIMITS: Final = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"),
    *("minItems", "maxItems", "uniqueItems", "enum", "const", "prefixItems", "items", "contentSchema"),
)


def with_limits(schema: Any) -> Any:
    """A schema with the limits back in their places that the SDK moved into descriptions (`transform_schema`)."""
    if isinstance(schema, list):
        return [with_limits(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {**_limits_in(schema.get("description")), **{key: with_limits(value) for key, value in schema.items()}}


def _limits_in(description: Any) -> dict[str, Any]:
    """Read `{minimum: 1, maximum: 10}`, the last paragraph of a description; empty if that is something else."""
    written = description.split("\n\n")[-1] if isinstance(description, str) else ""
    if not (written.startswith("{") and written.endswith("}")):
        return {}
    limits: dict[str, Any] = {}
    for keyword, _, text in (entry.partition(": ") for entry in re.split(r", (?=[\w$-]+: )", written[1:-1])):
        if keyword in _TEXTS:
            limits[keyword] = text
        elif keyword in _LIMITS:
            with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
                limits[keyword] = ast.literal_eval(text)
    return limits
