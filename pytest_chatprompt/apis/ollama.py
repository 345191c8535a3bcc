"""Ollama: its chat completions, which are OpenAI's, and its own APIs, `/api/chat` and `/api/generate`.

Sources: https://docs.ollama.com/api/openai-compatibility, `openai/openai.go` of https://github.com/ollama/ollama, whose
`ChatCompletionRequest` has `max_tokens` and no `max_completion_tokens`; its document `api.md`, and the package `ollama`
(`_types.py`, `_client.py`).
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

import httpx

from pytest_chatprompt.apis import message_rules, option_rules
from pytest_chatprompt.apis.chat_provider import checked_url
from pytest_chatprompt.apis.conversation import Conversation, ConversationTurn, Part, as_items, as_mapping, as_text
from pytest_chatprompt.apis.model_api import ChatAPI, FinishReasons, joined, json_bytes, make_response, pieces
from pytest_chatprompt.apis.openai import OPENAI_MEDIA, CompatibleProvider, image_part, read_chat_message, read_images
from pytest_chatprompt.apis.preflight import Rule, about_calls, about_definitions
from pytest_chatprompt.apis.reply import Answer, Definitions, ModelRequest, Reply
from pytest_chatprompt.apis.vendor_api import MediaSupport, MediaTable
from pytest_chatprompt.providers.context import current_context
from pytest_chatprompt.providers.response import ProviderResponse

_PORT: Final = 11434

_SOURCE: Final = "https://github.com/ollama/ollama/blob/main/openai/openai.go"


class OllamaProvider(CompatibleProvider):
    """Sends chat prompts to Ollama, at `{base_url}/chat/completions`.

    Args:
        model: the model's name; `ollama list` shows those that are there.
        base_url: including the version; `None` reads it in a live run from the environment variable `OLLAMA_BASE_URL`,
            else from `OLLAMA_HOST`, which has none; without these it is `http://localhost:11434/v1`.
        max_tokens_parameter: the name under which `max_output_tokens` is sent; Ollama knows `max_tokens` only.
        settings: see `ChatSettings`. A key is sent where there is one: Ollama's cloud wants it.
    """

    # The model of the examples in Ollama's documentation.
    default_model = "gpt-oss:20b"
    vendor = "Ollama"
    key_variable = "OLLAMA_API_KEY"
    key_is_optional = True
    base_url_variable = "OLLAMA_BASE_URL"
    default_base_url = "http://localhost:11434/v1"
    name = "ollama"
    # `FromChatRequest` and `decodeImageURL` have parts of text, images and sounds, know three types of images, and
    # answer a URL with "image URLs are not currently supported"; `llm/media.go` tells WAV and MP3 from images. A tool
    # message in parts loses its call there.
    media: ClassVar[MediaTable] = {
        "image": MediaSupport(image_part, media_types=("image/png", "image/jpeg", "image/webp")),
        "audio": OPENAI_MEDIA["audio"],
    }
    takes_developers = False
    rules = (
        about_calls("tool-result-content", _SOURCE, message_rules.results_without_content),
        about_definitions("tool-choice-ignored", _SOURCE, option_rules.choices_ignored),
        about_definitions("custom-tool", _SOURCE, option_rules.custom_tools_misread),
        Rule("option-ignored", _SOURCE, option_rules.options_ignored),
    )

    def _configured_url(self) -> str:
        host = "" if current_context().is_offline else os.environ.get("OLLAMA_HOST", "")
        is_own = self.base_url_variable == OllamaProvider.base_url_variable
        if not host or not is_own or os.environ.get(self.base_url_variable):
            return super()._configured_url()
        return checked_url("OLLAMA_HOST", _url_of_host(host))


def _url_of_host(host: str) -> str:
    """The URL for a value of `OLLAMA_HOST`, such as `0.0.0.0` or `example.com:80` (ollama 0.6 `_client.py`)."""
    scheme, _, address = host.rpartition("://")
    try:
        parts = urlsplit(f"{scheme or 'http'}://{address}")
        port = parts.port or {"http": 80, "https": 443}.get(scheme, _PORT)
    except ValueError:
        # `checked_url` says what is wrong with it.
        return host
    name = parts.netloc.removesuffix(f":{parts.port}") or "127.0.0.1"
    return f"{parts.scheme}://{name}:{port}{parts.path.rstrip('/')}/v1"


class OllamaAPI(ChatAPI):
    """Base of Ollama's chat and generate APIs."""

    stream_type = "application/x-ndjson"
    finish_reasons = FinishReasons(tool_calls="stop")

    def claims(self, request: httpx.Request) -> bool:
        """Whether the body names a model: applications have a path `/api/chat` too."""
        return "model" in ModelRequest.from_httpx(request).body

    def is_streamed(self, model_request: ModelRequest) -> bool:
        """Whether the request asks for a stream, which is Ollama's default."""
        return model_request.body.get("stream") is not False

    def definitions(self, body: Mapping[str, Any]) -> Definitions:
        """Read `tools` and `format`; no field of Ollama forces a tool."""
        wanted = body.get("format")
        schema = {"type": "object"} if wanted == "json" else wanted if isinstance(wanted, Mapping) else None
        return Definitions.read(body.get("tools"), schema=schema)

    def body(self, model_request: ModelRequest, answer: Answer) -> dict[str, Any]:
        """The whole reply: the fields of the last line, with all of the answer."""
        calls = [{"function": {"name": call.name, "arguments": call.arguments}} for call in answer.tool_calls]
        return {
            "model": model_request.replied_model,
            "created_at": "2025-01-01T00:00:00Z",
            **self.content(answer.text or "", calls),
            "done": True,
            "done_reason": self.finish_reason(answer),
            "total_duration": 0,
            "load_duration": 0,
            "prompt_eval_count": answer.input_tokens,
            "prompt_eval_duration": 0,
            "eval_count": answer.output_tokens,
            "eval_duration": 0,
        }

    def read_reply(self, body: Any) -> ProviderResponse:
        """Read the text and the calls, which have no ids."""
        message = body.get("message") or {}
        calls = [call["function"] for call in message.get("tool_calls") or ()]
        return make_response(
            body,
            message.get("content") or body.get("response") or "",
            [(call["name"], call["name"], call["arguments"]) for call in calls],
            body,
            finish_reason=body.get("done_reason"),
        )

    def join_stream(self, events: Sequence[Any]) -> Any:
        """The lines put together."""
        return reduce(joined, events, {})

    @abstractmethod
    def content(self, text: str, calls: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
        """The fields of the body that hold an answer, or a piece of it."""

    def stream(self, model_request: ModelRequest, body: dict[str, Any]) -> Iterator[bytes]:  # noqa: ARG002 - all is in the body
        """A line of JSON for each piece."""
        message = body.get("message", {})
        contents = [self.content(piece) for piece in pieces(message.get("content") or body.get("response") or "")]
        if "tool_calls" in message:
            contents.append(self.content("", message["tool_calls"]))
        head = {"model": body["model"], "created_at": body["created_at"]}
        for content in contents:
            yield json_bytes({**head, **content, "done": False}) + b"\n"
        yield json_bytes({**body, **self.content("")}) + b"\n"

    def error_body(self, model_request: ModelRequest, status: int, message: str) -> Any:  # noqa: ARG002 - the same for all
        """The body of an error in Ollama's shape."""
        return {"error": message}


class OllamaChat(OllamaAPI):
    """Ollama's `/api/chat`."""

    # The model does not see the schema in `format`: a grammar holds it to it (ollama, `llm/llama_server.go`).
    prompt_keys = ("model", "tools", "messages")

    def content(self, text: str, calls: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
        """A message."""
        return {"message": {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}}

    def read_conversation(self, body: Any) -> Conversation:
        """Read `messages`."""
        return Conversation(tuple(map(read_chat_message, as_items(as_mapping(body).get("messages")))))


class OllamaGenerate(OllamaAPI):
    """Ollama's `/api/generate`, which has no tools."""

    prompt_keys = ("model", "template", "system", "prompt", "suffix")
    refusal = "/api/generate has no tools; queue a text for it, or ask /api/chat"

    def accepts(self, reply: Reply) -> bool:
        """Accept all replies but tool calls, which wait for a request to another API."""
        return not reply.tool_calls

    def content(self, text: str, calls: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:  # noqa: ARG002 - it has none
        """A text."""
        return {"response": text}

    def body(self, model_request: ModelRequest, answer: Answer) -> dict[str, Any]:
        """The whole reply, with a context."""
        return {**super().body(model_request, answer), "context": []}

    def read_conversation(self, body: Any) -> Conversation:
        """Read `system`, `prompt`, `suffix` and `images`."""
        sent = as_mapping(body)
        turns = [ConversationTurn("system", (as_text(sent["system"]),))] if sent.get("system") else []
        texts = [as_text(sent[key]) for key in ("prompt", "suffix") if sent.get(key)]
        parts: tuple[Part, ...] = (*texts, *read_images(sent.get("images")))
        return Conversation((*turns, *([ConversationTurn("user", parts)] if parts else [])))
