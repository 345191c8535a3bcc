"""OpenAI's chat completions, and every server that has the same API (vLLM, a gateway).

Sources: https://platform.openai.com/docs/api-reference/chat/create, and the package `openai` (`types/chat/`: requests
in `completion_create_params.py`, parts in `chat_completion_content_part_param.py`, tools in
`chat_completion_tool_union_param.py`; `types/shared_params/response_format_json_schema.py`); for errors
https://platform.openai.com/docs/guides/error-codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Unpack

from pytest_chatprompt.apis import message_rules, option_rules
from pytest_chatprompt.apis.chat_provider import ChatProvider, ChatProviderArguments
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
    first_of,
    json_text,
    read_base64,
    read_call,
    read_parts,
    read_url,
    result_parts,
    role_and_parts,
)
from pytest_chatprompt.apis.fitting import raw_message
from pytest_chatprompt.apis.model_api import (
    CREATED,
    ERROR_WORDS,
    ChatAPI,
    ModelAPI,
    choices,
    joined_chunks,
    make_response,
    pieces,
    server_sent_event,
)
from pytest_chatprompt.apis.preflight import ModelLimits, ModelParameters, Rule, about_calls, about_definitions
from pytest_chatprompt.apis.vendor_api import MediaSupport, MediaTable, Payload, SettingField, given
from pytest_chatprompt.errors import PayloadError
from pytest_chatprompt.prompt.chat_prompt import ChatMessage, ChatPrompt, Media
from pytest_chatprompt.providers.arguments import check_setting
from pytest_chatprompt.providers.response import ProviderResponse

if TYPE_CHECKING:
    from pytest_chatprompt.apis.reply import Answer, AnswerToolCall, ModelRequest


def image_part(media: Media) -> dict[str, Any]:
    """Make the part for an image."""
    return {"type": "image_url", "image_url": given(url=media.url, detail=media.detail)}


def document_part(media: Media) -> dict[str, Any]:
    """Make the part for a document."""
    return {"type": "file", "file": {"file_data": media.url, "filename": media.file_name}}


def audio_part(media: Media) -> dict[str, Any]:
    """Make the part for a sound."""
    audio_format = "wav" if media.media_type == "audio/wav" else "mp3"
    return {"type": "input_audio", "input_audio": {"data": media.base64, "format": audio_format}}


# Only the parts of a user message may be media; files and audio have no field for a URL.
OPENAI_MEDIA: Final[MediaTable] = {
    "image": MediaSupport(image_part, takes_urls=True, takes_detail=True),
    "document": MediaSupport(document_part),
    "audio": MediaSupport(audio_part),
}


MaxTokensParameter = Literal["max_completion_tokens", "max_tokens"]

_CHAT: Final = "https://platform.openai.com/docs/api-reference/chat/create"
OPENAI_TOOLS: Final = "https://platform.openai.com/docs/guides/function-calling"
_JSON: Final = "https://platform.openai.com/docs/guides/structured-outputs#json-mode"
_SCHEMAS: Final = "https://platform.openai.com/docs/guides/structured-outputs#supported-schemas"
_REASONING: Final = "https://platform.openai.com/docs/guides/reasoning"
_MODELS: Final = "https://platform.openai.com/docs/models"
# A pattern for names of functions, and the same in words.
OPENAI_NAME: Final = (r"[a-zA-Z0-9_-]{1,64}", "1 to 64 of a-z, A-Z, 0-9, _ and -")
_SAMPLING: Final = ("top_p", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs", "logit_bias")
# The same in chat completions and Responses.
OPENAI_SHARED_RULES: Final = (
    about_definitions("tool-name", _CHAT, option_rules.tool_names(*OPENAI_NAME)),
    # The API's own error says so: "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not'".
    about_definitions("tool-schema", _CHAT, option_rules.roots_of_parameters("oneOf", "anyOf", "allOf", "enum", "not")),
    about_definitions("tool-choice", _CHAT, option_rules.choices_without_tools),
    about_definitions("schema-name", _CHAT, option_rules.schema_name),
    about_definitions("json-word", _JSON, option_rules.json_without_the_word),
    about_definitions("strict-additional-properties", _SCHEMAS, option_rules.objects_with_more_properties),
    about_definitions("strict-required", _SCHEMAS, option_rules.properties_not_required),
    about_definitions("strict-keyword", _SCHEMAS, option_rules.keywords_refused),
    about_definitions("strict-root", _SCHEMAS, option_rules.root_not_an_object),
    Rule("prefill", _CHAT, message_rules.prefill_answered),
    Rule("output-cap", _MODELS, option_rules.max_output_tokens_above_limit),
    Rule("temperature", _CHAT, option_rules.temperature_range(2)),
    Rule("temperature-fixed", _MODELS, option_rules.temperature_not_accepted),
    Rule("sampling-fixed", _REASONING, option_rules.sampling_not_accepted(_SAMPLING)),
)
OPENAI_RULES: Final = (
    about_calls("tool-call-id", _CHAT, message_rules.results_without_id),
    about_calls("tool-result-content", _CHAT, message_rules.results_without_content),
    about_calls("tool-result-without-call", OPENAI_TOOLS, message_rules.results_without_call),
    about_calls("tool-call-without-result", OPENAI_TOOLS, message_rules.calls_without_results),
    about_calls("tool-result-order", OPENAI_TOOLS, message_rules.results_out_of_order),
    about_calls("tool-call-id-twice", OPENAI_TOOLS, message_rules.call_ids_used_twice),
    *OPENAI_SHARED_RULES,
    Rule("max-tokens", _CHAT, option_rules.max_tokens_not_accepted),
    Rule("stop-count", _CHAT, option_rules.too_many_stops(4)),
    Rule("stop-fixed", _CHAT, option_rules.stops_not_accepted),
)

# As of November 2026; for `stop` see `completion_create_params.py` of openai 3.54.
# gpt-5.1 and 5.2 accept a temperature as long as they do not reason, which cannot be seen in a body: not known.
OPENAI_MODELS: Final[Mapping[str, ModelLimits]] = {
    "gpt-4o-2024-05-13": ModelLimits(max_output_tokens=4_096, temperature=True),
    "gpt-4o*": ModelLimits(max_output_tokens=16_384, temperature=True),
    "gpt-4.1*": ModelLimits(max_output_tokens=32_768, temperature=True),
    "gpt-4-turbo*": ModelLimits(max_output_tokens=4_096, temperature=True),
    "o1-preview*": ModelLimits(max_output_tokens=32_768, temperature=False, max_tokens=False),
    "o1-mini*": ModelLimits(max_output_tokens=65_536, temperature=False, max_tokens=False),
    "o3": ModelLimits(max_output_tokens=100_000, temperature=False, max_tokens=False, stop=False),
    "o3-20*": ModelLimits(max_output_tokens=100_000, temperature=False, max_tokens=False, stop=False),
    "o4-mini*": ModelLimits(max_output_tokens=100_000, temperature=False, max_tokens=False, stop=False),
    "o[134]*": ModelLimits(max_output_tokens=100_000, temperature=False, max_tokens=False),
    "gpt-5*-chat*": ModelLimits(max_output_tokens=16_384),
    "gpt-5.[12]*": ModelLimits(max_output_tokens=128_000, max_tokens=False),
    "gpt-5*": ModelLimits(max_output_tokens=128_000, temperature=False, max_tokens=False),
    "gpt-6-astra*": ModelLimits(max_output_tokens=128_000, temperature=False, max_tokens=False),
}


class OpenAIBase(ChatProvider):
    """What all providers have whose APIs are OpenAI's."""

    default_model = "gpt-5.5"
    takes_api_version = False
    price_vendor = "openai"
    key_variable = "OPENAI_API_KEY"
    # openai 3.54 `lib/_client_auth.py`
    base_url_variable = "OPENAI_BASE_URL"
    default_base_url = "https://api.openai.com/v1"
    takes_developers = True
    known_models: ClassVar[Mapping[str, ModelLimits]] = OPENAI_MODELS


class OpenAIProvider(OpenAIBase):
    """Sends chat prompts to OpenAI, or to a compatible server, at `{base_url}/chat/completions`.

    Args:
        model: the model's name.
        base_url: including the version; `None` reads it in a live run from the environment variable
            `OPENAI_BASE_URL`, and without that it is `https://api.openai.com/v1`.
        max_tokens_parameter: the name under which `max_output_tokens` is sent; older servers want `max_tokens`.
        settings: see `ChatSettings`.
    """

    vendor = "OpenAI"
    offline_api = "openai-chat"
    max_tokens_parameter: MaxTokensParameter = "max_completion_tokens"
    # Those that chat completions have; Responses has more.
    tool_types: ClassVar[tuple[str, ...]] = ("function", "custom")
    setting_fields: Mapping[str, SettingField] = {
        "temperature": SettingField(("temperature",)),
        "max_output_tokens": SettingField(("max_completion_tokens",)),
        "top_p": SettingField(("top_p",)),
        "stop": SettingField(("stop",)),
        "seed": SettingField(("seed",)),
        "reasoning_effort": SettingField(("reasoning_effort",)),
    }
    name = "openai"
    media: ClassVar[MediaTable] = OPENAI_MEDIA
    rules: ClassVar[tuple[Rule, ...]] = OPENAI_RULES

    def __init__(
        self,
        *,
        base_url: str | None = None,
        max_tokens_parameter: MaxTokensParameter | None = None,
        **settings: Unpack[ChatProviderArguments],
    ) -> None:
        super().__init__(base_url=base_url, **settings)
        if max_tokens_parameter is not None:
            check_setting(self, "max_tokens_parameter", max_tokens_parameter, MaxTokensParameter | None)
            self.max_tokens_parameter = max_tokens_parameter
        self.setting_fields = {**self.setting_fields, "max_output_tokens": SettingField((self.max_tokens_parameter,))}

    def endpoint_path(self) -> str:
        """`/chat/completions`."""
        return "/chat/completions"

    def build_payload(self, prompt: ChatPrompt) -> Payload:
        """The model's name, the messages unchanged, and the settings."""
        body: dict[str, Any] = {"model": self.model, "messages": [self._message(message) for message in prompt]}
        self.settings_body(body)
        return Payload(body)

    def model_parameters(self, body: Mapping[str, Any]) -> ModelParameters:
        """The model, which Azure has in the path, the temperature, and the token limit under either of its names."""
        max_output_tokens = body.get("max_completion_tokens", body.get("max_tokens"))
        return ModelParameters(str(body.get("model", self.model)), body.get("temperature"), max_output_tokens)

    def _message(self, message: ChatMessage) -> dict[str, Any]:
        return raw_message(message) or {**message.as_dict(), "content": self.text_or_blocks(message.content)}

    def tools_payload(self, tools: Sequence[Mapping[str, Any]]) -> Payload:
        """`tools`, each with its definition nested."""
        for index, tool in enumerate(tools):
            if tool["type"] not in (*self.tool_types, "raw"):
                raise PayloadError(
                    f"{self.vendor}'s chat completions have no tool of the type {tool['type']!r}; "
                    f"the types are {' and '.join(self.tool_types)}",
                    location=("tools", index),
                )
        return Payload({"tools": [tool["raw"] if tool["type"] == "raw" else _nested(tool) for tool in tools]})

    def tool_choice_payload(self, choice: str | Mapping[str, Any]) -> Payload:
        """`tool_choice`."""
        return Payload({"tool_choice": self._tool_choice(choice)})

    def _tool_choice(self, choice: str | Mapping[str, Any]) -> str | dict[str, Any]:
        if isinstance(choice, str):
            return choice
        nested = _nested(choice)
        if choice["type"] == "allowed_tools":
            allowed = nested["allowed_tools"]
            nested["allowed_tools"] = {**allowed, "tools": [self._tool_choice(tool) for tool in allowed["tools"]]}
        elif choice["type"] not in self.tool_types:
            raise PayloadError(
                f"{self.vendor}'s chat completions cannot choose a tool of the type {choice['type']!r}; "
                "choose a function",
                location=("tool_choice",),
            )
        return nested

    def response_format_payload(self, response_format: Mapping[str, Any]) -> Payload:
        """`response_format`, with its schema nested."""
        is_schema = response_format["type"] == "json_schema"
        return Payload({"response_format": _nested(response_format) if is_schema else dict(response_format)})

    def read_reply(self, data: Any) -> ProviderResponse:
        """Read the first choice; a refusal or a filtered answer sets `blocked`."""
        choice = data["choices"][0]
        message, reason = choice["message"], choice.get("finish_reason")
        content = message.get("content")
        if isinstance(content, list):
            content = "".join(part["text"] for part in content if part.get("type") == "text")
        return make_response(
            data,
            content or "",
            function_calls(message),
            finish_reason=reason,
            blocked=message.get("refusal") or ("content_filter" if reason == "content_filter" else None),
        )


def function_calls(message: Mapping[str, Any]) -> list[tuple[str, str, Any]]:
    """The ids, names and arguments of the calls in the message of a reply; of custom tools there are none."""
    calls = [(call["id"], call["function"]) for call in message.get("tool_calls") or () if "function" in call]
    return [(call_id, function["name"], function["arguments"]) for call_id, function in calls]


class CompatibleProvider(OpenAIProvider):
    """Sends chat prompts to a server with OpenAI's chat completions, at `{base_url}/chat/completions`.

    Args:
        model: the model's name.
        base_url: including the version; `None` reads it from the variable `base_url_variable`, if that is set.
        max_tokens_parameter: the name under which `max_output_tokens` is sent; these servers know the older one.
        settings: see `ChatSettings`.
    """

    # OpenAI's prices are not theirs.
    price_vendor: ClassVar[str] = ""
    base_url_variable: ClassVar[str] = ""
    default_base_url: ClassVar[str] = ""
    # What is known about OpenAI's models says nothing about others.
    known_models: ClassVar[Mapping[str, ModelLimits]] = {}
    default_model: ClassVar[str] = ""
    max_tokens_parameter = "max_tokens"


def _nested(data: Mapping[str, Any]) -> dict[str, Any]:
    """A tool, a choice or a format with its definition below the name of its type, as chat completions have it."""
    kind = data["type"]
    nested = dict(data) if kind in data else {"type": kind, kind: {k: v for k, v in data.items() if k != "type"}}
    form = nested[kind].get("format") if kind == "custom" else None
    if isinstance(form, Mapping) and form.get("type") == "grammar":
        # The grammar of a custom tool is nested too.
        nested[kind] = {**nested[kind], "format": _nested(form)}
    return nested


# (type, code) where OpenAI's own error has others than the word for the status.
_TYPES_AND_CODES: Final = {
    401: ("invalid_request_error", "invalid_api_key"),
    404: ("invalid_request_error", "model_not_found"),
    413: ("invalid_request_error", "request_too_large"),
    429: ("requests", "rate_limit_exceeded"),
}


class OpenAIErrors(ModelAPI):
    """The errors of OpenAI's APIs."""

    error_words: ClassVar[Mapping[int, str]] = {**ERROR_WORDS, 5: "server_error"}

    def error_body(self, model_request: ModelRequest, status: int, message: str) -> Any:  # noqa: ARG002 - the same for all
        """The body of an error in OpenAI's shape."""
        kind, code = _TYPES_AND_CODES.get(status, (self.error_word(status), None))
        return {"error": {"message": message, "type": kind, "param": None, "code": code}}


class OpenAIChat(OpenAIErrors, ChatAPI):
    """OpenAI's chat completions."""

    prompt_keys = ("model", "response_format", "tools", "messages")

    def body(self, model_request: ModelRequest, answer: Answer) -> dict[str, Any]:
        """A `ChatCompletion` with as many choices as `n` says."""
        choice = {"message": self.message(answer), "logprobs": None, "finish_reason": self.finish_reason(answer)}
        return {
            "id": f"chatcmpl-{answer.digest[:24]}",
            "object": "chat.completion",
            "created": CREATED,
            "model": model_request.replied_model,
            "choices": [{"index": index, **choice} for index in choices(model_request.body.get("n"))],
            "usage": {
                "prompt_tokens": answer.input_tokens,
                "completion_tokens": answer.output_tokens,
                "total_tokens": answer.total_tokens,
                "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
            },
            "service_tier": "default",
            "system_fingerprint": "fp_offline",
        }

    def message(self, answer: Answer) -> dict[str, Any]:
        """The message of each choice."""
        calls = {"tool_calls": [*map(written_call, answer.tool_calls)]} if answer.tool_calls else {}
        return {"role": "assistant", "content": answer.text, "refusal": None, "annotations": [], **calls}

    def stream(self, model_request: ModelRequest, body: dict[str, Any]) -> Iterator[bytes]:
        """`ChatCompletionChunk`s; the usage last, if `stream_options` asks for it."""
        wants_usage = as_mapping(model_request.body.get("stream_options")).get("include_usage") is True
        head = {key: body[key] for key in body if key not in ("choices", "usage")} | {"object": "chat.completion.chunk"}
        more = {"usage": None} if wants_usage else {}
        for choice in body["choices"]:
            chunk = {"index": choice["index"], "logprobs": None, "finish_reason": None}
            for delta in _deltas(choice["message"]):
                yield server_sent_event({**head, "choices": [{**chunk, "delta": delta}], **more})
            ended = {**chunk, "delta": {}, "finish_reason": choice["finish_reason"]}
            yield server_sent_event({**head, "choices": [ended], **more})
        if wants_usage:
            yield server_sent_event({**head, "choices": [], "usage": body["usage"]})
        yield b"data: [DONE]\n\n"

    def join_stream(self, events: Sequence[Any]) -> Any:
        """The chunks put together; the deltas of the first choice are its message."""
        whole = joined_chunks(events, "choices")
        return {**whole, "choices": [{**choice, "message": choice["delta"]} for choice in whole["choices"]]}

    def read_conversation(self, body: Any) -> Conversation:
        """Read `messages`."""
        return Conversation(tuple(map(read_chat_message, as_items(as_mapping(body).get("messages")))))


def written_call(call: AnswerToolCall) -> dict[str, Any]:
    """A tool call of an answer as chat completions have it."""
    if call.takes_text:
        return {"id": call.id, "type": "custom", "custom": {"name": call.name, "input": call.input}}
    function = {"name": call.name, "arguments": json_text(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _deltas(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The pieces of a message."""
    yield {"role": "assistant", "content": "" if message["content"] is not None else None, "refusal": None}
    for piece in pieces(message["content"] or ""):
        yield {"content": piece}
    for index, call in enumerate(message.get("tool_calls") or ()):
        kind, text = ("custom", "input") if "custom" in call else ("function", "arguments")
        yield {"tool_calls": [{"index": index, **call, kind: {**call[kind], text: ""}}]}
        for piece in pieces(call[kind][text]):
            yield {"tool_calls": [{"index": index, kind: {text: piece}}]}


def read_chat_message(message: Any) -> ConversationTurn:
    """Read a message of chat completions, and of APIs that resemble them; also an invalid one."""
    role, content = role_and_parts(message, read_chat_part)
    if not isinstance(message, Mapping) or role == "unknown":
        return ConversationTurn(role, content)
    parts = [*content, *read_images(message.get("images"))]
    # The last one is Ollama's, as are `images` and `tool_name`.
    for key in ("reasoning_content", "reasoning", "thinking"):
        if isinstance(message.get(key), str):
            parts.insert(0, Thought(message[key]))
    if message.get("refusal") is not None:
        parts.append(as_text(message["refusal"]))
    if message.get("tool_plan"):
        # What Cohere says before calls.
        parts.insert(0, as_text(message["tool_plan"]))
    if isinstance(message.get("audio"), Mapping):
        parts.append(SentMedia("audio", source=as_text(message["audio"].get("id"))))
    if role == "tool":
        name = as_text(first_of(message, "tool_name", "name"))
        result = result_parts(parts, lambda part: (part,))
        return ConversationTurn(role, result, name, as_text(message.get("tool_call_id")))
    parts += map(_read_call, as_items(message.get("tool_calls")))
    if message.get("function_call") is not None:
        parts.append(_read_call({"function": message["function_call"]}))
    return ConversationTurn(role, tuple(parts), as_text(message.get("name")))


def read_images(images: Any) -> list[Part]:
    """Read Ollama's `images`, which are base64."""
    return [read_base64(image, "", "image") for image in as_items(images)]


def read_chat_part(part: Any) -> Iterable[Part]:
    """Read one part of a content, also of Responses: a text, an image, audio, a file."""
    kind = as_mapping(part).get("type")
    if kind in ("text", "refusal", "input_text", "output_text"):
        yield as_text(part.get("text" if kind != "refusal" else "refusal"))
    elif kind in ("image_url", "document_url", "video_url", "audio_url") and kind in part:
        url = part[kind]
        yield read_url(url.get("url") if isinstance(url, Mapping) else url, kind.removesuffix("_url"))
    elif kind == "input_image":
        url = part.get("image_url")
        yield SentMedia("image", source=as_text(part.get("file_id"))) if url is None else read_url(url, "image")
    elif kind == "input_audio" and "input_audio" in part:
        audio = part["input_audio"]
        data, name = (audio.get("data"), audio.get("format")) if isinstance(audio, Mapping) else (audio, "")
        yield read_base64(data, f"audio/{as_text(name)}" if name else "", "audio")
    elif kind == "input_file" or (kind == "file" and isinstance(part.get("file"), Mapping)):
        yield _read_file(as_mapping(part.get("file")) or part)
    elif kind == "thinking":
        texts = read_parts(part.get("thinking"), read_chat_part)
        yield Thought("\n".join(map(str, texts)))
    else:
        yield UnreadPart(json_text(part))


def _read_file(file: Mapping[str, Any]) -> SentMedia:
    """Read a file that is named by its id or its URL, or is given as data."""
    name, data = first_of(file, "filename", "file_name"), file.get("file_data")
    if data is None:
        return SentMedia("document", source=as_text(first_of(file, "file_id", "file_url", "filename")))
    if str(data).startswith("data:"):
        return read_url(data, name=name)
    # OpenRouter takes URLs there too.
    return read_url(data, "document") if "://" in str(data) else read_base64(data, "", "document", name)


def _read_call(call: Any) -> Part:
    function = first_of(as_mapping(call), "function", "custom")
    if not isinstance(function, Mapping):
        return UnreadPart(json_text(call))
    return read_call(function.get("name"), first_of(function, "arguments", "input"), as_mapping(call).get("id"))
