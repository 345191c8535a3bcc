"""`RecordedExchange`: a request that was answered, by its hash, and the reply that it got.

A request that was sent and the reply of the API come in; frozen data comes out that a file can hold. From it the reply
is made again. Pure; `open_recording` makes them, `snapshots.recording_files` reads and writes them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Self

import httpx
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from pytest_chatprompt.apis.model_api import ReplyStream
from pytest_chatprompt.capture.recording.content import CONTENT_KEYS, read_content, write_content
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.cases.message import ToolCall
from pytest_chatprompt.errors import ReplayError
from pytest_chatprompt.providers.http.reply_body import MAX_REPLY_BYTES
from pytest_chatprompt.providers.response import ProviderResponse, TokenUsage

_LATENCY_DIGITS: Final = 3
# The extension of an httpx response that comes from a recording.
REPLAYED_EXTENSION: Final = "chatprompt_replayed"

Mask = Callable[[Any], Any]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RecordedRequest(_Data):
    """A request that was answered.

    Attributes:
        endpoint: as in a snapshot; `None` for an agent or a plain function.
        headers: as in a snapshot; empty for none.
        sha256: the hash of endpoint, body and headers, or of all that was sent, as hexadecimal digits.
        body: the masked body, where no snapshot has it.
    """

    endpoint: str | None = None
    headers: dict[str, str] = {}
    sha256: str
    body: Any = None

    @property
    def has_body(self) -> bool:
        """Whether the body is recorded; it may be `None`, which is JSON's null."""
        return "body" in self.model_fields_set

    def as_data(self) -> dict[str, Any]:
        """What a snapshot shows of it; see `SentRequest`."""
        return SentRequest(self.endpoint or "", self.body, headers=self.headers).as_data()


class RecordedReply(_Data):
    """The reply to an HTTP request; of `body`, `events`, `text` and `base64` it has exactly one.

    Attributes:
        status: the status code.
        content_type: as the API sent it; `""` for none.
        is_complete: whether it was read to its end.
        body: JSON data.
        events: those of a stream, in the format of its media type.
        text: text that is not JSON.
        base64: anything else.
    """

    status: int
    content_type: str = ""
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
    def of(cls, status: int, content_type: str, body: bytes, *, is_complete: bool = True) -> RecordedReply:
        """Record a reply.

        Args:
            status: the status code.
            content_type: as the API sent it.
            body: the part that was read.
            is_complete: whether that is all of it.
        """
        content = read_content(body, content_type)
        if not is_complete:
            content["is_complete"] = False
        return cls(status=status, content_type=content_type, **content)

    def to_response(self, request: httpx.Request) -> httpx.Response:
        """Make the reply again: a stream as a stream, event by event.

        Raises:
            ReplayError: the recording was changed, and means nothing now.
        """
        try:
            chunks = write_content(self.content, self.content_type)
        except ValueError as error:
            raise ReplayError(f"the recorded reply cannot be read: {error}") from None
        if sum(map(len, chunks)) > MAX_REPLY_BYTES:
            raise ReplayError(f"the recorded reply is larger than {MAX_REPLY_BYTES // 1024**2} MiB, as no reply may be")
        fields = {"content-type": self.content_type} if self.content_type else {}
        is_stream = "events" in self.model_fields_set or not self.is_complete
        return httpx.Response(
            self.status,
            headers=httpx.Headers(fields, encoding="utf-8"),
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
        """Make the response again.

        Args:
            latency_seconds: how long it took; `None` if that is not known.
        """
        return ProviderResponse(
            text=self.text,
            finish_reason=self.finish_reason,
            usage=self.usage,
            tool_calls=self.tool_calls,
            latency_seconds=latency_seconds,
        )


class RecordedExchange(_Data):
    """A request that was answered, with its HTTP reply, or the response of an agent or a plain function.

    Attributes:
        repeat: which of the answers of a repeated case it belongs to, from 1.
        request: the request.
        reply: what an API replied.
        response: what an agent answered.
        latency_seconds: from the request to the last byte of the reply.
    """

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
    """The hash of a request, the same for any order of keys.

    Args:
        endpoint: as in a snapshot.
        body: the masked body, as in a snapshot.
        headers: the masked headers, as in a snapshot; `None` for none.
    """
    return data_sha256([endpoint, body, dict(headers)] if headers else [endpoint, body])


def data_sha256(data: Any) -> str:
    """The hash of JSON data, the same for any order of keys, as hexadecimal digits."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def recorded_request(sent: SentRequest, mask: Mask) -> RecordedRequest:
    """A request as a recording keeps it, masked."""
    body = mask(sent.body)
    if not sent.headers:
        return RecordedRequest(endpoint=sent.endpoint, sha256=request_sha256(sent.endpoint, body), body=body)
    headers = mask(dict(sent.headers))
    sha256 = request_sha256(sent.endpoint, body, headers)
    return RecordedRequest(endpoint=sent.endpoint, headers=headers, sha256=sha256, body=body)


def rounded(seconds: float) -> float:
    """A latency as a recording keeps it."""
    return round(seconds, _LATENCY_DIGITS)
