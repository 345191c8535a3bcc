"""Event formats: the body of a stream as a list of events that people can read, and back.

The bytes of a whole stream come in; a list of JSON data comes out, an item for each event. Writing goes the other way,
a chunk for each event. Pure; `content` calls it. To add a format: two functions, and a line in the table.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

from pytest_chatprompt.apis.aws_event_stream import read_messages, write_message
from pytest_chatprompt.apis.model_api import json_bytes
from pytest_chatprompt.text.json_data import parse_json

_LINE_BREAK: Final = re.compile(r"\r\n|\n|\r")
_EVENT_END: Final = "\n\n"


class EventFormat(NamedTuple):
    """How a kind of stream writes its events.

    Args:
        read: gives the events of a body; raises `ValueError` if it is not such a stream.
        write: gives the bytes of one event.
    """

    read: Callable[[bytes], list[Any]]
    write: Callable[[Any], bytes]


def event_format(content_type: str) -> EventFormat | None:
    """The format of a stream by its media type; `None` if that is not a stream."""
    return _FORMATS.get(content_type.partition(";")[0].strip().lower())


def parse_exact_json(text: str) -> Any:
    """Parse JSON that stays the same when it is written again.

    Raises:
        ValueError: it is not JSON, has numbers that JSON cannot write, or is nested deeper than 100 levels.
    """
    return parse_json(text, parse_constant=_refuse, parse_float=_finite)


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


def _refuse(number: str) -> Any:
    raise ValueError(f"JSON cannot write {number}")


# --- server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html)


def _read_server_sent_events(body: bytes) -> list[Any]:
    text = _LINE_BREAK.sub("\n", body.decode().removeprefix("\ufeff"))
    return [_read_fields(block) for block in text.split(_EVENT_END) if block.strip("\n")]


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
            event["data"] = parse_exact_json(event["data"])
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
    return [parse_exact_json(line) for line in body.decode().split("\n") if line.strip()]


def _write_json_line(event: Any) -> bytes:
    return json_bytes(event) + b"\n"


# --- AWS event streams, as Bedrock streams


def _read_aws_events(body: bytes) -> list[Any]:
    return [{"headers": headers, "data": _read_payload(payload)} for headers, payload in read_messages(body)]


def _read_payload(payload: bytes) -> Any:
    """The JSON data of an event; Bedrock's `InvokeModelWithResponseStream` has that of the model in base64 within."""
    data = parse_exact_json(payload.decode())
    if isinstance(data, dict) and isinstance(data.get("bytes"), str):
        with suppress(ValueError):
            inner = parse_exact_json(base64.b64decode(data["bytes"], validate=True).decode())
            # Other data would not be told from text when it is written.
            data["bytes"] = inner if isinstance(inner, dict) else data["bytes"]
    return data


def _write_aws_event(event: Mapping[str, Any]) -> bytes:
    data = event["data"]
    if isinstance(data, dict) and isinstance(data.get("bytes"), dict):
        data = {**data, "bytes": base64.b64encode(json_bytes(data["bytes"])).decode("ascii")}
    return write_message(event["headers"], json_bytes(data))


_FORMATS: Final[Mapping[str, EventFormat]] = {
    "text/event-stream": EventFormat(_read_server_sent_events, _write_server_sent_event),
    "application/x-ndjson": EventFormat(_read_json_lines, _write_json_line),
    "application/ndjson": EventFormat(_read_json_lines, _write_json_line),
    "application/jsonl": EventFormat(_read_json_lines, _write_json_line),
    "application/stream+json": EventFormat(_read_json_lines, _write_json_line),
    "application/vnd.amazon.eventstream": EventFormat(_read_aws_events, _write_aws_event),
}
