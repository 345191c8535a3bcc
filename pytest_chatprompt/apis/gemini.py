"""Google's Gemini API, and Vertex's: `generateContent` and `streamGenerateContent`.

Sources: https://ai.google.dev/api/generate-content, https://ai.google.dev/api/caching, and the package `google-genai`
(`types.py`, `models.py`, `_api_client.py`). Google's APIs take the names of fields in camel case and in snake case
(https://protobuf.dev/programming-guides/json/).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, ClassVar, Final
from urllib.parse import quote

import httpx

from pytest_chatprompt.apis import message_rules, option_rules
from pytest_chatprompt.apis.chat_provider import BlocksProvider
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
    kind_of,
    read_base64,
    read_call,
    read_messages,
    result_parts,
)
from pytest_chatprompt.apis.fitting import split_prompt
from pytest_chatprompt.apis.model_api import (
    ChatAPI,
    FinishReasons,
    choices,
    joined_chunks,
    json_bytes,
    make_response,
    pieces,
    server_sent_event,
)
from pytest_chatprompt.apis.preflight import ModelLimits, ModelParameters, Rule, about_calls
from pytest_chatprompt.apis.reply import Answer, Definitions, ModelRequest
from pytest_chatprompt.apis.vendor_api import (
    Blocks,
    MediaSupport,
    MediaTable,
    Payload,
    SettingField,
    effort_among,
    given,
    left_out,
    to_list,
)
from pytest_chatprompt.prompt.chat_prompt import ChatMessage, ChatPrompt, JSONResult, Media, content_parts
from pytest_chatprompt.prompt.request import FunctionTool, output_schema, read_tool_choice, require_functions
from pytest_chatprompt.providers.response import ProviderResponse
from pytest_chatprompt.text.json_data import thaw


def _part(media: Media) -> dict[str, Any]:
    media_type = "audio/mp3" if media.media_type == "audio/mpeg" else media.media_type
    if media.content is None:
        return {"fileData": {"mimeType": media_type, "fileUri": media.url}}
    return {"inlineData": {"mimeType": media_type, "data": media.base64}}


# The finish reasons of an answer that was withheld (`FinishReason` of google-genai).
_BLOCKING_REASONS: Final = frozenset(
    {"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "IMAGE_SAFETY"}
)

# `ThinkingLevel` of google-genai
_effort: Final = effort_among("Gemini", "minimal", "low", "medium", "high", "xhigh", write=str.upper)

_GENERATE: Final = "https://ai.google.dev/api/generate-content"
_TOOLS: Final = "https://ai.google.dev/gemini-api/docs/function-calling"
_THOUGHTS: Final = "https://ai.google.dev/gemini-api/docs/thought-signatures"
_MODELS: Final = "https://ai.google.dev/gemini-api/docs/models"
_SDK: Final = "https://github.com/googleapis/python-genai/blob/main/README.md"
_NAME: Final = (r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}", "a letter or _, then up to 127 of a-z, A-Z, 0-9, _ . : -")


class GeminiProvider(BlocksProvider):
    """Sends chat prompts to Gemini, at `{base_url}/{api_version}/models/{model}:generateContent`.

    Args:
        model: the model's name, or its whole resource name (`tunedModels/...`).
        base_url: without the version; `None` reads it in a live run from the environment variable
            `GOOGLE_GEMINI_BASE_URL`, and without that it is `https://generativelanguage.googleapis.com`.
        api_version: the API's version, `v1` or `v1beta`.
        settings: see `ChatSettings`.
    """

    default_model = "gemini-3.8-flash"
    # The default of the SDK since its version 3 (google-genai 3.4, `_api_client.py`: `GOOGLE_AI_API_DEFAULT_VERSION`).
    default_api_version = "v1"
    vendor = "Gemini"
    price_vendor = "google"
    key_variable = "GEMINI_API_KEY"
    # google-genai 3.4 `_base_url.py`
    base_url_variable = "GOOGLE_GEMINI_BASE_URL"
    default_base_url = "https://generativelanguage.googleapis.com"
    offline_api = "gemini"
    setting_fields: Mapping[str, SettingField] = {
        "temperature": SettingField(("generationConfig", "temperature")),
        "max_output_tokens": SettingField(("generationConfig", "maxOutputTokens")),
        "top_p": SettingField(("generationConfig", "topP")),
        "stop": SettingField(("generationConfig", "stopSequences"), to_list),
        "seed": SettingField(("generationConfig", "seed")),
        "reasoning_effort": SettingField(("generationConfig", "thinkingConfig", "thinkingLevel"), _effort),
    }
    name = "gemini"
    media: ClassVar[MediaTable] = {
        # The model makes images too, which a conversation sends back to it.
        "image": MediaSupport(
            _part,
            roles=("user", "assistant", "tool"),
            takes_urls=True,
            needs_type_of_urls=True,
            media_types=("image/png", "image/jpeg", "image/webp"),
        ),
        # In a tool's result since Gemini 3: https://ai.google.dev/gemini-api/docs/function-calling#multimodal
        "document": MediaSupport(_part, roles=("user", "tool"), takes_urls=True, needs_type_of_urls=True),
        "audio": MediaSupport(_part, takes_urls=True, needs_type_of_urls=True),
    }
    takes_tool_errors = True
    takes_json_results = True
    # Two tools of one name are refused by the API's own error alone: "Duplicate function declaration found: ...".
    rules = (
        *option_rules.block_rules(_TOOLS, _GENERATE, _TOOLS, _TOOLS, _NAME),
        about_calls("tool-call-order", _TOOLS, message_rules.calls_after_an_answer),
        about_calls("thought-signature", _THOUGHTS, message_rules.calls_without_thought_signatures),
        Rule("last-turn", _GENERATE, message_rules.assistant_message_last),
        Rule("model-alias", _SDK, option_rules.aliases_of_beta),
        Rule("output-cap", _MODELS, option_rules.max_output_tokens_above_limit),
        Rule("temperature", _GENERATE, option_rules.temperature_range(2)),
    )
    known_models: ClassVar[Mapping[str, ModelLimits]] = {
        "gemini-2.0-flash*": ModelLimits(max_output_tokens=8_192),
        "gemini-2.5-flash-lite*": ModelLimits(max_output_tokens=65_536),
        "gemini-3*-lite*": ModelLimits(thought_signatures=True),
        "gemini-3*": ModelLimits(max_output_tokens=65_536, thought_signatures=True),
    }
    api_version: str

    def endpoint_path(self) -> str:
        """The path of the model, which only the path names."""
        resource = self.model if "/" in self.model else f"models/{self.model}"
        return f"/{quote(self.api_version, safe='')}/{quote(resource)}:generateContent"

    def auth_headers(self, key: str) -> dict[str, str]:
        """The key in a header, never in the URL."""
        return {"x-goog-api-key": key} if key else {}

    def build_payload(self, prompt: ChatPrompt) -> Payload:
        """The system text as `systemInstruction`, the turns as `contents` of the roles `user` and `model`."""
        split = split_prompt(prompt, self.vendor)
        body: dict[str, Any] = {}
        if split.system:
            body["systemInstruction"] = {"parts": self.content_blocks(split.system)}
        roles = {"assistant": "model"}
        body["contents"] = [
            turn.raw or {"role": roles.get(turn.message.role, "user"), "parts": self.turn_blocks(turn)}
            for turn in split.turns
        ]
        self.settings_body(body)
        return Payload(body, split.adjustments)

    def text_block(self, text: str) -> dict[str, Any]:
        """A `Part` with a text."""
        return {"text": text}

    @staticmethod
    def call_block(call_id: str, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """A `Part` with a `FunctionCall`."""
        return {"functionCall": {"id": call_id, "name": name, "args": arguments}}

    def result_block(self, result: ChatMessage) -> dict[str, Any]:
        """A `Part` with a `FunctionResponse`; what is raw has no place in it."""
        content = content_parts(result.content)
        data = next((part.data for part in content if isinstance(part, JSONResult)), None)
        output = "\n".join(part for part in content if isinstance(part, str)) if data is None else thaw(data)
        if result.is_error:
            output = {"error": output}
        elif data is None:
            output = {"result": output}
        parts = [_part(part) for part in content if isinstance(part, Media)] or None
        return {"functionResponse": given(id=result.tool_call_id, name=result.name, response=output, parts=parts)}

    def tools_payload(self, tools: Sequence[Mapping[str, Any]]) -> Payload:
        """`tools` with the declarations of all functions."""
        functions = require_functions(tools, self.vendor)
        adjustments = tuple(
            f"tool {function.name}: strict left out, {self.vendor} has none"
            for function in functions
            if function.strict is not None
        )
        # The SDK puts all functions into the last tool.
        payload = [tool["raw"] for tool in tools if tool["type"] == "raw"]
        if functions:
            payload.append({"functionDeclarations": [_declaration(function) for function in functions]})
        return Payload({"tools": payload}, adjustments)

    def tool_choice_payload(self, choice: str | Mapping[str, Any]) -> Payload:
        """`toolConfig` with the mode, and the names of the functions to choose from."""
        read = read_tool_choice(choice, self.vendor)
        # The mode `AUTO` takes no names (`FunctionCallingConfigMode` of google-genai 3.4).
        is_auto_list = read.is_list and read.mode == "auto"
        config: dict[str, Any] = {"mode": "VALIDATED" if is_auto_list else _MODES[read.mode]}
        if read.names:
            config["allowedFunctionNames"] = list(read.names)
        return Payload({"toolConfig": {"functionCallingConfig": config}})

    def response_format_payload(self, response_format: Mapping[str, Any]) -> Payload:
        """The media type and the schema, in `generationConfig`."""
        schema = output_schema(response_format)
        if schema is None:
            # Text is what the API answers with by default.
            is_json = response_format["type"] == "json_object"
            return Payload({"generationConfig": {"responseMimeType": _JSON}} if is_json else {})
        config = {"responseMimeType": _JSON, "responseJsonSchema": schema.schema}
        return Payload({"generationConfig": config}, left_out(schema, self.vendor, "name", "description", "strict"))

    def model_parameters(self, body: Mapping[str, Any]) -> ModelParameters:
        """The model that the path names, and the parameters in `generationConfig`."""
        return super().model_parameters(body)._replace(model=self.model.rpartition("/")[2])

    def read_reply(self, data: Any) -> ProviderResponse:
        """Read the first candidate, without its thoughts; a blocked prompt or answer sets `blocked`."""
        block_reason = (data.get("promptFeedback") or {}).get("blockReason")
        candidate = {} if block_reason else data["candidates"][0]
        parts = (candidate.get("content") or {}).get("parts") or []
        reason = candidate.get("finishReason")
        calls = [part["functionCall"] for part in parts if part.get("functionCall")]
        return make_response(
            data,
            "".join(part.get("text", "") for part in parts if not part.get("thought")),
            # Older models send no id with a call.
            [(call.get("id") or call["name"], call["name"], call.get("args") or {}) for call in calls],
            data.get("usageMetadata"),
            finish_reason=reason,
            blocked=block_reason or (reason if reason in _BLOCKING_REASONS else None),
        )


_MODES: Final = {"auto": "AUTO", "none": "NONE", "required": "ANY"}
_JSON: Final = "application/json"


def _declaration(tool: FunctionTool) -> dict[str, Any]:
    return given(name=tool.name, description=tool.description, parametersJsonSchema=tool.parameters)


_SNAKE_CASE: Final = re.compile(r"(?<!^)_([a-z])")
# What is under these in a schema has names as its keys.
_NAMED: Final = ("properties", "$defs", "defs", "definitions")


class GeminiGenerateContent(ChatAPI):
    """Gemini's `generateContent` and `streamGenerateContent`, of any version, and Vertex's."""

    call_ids = "{digest}"
    prompt_keys = ("systemInstruction", "system_instruction", "tools", "contents")
    # It counts towards the limit of the input: https://firebase.google.com/docs/ai-logic/generate-structured-output
    schema_paths = (
        *product(["generationConfig"], ["responseSchema", "responseJsonSchema", "_responseJsonSchema"]),
        *product(["generation_config"], ["response_schema", "response_json_schema"]),
    )
    finish_reasons = FinishReasons("STOP", "MAX_TOKENS", "STOP", "SAFETY")
    # https://ai.google.dev/gemini-api/docs/troubleshooting, https://cloud.google.com/apis/design/errors
    error_words: ClassVar[Mapping[int, str]] = {
        401: "UNAUTHENTICATED",
        403: "PERMISSION_DENIED",
        404: "NOT_FOUND",
        408: "DEADLINE_EXCEEDED",
        409: "ABORTED",
        429: "RESOURCE_EXHAUSTED",
        4: "INVALID_ARGUMENT",
        500: "INTERNAL",
        504: "DEADLINE_EXCEEDED",
        5: "UNAVAILABLE",
    }

    def api_version(self, request: httpx.Request) -> str | None:
        """The version that the path begins with."""
        return request.url.path.split("/")[1]

    def is_streamed(self, model_request: ModelRequest) -> bool:
        """Whether the path asks for a stream."""
        return model_request.path.endswith(":streamGenerateContent")

    def headers(self, model_request: ModelRequest) -> Mapping[str, str]:
        """The media type of a stream: a JSON array, or events if the query asks for them."""
        is_array = self.is_streamed(model_request) and model_request.query.get("alt") != "sse"
        return {"content-type": "application/json; charset=UTF-8"} if is_array else {}

    def definitions(self, body: Mapping[str, Any]) -> Definitions:
        """Read `tools`, `toolConfig` and `generationConfig`."""
        tools: Blocks = []
        for tool in map(as_mapping, as_items(body.get("tools"))):
            functions = _get(tool, "functionDeclarations")
            for function in map(as_mapping, as_items(functions)):
                schema = _get(function, "parametersJsonSchema") or function.get("parameters")
                tools.append({**function, "type": "function", "parameters": _with_camel_case(schema)})
            if functions is None:
                tools.append({"type": "raw", "raw": tool})
        config = as_mapping(_get(body, "toolConfig"))
        calling = as_mapping(_get(config, "functionCallingConfig"))
        allowed = as_items(_get(calling, "allowedFunctionNames"))
        modes = {"AUTO": "auto", "VALIDATED": "auto", "NONE": "none", "ANY": "required"}
        mode = modes.get(as_text(calling.get("mode")).upper())
        choice: Any = mode
        if allowed and mode in ("auto", "required"):
            choice = {"type": "allowed_tools", "mode": mode, "tools": [{"name": name} for name in allowed]}
        return Definitions.read(tools, choice, schema=_schema(body))

    def body(self, model_request: ModelRequest, answer: Answer) -> dict[str, Any]:
        """The body of the reply, a `GenerateContentResponse`."""
        config = as_mapping(_get(model_request.body, "generationConfig"))
        text = answer.text
        if text is not None and _get(config, "responseMimeType") == "text/x.enum":
            # The value without its quotes.
            text = text.strip('"')
        parts: Blocks = [] if text is None else [{"text": text}]
        parts += [GeminiProvider.call_block(call.id, call.name, call.arguments) for call in answer.tool_calls]
        candidate = {"content": {"parts": parts, "role": "model"}, "finishReason": self.finish_reason(answer)}
        return {
            "candidates": [{**candidate, "index": index} for index in choices(_get(config, "candidateCount"))],
            "usageMetadata": {
                "promptTokenCount": answer.input_tokens,
                "candidatesTokenCount": answer.output_tokens,
                "totalTokenCount": answer.total_tokens,
            },
            "modelVersion": model_request.replied_model,
            "responseId": answer.digest[:24],
        }

    def stream(self, model_request: ModelRequest, body: dict[str, Any]) -> Iterator[bytes]:
        """Events, or the items of a JSON array."""
        is_array = model_request.query.get("alt") != "sse"
        for index, chunk in enumerate(_chunks(body)):
            yield (b",\r\n" if index else b"[") + json_bytes(chunk) if is_array else server_sent_event(chunk)
        if is_array:
            yield b"]"

    def join_stream(self, events: Sequence[Any]) -> Any:
        """The chunks put together, with the first candidate."""
        return joined_chunks(events, "candidates")

    def error_body(self, model_request: ModelRequest, status: int, message: str) -> Any:
        """Google's error; in a JSON array, where the reply is one."""
        error: dict[str, Any] = {"code": status, "message": message, "status": self.error_word(status)}
        is_array = self.is_streamed(model_request) and model_request.query.get("alt") != "sse"
        return [{"error": error}] if is_array else {"error": error}

    def read_conversation(self, body: Any) -> Conversation:
        """Read `systemInstruction` and `contents`."""
        sent = as_mapping(body)
        system = _get(sent, "systemInstruction")
        system = as_mapping(system).get("parts", system)
        return read_messages(system, [*map(_with_role, as_items(sent.get("contents")))], _read_part, "parts")


def _with_role(content: Any) -> Any:
    """A content with a role, the user's where it has none; without parts it stays as JSON text."""
    if not isinstance(content, Mapping) or not isinstance(content.get("role") or "", str):
        return content
    return {"role": content.get("role") or "user", "parts": content.get("parts", json_text(content))}


def _schema(body: Mapping[str, Any]) -> Any:
    config = as_mapping(_get(body, "generationConfig"))
    schema = _get(config, "responseJsonSchema", "_responseJsonSchema", "responseSchema")
    if schema is not None:
        return _with_camel_case(schema)
    return {"type": "object"} if _get(config, "responseMimeType") == _JSON else None


def _with_camel_case(schema: Any) -> Any:
    """A schema with the keywords of JSON Schema: google-genai sends those inside of `responseSchema` in snake case."""
    if isinstance(schema, list):
        return [_with_camel_case(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        _camel_case(key): {name: _with_camel_case(each) for name, each in value.items()}
        if key in _NAMED and isinstance(value, Mapping)
        # Google's own types are in capitals.
        else value.lower()
        if key == "type" and isinstance(value, str)
        else _with_camel_case(value)
        for key, value in schema.items()
    }


def _camel_case(key: str) -> str:
    return _SNAKE_CASE.sub(lambda match: match[1].upper(), key)


def _get(fields: Mapping[str, Any], *names: str) -> Any:
    """The value of the first of some fields, whose names may be in snake case."""
    known = {_camel_case(key): value for key, value in fields.items()}
    return first_of(known, *names)


def _chunks(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The chunks of a stream, each with a piece of one candidate; the last one of each has its finish reason."""
    for candidate in body["candidates"]:
        place = {"index": candidate["index"]}
        for part in candidate["content"]["parts"]:
            inner = [{"text": piece} for piece in pieces(part["text"])] if "text" in part else [part]
            for piece in inner:
                yield {**body, "candidates": [{"content": {"parts": [piece], "role": "model"}, **place}]}
        ended = {"content": {"parts": [{"text": ""}], "role": "model"}, "finishReason": candidate["finishReason"]}
        yield {**body, "candidates": [{**ended, **place}]}


def _read_part(part: Any) -> Iterable[Part | ConversationTurn]:
    content = as_mapping(part)
    inline, file = _get(content, "inlineData"), _get(content, "fileData")
    call = _get(content, "functionCall")
    response = _get(content, "functionResponse")
    if content.get("text") is not None:
        yield Thought(as_text(content["text"])) if content.get("thought") is True else as_text(content["text"])
    elif isinstance(inline, Mapping):
        yield read_base64(inline.get("data"), _get(inline, "mimeType"), name=_get(inline, "displayName"))
    elif isinstance(file, Mapping):
        media_type = as_text(_get(file, "mimeType"))
        yield SentMedia(kind_of(media_type), media_type, source=as_text(_get(file, "fileUri")))
    elif isinstance(call, Mapping):
        yield read_call(call.get("name"), call.get("args"), call.get("id"))
    elif isinstance(response, Mapping):
        yield _read_response(response)
    else:
        yield UnreadPart(json_text(part))


def _read_response(response: Mapping[str, Any]) -> ConversationTurn:
    result = response.get("response")
    is_error = isinstance(result, Mapping) and "error" in result
    # The SDK puts other values than mappings under `result` or `output`.
    if isinstance(result, Mapping) and len(result) == 1:
        result = next((result[key] for key in ("result", "output", "error") if key in result), result)
    parts = (as_text(result), *result_parts(response.get("parts"), _read_part))
    return ConversationTurn("tool", parts, as_text(response.get("name")), as_text(response.get("id")), is_error)
