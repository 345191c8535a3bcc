"""Mistral's chat completions: where they differ from OpenAI's. `tests/clients` has the official SDK read them."""

from __future__ import annotations

import json
import re
from typing import Any

from pytest_chatprompt.apis.reply import Reply
from tests.apis.sdk_clients import ask, events

HOST = "https://api.mistral.ai"
PATH = "/v1/chat/completions"
HELLO: dict[str, Any] = {"model": "mistral-large", "messages": [{"role": "user", "content": "Hello"}]}
TOOL: dict[str, Any] = {"type": "function", "function": {"name": "get_time", "parameters": {"type": "object"}}}
CALLS = [{"name": "get_time", "arguments": {"zone": "CET"}}, {"name": "get_time", "arguments": {}, "id": "123456789"}]


def test_a_reply_has_what_mistral_has_of_it() -> None:
    body = ask(PATH, HELLO, Reply("Hello", usage={"input_tokens": 3, "output_tokens": 5}), HOST).json()
    assert re.fullmatch(r"[0-9a-f]{32}", body.pop("id"))
    assert body == {
        "object": "chat.completion",
        "created": 1735689600,
        "model": "mistral-large",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "tool_calls": None, "content": "Hello"},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8},
    }


def test_any_forces_a_tool_and_its_id_has_nine_characters() -> None:
    body = ask(PATH, HELLO | {"tools": [TOOL], "tool_choice": "any"}, None, HOST).json()
    [call] = body["choices"][0]["message"]["tool_calls"]
    assert re.fullmatch(r"[0-9a-zA-Z]{9}", call["id"])
    assert call["function"] == {"name": "get_time", "arguments": "{}"}
    assert body["choices"][0]["message"]["content"] == ""


def test_a_stream_has_whole_calls_and_always_the_usage() -> None:
    streamed = ask(PATH, HELLO | {"stream": True}, Reply("Let me see", tool_calls=CALLS), HOST)
    *chunks, last = events(streamed)
    assert last == "[DONE]"
    read = [json.loads(chunk) for chunk in chunks]
    text = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in read)
    assert text == "Let me see"
    end = read[-1]["choices"][0]
    assert end["finish_reason"] == "tool_calls"
    assert [call["function"]["arguments"] for call in end["delta"]["tool_calls"]] == ['{"zone": "CET"}', "{}"]
    assert read[-1]["usage"]["total_tokens"] == 0
    text_only = events(ask(PATH, HELLO | {"stream": True}, Reply("Hello"), HOST))
    assert "tool_calls" not in json.loads(text_only[-2])["choices"][0]["delta"]


def test_embeddings_have_an_id() -> None:
    body = ask("/v1/embeddings", {"model": "mistral-embed", "input": ["a"]}, None, HOST).json()
    assert re.fullmatch(r"[0-9a-f]{32}", body["id"])
    assert len(body["data"][0]["embedding"]) == 1024


def test_errors_are_mistral_s() -> None:
    error = ask(PATH, HELLO, Reply(error=429), HOST).json()
    assert (error["object"], error["type"]) == ("error", "rate_limited")
    assert (
        ask("/v1/embeddings", {"input": "a"}, Reply(error=401), HOST).json()["type"] == "invalid_request_unauthorized"
    )
    invalid = ask(PATH, HELLO, Reply(error=422), HOST).json()
    assert invalid["detail"][0]["loc"] == ["body"]
