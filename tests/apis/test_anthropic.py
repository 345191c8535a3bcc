"""Anthropic: the body that is sent, and the reply that comes back."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt import AnthropicProvider, ChatMessage, PayloadError, ProviderRequest
from tests.apis.conversations import SYSTEM, TOOLS, USER, call
from tests.replies import plain_reply
from tests.server import Server


def test_the_system_text_is_at_the_top_level_and_max_tokens_is_always_sent(server: Server) -> None:
    server.reply_with(plain_reply("anthropic"))
    provider = AnthropicProvider(base_url=server.url, model="claude", api_key="k1", temperature=0)
    assert provider.send(ProviderRequest(chat_prompt=(SYSTEM, USER))).text == "(offline)"
    provider.close()
    ((path, headers, body),) = server.requests
    assert path == "/v1/messages"
    assert (headers["x-api-key"], headers["anthropic-version"]) == ("k1", "2023-06-01")
    assert body == {
        "model": "claude",
        "max_tokens": 4096,
        "system": "Be kind.",
        "messages": [{"role": "user", "content": "hi"}],
        "temperature": 0,
    }


def test_without_a_system_message_no_system_text_is_sent() -> None:
    body = AnthropicProvider(max_output_tokens=7).build_payload((USER,)).body
    assert body == {"model": "claude-sonnet-5-5", "max_tokens": 7, "messages": [{"role": "user", "content": "hi"}]}


def test_e3_tool_calls_and_results_become_blocks_and_the_results_of_one_turn_are_sent_together() -> None:
    payload = AnthropicProvider().build_payload(TOOLS)
    assert payload.body["messages"] == [
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Let me see."},
                {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Paris"}},
                {"type": "tool_use", "id": "c2", "name": "now", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "sunny"},
                {"type": "tool_result", "tool_use_id": "c2", "content": ""},
            ],
        },
        {"role": "user", "content": "And?"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c3", "name": "more", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c3", "content": '{"a": 1}'}]},
    ]
    assert payload.adjustments == (
        "message 5: null sent as an empty result",
        "tool results of messages 4 and 5 sent in one user turn",
    )


def test_e3_consecutive_turns_are_not_merged() -> None:
    prompt = (USER, ChatMessage("user", "again"), ChatMessage("assistant", "a"), ChatMessage("assistant", "b"))
    assert AnthropicProvider().build_payload(prompt).body["messages"] == [
        {"role": "user", "content": "hi"},
        {"role": "user", "content": "again"},
        {"role": "assistant", "content": "a"},
        {"role": "assistant", "content": "b"},
    ]


def test_several_system_messages_are_joined() -> None:
    prompt = (SYSTEM, USER, ChatMessage("system", "Be kind.", number=3))
    payload = AnthropicProvider().build_payload(prompt)
    assert payload.body["system"] == "Be kind.\n\nBe kind."
    assert payload.adjustments == ("message 3: merged into the first system message",)


def test_names_are_left_out_with_an_adjustment() -> None:
    prompt = (ChatMessage("user", "hi", name="bob", number=3), ChatMessage("assistant", "ho", name="eve"))
    payload = AnthropicProvider().build_payload(prompt)
    assert payload.body["messages"] == [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
    assert payload.adjustments == (
        "message 3: name 'bob' left out, Anthropic has none",
        "assistant message: name 'eve' left out, Anthropic has none",
    )


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        pytest.param(
            (SYSTEM,),
            "Anthropic needs a message besides the system message; add a user message with content of its own",
            id="system messages only",
        ),
        pytest.param(
            (USER, ChatMessage("tool", "x", number=5)),
            "message 5: a tool message without 'tool_call_id'; name the call that it answers",
            id="a result without an id",
        ),
        pytest.param(
            (USER, ChatMessage("tool", "x", tool_call_id="c9", number=5)),
            "message 5: it answers the call 'c9', but no call comes before it; put the assistant message that makes the call before it",
            id="a result without any call",
        ),
        pytest.param(
            (
                USER,
                ChatMessage("tool", "x", tool_call_id="c1", number=2),
                ChatMessage("assistant", None, tool_calls=(call("c1", "f"),)),
            ),
            "message 2: it answers the call 'c1', but no call comes before it; put the assistant message that makes the call before it",
            id="E3: a result before its call",
        ),
        pytest.param(
            (
                ChatMessage("assistant", None, tool_calls=(call("c1", "f"),)),
                ChatMessage("tool", "x", tool_call_id="c9"),
            ),
            "it answers the call 'c9', but the calls before it are 'c1'; put the assistant message that makes the call before it",
            id="a result of another call",
        ),
        pytest.param(
            (ChatMessage("assistant", None, tool_calls=(call("c1", "f", "[1]"),), number=2),),
            "message 2: the arguments of the tool call 'c1' are not a JSON object: '[1]'; write one, such as '{}'",
            id="arguments that are a list",
        ),
        pytest.param(
            (ChatMessage("assistant", None, tool_calls=(call("c1", "f", "{cut"),), number=2),),
            "message 2: the arguments of the tool call 'c1' are not a JSON object: '{cut'; write one, such as '{}'",
            id="arguments that are not JSON",
        ),
    ],
)
def test_e3_messages_that_the_api_cannot_express_are_an_error(prompt: tuple[ChatMessage, ...], text: str) -> None:
    with pytest.raises(PayloadError) as caught:
        AnthropicProvider().build_payload(prompt)
    assert str(caught.value) == text


def test_arguments_that_are_nested_too_deep_are_an_error() -> None:
    prompt = (ChatMessage("assistant", None, tool_calls=(call("c1", "f", "[" * 100_000),)),)
    with pytest.raises(PayloadError, match="are not a JSON object"):
        AnthropicProvider().build_payload(prompt)


def test_empty_content_beside_calls_is_left_out_with_an_adjustment() -> None:
    prompt = (USER, ChatMessage("assistant", "", tool_calls=(call("c1", "f"),), number=3))
    payload = AnthropicProvider().build_payload(prompt)
    assert payload.body["messages"][1]["content"] == [{"type": "tool_use", "id": "c1", "name": "f", "input": {}}]
    assert payload.adjustments == ("message 3: empty content left out beside its calls",)


def test_adjustments_name_messages_without_numbers_by_their_role() -> None:
    prompt = (
        ChatMessage("assistant", None, tool_calls=(call("a", "f"), call("b", "f"))),
        ChatMessage("tool", "x", tool_call_id="a"),
        ChatMessage("tool", "y", tool_call_id="b"),
    )
    assert AnthropicProvider().build_payload(prompt).adjustments == (
        "tool results of tool messages sent in one user turn",
    )


@pytest.mark.parametrize(
    ("reply", "text", "finish_reason", "blocked"),
    [
        pytest.param(
            {
                "content": [
                    {"type": "thinking", "thinking": "hm"},
                    {"type": "text", "text": "a"},
                    {"type": "tool_use", "id": "c", "name": "f", "input": {}},
                    {"type": "text", "text": "b"},
                ],
                "stop_reason": "end_turn",
                "usage": {"input_tokens": 3, "output_tokens": 4},
            },
            "ab", "end_turn", None, id="all text, without the thinking",
        ),
        pytest.param({"content": [], "stop_reason": "refusal"}, "", "refusal", "refusal", id="a refusal"),
    ],
)  # fmt: skip
def test_a_reply_becomes_a_response(reply: dict[str, Any], text: str, finish_reason: str, blocked: str | None) -> None:
    response = AnthropicProvider().read_reply(reply)
    assert (response.text, response.finish_reason, response.blocked) == (text, finish_reason, blocked)
    usage = reply.get("usage", {})
    assert (response.usage.input_tokens, response.usage.output_tokens) == (
        usage.get("input_tokens"),
        usage.get("output_tokens"),
    )


def test_an_empty_key_is_not_sent() -> None:
    assert AnthropicProvider().auth_headers("") == {"anthropic-version": "2023-06-01"}
