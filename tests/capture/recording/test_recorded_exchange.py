"""Recorded replies: what they keep, what comes of them again, hashes of requests, and the tokens of each API."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from pytest_chatprompt.apis.model_api import write_aws_message
from pytest_chatprompt.capture.recording.recorded_exchange import (
    REPLAYED_EXTENSION,
    RecordedReply,
    RecordedResponse,
    data_sha256,
    recorded_request,
    request_sha256,
)
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.errors import ReplayError
from pytest_chatprompt.providers.response import TokenUsage, read_usage

REQUEST = httpx.Request("POST", "https://api.example/v1/chat")
EVENTS = b"data: {}\n\ndata: [DONE]\n\n"


def test_a_reply_is_the_same_again() -> None:
    reply = RecordedReply.of(429, {"content-type": "application/json"}, '{"error": "é"}'.encode())
    assert reply.model_dump(exclude_unset=True) == {
        "status": 429,
        "content_type": "application/json",
        "body": {"error": "é"},
    }
    response = reply.to_response(REQUEST)
    assert (response.status_code, response.json()) == (429, {"error": "é"})
    assert response.headers["content-type"] == "application/json"
    assert response.request is REQUEST
    assert response.extensions[REPLAYED_EXTENSION] is True


def test_headers_by_which_clients_decide_what_to_do_next_are_given_again() -> None:
    sent = httpx.Headers(
        {"Location": "https://b.example/", "x-should-retry": "false", "x-request-id": "1", "date": "d"}
    )
    reply = RecordedReply.of(307, sent, b"")
    assert reply.headers == {"location": "https://b.example/", "x-should-retry": "false"}
    response = reply.to_response(REQUEST)
    assert response.has_redirect_location
    assert set(response.headers) == {"location", "x-should-retry"}


@pytest.mark.parametrize(
    ("content_type", "body"),
    [("", b""), ("", b"text"), ("text/plain", b"text"), ("image/png", b"\xff"), ("application/json", b"null")],
)
def test_any_body_is_the_same_again(content_type: str, body: bytes) -> None:
    response = RecordedReply.of(200, {"content-type": content_type}, body).to_response(REQUEST)
    assert response.read() == body
    assert response.headers.get("content-type", "") == content_type
    assert response.is_closed


def test_a_stream_is_a_stream_again() -> None:
    reply = RecordedReply.of(200, {"content-type": "text/event-stream"}, EVENTS)
    response = reply.to_response(REQUEST)
    assert not response.is_closed
    assert "content-length" not in response.headers
    assert list(response.iter_raw()) == [b"data: {}\n\n", b"data: [DONE]\n\n"]

    async def read() -> bytes:
        return await reply.to_response(REQUEST).aread()

    assert asyncio.run(read()) == EVENTS


@pytest.mark.parametrize(("content_type", "body"), [("text/event-stream", EVENTS), ("text/plain", b"te")])
def test_a_reply_that_was_not_read_on_ends_with_an_error(content_type: str, body: bytes) -> None:
    reply = RecordedReply.of(200, {"content-type": content_type}, body, is_complete=False)
    assert reply.model_dump(exclude_unset=True)["is_complete"] is False
    chunks = reply.to_response(REQUEST).iter_raw()
    received = b""
    while received != body:
        received += next(chunks)
    with pytest.raises(httpx.ReadError, match="the client did not read on when it was recorded"):
        next(chunks)


def test_a_reply_that_was_changed_to_mean_nothing_is_an_error() -> None:
    reply = RecordedReply(status=200, content_type="application/json", events=[{}])
    with pytest.raises(
        ReplayError,
        match="the recorded reply cannot be read: a reply with events cannot have the media type 'application/json'",
    ):
        reply.to_response(REQUEST)


def test_a_content_type_in_any_encoding_is_given_again() -> None:
    response = RecordedReply.of(200, {"content-type": "text/plain; é"}, b"a").to_response(REQUEST)
    assert response.headers["content-type"] == "text/plain; é"


def test_the_hash_of_a_request_is_that_of_endpoint_and_body_in_any_order_of_keys() -> None:
    one = request_sha256("POST /a", {"a": 1, "b": [1, 2]})
    assert one == request_sha256("POST /a", {"b": [1, 2], "a": 1}) == data_sha256(["POST /a", {"a": 1, "b": [1, 2]}])
    others = [("POST /b", {"a": 1, "b": [1, 2]}), ("POST /a", {"a": 1, "b": [2, 1]}), ("POST /a", None)]
    assert one not in {request_sha256(endpoint, body) for endpoint, body in others}
    assert len(one) == 64
    assert request_sha256("POST /a", "\ud800")


def test_a_request_is_masked_before_it_is_hashed() -> None:
    def mask(data: Any) -> Any:
        return dict.fromkeys(data, "<date>")

    first, second = (recorded_request(SentRequest("POST /a", {"on": day}), mask) for day in ("Monday", "Tuesday"))
    assert first == second
    assert (first.endpoint, first.body) == ("POST /a", {"on": "<date>"})
    assert first.sha256 == request_sha256("POST /a", {"on": "<date>"})


def test_a_response_of_an_agent_is_the_same_again() -> None:
    recorded = RecordedResponse(text="hi", finish_reason="stop", usage=TokenUsage(input_tokens=1))
    response = recorded.to_response(1.5)
    assert (response.text, response.finish_reason, response.usage, response.latency_seconds, response.tool_calls) == (
        "hi",
        "stop",
        TokenUsage(input_tokens=1),
        1.5,
        (),
    )
    assert recorded.to_response(None).latency_seconds is None


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(
            {"body": {"usage": {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}}},
            (7, 5),
            id="openai-chat",
        ),
        pytest.param({"body": {"usage": {"prompt_tokens": 7, "total_tokens": 7}}}, (7, None), id="embeddings"),
        pytest.param(
            {"body": {"usage": {"input_tokens": 7, "input_tokens_details": {"cached_tokens": 9}, "output_tokens": 5}}},
            (7, 5),
            id="openai-responses",
        ),
        pytest.param(
            {
                "events": [
                    {"data": {"message": {"usage": {"input_tokens": 7, "output_tokens": 1}}}},
                    {"data": {"usage": {"output_tokens": 5}}},
                ]
            },
            (7, 5),
            id="a stream of anthropic",
        ),
        pytest.param(
            {"events": [{"data": {"usage": None}}, {"data": {"usage": {"prompt_tokens": 7}}}, {"data": "[DONE]"}]},
            (7, None),
            id="a stream of openai",
        ),
        pytest.param(
            {"body": {"usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 5}}}, (7, 5), id="gemini"
        ),
        pytest.param(
            {"events": [{"headers": {}, "data": {"usage": {"inputTokens": 7, "outputTokens": 5}}}]},
            (7, 5),
            id="bedrock",
        ),
        pytest.param({"events": [{"done": True, "prompt_eval_count": 7, "eval_count": 5}]}, (7, 5), id="ollama"),
        pytest.param(
            {
                "body": {
                    "usage": {"billed_units": {"input_tokens": 3}, "tokens": {"input_tokens": 7, "output_tokens": 5}}
                }
            },
            (7, 5),
            id="cohere",
        ),
        pytest.param({"body": {"usage": {"input_tokens": True, "output_tokens": "5"}}}, (None, None), id="no numbers"),
        pytest.param({"body": [1, "x"]}, (None, None), id="no usage"),
        pytest.param({"text": "input_tokens: 5"}, (None, None), id="text"),
        pytest.param({}, (None, None), id="nothing"),
    ],
)
def test_the_tokens_of_each_api_are_read(content: dict[str, Any], expected: tuple[int | None, int | None]) -> None:
    usage = read_usage(content)
    assert (usage.input_tokens, usage.output_tokens) == expected


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json", json.dumps([0.5] * 300_001).encode()),
        ("text/event-stream", b"data: x\n\n" * 200_000),
        ("application/x-ndjson", b"1\n" * 300_001),
        ("application/vnd.amazon.eventstream", write_aws_message({}, b"1") * 300_001),
    ],
    ids=["JSON", "events", "lines", "messages of AWS"],
)
def test_a_reply_of_very_many_parts_is_kept_and_replayed_as_one(content_type: str, body: bytes) -> None:
    reply = RecordedReply.of(200, {"content-type": content_type}, body)
    assert list(reply.content) in (["text"], ["base64"])
    assert reply.to_response(httpx.Request("POST", "https://api.example")).read() == body
