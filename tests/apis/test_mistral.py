"""Mistral's chat completions: where they differ from OpenAI's. `tests/clients` has the official SDK for both ways."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from pytest_chatprompt import ChatMessage, Media, MistralProvider, PayloadError, ProviderRequest
from pytest_chatprompt.apis.reply import Reply
from pytest_chatprompt.cases.message import FunctionCall, ToolCall
from tests.apis.built_in import preflight_of
from tests.apis.sdk_clients import ask, events

MISTRAL = MistralProvider()
USER = ChatMessage("user", "hi", number=1)
CALL = ToolCall(id="abcdefgh1", function=FunctionCall(name="f", arguments="{}"))
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


def request(*messages: ChatMessage, **options: Any) -> ProviderRequest:
    return ProviderRequest(chat_prompt=messages, metadata={"systemPrompt": ""}, **options)


def test_the_seed_and_the_limit_have_mistral_s_names() -> None:
    body = MistralProvider(seed=1, max_output_tokens=2, reasoning_effort="high").prepare(request(USER)).body
    assert body == {
        "model": "mistral-large-latest",
        "messages": [{"role": "user", "content": "hi"}],
        "max_tokens": 2,
        "random_seed": 1,
        "reasoning_effort": "high",
    }


def test_media_have_mistral_s_shape() -> None:
    media = (
        Media("image", "https://a.example/a.png", "image/png"),
        Media("document", "docs/a.pdf", "application/pdf", b"%PDF-"),
        Media("document", "https://a.example/b.pdf", "application/pdf"),
        Media("audio", "a.mp3", "audio/mpeg", b"ID3"),
    )
    [message] = MISTRAL.build_payload((ChatMessage("user", ("Look", *media)),)).body["messages"]
    assert message["content"] == [
        {"type": "text", "text": "Look"},
        {"type": "image_url", "image_url": {"url": "https://a.example/a.png"}},
        {
            "type": "document_url",
            "document_url": "data:application/pdf;base64,JVBERi0=",
            "document_name": "a.pdf",
        },
        {"type": "document_url", "document_url": "https://a.example/b.pdf", "document_name": "b.pdf"},
        {"type": "input_audio", "input_audio": "SUQz"},
    ]


def test_names_of_speakers_are_left_out() -> None:
    payload = MISTRAL.build_payload((ChatMessage("user", "hi", name="ann", number=2),))
    assert payload.body["messages"] == [{"role": "user", "content": "hi"}]
    assert payload.adjustments == ("message 2: name 'ann' left out, Mistral has none",)


def test_a_function_without_parameters_gets_the_schema_that_the_api_demands() -> None:
    body = MISTRAL.prepare(request(USER, tools=[{"type": "function", "name": "now"}])).body
    empty = {"type": "object", "properties": {}}
    assert body["tools"] == [{"type": "function", "function": {"parameters": empty, "name": "now"}}]


@pytest.mark.parametrize("choice", ["auto", "none", "required", {"type": "function", "function": {"name": "f"}}])
def test_a_tool_choice_is_sent_as_it_is(choice: Any) -> None:
    assert MISTRAL.tool_choice_payload(choice).body == {"tool_choice": choice}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]}},
            "Mistral has no allowed_tools; write auto, none, required or the name of one function",
        ),
        (
            {"tools": [{"type": "custom", "name": "f"}]},
            "Mistral's chat completions have no tool of the type 'custom'; the types are function",
        ),
    ],
)
def test_what_mistral_lacks_is_an_error(options: dict[str, Any], text: str) -> None:
    with pytest.raises(PayloadError, match=f"^{re.escape(text)}$"):
        MISTRAL.prepare(request(USER, **options))


@pytest.mark.parametrize(
    ("messages", "rule", "number", "text"),
    [
        pytest.param(
            (USER, ChatMessage("assistant", "hm", number=2)),
            "last-turn",
            2,
            "Mistral expects the last turn from the user or a tool; end with a user message",
            id="the assistant last",
        ),
        pytest.param(
            (
                USER,
                ChatMessage("assistant", None, tool_calls=(CALL,), number=2),
                ChatMessage("tool", "x", tool_call_id=CALL.id, number=3),
                ChatMessage("user", "and?", number=4),
            ),
            "user-after-result",
            4,
            "Mistral refuses a user message right after tool results; put an answer of the assistant before it",
            id="the user after a result",
        ),
        pytest.param(
            (
                USER,
                ChatMessage("assistant", None, tool_calls=(CALL.model_copy(update={"id": "call_1"}),), number=2),
                ChatMessage("tool", "x", tool_call_id="call_1", number=3),
            ),
            "call-id",
            2,
            "Mistral refuses the id 'call_1' of a call; an id must be 9 of a-z, A-Z and 0-9",
            id="an id of another length",
        ),
    ],
)
def test_preflight_finds_what_the_validator_of_mistral_refuses(
    messages: tuple[ChatMessage, ...], rule: str, number: int, text: str
) -> None:
    [finding] = preflight_of(MISTRAL, request(*messages))
    assert (finding.rule, finding.message_number, finding.text) == (rule, number, text)


def test_an_answer_that_ends_with_an_error_is_none() -> None:
    choice = {"message": {"role": "assistant", "content": "Half"}, "finish_reason": "error"}
    response = MISTRAL.read_reply({"choices": [choice]})
    assert (response.text, response.blocked) == ("Half", "error")


def test_thinking_is_no_text_of_the_answer() -> None:
    content = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "yes"}]
    choice = {"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    assert MISTRAL.read_reply({"choices": [choice]}).text == "yes"
