"""Amazon Bedrock's Converse API, which is the same for the models of all vendors there.

Sources: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html, the model of the API in the
package `botocore` (`data/bedrock-runtime`), and https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys-use.html.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, Unpack
from urllib.parse import quote

import httpx

from pytest_chatprompt.apis import message_rules, option_rules
from pytest_chatprompt.apis.anthropic import ANTHROPIC_MODELS, ANTHROPIC_PREFILL, ANTHROPIC_SAMPLING
from pytest_chatprompt.apis.chat_provider import BlocksProvider, ChatProviderArguments
from pytest_chatprompt.apis.conversation import (
    Conversation,
    ConversationTurn,
    Part,
    SentMedia,
    Thought,
    UnreadPart,
    as_items,
    as_mapping,
    as_text,
    json_text,
    read_base64,
    read_call,
    read_messages,
    result_parts,
)
from pytest_chatprompt.apis.fitting import Turn, split_prompt
from pytest_chatprompt.apis.model_api import ChatAPI, FinishReasons, aws_event, joined, make_response, pieces
from pytest_chatprompt.apis.preflight import ModelLimits, Rule, about_calls, about_definitions, about_media
from pytest_chatprompt.apis.reply import Answer, Definitions, ModelRequest
from pytest_chatprompt.apis.vendor_api import (
    NO_ARGUMENTS,
    Blocks,
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
from pytest_chatprompt.cases.fields import NonEmptyString
from pytest_chatprompt.errors import PayloadError
from pytest_chatprompt.prompt.chat_prompt import (
    ChatMessage,
    ChatPrompt,
    JSONResult,
    Media,
    content_parts,
    describe_messages,
)
from pytest_chatprompt.prompt.request import FunctionTool
from pytest_chatprompt.providers.arguments import check_setting
from pytest_chatprompt.providers.context import current_context
from pytest_chatprompt.providers.http.aws_signature import AWSSigner
from pytest_chatprompt.providers.http.error_replies import ErrorContext
from pytest_chatprompt.providers.response import ProviderResponse
from pytest_chatprompt.text.json_data import thaw, value_at
from pytest_chatprompt.text.media_types import NAMED_DOCUMENTS


def _block(media: Media) -> dict[str, Any]:
    name = {"name": _document_name(media)} if media.kind == "document" else {}
    media_format = _FORMATS.get(media.media_type) or media.media_type.rpartition("/")[2]
    return {media.kind: {"format": media_format, **name, "source": {"bytes": media.base64}}}


def _document_name(media: Media) -> str:
    """The file's name without its suffix, with hyphens for what a name cannot contain."""
    stem = media.file_name.rpartition(".")[0] or media.file_name
    # Letters, digits, single blanks, hyphens and brackets (`DocumentBlock`), and up to 200 of them with a number.
    name = re.sub(r" {2,}", " ", re.sub(r"[^A-Za-z0-9 ()\[\]-]+", "-", stem))[:190].strip(" -")
    return name or media.kind


def _number_documents(messages: Iterable[dict[str, Any]]) -> None:
    """Put a number behind the name of each document whose name an earlier one has."""
    blocks = [as_mapping(block) for message in messages for block in message.get("content", ())]
    inner = [each for block in blocks for each in (block, *block.get("toolResult", {}).get("content", ()))]
    taken: set[str] = set()
    for document in (block["document"] for block in inner if "name" in block.get("document", {})):
        name, number = document["name"], 1
        while document["name"].lower() in taken:
            number += 1
            document["name"] = f"{name} {number}"
        taken.add(document["name"].lower())


# The media types of documents by format; images, audio and videos have their kind in front.
_DOCUMENTS: Final = {
    "pdf": "application/pdf",
    **{suffix.removeprefix("."): media_type for suffix, (media_type, _) in NAMED_DOCUMENTS.items() if suffix != ".htm"},
}
_FORMATS: Final = {**{media_type: name for name, media_type in _DOCUMENTS.items()}, "audio/mpeg": "mp3"}

# Where all SDKs of AWS read the URL (https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html).
_URL_VARIABLES: Final = ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL")
_BLOCKING_REASONS: Final = frozenset({"guardrail_intervened", "content_filtered"})

# `OutputConfig` in botocore
_effort: Final = effort_among("Amazon Bedrock", "low", "medium", "high", "xhigh", "max")

_CONVERSE: Final = "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html"
_TOOLS: Final = "https://docs.aws.amazon.com/bedrock/latest/userguide/tool-use-inference-call.html"
_ROOTS: Final = "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolInputSchema.html"
_SCHEMAS: Final = "https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html"
_CALLS: Final = "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html"
_CONFIG: Final = "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InferenceConfiguration.html"
_MEDIA: Final = "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html"
_MODELS: Final = "https://docs.aws.amazon.com/bedrock/latest/userguide/model-cards.html"
_NAME: Final = (r"[a-zA-Z0-9_-]{1,64}", "1 to 64 of a-z, A-Z, 0-9, _ and -")
_CALL_ID: Final = (r"[a-zA-Z0-9_.:-]{1,64}", "1 to 64 of a-z, A-Z, 0-9, _ . : and -")


class BedrockProvider(BlocksProvider):
    """Sends chat prompts to Amazon Bedrock, at `{base_url}/model/{model}/converse`.

    Args:
        model: the id or the ARN of a model or of an inference profile.
        region: the region of AWS; `None` reads it from the environment variables `AWS_REGION` and `AWS_DEFAULT_REGION`,
            then from the profile.
        base_url: without the path; `None` reads it in a live run from the environment variables
            `AWS_ENDPOINT_URL_BEDROCK_RUNTIME` and `AWS_ENDPOINT_URL`; without these it is the region's.
        settings: see `ChatSettings`; this API has no `seed`. `api_key` is a Bedrock API key. Without one, requests are
            signed with the credentials that the tools of AWS use.
    """

    # An inference profile that every region has.
    default_model = "global.anthropic.claude-sonnet-5-5"
    takes_api_version = False
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
    name = "bedrock"
    media: ClassVar[MediaTable] = {
        "image": MediaSupport(_block, roles=("user", "tool")),
        "document": MediaSupport(_block, roles=("user", "tool"), media_types=tuple(_DOCUMENTS.values())),
        # `ToolResultContentBlock` has none.
        "audio": MediaSupport(_block),
    }
    cached_kinds = ("text", "image", "document", "audio")
    takes_tool_errors = True
    takes_json_results = True
    # What only the API's own errors say: results right after their calls ("Expected toolResult blocks at ..."), a user
    # who begins, roles that alternate, texts that are not blank, tools ("The toolConfig field must be defined when
    # using toolUse and toolResult content blocks"), two of one name ("The tool ... is already defined at
    # toolConfig.tools.1"), and that the documents of all messages count ("You can't include more than 5 documents in a
    # request").
    rules = (
        *option_rules.block_rules(_TOOLS, _CALLS, _TOOLS, _TOOLS, _NAME),
        about_calls("tool-result-blank", _CONVERSE, message_rules.blank_results),
        about_calls("tools-missing", _TOOLS, message_rules.calls_without_tools),
        about_calls("call-id", _CALLS, message_rules.call_ids(*_CALL_ID)),
        about_definitions("tool-schema", _ROOTS, option_rules.roots_of_parameters()),
        about_definitions("schema-additional-properties", _SCHEMAS, option_rules.open_objects),
        about_media("document-count", _MEDIA, message_rules.too_many("document", 5)),
        about_media("document-text", _MEDIA, message_rules.documents_without_text),
        about_media("media-size", _MEDIA, message_rules.too_large("image", 3.75)),
        about_media("document-size", _MEDIA, message_rules.too_large("document", 4.5)),
        Rule("first-turn", _CONVERSE, message_rules.first_turn_not_the_users),
        Rule("alternating-turns", _CONVERSE, message_rules.turns_of_the_same_role),
        Rule("prefill", ANTHROPIC_PREFILL, message_rules.prefill_not_supported),
        Rule("output-cap", _MODELS, option_rules.max_output_tokens_above_limit),
        Rule("temperature", _CONFIG, option_rules.temperature_range(1)),
        Rule("temperature-fixed", ANTHROPIC_SAMPLING, option_rules.temperature_not_accepted),
        Rule("sampling-fixed", ANTHROPIC_SAMPLING, option_rules.sampling_not_accepted(("topP",), "inferenceConfig")),
    )
    # Bedrock's names of Anthropic's models have its region and vendor in front, or are the end of an ARN.
    known_models: ClassVar[Mapping[str, ModelLimits]] = {
        f"*anthropic.{glob}": limits for glob, limits in ANTHROPIC_MODELS.items()
    }

    def __init__(
        self, *, region: str | None = None, base_url: str | None = None, **settings: Unpack[ChatProviderArguments]
    ) -> None:
        check_setting(self, "region", region, NonEmptyString | None)
        super().__init__(base_url=base_url, **settings)
        self._region = region
        self._signer = AWSSigner(self.vendor, f"set the environment variable {self.key_variable}")

    @property
    def region(self) -> str:
        """The region of AWS.

        Raises:
            MissingSettingError: nothing sets it.
        """
        if current_context().is_offline:
            return self._region or "us-east-1"
        in_environment = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
        region = self._region or in_environment or self._signer.profile_region()
        if region is None:
            raise self._missing("region", "AWS_REGION", "region")
        return region

    def _configured_url(self) -> str:
        return self._url_in(*_URL_VARIABLES) or f"https://bedrock-runtime.{self.region}.amazonaws.com"

    def endpoint_path(self) -> str:
        """The path of the model, which only the path names."""
        return f"/model/{quote(self.model, safe='~')}/converse"

    def authorize(self, request: httpx.Request) -> dict[str, str]:
        """The key, or without one a signature. Offline nothing is signed."""
        headers = self.credentials()
        return headers if headers or current_context().is_offline else self._signer.sign(request, self.region)

    def build_payload(self, prompt: ChatPrompt) -> Payload:
        """The system text as `system`, the turns as lists of blocks; what the user says to tool results joins them."""
        split = split_prompt(prompt, self.vendor)
        body: dict[str, Any] = {}
        if split.system:
            body["system"] = self.content_blocks(split.system)
        joined: list[str] = []
        body["messages"] = []
        for before, turn in zip((None, *split.turns), split.turns, strict=False):
            message = turn.raw or self._message(turn)
            if before is not None and before.results and turn.raw is None and message["role"] == "user":
                # Roles alternate, and tool results are the user's.
                body["messages"][-1]["content"] += message["content"]
                joined.append(f"{describe_messages([turn.message])}: sent in one turn with the tool results before it")
            else:
                body["messages"].append(message)
        _number_documents(body["messages"])
        self.settings_body(body)
        return Payload(body, (*split.adjustments, *joined))

    def text_block(self, text: str) -> dict[str, Any]:
        """A `ContentBlock` with a text."""
        return {"text": text}

    def mark_block(self, blocks: Blocks, cache_control: Mapping[str, Any]) -> None:
        """A `CachePointBlock` after what it marks."""
        ttl = {"ttl": cache_control["ttl"]} if "ttl" in cache_control else {}
        blocks.append({"cachePoint": {"type": "default", **ttl}})

    def _message(self, turn: Turn) -> dict[str, Any]:
        if not turn.results:
            return {"role": turn.message.role, "content": self.turn_blocks(turn)}
        blocks = []
        for block in self.turn_blocks(turn):
            content = block["toolResult"]["content"]
            # Within a result there are no marks.
            block["toolResult"]["content"] = [each for each in content if "cachePoint" not in each]
            blocks += [block, *(each for each in content if "cachePoint" in each)]
        return {"role": "user", "content": blocks}

    @staticmethod
    def call_block(call_id: str, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """A `ToolUseBlock`."""
        return {"toolUse": {"toolUseId": call_id, "name": name, "input": arguments}}

    def result_block(self, result: ChatMessage) -> dict[str, Any]:
        """A `ToolResultBlock`, which has to have a block, even if it is empty."""
        data = next((part.data for part in content_parts(result.content) if isinstance(part, JSONResult)), None)
        blocks = self.content_blocks(result.content) or [self.text_block("")]
        fields = {"toolUseId": result.tool_call_id, "content": blocks if data is None else [{"json": thaw(data)}]}
        return {"toolResult": {**fields, "status": "error"} if result.is_error else fields}

    def tools_payload(self, tools: Sequence[Mapping[str, Any]]) -> Payload:
        """`toolConfig` with the specification of each function."""
        return Payload({"toolConfig": {"tools": write_tools(tools, self.vendor, _tool)}})

    def tool_choice_payload(self, choice: str | Mapping[str, Any]) -> Payload:
        """`toolConfig` with the choice: `auto`, `any` or one tool."""
        read = choose_one(choice, self.vendor, "auto, required")
        if read.mode == "none":
            error = f"{self.vendor} has no tool_choice 'none'; leave out the tools and the choice"
            raise PayloadError(error, location=("tool_choice",))
        wanted: dict[str, Any] = {"any" if read.mode == "required" else "auto": {}}
        return Payload({"toolConfig": {"toolChoice": {"tool": {"name": read.names[0]}} if read.names else wanted}})

    def response_format_payload(self, response_format: Mapping[str, Any]) -> Payload:
        """`outputConfig` with the schema, which is JSON text there."""
        schema = require_schema(response_format, self.vendor)
        if schema is None:
            return Payload({})
        written = json.dumps(schema.schema, ensure_ascii=False)
        definition = given(schema=written, name=schema.name, description=schema.description)
        text_format = {"type": "json_schema", "structure": {"jsonSchema": definition}}
        return Payload({"outputConfig": {"textFormat": text_format}}, left_out(schema, self.vendor, "strict"))

    def read_reply(self, data: Any) -> ProviderResponse:
        """Read the text blocks, without the reasoning; a filter or a guardrail that intervened sets `blocked`."""
        blocks, reason = data["output"]["message"]["content"], data.get("stopReason")
        calls = [block["toolUse"] for block in blocks if block.get("toolUse")]
        return make_response(
            data,
            "".join(map(_text, blocks)),
            [(call["toolUseId"], call["name"], call["input"]) for call in calls],
            finish_reason=reason,
            blocked=reason if reason in _BLOCKING_REASONS else None,
        )

    def _error_context(self, target: str | None = None) -> ErrorContext:
        context = super()._error_context(target)
        # Requests without a key are signed.
        return context if self._key() else context._replace(key_variable="AWS_PROFILE or AWS_ACCESS_KEY_ID")


def _text(block: Mapping[str, Any]) -> str:
    """The text of a block of a reply; where documents are cited, it is in parts beside the citations."""
    cited = (block.get("citationsContent") or {}).get("content") or ()
    return "".join((block.get("text", ""), *(part["text"] for part in cited)))


def _tool(tool: FunctionTool) -> dict[str, Any]:
    # The API refuses an empty description.
    schema = {"json": NO_ARGUMENTS if tool.parameters is None else tool.parameters}
    description = tool.description or None
    return {"toolSpec": given(name=tool.name, description=description, inputSchema=schema, strict=tool.strict)}


class BedrockConverse(ChatAPI):
    """Amazon Bedrock's Converse API."""

    call_ids = "tooluse_{digest}"
    # https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html
    prompt_keys = ("toolConfig", "system", "messages")
    stream_type = "application/vnd.amazon.eventstream"
    finish_reasons = FinishReasons("end_turn", "max_tokens", "tool_use", "content_filtered")
    error_words: ClassVar[Mapping[int, str]] = {
        401: "UnrecognizedClientException",
        403: "AccessDeniedException",
        404: "ResourceNotFoundException",
        408: "ModelTimeoutException",
        409: "ConflictException",
        424: "ModelErrorException",
        429: "ThrottlingException",
        4: "ValidationException",
        500: "InternalServerException",
        5: "ServiceUnavailableException",
    }

    def is_streamed(self, model_request: ModelRequest) -> bool:
        """Whether the path asks for a stream."""
        return model_request.path.endswith("-stream")

    def headers(self, model_request: ModelRequest) -> Mapping[str, str]:
        """The id of the request, under Amazon's own name."""
        return {"x-amzn-requestid": model_request.digest[:32]}

    def error_headers(self, status: int) -> Mapping[str, str]:
        """The name of the exception, by which botocore knows it."""
        return {**super().error_headers(status), "x-amzn-errortype": self.error_word(status)}

    def definitions(self, body: Mapping[str, Any]) -> Definitions:
        """Read `toolConfig` and `outputConfig`."""
        config = as_mapping(body.get("toolConfig"))
        tools = [
            {**spec, "type": "function", "parameters": as_mapping(spec.get("inputSchema")).get("json")}
            if (spec := as_mapping(tool.get("toolSpec")))
            else {"type": "raw", "raw": tool}
            for tool in map(as_mapping, as_items(config.get("tools")))
        ]
        # A choice is a union: its only key says what it is.
        kind, chosen = next(iter(as_mapping(config.get("toolChoice")).items()), (None, None))
        choice = {**as_mapping(chosen), "type": "function"} if kind == "tool" else kind
        return Definitions.read(tools, choice, schema=_schema(body))

    def body(self, model_request: ModelRequest, answer: Answer) -> dict[str, Any]:  # noqa: ARG002 - the answer says it all
        """The body of the reply, a `ConverseResponse`."""
        content: list[dict[str, Any]] = [] if answer.text is None else [{"text": answer.text}]
        content += [BedrockProvider.call_block(call.id, call.name, call.arguments) for call in answer.tool_calls]
        return {
            "output": {"message": {"role": "assistant", "content": content}},
            "stopReason": self.finish_reason(answer),
            "usage": {
                "inputTokens": answer.input_tokens,
                "outputTokens": answer.output_tokens,
                "totalTokens": answer.total_tokens,
                "cacheReadInputTokens": 0,
                "cacheWriteInputTokens": 0,
            },
            "metrics": {"latencyMs": 0},
        }

    def stream(self, model_request: ModelRequest, body: dict[str, Any]) -> Iterator[bytes]:  # noqa: ARG002 - all is in the body
        """The events of a message."""
        message = body["output"]["message"]
        yield aws_event("messageStart", {"role": message["role"]})
        for index, block in enumerate(message["content"]):
            place = {"contentBlockIndex": index}
            if "toolUse" in block:
                use = block["toolUse"]
                start = {"toolUseId": use["toolUseId"], "name": use["name"]}
                yield aws_event("contentBlockStart", {"start": {"toolUse": start}, **place})
                for piece in pieces(json_text(use["input"])):
                    yield aws_event("contentBlockDelta", {"delta": {"toolUse": {"input": piece}}, **place})
            else:
                for piece in pieces(block["text"]):
                    yield aws_event("contentBlockDelta", {"delta": {"text": piece}, **place})
            yield aws_event("contentBlockStop", place)
        yield aws_event("messageStop", {"stopReason": body["stopReason"]})
        yield aws_event("metadata", {"usage": body["usage"], "metrics": body["metrics"]})

    def join_stream(self, events: Sequence[Any]) -> Any:
        """The message, with the texts and the inputs of its blocks put together; each event is under its name."""
        blocks: dict[int, dict[str, Any]] = {}
        ended: dict[str, Any] = {}
        for name, event in (pair for each in events for pair in each.items()):
            index = event.get("contentBlockIndex", 0)
            if name == "contentBlockStart":
                blocks[index] = event["start"]
            elif name == "contentBlockDelta" and not event["delta"].keys().isdisjoint(("text", "toolUse")):
                blocks[index] = joined(blocks.get(index, {}), event["delta"])
            elif name in ("messageStop", "metadata"):
                ended |= event
        for use in (block["toolUse"] for block in blocks.values() if "toolUse" in block):
            use["input"] = json.loads(use.get("input") or "{}")
        return {**ended, "output": {"message": {"content": [*blocks.values()]}}}

    def error_body(self, model_request: ModelRequest, status: int, message: str) -> Any:  # noqa: ARG002 - the headers say it
        """The body of an error: only the message."""
        return {"message": message}

    def read_conversation(self, body: Any) -> Conversation:
        """Read `system` and `messages`."""
        sent = as_mapping(body)
        return read_messages(sent.get("system"), sent.get("messages"), _read_block)


def _schema(body: Mapping[str, Any]) -> Any:
    """The schema of the text, which the request gives as JSON text."""
    schema = value_at(body, ("outputConfig", "textFormat", "structure", "jsonSchema", "schema"))
    try:
        return json.loads(schema)
    except (TypeError, ValueError, RecursionError):
        return None if schema is None else {"type": "object"}


def _read_block(block: Any) -> Iterable[Part | ConversationTurn]:
    # A block is a union: its only key says what it is.
    kind, value = next(iter(as_mapping(block).items()), (None, None))
    if kind == "text":
        yield as_text(value)
    elif kind == "json":
        yield json_text(value)
    elif kind in ("image", "document", "audio", "video") and isinstance(value, Mapping):
        yield _read_media(str(kind), value)
    elif kind == "toolUse" and isinstance(value, Mapping):
        yield read_call(value.get("name"), value.get("input"), value.get("toolUseId"))
    elif kind == "toolResult" and isinstance(value, Mapping):
        parts = result_parts(value.get("content"), _read_block)
        yield ConversationTurn("tool", parts, "", as_text(value.get("toolUseId")), value.get("status") == "error")
    elif kind == "guardContent" and isinstance(text := as_mapping(value).get("text"), Mapping):
        yield as_text(text.get("text"))
    elif kind == "reasoningContent":
        yield Thought(as_text(as_mapping(as_mapping(value).get("reasoningText")).get("text")))
    elif kind != "cachePoint":
        yield UnreadPart(json_text(block))


def _read_media(kind: str, value: Mapping[str, Any]) -> Part:
    source = as_mapping(value.get("source"))
    extension, name = as_text(value.get("format")), as_text(value.get("name"))
    media_type = _DOCUMENTS.get(extension, "") if kind == "document" else f"{kind}/{extension}" if extension else ""
    if "bytes" in source:
        return read_base64(source["bytes"], media_type, kind, name)
    if source.get("text") is not None:
        return as_text(source["text"])
    if source.get("content") is not None:
        return "\n".join(map(str, result_parts(source["content"], _read_block)))
    return SentMedia(kind, media_type, source=as_text(as_mapping(source.get("s3Location")).get("uri")) or name)
