"""`RecordedExchange`: a request that was answered, by its hash, and its reply in a form that people can read."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Annotated, Any, Final, NamedTuple, Self

import httpx
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from pytest_chatprompt.apis.model_api import ReplyStream, json_bytes, read_aws_messages, write_aws_message
from pytest_chatprompt.capture.sent_request import SentRequest, hide_parameters
from pytest_chatprompt.cases.message import ToolCall
from pytest_chatprompt.errors import ReplayError
from pytest_chatprompt.providers.response import ProviderResponse, TokenUsage
from pytest_chatprompt.text.json_data import parse_json

_LINE_BREAK: Final = re.compile(r"\r\n|\n|\r")


class EventFormat(NamedTuple):
    """How a kind of stream is read, with a `ValueError` if a body is none, and how each event is written again."""

    read: Callable[[bytes], list[Any]]
    write: Callable[[Any], bytes]


def event_format(content_type: str) -> EventFormat | None:
    """The format of a stream by its media type; `None` if that is not a stream."""
    return _FORMATS.get(_media_type(content_type))


def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


# --- server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html)


def _read_server_sent_events(body: bytes) -> list[Any]:
    text = _LINE_BREAK.sub("\n", body.decode().removeprefix("\ufeff"))
    return [_read_fields(block) for block in text.split("\n\n") if block.strip("\n")]


def _read_fields(block: str) -> dict[str, Any]:
    """The fields of an event; `comment` for its lines without a name, and the data as JSON if it is an object."""
    fields: dict[str, list[str]] = {}
    for line in block.split("\n"):
        if line:
            name, _, value = line.partition(":")
            fields.setdefault(name or "comment", []).append(value.removeprefix(" "))
    event: dict[str, Any] = {name: "\n".join(values) for name, values in fields.items()}
    if event.get("data", "").startswith(("{", "[")):
        # Text that only looks like it, such as OpenAI's `[DONE]`, stays text.
        with suppress(ValueError):
            event["data"] = parse_json(event["data"])
    return event


def _write_server_sent_event(event: Mapping[str, Any]) -> bytes:
    lines = []
    for name, value in event.items():
        text = value if isinstance(value, str) else json_bytes(value).decode("ascii")
        lines += [f"{'' if name == 'comment' else name}: {line}" for line in text.split("\n")]
    return "".join(f"{line}\n" for line in [*lines, ""]).encode()


# --- JSON lines, as Ollama streams


def _read_json_lines(body: bytes) -> list[Any]:
    # Not by `splitlines`: JSON may hold other separators of lines as they are.
    return [parse_json(line) for line in body.decode().split("\n") if line.strip()]


# --- AWS event streams, as Bedrock streams


def _read_aws_events(body: bytes) -> list[Any]:
    return [{"headers": headers, "data": _read_payload(payload)} for headers, payload in read_aws_messages(body)]


def _read_payload(payload: bytes) -> Any:
    """The JSON data of an event; Bedrock's `InvokeModelWithResponseStream` has that of the model in base64 within."""
    data = parse_json(payload.decode())
    if isinstance(data, dict) and isinstance(data.get("bytes"), str):
        with suppress(ValueError):
            inner = parse_json(base64.b64decode(data["bytes"], validate=True).decode())
            # Other data would not be told from text when it is written.
            data["bytes"] = inner if isinstance(inner, dict) else data["bytes"]
    return data


def _write_aws_event(event: Mapping[str, Any]) -> bytes:
    data = event["data"]
    if isinstance(data, dict) and isinstance(data.get("bytes"), dict):
        data = {**data, "bytes": base64.b64encode(json_bytes(data["bytes"])).decode("ascii")}
    return write_aws_message(event["headers"], json_bytes(data))


_FORMATS: Final[Mapping[str, EventFormat]] = {
    "text/event-stream": EventFormat(_read_server_sent_events, _write_server_sent_event),
    **dict.fromkeys(
        ("application/x-ndjson", "application/ndjson", "application/jsonl", "application/stream+json"),
        EventFormat(_read_json_lines, lambda event: json_bytes(event) + b"\n"),
    ),
    "application/vnd.amazon.eventstream": EventFormat(_read_aws_events, _write_aws_event),
}


# Of a reply of which each part is a line of the recording. A larger one, such as long vectors, is kept as one text.
_MAX_PARTS: Final = 300_000
# About one of them in each part: of JSON, of lines and events, and of the messages of AWS.
_PART_MARKS: Final = (b",", b"[", b"{", b"\n", b"\0\0\0")
CONTENT_KEYS: Final = ("body", "events", "text", "base64")


def read_content(body: bytes, content_type: str) -> dict[str, Any]:
    """The content that a recording keeps: one of the keys `body`, `events`, `text` and `base64`."""
    media_type = _media_type(content_type)
    if body and not body.isspace() and sum(map(body.count, _PART_MARKS)) <= _MAX_PARTS:
        # It may not be what the API says that it is.
        with suppress(ValueError, RecursionError):
            if media_type in _FORMATS:
                return {"events": _check_text(_FORMATS[media_type].read(body))}
            # JSON, if it says so, or says nothing.
            if media_type in ("", "application/json") or media_type.endswith("+json"):
                return {"body": _check_text(parse_json(body.decode()))}
    with suppress(UnicodeDecodeError):
        return {"text": body.decode()}
    return {"base64": base64.b64encode(body).decode("ascii")}


def write_content(content: Mapping[str, Any], content_type: str) -> list[bytes]:
    """The chunks of the body: one for each event of a stream, else one."""
    if "events" in content:
        stream = event_format(content_type)
        if stream is None:
            raise ValueError(f"a reply with events cannot have the media type {content_type!r}")
        return [stream.write(event) for event in content["events"]]
    if "body" in content:
        return [json_bytes(content["body"])]
    if "base64" in content:
        return [base64.b64decode(content["base64"], validate=True)]
    return [str(content.get("text", "")).encode(errors="surrogatepass")]


def _check_text(data: Any) -> Any:
    """Return JSON data if YAML can hold it, and JSON can be written of it again."""
    json.dumps(data, ensure_ascii=False, allow_nan=False).encode()
    return data


# The extension of an httpx response that comes from a recording.
REPLAYED_EXTENSION: Final = "chatprompt_replayed"

# By these clients decide what to do next: where to send, whether to send again, what kind of error it is. Of requests
# and botocore's `parsers.py`, google-genai's `_api_client.py`, and the `_base_client.py` of OpenAI and Anthropic.
_REPLY_HEADERS: Final = ("location", "x-amzn-errortype", "x-goog-upload-status", "x-goog-upload-url", "x-should-retry")

Mask = Callable[[Any], Any]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RecordedRequest(_Data):
    """A request that was answered, masked as in a snapshot; of an agent or a plain function it has the hash alone."""

    endpoint: str | None = None
    headers: dict[str, str] = {}
    sha256: str
    body: Any = None

    def as_data(self) -> dict[str, Any]:
        """What a snapshot shows of it; see `SentRequest`."""
        return SentRequest(self.endpoint or "", self.body, headers=self.headers).as_data()


class RecordedReply(_Data):
    """The reply to an HTTP request: of `body` (JSON), `events` (a stream), `text` and `base64` it has exactly one."""

    status: int
    content_type: str = ""
    headers: dict[str, str] = {}
    is_complete: bool = True
    body: Any = None
    events: list[Any] = []
    text: str = ""
    base64: str = ""

    @model_validator(mode="after")
    def _check_content(self) -> Self:
        if len(self.content) != 1:
            raise PydanticCustomError("content", "it must have one of {keys}", {"keys": ", ".join(CONTENT_KEYS)})
        return self

    @property
    def content(self) -> dict[str, Any]:
        """The one key of the content that it has."""
        return {key: getattr(self, key) for key in CONTENT_KEYS if key in self.model_fields_set}

    @classmethod
    def of(cls, status: int, headers: Mapping[str, str], body: bytes, *, is_complete: bool = True) -> RecordedReply:
        """Record a reply, and of its headers the media type and those by which clients decide what to do next."""
        said: dict[str, Any] = {} if is_complete else {"is_complete": False}
        if kept := {name: hide_parameters(headers[name]) for name in _REPLY_HEADERS if name in headers}:
            said["headers"] = kept
        content_type = headers.get("content-type", "")
        return cls(status=status, content_type=content_type, **read_content(body, content_type), **said)

    def to_response(self, request: httpx.Request) -> httpx.Response:
        """Make the reply again: a stream as a stream, event by event."""
        try:
            chunks = write_content(self.content, self.content_type)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            # Somebody has edited it.
            raise ReplayError(f"the recorded reply cannot be read: {error}") from None
        is_stream = "events" in self.model_fields_set or not self.is_complete
        content_type = {"content-type": self.content_type} if self.content_type else {}
        return httpx.Response(
            self.status,
            headers=httpx.Headers({**content_type, **self.headers}, encoding="utf-8"),
            content=None if is_stream else b"".join(chunks),
            stream=ReplyStream(lambda: self._stream(chunks)) if is_stream else None,
            request=request,
            extensions={REPLAYED_EXTENSION: True},
        )

    def _stream(self, chunks: list[bytes]) -> Any:
        yield from chunks
        if not self.is_complete:
            raise httpx.ReadError("the recorded reply ends here: the client did not read on when it was recorded")


class RecordedResponse(_Data):
    """The answer of an agent or a plain function, whose HTTP requests are not recorded."""

    text: str
    finish_reason: str | None = None
    usage: TokenUsage = TokenUsage()
    tool_calls: tuple[ToolCall, ...] = ()

    def to_response(self, latency_seconds: float | None) -> ProviderResponse:
        """Make the response again."""
        return ProviderResponse(**dict(self), latency_seconds=latency_seconds)


class RecordedExchange(_Data):
    """A request that was answered, with its HTTP reply, or the response of an agent or a plain function."""

    # Which of the answers of a repeated case it belongs to.
    repeat: Annotated[int, Field(ge=1)] = 1
    request: RecordedRequest
    reply: RecordedReply | None = None
    response: RecordedResponse | None = None
    latency_seconds: float | None = None

    @model_validator(mode="after")
    def _check_reply(self) -> Self:
        if (self.reply is None) == (self.response is None):
            raise PydanticCustomError("reply", "it must have either a reply or a response")
        return self


def request_sha256(endpoint: str, body: Any, headers: Mapping[str, str] | None = None) -> str:
    """The hash of a request, the same for any order of keys."""
    return data_sha256([endpoint, body, dict(headers)] if headers else [endpoint, body])


def data_sha256(data: Any) -> str:
    """The hash of JSON data, the same for any order of keys, as hexadecimal digits."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def recorded_request(sent: SentRequest, mask: Mask) -> RecordedRequest:
    """A request as a recording keeps it, masked."""
    body = mask(sent.body)
    headers = mask(dict(sent.headers)) if sent.headers else {}
    given: dict[str, Any] = {"headers": headers} if headers else {}
    sha256 = request_sha256(sent.endpoint, body, headers)
    return RecordedRequest(endpoint=sent.endpoint, sha256=sha256, body=body, **given)
