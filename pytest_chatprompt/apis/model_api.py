"""`ModelAPI`: what differs from one API to another when it answers and when its requests are read; streams."""

from __future__ import annotations

import http.client
import io
import json
import re
import struct
from abc import ABC, abstractmethod
from binascii import crc32
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import httpx

from pytest_chatprompt.cases.message import FunctionCall, ToolCall
from pytest_chatprompt.providers.http.retry import is_retryable_status
from pytest_chatprompt.providers.response import ProviderResponse, read_usage

if TYPE_CHECKING:
    from pytest_chatprompt.apis.conversation import Conversation
    from pytest_chatprompt.apis.reply import Answer, Definitions, ModelRequest, Reply


class ReplyStream(httpx.SyncByteStream, httpx.AsyncByteStream):
    """The chunks of a streamed reply, made one after the other."""

    def __init__(self, make_chunks: Callable[[], Iterator[bytes]]) -> None:
        self._make_chunks = make_chunks

    def __iter__(self) -> Iterator[bytes]:
        yield from self._make_chunks()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._make_chunks():
            yield chunk


def pieces(text: str) -> Iterator[str]:
    """The pieces in which a text is streamed: words, each with the white space before it."""
    return (match[0] for match in re.finditer(r"\s*\S+|\s+$", text))


# What streams give in pieces; every other text is whole.
_IN_PIECES: Final = (
    *("content", "text", "response", "refusal", "tool_plan", "thinking"),
    *("arguments", "input", "partial_json"),
)


def joined(whole: Any, piece: Any, key: str = "") -> Any:
    """What a stream gave so far with one more piece: mappings key by key, items of lists that have it by `index`."""
    if isinstance(whole, str) and isinstance(piece, str) and key in _IN_PIECES:
        return whole + piece
    if isinstance(whole, Mapping) and isinstance(piece, Mapping):
        return {**whole, **{name: joined(whole.get(name), value, name) for name, value in piece.items()}}
    if isinstance(whole, list) and isinstance(piece, list):
        items: dict[Any, Any] = {}
        for item in (*whole, *piece):
            has_place = isinstance(item, Mapping) and "index" in item
            place = item["index"] if has_place else f"new {len(items)}"
            items[place] = joined(items.get(place), item)
        return [*items.values()]
    return whole if piece is None else piece


def joined_chunks(chunks: Iterable[Any], key: str) -> Any:
    """The chunks of a stream put together; of several answers, which are the items under a key, the first alone."""
    whole: Any = {key: []}
    for chunk in chunks:
        first = [{**answer, "index": 0} for answer in chunk.get(key) or () if answer.get("index", 0) == 0]
        whole = joined(whole, {**chunk, key: first})
    return whole


def choices(wanted: Any) -> range:
    """The indexes of the answers that a request asks for."""
    return range(min(wanted, 128) if isinstance(wanted, int) and wanted > 0 else 1)


def json_bytes(data: Any) -> bytes:
    """Compact JSON in ASCII, which can hold half a character too."""
    return json.dumps(data, separators=(",", ":")).encode("ascii")


def server_sent_event(data: Any, event: str = "") -> bytes:
    """One server-sent event (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""
    return (f"event: {event}\n".encode() if event else b"") + b"data: " + json_bytes(data) + b"\n\n"


# The words of OpenAI for the statuses of errors, which are Anthropic's too; 4 is for all others of its hundred.
ERROR_WORDS: Final[Mapping[int, str]] = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    4: "invalid_request_error",
}
# 2025-01-01: replies say the same on every day.
CREATED: Final = 1735689600


class ModelAPI(ABC):
    """An API of a model: how it answers, and how a request to it reads.

    Args:
        name: its name in `table`, such as `openai-chat`.

    Attributes:
        price_vendor: the vendor's id in the price list of `genai-prices`, if no provider of the API says it; `""` for
            none.
        prompt_keys: the keys of a body that hold the prompt, in the order in which the model reads them.
        schema_paths: where a body has the schema of the answer, if it is not below one of these; it is read, but nobody
            says whether before the prompt or behind it.
        error_words: the API's own word for a status of an error, and for all others of its hundred: 4 and 5.
        refusal: what to do about a reply that is not for this API.
    """

    price_vendor: ClassVar[str] = ""
    prompt_keys: ClassVar[tuple[str, ...]] = ()
    schema_paths: ClassVar[tuple[tuple[str, ...], ...]] = ()
    error_words: ClassVar[Mapping[int, str]] = {}
    refusal: ClassVar[str] = ""

    def __init__(self, name: str) -> None:
        self.name = name

    def claims(self, request: httpx.Request) -> bool:  # noqa: ARG002 - what the APIs with common paths look at
        """Whether a request to one of the API's paths is for this API: other servers may have the same path."""
        return True

    def accepts(self, reply: Reply) -> bool:  # noqa: ARG002 - what others look at
        """Whether a queued reply is for this API; otherwise it waits for a request of another."""
        return True

    def answer(self, request: httpx.Request, reply: Reply | None = None) -> httpx.Response:
        """Answer a request as the API does; a `ValueError` if the reply is not one for it."""
        # Few runs answer requests.
        from pytest_chatprompt.apis.reply import ModelRequest, UnansweredSchemaError  # noqa: PLC0415

        model_request = ModelRequest.from_httpx(request)
        if reply is not None and reply.error is not None:
            return self._error(request, model_request, reply.error)
        if reply is not None and not self.accepts(reply):
            raise ValueError(self.refusal)
        try:
            body = self.reply_body(model_request, reply)
        except UnansweredSchemaError as error:
            # SDKs show the text of this error at once, and send nothing again.
            return self._error(request, model_request, 400, str(error))
        return self.respond(request, model_request, body)

    def respond(self, request: httpx.Request, model_request: ModelRequest, body: dict[str, Any]) -> httpx.Response:
        """Put the body of a reply into a response."""
        return _response(request, 200, body, self.headers(model_request))

    def headers(self, model_request: ModelRequest) -> Mapping[str, str]:
        """The API's own headers; the id of the request."""
        return {"x-request-id": f"req_{model_request.digest[:24]}"}

    @abstractmethod
    def reply_body(self, model_request: ModelRequest, reply: Reply | None) -> dict[str, Any]:
        """The body of the reply, as JSON data."""

    @abstractmethod
    def error_body(self, model_request: ModelRequest, status: int, message: str) -> Any:
        """The body of an error, as JSON data."""

    def error_headers(self, status: int) -> Mapping[str, str]:
        """The headers of an error."""
        # SDKs that retry wait as long as these say, or for seconds without; openai, anthropic and cohere pass over 0.
        return {"retry-after-ms": "1", "retry-after": "0"} if is_retryable_status(status) else {}

    def error_word(self, status: int) -> str:
        """The API's own word for a status of an error; `""` for none."""
        return self.error_words.get(status) or self.error_words.get(status // 100, "")

    def api_version(self, request: httpx.Request) -> str | None:  # noqa: ARG002 - what an API with versions looks at
        """The version of the API that a request names; `None` for none."""
        return None

    @abstractmethod
    def read_conversation(self, body: Any) -> Conversation:
        """Read the body of a request back into the conversation that it holds."""

    def read_reply(self, body: Any) -> ProviderResponse:
        """Read the body of a successful reply, where no built-in provider does; by default only its usage."""
        return ProviderResponse(text="", usage=read_usage(body))

    def _error(
        self, request: httpx.Request, model_request: ModelRequest, status: int, message: str = ""
    ) -> httpx.Response:
        word = self.error_word(status) or http.client.responses.get(status, f"error {status}")
        message = message or f"{word} (queued by the test)"
        headers = {**self.headers(model_request), **self.error_headers(status)}
        return _response(request, status, self.error_body(model_request, status, message), headers)


class FinishReasons(NamedTuple):
    """An API's own word for each common one."""

    stop: str = "stop"
    length: str = "length"
    tool_calls: str = "tool_calls"
    content_filter: str = "content_filter"


class ChatAPI(ModelAPI):
    """An API whose replies are text and tool calls.

    Attributes:
        call_ids: the form of the ids of tool calls, with `{digest}` and `{name}`.
        finish_reasons: its words for why an answer ends.
        stream_type: the media type of its streams.
    """

    call_ids: ClassVar[str] = "call_{digest}"
    finish_reasons: ClassVar[FinishReasons] = FinishReasons()
    stream_type: ClassVar[str] = "text/event-stream; charset=utf-8"

    def respond(self, request: httpx.Request, model_request: ModelRequest, body: dict[str, Any]) -> httpx.Response:
        """Put the body of a reply into a response: whole, or as a stream."""
        if not self.is_streamed(model_request):
            return super().respond(request, model_request, body)
        return httpx.Response(
            200,
            headers={"content-type": self.stream_type, **self.headers(model_request)},
            stream=ReplyStream(lambda: self.stream(model_request, body)),
            request=request,
        )

    def is_streamed(self, model_request: ModelRequest) -> bool:
        """Whether a request asks for a stream."""
        return model_request.body.get("stream") is True

    def reply_body(self, model_request: ModelRequest, reply: Reply | None) -> dict[str, Any]:
        """The answer to the request, in the API's shape."""
        from pytest_chatprompt.apis.reply import make_answer  # noqa: PLC0415 - see `answer`

        body = model_request.body
        answer = make_answer(model_request, self.definitions(body), self.read_conversation(body), reply, self.call_ids)
        return self.body(model_request, answer)

    def finish_reason(self, answer: Answer) -> str:
        """The API's own word for why the answer ends."""
        return str(self.finish_reasons._asdict().get(answer.finish_reason, answer.finish_reason))

    @abstractmethod
    def stream(self, model_request: ModelRequest, body: dict[str, Any]) -> Iterator[bytes]:
        """The chunks of the streamed reply, made of the body of the whole one."""

    @abstractmethod
    def join_stream(self, events: Sequence[Any]) -> Any:
        """The body of the whole reply, made of the JSON data of the events of a stream."""

    def definitions(self, body: Mapping[str, Any]) -> Definitions:
        """Read the tools, the tool choice and the response format of a request; by default where OpenAI has them."""
        from pytest_chatprompt.apis.reply import Definitions  # noqa: PLC0415 - see `answer`

        return Definitions.read(body.get("tools"), body.get("tool_choice"), body.get("response_format"))

    @abstractmethod
    def body(self, model_request: ModelRequest, answer: Answer) -> dict[str, Any]:
        """The body of the reply that holds an answer, as JSON data."""


class EventsAPI(ChatAPI):
    """An API that streams server-sent events whose data name them in `type`."""

    def stream(self, model_request: ModelRequest, body: dict[str, Any]) -> Iterator[bytes]:  # noqa: ARG002 - all is in the body
        """The events of the reply, each with its name."""
        return (server_sent_event(event, event["type"]) for event in self.events(body))

    @abstractmethod
    def events(self, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """The data of the events, made of the body of the whole reply."""


def _response(request: httpx.Request, status: int, body: Any, headers: Mapping[str, str]) -> httpx.Response:
    content_type = {"content-type": "application/json"}
    return httpx.Response(status, headers={**content_type, **headers}, content=json_bytes(body), request=request)


def make_response(
    data: Any, text: str, calls: Iterable[tuple[str, str, Any]], usage: Any = None, **more: Any
) -> ProviderResponse:
    """The response that a reply is; calls are ids, names and arguments, these as JSON text or as data."""
    tool_calls = []
    for call_id, name, arguments in calls:
        written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        tool_calls.append(ToolCall(id=call_id, function=FunctionCall(name=name, arguments=written)))
    used = read_usage(data.get("usage") if usage is None else usage)
    return ProviderResponse(text=text, tool_calls=tuple(tool_calls), usage=used, raw=data, **more)


_STRING: Final = 7
# The lengths, their checksum, and the checksum of all.
_OVERHEAD: Final = 16
_PRELUDE: Final = 12


def aws_event(event: str, data: Any) -> bytes:
    """Write one message of an event stream."""
    return write_aws_message(
        {":event-type": event, ":content-type": "application/json", ":message-type": "event"}, json_bytes(data)
    )


def write_aws_message(headers: Mapping[str, str], payload: bytes) -> bytes:
    """Write one message."""
    head = b"".join(_header(name, value) for name, value in headers.items())
    prelude = struct.pack(">II", len(head) + len(payload) + _OVERHEAD, len(head))
    message = prelude + struct.pack(">I", crc32(prelude)) + head + payload
    return message + struct.pack(">I", crc32(message))


def read_aws_messages(stream: bytes) -> list[tuple[dict[str, str], bytes]]:
    """Read the messages of a whole stream: headers and payloads; a `ValueError` if it is not one."""
    messages, rest = [], io.BytesIO(stream)
    try:
        while prelude := rest.read(_PRELUDE):
            length, head_length, _ = struct.unpack(">III", prelude)
            message = rest.read(length - _PRELUDE)
            if len(message) != length - _PRELUDE or head_length + _OVERHEAD > length:
                raise ValueError("a message is cut off")
            messages.append((_read_headers(message[:head_length]), message[head_length:-4]))
    except struct.error as error:
        raise ValueError(f"not an event stream: {error}") from None
    return messages


def _read_headers(head: bytes) -> dict[str, str]:
    headers, rest = {}, io.BytesIO(head)
    while name_length := rest.read(1):
        name = rest.read(name_length[0]).decode()
        kind, length = struct.unpack(">BH", rest.read(3))
        if kind != _STRING:
            raise ValueError("a header is not text")
        headers[name] = rest.read(length).decode()
    return headers


def _header(name: str, value: str) -> bytes:
    # Lengths are in bytes.
    name_bytes, value_bytes = name.encode(), value.encode()
    return struct.pack(">B", len(name_bytes)) + name_bytes + struct.pack(">BH", _STRING, len(value_bytes)) + value_bytes
