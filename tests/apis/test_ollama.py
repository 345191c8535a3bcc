"""Ollama's API: replies and requests. `tests/clients` has the official SDK read them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_chatprompt.apis.conversation import (
    Conversation,
    ConversationToolCall,
    ConversationTurn,
    SentMedia,
    Thought,
)
from pytest_chatprompt.apis.reply import Reply
from pytest_chatprompt.apis.table import get_api
from tests.apis.sdk_clients import ask

HELLO: dict[str, Any] = {"model": "llama", "messages": [{"role": "user", "content": "Hello"}], "stream": False}
PROMPT: dict[str, Any] = {"model": "llama", "prompt": "Hello", "stream": False}
CALLS = [{"name": "get_time", "arguments": {"zone": "CET"}}]
COUNTS = {
    "total_duration": 0,
    "load_duration": 0,
    "prompt_eval_count": 3,
    "prompt_eval_duration": 0,
    "eval_count": 5,
    "eval_duration": 0,
}


def lines(path: str, body: Any, reply: Reply | None = None) -> list[Any]:
    response = ask(path, body | {"stream": True}, reply)
    assert response.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in b"".join(response.stream).splitlines()]  # type: ignore[arg-type]


def test_a_chat_has_a_message() -> None:
    reply = Reply("Let me see", tool_calls=CALLS, usage={"input_tokens": 3, "output_tokens": 5})
    assert ask("/api/chat", HELLO, reply).json() == {
        "model": "llama",
        "created_at": "2025-01-01T00:00:00Z",
        "message": {
            "role": "assistant",
            "content": "Let me see",
            "tool_calls": [{"function": {"name": "get_time", "arguments": {"zone": "CET"}}}],
        },
        "done": True,
        "done_reason": "stop",
        **COUNTS,
    }


def test_a_chat_is_streamed_line_by_line() -> None:
    read = lines(
        "/api/chat", HELLO, Reply("Let me see", tool_calls=CALLS, usage={"input_tokens": 3, "output_tokens": 5})
    )
    assert "".join(line["message"]["content"] for line in read) == "Let me see"
    assert [line["message"]["tool_calls"] for line in read if "tool_calls" in line["message"]] == [
        [{"function": {"name": "get_time", "arguments": {"zone": "CET"}}}]
    ]
    assert [line["done"] for line in read] == [False] * (len(read) - 1) + [True]
    assert {key: read[-1][key] for key in COUNTS} == COUNTS


def test_without_a_word_about_it_the_reply_is_a_stream() -> None:
    body = {key: value for key, value in PROMPT.items() if key != "stream"}
    assert ask("/api/generate", body).headers["content-type"] == "application/x-ndjson"


def test_a_text_is_generated_whole_and_streamed() -> None:
    reply = Reply("Hello, you", finish_reason="length")
    whole = ask("/api/generate", PROMPT, reply).json()
    assert (whole["response"], whole["done_reason"], whole["context"]) == ("Hello, you", "length", [])
    assert "".join(line["response"] for line in lines("/api/generate", PROMPT, reply)) == "Hello, you"


@pytest.mark.parametrize(
    ("wanted", "text"), [("json", "{}"), ({"enum": [[1]]}, "[1]"), ("", "(offline)"), (None, "(offline)")]
)
def test_a_demanded_format_is_kept(wanted: Any, text: str) -> None:
    assert ask("/api/chat", HELLO | {"format": wanted}).json()["message"]["content"] == text
    assert ask("/api/generate", PROMPT | {"format": wanted}).json()["response"] == text


def test_generate_has_no_tools() -> None:
    assert not get_api("ollama-generate").accepts(Reply(tool_calls=CALLS))
    with pytest.raises(ValueError, match=r"^/api/generate has no tools; queue a text for it, or ask /api/chat$"):
        ask("/api/generate", PROMPT, Reply(tool_calls=CALLS))


def test_an_error_is_ollama_s() -> None:
    assert ask("/api/chat", HELLO, Reply(error=404)).json() == {"error": "Not Found (queued by the test)"}


def test_a_chat_is_read_back() -> None:
    call = {"function": {"name": "get_time", "arguments": {"zone": "CET"}}}
    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Look:", "images": ["AAECAw=="]},
        {"role": "assistant", "content": "I look.", "thinking": "Hm.", "tool_calls": [call, "odd"]},
        {"role": "tool", "content": "1", "tool_name": "get_time"},
        "Hello",
        {"role": 5},
    ]
    assert get_api("ollama-chat").read_conversation({"messages": messages}).turns == (
        ConversationTurn("system", ("Be kind.",)),
        ConversationTurn("user", ("Look:", SentMedia("image", "", 4))),
        ConversationTurn(
            "assistant", (Thought("Hm."), "I look.", ConversationToolCall("get_time", '{"zone": "CET"}'), '"odd"')
        ),
        ConversationTurn("tool", ("1",), "get_time", ""),
        ConversationTurn("user", ("Hello",)),
        ConversationTurn("unknown", ('{"role": 5}',)),
    )


def test_a_prompt_is_read_back() -> None:
    body = {"system": "Be kind.", "prompt": "Look:", "suffix": "end", "images": ["AAECAw=="]}
    assert get_api("ollama-generate").read_conversation(body).turns == (
        ConversationTurn("system", ("Be kind.",)),
        ConversationTurn("user", ("Look:", "end", SentMedia("image", "", 4))),
    )
    assert get_api("ollama-generate").read_conversation([]) == Conversation()
