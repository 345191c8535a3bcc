"""Google's Gemini API, and Vertex's: `generateContent` and `streamGenerateContent`.

Source: https://ai.google.dev/api/generate-content, and the package `google-genai` (`types.py`, `_api_client.py`).
`table` lists the API; `gemini_contents` reads its requests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from pytest_chatprompt.capture.apis.completion import Answer
from pytest_chatprompt.capture.apis.conversation import Conversation
from pytest_chatprompt.capture.apis.gemini_contents import read_contents
from pytest_chatprompt.capture.apis.model_api import ChatAPI
from pytest_chatprompt.capture.apis.model_request import Demand, ModelRequest, Tool, force
from pytest_chatprompt.capture.apis.reading import as_items, as_mapping, as_text, first_of
from pytest_chatprompt.capture.apis.reply_stream import json_bytes, pieces, server_sent_event

_PATH = re.compile(r"([^/:]+):(g|streamG)enerateContent$")
_MOST_CANDIDATES = 8


_CAMEL_CASE: Final = {
    "any_of": "anyOf",
    "min_items": "minItems",
    "max_items": "maxItems",
    "min_length": "minLength",
    "max_length": "maxLength",
    "min_properties": "minProperties",
    "max_properties": "maxProperties",
    "prefix_items": "prefixItems",
    "additional_properties": "additionalProperties",
}


class GeminiGenerateContent(ChatAPI):
    """Gemini's `generateContent` and `streamGenerateContent`, of any version, and Vertex's."""

    name = "gemini"
    path = rf"/{_PATH.pattern}"
    prompt_keys = ("systemInstruction", "system_instruction", "tools", "contents")
    finish_reasons: ClassVar[Mapping[str, str]] = {
        "stop": "STOP",
        "length": "MAX_TOKENS",
        "tool_calls": "STOP",
        "content_filter": "SAFETY",
    }
    # https://ai.google.dev/gemini-api/docs/troubleshooting, https://cloud.google.com/apis/design/errors
    error_words: ClassVar[Mapping[int, str]] = {
        400: "INVALID_ARGUMENT",
        401: "UNAUTHENTICATED",
        403: "PERMISSION_DENIED",
        404: "NOT_FOUND",
        408: "DEADLINE_EXCEEDED",
        409: "ABORTED",
        413: "INVALID_ARGUMENT",
        422: "INVALID_ARGUMENT",
        429: "RESOURCE_EXHAUSTED",
        500: "INTERNAL",
        503: "UNAVAILABLE",
        504: "DEADLINE_EXCEEDED",
        529: "UNAVAILABLE",
    }

    def is_streamed(self, model_request: ModelRequest) -> bool:
        """Whether the path asks for a stream."""
        return model_request.path.endswith(":streamGenerateContent")

    def headers(self, model_request: ModelRequest) -> Mapping[str, str]:
        """The media type of a stream: a JSON array, or events if the query asks for them."""
        is_array = self.is_streamed(model_request) and model_request.query.get("alt") != "sse"
        return {"content-type": "application/json; charset=UTF-8"} if is_array else {}

    def demand(self, model_request: ModelRequest) -> Demand:
        """Read `generationConfig` and `toolConfig`."""
        tools = [
            Tool(
                function["name"],
                _with_camel_case(
                    first_of(function, "parametersJsonSchema", "parameters_json_schema", "parameters") or {}
                ),
            )
            for tool in map(as_mapping, as_items(model_request.body.get("tools")))
            for function in map(as_mapping, as_items(first_of(tool, "functionDeclarations", "function_declarations")))
            if isinstance(function.get("name"), str)
        ]
        config = as_mapping(first_of(model_request.body, "toolConfig", "tool_config"))
        calling = as_mapping(first_of(config, "functionCallingConfig", "function_calling_config"))
        allowed = first_of(calling, "allowedFunctionNames", "allowed_function_names")
        is_forced = as_text(calling.get("mode")).upper() == "ANY"
        forced = force(tools, as_items(allowed) if allowed else None) if is_forced else ()
        return Demand(tools, forced, _schema(model_request.body))

    def body(self, model_request: ModelRequest, answer: Answer) -> dict[str, Any]:
        """The body of the reply, a `GenerateContentResponse`."""
        parts: list[dict[str, Any]] = []
        if answer.text is not None:
            parts.append({"text": _unquoted(model_request.body, answer.text)})
        parts += [
            {"functionCall": {"id": call.id or call.digest, "name": call.name, "args": call.arguments}}
            for call in answer.tool_calls
        ]
        config = as_mapping(first_of(model_request.body, "generationConfig", "generation_config"))
        count = first_of(config, "candidateCount", "candidate_count")
        count = min(count, _MOST_CANDIDATES) if isinstance(count, int) and count > 0 else 1
        candidate = {"content": {"parts": parts, "role": "model"}, "finishReason": self.finish_reason(answer)}
        model = _PATH.search(model_request.path)
        return {
            "candidates": [{**candidate, "index": index} for index in range(int(count))],
            "usageMetadata": {
                "promptTokenCount": answer.input_tokens,
                "candidatesTokenCount": answer.output_tokens,
                "totalTokenCount": answer.total_tokens,
            },
            "modelVersion": model_request.model if model is None else model[1],
            "responseId": answer.digest[:24],
        }

    def stream(self, model_request: ModelRequest, body: dict[str, Any]) -> Iterator[bytes]:
        """Events, or the items of a JSON array."""
        is_array = model_request.query.get("alt") != "sse"
        for index, chunk in enumerate(_chunks(body)):
            yield (b",\r\n" if index else b"[") + json_bytes(chunk) if is_array else server_sent_event(chunk)
        if is_array:
            yield b"]"

    def error_body(self, model_request: ModelRequest, status: int, message: str) -> Any:
        """Google's error; in a JSON array, where the reply is one."""
        error: dict[str, Any] = {"code": status, "message": message, "status": self.error_words.get(status, "UNKNOWN")}
        is_array = self.is_streamed(model_request) and model_request.query.get("alt") != "sse"
        return [{"error": error}] if is_array else {"error": error}

    def read_conversation(self, path: str, body: Any) -> Conversation:  # noqa: ARG002 - the path says nothing
        """Read `systemInstruction` and `contents`."""
        return Conversation(read_contents(as_mapping(body)))


def _schema(body: Mapping[str, Any]) -> Any:
    config = as_mapping(first_of(body, "generationConfig", "generation_config"))
    media_type = first_of(config, "responseMimeType", "response_mime_type")
    schema = first_of(
        config, "responseJsonSchema", "response_json_schema", "_responseJsonSchema", "responseSchema", "response_schema"
    )
    if schema is not None:
        return _with_camel_case(schema)
    return {"type": "object"} if media_type == "application/json" else None


def _with_camel_case(schema: Any) -> Any:
    """A schema with the keywords of JSON Schema: google-genai sends those inside of `responseSchema` in snake case."""
    if isinstance(schema, list):
        return [_with_camel_case(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    converted = {_CAMEL_CASE.get(key, key): value for key, value in schema.items()}
    return {
        # The keys of `properties` are names.
        key: {name: _with_camel_case(each) for name, each in value.items()}
        if key == "properties" and isinstance(value, Mapping)
        else _with_camel_case(value)
        for key, value in converted.items()
    }


def _unquoted(body: Mapping[str, Any], text: str) -> str:
    """The text of a reply; for the media type `text/x.enum` the value without its quotes."""
    config = as_mapping(first_of(body, "generationConfig", "generation_config"))
    is_enum = first_of(config, "responseMimeType", "response_mime_type") == "text/x.enum"
    return text.strip('"') if is_enum else text


def _chunks(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The chunks of a stream, each with a piece of one candidate; the last one of each has its finish reason."""
    for candidate in body["candidates"]:
        for part in _pieces_of(candidate["content"]["parts"]):
            yield {**body, "candidates": [{"content": {"parts": [part], "role": "model"}, "index": candidate["index"]}]}
        ended = {"content": {"parts": [{"text": ""}], "role": "model"}, "finishReason": candidate["finishReason"]}
        yield {**body, "candidates": [{**ended, "index": candidate["index"]}]}


def _pieces_of(parts: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for part in parts:
        if "text" in part:
            yield from ({"text": piece} for piece in pieces(part["text"]))
        else:
            yield part
