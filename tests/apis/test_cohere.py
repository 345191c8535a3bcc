"""Cohere's chat API: replies and requests. `tests/clients` has the official SDK read them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_chatprompt.apis.conversation import ConversationToolCall, ConversationTurn
from pytest_chatprompt.apis.reply import Reply
from pytest_chatprompt.apis.table import get_api
from tests.apis.sdk_clients import ask, events

PATH = "/v2/chat"
HELLO: dict[str, Any] = {"model": "command", "messages": [{"role": "user", "content": "Hello"}]}
TOOL: dict[str, Any] = {"type": "function", "function": {"name": "get_time", "parameters": {"type": "object"}}}
CALLS = [{"name": "get_time", "arguments": {"zone": "CET"}, "id": "mine"}]


def test_a_text_is_the_content() -> None:
    body = ask(PATH, HELLO, Reply("Hello", usage={"input_tokens": 3, "output_tokens": 5})).json()
    del body["id"]
    counts = {"input_tokens": 3, "output_tokens": 5}
    assert body == {
        "message": {"role": "assistant", "content": [{"type": "text", "text": "Hello"}]},
        "finish_reason": "COMPLETE",
        "usage": {"billed_units": counts, "tokens": counts},
    }


def test_the_text_beside_calls_is_the_plan() -> None:
    message = ask(PATH, HELLO, Reply("Let me see", tool_calls=CALLS)).json()["message"]
    assert message == {
        "role": "assistant",
        "tool_plan": "Let me see",
        "tool_calls": [
            {"id": "mine", "type": "function", "function": {"name": "get_time", "arguments": '{"zone": "CET"}'}}
        ],
    }


def test_a_forced_tool_is_called() -> None:
    body = ask(PATH, HELLO | {"tools": [TOOL], "tool_choice": "REQUIRED"}).json()
    assert body["finish_reason"] == "TOOL_CALL"
    assert body["message"]["tool_calls"][0]["id"].startswith("get_time_")
    assert ask(PATH, HELLO | {"tools": [TOOL]}).json()["finish_reason"] == "COMPLETE"


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        ({"type": "json_object"}, "{}"),
        ({"type": "json_object", "json_schema": {"enum": [[1]]}}, "[1]"),
        ({"type": "json_object", "schema": {"enum": [[1]]}}, "[1]"),
        ({"type": "text"}, "(offline)"),
    ],
)
def test_a_demanded_format_is_kept(wanted: Any, text: str) -> None:
    assert ask(PATH, HELLO | {"response_format": wanted}).json()["message"]["content"][0]["text"] == text


def test_a_stream_says_the_same() -> None:
    read = [json.loads(data) for data in events(ask(PATH, HELLO | {"stream": True}, Reply("Let me see")))]
    assert [event["type"] for event in read] == [
        "message-start",
        "content-start",
        *["content-delta"] * 3,
        "content-end",
        "message-end",
    ]
    assert "".join(event["delta"]["message"]["content"]["text"] for event in read[2:5]) == "Let me see"
    assert read[-1]["delta"]["finish_reason"] == "COMPLETE"
    read = [json.loads(data) for data in events(ask(PATH, HELLO | {"stream": True}, Reply("Hm", tool_calls=CALLS)))]
    assert [event["type"] for event in read] == [
        "message-start",
        "tool-plan-delta",
        "tool-call-start",
        "tool-call-delta",
        "tool-call-delta",
        "tool-call-end",
        "message-end",
    ]
    deltas = [event["delta"]["message"]["tool_calls"]["function"]["arguments"] for event in read[3:5]]
    assert "".join(deltas) == '{"zone": "CET"}'


def test_an_error_is_cohere_s() -> None:
    response = ask(PATH, HELLO, Reply(error=429))
    assert response.json()["message"] == "Too Many Requests (queued by the test)"
    assert response.headers["retry-after-ms"] == "1"


def test_a_conversation_is_read_back() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "get_time", "arguments": "{}"}}
    body = {
        "documents": [{"data": {"text": "facts"}}, "more"],
        "messages": [
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "tool_plan": "I look.", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": [{"type": "document", "document": {"data": "1"}}]},
        ],
    }
    assert get_api("cohere").read_conversation(body).turns == (
        ConversationTurn("system", ('{"data": {"text": "facts"}}', "more")),
        ConversationTurn("user", ("Hello",)),
        ConversationTurn("assistant", ("I look.", ConversationToolCall("get_time", "{}", "c1"))),
        ConversationTurn("tool", ('{"type": "document", "document": {"data": "1"}}',), call_id="c1"),
    )
