"""Event formats: what is read of each kind of stream, what is written again, and what is not such a stream."""

from __future__ import annotations

import base64
import json
import struct
from binascii import crc32
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pytest_chatprompt.apis.model_api import aws_event, read_aws_messages, write_aws_message
from pytest_chatprompt.capture.recording.recorded_exchange import EventFormat, event_format

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def stream_format(content_type: str) -> EventFormat:
    found = event_format(content_type)
    assert found is not None
    return found


SSE = stream_format("text/event-stream")
LINES = stream_format("application/x-ndjson")
AWS = stream_format("application/vnd.amazon.eventstream")


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("text/event-stream", SSE),
        ("Text/Event-Stream; charset=utf-8", SSE),
        ("application/ndjson", LINES),
        ("application/jsonl", LINES),
        ("application/stream+json", LINES),
        ("application/vnd.amazon.eventstream", AWS),
        ("application/json", None),
        ("text/event-stream-x", None),
        ("", None),
    ],
)
def test_the_media_type_says_which_stream_it_is(content_type: str, expected: EventFormat | None) -> None:
    assert event_format(content_type) == expected


@pytest.mark.parametrize(
    ("body", "events"),
    [
        pytest.param(b'data: {"a": 1}\n\n', [{"data": {"a": 1}}], id="JSON"),
        pytest.param(b"data: [1, 2]\n\n", [{"data": [1, 2]}], id="a list"),
        pytest.param(b"data: [DONE]\n\n", [{"data": "[DONE]"}], id="text that only looks like JSON"),
        pytest.param(b"data: 5\n\ndata: null\n\n", [{"data": "5"}, {"data": "null"}], id="scalars stay text"),
        pytest.param(b"data: a\ndata:\ndata: b\n\n", [{"data": "a\n\nb"}], id="several lines of data"),
        pytest.param(b'data: {"a":\ndata: 1}\n\n', [{"data": {"a": 1}}], id="JSON over several lines"),
        pytest.param(
            b"event: x\nid: 7\nretry: 5\ndata:a\n\n",
            [{"event": "x", "id": "7", "retry": "5", "data": "a"}],
            id="all fields",
        ),
        pytest.param(b": ping\n:pong\n\ndata: a\n\n", [{"comment": "ping\npong"}, {"data": "a"}], id="comments"),
        pytest.param(b"data:  a\n\n", [{"data": " a"}], id="one space goes"),
        pytest.param(b"data\n\n", [{"data": ""}], id="a name alone"),
        pytest.param(b"data: a:b\n\n", [{"data": "a:b"}], id="a colon in the data"),
        pytest.param(
            b"event: x\r\ndata: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n",
            [{"event": "x", "data": "a\nb"}, {"data": "c"}],
            id="CRLF",
        ),
        pytest.param(b"event: x\rdata: a\r\rdata: b\r\r", [{"event": "x", "data": "a"}, {"data": "b"}], id="CR"),
        pytest.param(b"data: a\r\n\ndata: b\n\r\n", [{"data": "a"}, {"data": "b"}], id="mixed line breaks"),
        pytest.param(b"\xef\xbb\xbfdata: a\n\n", [{"data": "a"}], id="a byte order mark"),
        pytest.param(b"\n\n\n\ndata: a\n\n\n\n", [{"data": "a"}], id="blank lines around"),
        pytest.param("data: é\u2028\n\n".encode(), [{"data": "é\u2028"}], id="separators that break no line"),
        pytest.param(b"data: a", [{"data": "a"}], id="cut off"),
    ],
)
def test_server_sent_events_are_read_by_their_fields(body: bytes, events: list[Any]) -> None:
    assert SSE.read(body) == events
    assert SSE.read(b"".join(map(SSE.write, events))) == events


def test_a_server_sent_event_is_written_as_its_fields() -> None:
    event = {"comment": "ping", "event": "x", "data": {"a": "é\ud800"}, "id": "1\n2"}
    assert SSE.write(event) == b': ping\nevent: x\ndata: {"a":"\\u00e9\\ud800"}\nid: 1\nid: 2\n\n'


@given(st.lists(st.sampled_from(["data", "event", ":", ": ", "{}", '{"a":', "[1]", "}", " ", "x", "\r", "\n", "\r\n"])))
def test_server_sent_events_mean_the_same_when_they_are_written_again(parts: list[str]) -> None:
    events = SSE.read("".join(parts).encode())
    assert SSE.read(b"".join(map(SSE.write, events))) == events


def test_json_lines_are_split_at_line_feeds_only() -> None:
    body = b'{"a": 1}\r\n\n[2]\n' + '{"b": "x\u2028y\x85z"}'.encode()
    events = [{"a": 1}, [2], {"b": "x\u2028y\x85z"}]
    assert LINES.read(body) == events
    assert [LINES.write(event) for event in events][:2] == [b'{"a":1}\n', b"[2]\n"]


@given(st.lists(JSON, max_size=3))
def test_json_lines_mean_the_same_when_they_are_written_again(events: list[Any]) -> None:
    assert LINES.read(b"".join(map(LINES.write, events))) == events


@given(JSON)
def test_events_of_any_data_mean_the_same_when_they_are_written_again(data: Any) -> None:
    for stream, event in ((AWS, {"headers": {":event-type": "x"}, "data": data}), (SSE, {"data": {"x": data}})):
        assert stream.read(stream.write(event) * 2) == [event, event]


@pytest.mark.parametrize("stream", [LINES, AWS, SSE])
def test_text_in_another_encoding_is_no_stream(stream: EventFormat) -> None:
    with pytest.raises(ValueError, match=r"codec|cut off"):
        stream.read(b"\xff\xfe" * 20)


def test_aws_events_keep_their_headers() -> None:
    body = aws_event("messageStart", {"role": "assistant"}) + aws_event("messageStop", {})
    headers = {":event-type": "messageStart", ":content-type": "application/json", ":message-type": "event"}
    events = AWS.read(body)
    assert events[0] == {"headers": headers, "data": {"role": "assistant"}}
    assert b"".join(map(AWS.write, events)) == body
    assert AWS.read(b"") == []


def test_what_a_model_streams_through_bedrock_is_readable_and_written_again() -> None:
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "é"}}
    chunk = {"bytes": base64.b64encode(json.dumps(delta).encode()).decode(), "p": "abc"}
    (event,) = AWS.read(aws_event("chunk", chunk))
    assert event["data"] == {"bytes": delta, "p": "abc"}
    (again,) = read_aws_messages(AWS.write(event))
    assert json.loads(base64.b64decode(json.loads(again[1])["bytes"])) == delta


@pytest.mark.parametrize("content", ["/9j/4AAQ", "no base64", base64.b64encode(b"[1]").decode(), 5])
def test_other_bytes_of_a_model_stay_as_they_are(content: Any) -> None:
    message = aws_event("chunk", {"bytes": content})
    (event,) = AWS.read(message)
    assert event["data"] == {"bytes": content}
    assert AWS.write(event) == message


def test_messages_with_other_payloads_are_read() -> None:
    assert read_aws_messages(write_aws_message({}, b"") + write_aws_message({"é": "ü"}, b"\xff")) == [
        ({}, b""),
        ({"é": "ü"}, b"\xff"),
    ]


MESSAGE = write_aws_message({"name": "value"}, b"payload")


@pytest.mark.parametrize("length", [*range(1, len(MESSAGE)), len(MESSAGE) + 5])
def test_a_message_that_is_cut_off_is_an_error(length: int) -> None:
    with pytest.raises(ValueError, match=r"cut off|not an event stream"):
        read_aws_messages((MESSAGE * 2)[:length])


def message_with(head: bytes) -> bytes:
    prelude = struct.pack(">II", len(head) + 16, len(head))
    message = prelude + struct.pack(">I", crc32(prelude)) + head
    return message + struct.pack(">I", crc32(message))


@pytest.mark.parametrize(
    ("stream", "text"),
    [
        pytest.param(message_with(b"\x01a\x00"), "not an event stream", id="a header that ends too early"),
        pytest.param(message_with(b"\x01a\x04\x00\x00\x00\x07"), "a header is not text", id="a number"),
        pytest.param(message_with(b"\x01a\x07\x00\x01\xff"), "codec", id="a text in another encoding"),
        pytest.param(struct.pack(">II", 8, 0) + bytes(8), "a message is cut off", id="lengths that do not fit"),
        pytest.param(b"a body of text that is not an event stream", "a message is cut off", id="text"),
    ],
)
def test_what_is_no_message_with_text_headers_is_an_error(stream: bytes, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        read_aws_messages(stream)
