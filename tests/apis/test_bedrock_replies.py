"""Bedrock's Converse API: the replies that boto3 reads, and the requests that are read back."""

from __future__ import annotations

import io
import json
from typing import Any

import boto3
import httpx
import pytest
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.eventstream import EventStreamBuffer
from botocore.exceptions import ClientError

from pytest_chatprompt.apis.conversation import (
    ConversationToolCall,
    ConversationTurn,
    SentMedia,
    Thought,
)
from pytest_chatprompt.apis.model_api import aws_event
from pytest_chatprompt.apis.reply import Reply
from pytest_chatprompt.apis.table import get_api
from tests.apis.sdk_clients import Replies, ask

PATH = "/model/anthropic.claude/converse"
HELLO: dict[str, Any] = {"messages": [{"role": "user", "content": [{"text": "Hello"}]}]}
CITY = {"type": "object", "properties": {"city": {"enum": ["Paris"]}}, "required": ["city"]}
WEATHER: Any = {"toolSpec": {"name": "get_weather", "inputSchema": {"json": CITY}}}
TIME: Any = {"toolSpec": {"name": "get_time", "inputSchema": {"json": {"type": "object"}}}}
CALLS = [{"name": "get_weather", "arguments": {"city": "Zürich"}}, {"name": "get_time", "arguments": {}, "id": "mine"}]


class _Raw(io.BytesIO):
    def stream(self, amount: int = 1024, **_: Any) -> Any:
        while chunk := self.read(amount):
            yield chunk


def client(replies: Replies) -> Any:
    """A client of boto3 that never reaches its transport."""
    made = boto3.client(
        "bedrock-runtime",
        region_name="us-east-1",
        aws_access_key_id="k",
        aws_secret_access_key="s",
        config=Config(retries={"max_attempts": 0}),
    )

    def answer(request: Any, **_: Any) -> AWSResponse:
        # The names and the values of botocore's headers are bytes.
        headers = dict(request.headers.items())
        response = replies.answer(httpx.Request(request.method, request.url, headers=headers, content=request.body))
        content = b"".join(response.stream)  # type: ignore[arg-type]
        return AWSResponse(request.url, response.status_code, dict(response.headers), _Raw(content))

    made.meta.events.register("before-send.bedrock-runtime", answer)
    return made


def converse(replies: Replies, **more: Any) -> Any:
    return client(replies).converse(modelId="anthropic.claude", **{**HELLO, **more})


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(None, id="default"),
        pytest.param(Reply("Hello, you"), id="text"),
        pytest.param(Reply(""), id="empty text"),
        pytest.param(Reply("Let me see", tool_calls=CALLS), id="text and calls"),
        pytest.param(Reply("a", usage={"input_tokens": 3, "output_tokens": 5}, finish_reason="length"), id="usage"),
        pytest.param(Reply("a", finish_reason="guardrail_intervened"), id="the API's own finish reason"),
    ],
)
def test_boto3_reads_a_reply_whole_and_the_same_streamed(reply: Reply | None) -> None:
    replies = [] if reply is None else [reply]
    whole = converse(Replies(*replies))
    content: list[Any] = []
    ended: dict[str, Any] = {}
    for event in client(Replies(*replies)).converse_stream(modelId="anthropic.claude", **HELLO)["stream"]:
        [(name, data)] = event.items()
        if name == "contentBlockStart":
            content.append({"toolUse": {**data["start"]["toolUse"], "input": ""}})
        elif name == "contentBlockDelta" and "toolUse" in data["delta"]:
            content[-1]["toolUse"]["input"] += data["delta"]["toolUse"]["input"]
        elif name == "contentBlockDelta":
            if len(content) == data["contentBlockIndex"]:
                content.append({"text": ""})
            content[-1]["text"] += data["delta"]["text"]
        elif name in ("messageStop", "metadata"):
            ended |= data
    for block in content:
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(block["toolUse"]["input"])
    wanted = [
        {**block, "toolUse": {**block["toolUse"]}} if "toolUse" in block else block
        for block in whole["output"]["message"]["content"]
    ]
    assert [_without_id(block) for block in content] == [
        _without_id(block) for block in wanted if block != {"text": ""}
    ]
    assert (ended["stopReason"], ended["usage"]) == (whole["stopReason"], whole["usage"])
    assert whole["usage"]["totalTokens"] == (8 if reply and reply.usage else 0)


def _without_id(block: Any) -> Any:
    return {"toolUse": {**block["toolUse"], "toolUseId": ""}} if "toolUse" in block else block


def test_a_reply_has_all_that_the_service_model_requires() -> None:
    shape = boto3.Session()._session.get_service_model("bedrock-runtime").operation_model("Converse").output_shape
    body = ask(PATH, HELLO, Reply("Let me see", tool_calls=CALLS)).json()
    assert missing_or_unknown(shape, body) == []


def missing_or_unknown(shape: Any, data: Any, place: str = "") -> list[str]:
    if shape.type_name == "structure" and not getattr(shape, "is_document_type", False):
        found = [f"{place}.{name} is missing" for name in shape.required_members if name not in data]
        found += [f"{place}.{name} is unknown" for name in data if name not in shape.members]
        for name in data:
            found += missing_or_unknown(shape.members[name], data[name], f"{place}.{name}")
        return found
    if shape.type_name == "list":
        return [
            text
            for index, item in enumerate(data)
            for text in missing_or_unknown(shape.member, item, f"{place}[{index}]")
        ]
    if shape.type_name == "string" and shape.enum:
        return [] if data in shape.enum else [f"{place}: {data!r}"]
    return []


def test_a_demanded_schema_gets_an_instance() -> None:
    def config(schema: str) -> Any:
        return {
            "outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": {"schema": schema}}}}
        }

    assert converse(Replies(), **config(json.dumps(CITY)))["output"]["message"]["content"] == [
        {"text": '{"city": "Paris"}'}
    ]
    assert converse(Replies(), **config("no JSON"))["output"]["message"]["content"] == [{"text": "{}"}]


@pytest.mark.parametrize("choice", [{"any": {}}, {"tool": {"name": "get_weather"}}])
def test_a_forced_tool_is_called_with_an_instance_of_its_parameters(choice: Any) -> None:
    reply = converse(Replies(), toolConfig={"tools": [WEATHER, TIME], "toolChoice": choice})
    [block] = reply["output"]["message"]["content"]
    assert (block["toolUse"]["name"], block["toolUse"]["input"]) == ("get_weather", {"city": "Paris"})
    assert reply["stopReason"] == "tool_use"


def test_a_tool_that_is_only_offered_is_not_called() -> None:
    reply = converse(Replies(), toolConfig={"tools": [WEATHER], "toolChoice": {"auto": {}}})
    assert reply["output"]["message"]["content"] == [{"text": "(offline)"}]


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, "ValidationException"),
        (401, "UnrecognizedClientException"),
        (403, "AccessDeniedException"),
        (404, "ResourceNotFoundException"),
        (408, "ModelTimeoutException"),
        (409, "ConflictException"),
        (413, "ValidationException"),
        (422, "ValidationException"),
        (429, "ThrottlingException"),
        (500, "InternalServerException"),
        (503, "ServiceUnavailableException"),
        (529, "ServiceUnavailableException"),
    ],
)
def test_an_error_is_raised_by_boto3_as_its_own(status: int, error: str) -> None:
    with pytest.raises(ClientError) as raised:
        converse(Replies(Reply(error=status)))
    assert type(raised.value).__name__ in (error, "ClientError")
    assert raised.value.response["Error"]["Code"] == error
    assert raised.value.response["Error"]["Message"] == f"{error} (queued by the test)"
    with pytest.raises(ClientError):
        client(Replies(Reply(error=status))).converse_stream(modelId="anthropic.claude", **HELLO)


def test_the_path_may_hold_an_arn() -> None:
    arn = "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude"
    replies = Replies()
    client(replies).converse(modelId=arn, **HELLO)
    assert replies.requests[0].url.path == f"/model/{arn}/converse"


@pytest.mark.parametrize("data", [{}, {"text": "Zürich 🌧"}, {"a": list(range(1000))}])
def test_messages_are_decoded_by_botocore(data: Any) -> None:
    buffer = EventStreamBuffer()
    buffer.add_data(aws_event("one", data) + aws_event("two", data))
    for name, message in zip(("one", "two"), buffer, strict=True):
        assert message.headers == {":event-type": name, ":content-type": "application/json", ":message-type": "event"}
        assert json.loads(message.payload) == data


def read(body: Any) -> tuple[ConversationTurn, ...]:
    return get_api("bedrock").read_conversation(body).turns


def test_a_conversation_is_read_back() -> None:
    messages = [
        {
            "role": "user",
            "content": [
                {"text": "Look:"},
                {"image": {"format": "png", "source": {"bytes": "AAECAw=="}}},
                {"document": {"format": "pdf", "name": "report", "source": {"bytes": "AAEC"}}},
                {"document": {"name": "text", "source": {"text": "plain"}}},
                {"document": {"name": "parts", "source": {"content": [{"text": "in it"}]}}},
                {"video": {"format": "mp4", "source": {"s3Location": {"uri": "s3://a/b.mp4"}}}},
                {"guardContent": {"text": {"text": "guarded"}}},
                {"cachePoint": {"type": "default"}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "Hm."}}},
                {"reasoningContent": {"redactedContent": "AAEC"}},
                {"text": "I look."},
                {"toolUse": {"toolUseId": "c1", "name": "get_weather", "input": {"city": "Zürich"}}},
            ],
        },
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "rain"}, {"json": {"mm": 3}}]}}],
        },
    ]
    assert read({"system": [{"text": "Be kind."}], "messages": messages}) == (
        ConversationTurn("system", ("Be kind.",)),
        ConversationTurn(
            "user",
            (
                "Look:",
                SentMedia("image", "image/png", 4),
                SentMedia("document", "application/pdf", 3, "report"),
                "plain",
                "in it",
                SentMedia("video", "video/mp4", source="s3://a/b.mp4"),
                "guarded",
            ),
        ),
        ConversationTurn(
            "assistant",
            (Thought("Hm."), Thought(), "I look.", ConversationToolCall("get_weather", '{"city": "Zürich"}', "c1")),
        ),
        ConversationTurn("tool", ("rain", '{"mm": 3}'), call_id="c1"),
    )


def test_what_is_not_understood_stays_as_json_text() -> None:
    messages = [
        "Hello",
        {"role": None},
        {"role": "user", "content": [{"image": 5}, {"new": 1}, 5, {"guardContent": {}}]},
    ]
    assert [(turn.role, turn.content) for turn in read({"messages": messages, "system": []})] == [
        ("user", "Hello"),
        ("unknown", '{"role": null}'),
        ("user", '{"image": 5}\n{"new": 1}\n5\n{"guardContent": {}}'),
    ]
