"""The content of recorded replies: the form in which each body is kept, and the bytes that come of it."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from hypothesis import example, given, strategies as st

from pytest_chatprompt import ReplayError
from pytest_chatprompt.apis.model_api import aws_event
from pytest_chatprompt.capture.recording.recorded_exchange import RecordedReply, read_content, write_content

DEEP = b"[" * 200 + b"]" * 200


@pytest.mark.parametrize(
    ("body", "content_type", "content"),
    [
        pytest.param(b'{"a": 1}', "application/json", {"body": {"a": 1}}, id="JSON"),
        pytest.param(b"null", "application/json; charset=utf-8", {"body": None}, id="null"),
        pytest.param(b"[1]", "Application/Problem+JSON", {"body": [1]}, id="a JSON type of its own"),
        pytest.param(b"[1]", "", {"body": [1]}, id="JSON without a type"),
        pytest.param(b"[1]", "text/plain", {"text": "[1]"}, id="text that looks like JSON"),
        pytest.param(b"<html>", "application/json", {"text": "<html>"}, id="no JSON though it says so"),
        pytest.param(b"{'a': 1}", "", {"text": "{'a': 1}"}, id="text without a type"),
        pytest.param(b'{"a": NaN}', "application/json", {"text": '{"a": NaN}'}, id="NaN"),
        pytest.param(b"1e400", "application/json", {"text": "1e400"}, id="a number without end"),
        pytest.param(b"[-1e400]", "application/json", {"text": "[-1e400]"}, id="a negative one"),
        pytest.param(b'{"a": -Infinity}', "application/json", {"text": '{"a": -Infinity}'}, id="infinity"),
        pytest.param(
            b'data: {"a": NaN}\n\n', "text/event-stream", {"text": 'data: {"a": NaN}\n\n'}, id="NaN in a stream"
        ),
        pytest.param(DEEP, "application/json", {"text": DEEP.decode()}, id="deep"),
        pytest.param(b"[" * 99_999, "application/json", {"text": "[" * 99_999}, id="deeper than Python reads"),
        pytest.param("\ufeff{}".encode(), "application/json", {"text": "\ufeff{}"}, id="a byte order mark"),
        pytest.param(b"\xff\xfe", "text/plain; charset=utf-16", {"base64": "//4="}, id="another encoding"),
        pytest.param(b"\x89PNG\xff", "image/png", {"base64": "iVBOR/8="}, id="an image"),
        pytest.param(b"data: {}\n\n", "text/event-stream", {"events": [{"data": {}}]}, id="a stream"),
        pytest.param(b"data: \xff\n\n", "text/event-stream", {"base64": "ZGF0YTog/woK"}, id="a stream in no UTF-8"),
        pytest.param(b"no json\n", "application/x-ndjson", {"text": "no json\n"}, id="no lines of JSON"),
        pytest.param(b"cut off", "application/vnd.amazon.eventstream", {"text": "cut off"}, id="no AWS stream"),
        pytest.param(b"", "application/json", {"text": ""}, id="empty JSON"),
        pytest.param(b"", "text/event-stream", {"text": ""}, id="an empty stream"),
        pytest.param(
            rb'{"a": "half \ud83d"}', "application/json", {"text": r'{"a": "half \ud83d"}'}, id="half a character"
        ),
    ],
)
def test_a_body_is_kept_in_the_form_that_people_read_best(
    body: bytes, content_type: str, content: dict[str, Any]
) -> None:
    assert read_content(body, content_type) == content
    assert read_content(b"".join(write_content(content, content_type)), content_type) == content


def test_there_is_a_chunk_for_each_event() -> None:
    chunks = [aws_event("a", {}), aws_event("b", {})]
    content_type = "application/vnd.amazon.eventstream"
    assert write_content(read_content(b"".join(chunks), content_type), content_type) == chunks
    assert write_content({"events": [{"data": "a"}, {"data": "b"}]}, "text/event-stream") == [
        b"data: a\n\n",
        b"data: b\n\n",
    ]


def test_half_a_character_can_be_written() -> None:
    assert write_content({"text": "\ud800"}, "text/plain") == [b"\xed\xa0\x80"]
    assert write_content({"body": "\ud800"}, "application/json") == [b'"\\ud800"']


@pytest.mark.parametrize(
    ("content", "content_type", "text"),
    [
        ({"events": []}, "application/json", "a reply with events cannot have the media type 'application/json'"),
        ({"events": []}, "", "a reply with events cannot have the media type ''"),
        ({"events": ["a"]}, "text/event-stream", "no attribute"),
        ({"events": [{"data": {}}]}, "application/vnd.amazon.eventstream", "headers"),
        ({"events": [{"headers": {"a": 5}, "data": 1}]}, "application/vnd.amazon.eventstream", "no attribute"),
        ({"base64": "no!"}, "image/png", "base64|padding"),
        ({"base64": "é"}, "image/png", "ASCII"),
    ],
)
def test_content_that_was_changed_to_mean_nothing_is_an_error(
    content: dict[str, Any], content_type: str, text: str
) -> None:
    reply = RecordedReply(status=200, content_type=content_type, **content)
    with pytest.raises(ReplayError, match=f"^the recorded reply cannot be read: .*(?:{text})"):
        reply.to_response(httpx.Request("POST", "https://x.example/"))


TYPES = st.sampled_from(
    ["", "application/json", "text/plain", "text/event-stream", "application/x-ndjson", "image/png"]
)


@given(
    st.binary() | st.text().map(str.encode) | st.from_type(float).map(lambda number: json.dumps(number).encode()), TYPES
)
@example(b"\t", "application/x-ndjson")
def test_what_is_written_means_the_same(body: bytes, content_type: str) -> None:
    content = read_content(body, content_type)
    written = b"".join(write_content(content, content_type))
    assert read_content(written, content_type) == content
    if "text" in content or "base64" in content:
        assert written == body
