"""Gemini: the body that is sent, and the reply that comes back."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt import ChatMessage, GeminiProvider, PayloadError, ProviderRequest
from tests.apis.conversations import SYSTEM, TOOLS, USER, call
from tests.replies import plain_reply
from tests.server import Server


def test_the_model_is_in_the_path_and_the_key_in_a_header(server: Server) -> None:
    server.reply_with(plain_reply("gemini"))
    provider = GeminiProvider(base_url=server.url, model="gemini-x", api_key="k1", temperature=0, max_output_tokens=5)
    assert (
        provider.send(ProviderRequest(chat_prompt=(SYSTEM, USER, ChatMessage("assistant", "ho")))).text == "(offline)"
    )
    provider.close()
    ((path, headers, body),) = server.requests
    assert path == "/v1/models/gemini-x:generateContent"
    assert headers["x-goog-api-key"] == "k1"
    assert body == {
        "systemInstruction": {"parts": [{"text": "Be kind."}]},
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}, {"role": "model", "parts": [{"text": "ho"}]}],
        "generationConfig": {"temperature": 0, "maxOutputTokens": 5},
    }


def test_without_a_system_message_and_settings_only_contents_are_sent() -> None:
    assert GeminiProvider().build_payload((USER,)).body == {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}


def test_a_full_resource_name_is_kept() -> None:
    assert GeminiProvider(model="tunedModels/my model").endpoint_path() == "/v1/tunedModels/my%20model:generateContent"


def test_extra_body_is_merged_into_the_generation_config(server: Server) -> None:
    server.reply_with(plain_reply("gemini"))
    provider = GeminiProvider(
        base_url=server.url,
        api_key="k",
        temperature=1,
        extra_body={"generationConfig": {"topK": 3}, "safetySettings": []},
    )
    provider.send(ProviderRequest(question="hi", metadata={"systemPrompt": ""}))
    provider.close()
    body = server.requests[0][2]
    assert body["generationConfig"] == {"temperature": 1, "topK": 3}
    assert body["safetySettings"] == []


def test_e3_tool_calls_and_results_become_parts_and_the_results_of_one_turn_are_sent_together() -> None:
    payload = GeminiProvider().build_payload(TOOLS)
    assert payload.body["contents"] == [
        {"role": "user", "parts": [{"text": "Weather?"}]},
        {
            "role": "model",
            "parts": [
                {"text": "Let me see."},
                {"functionCall": {"id": "c1", "name": "weather", "args": {"city": "Paris"}}},
                {"functionCall": {"id": "c2", "name": "now", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "c1", "name": "weather", "response": {"result": "sunny"}}},
                {"functionResponse": {"id": "c2", "name": "now", "response": {"result": ""}}},
            ],
        },
        {"role": "user", "parts": [{"text": "And?"}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c3", "name": "more", "args": {}}}]},
        {
            "role": "user",
            "parts": [{"functionResponse": {"id": "c3", "name": "more", "response": {"result": '{"a": 1}'}}}],
        },
    ]
    assert payload.adjustments == (
        "message 5: null sent as an empty result",
        "tool results of messages 4 and 5 sent in one user turn",
    )


def test_the_texts_of_a_result_stand_on_lines_of_their_own() -> None:
    asked = ChatMessage("assistant", None, tool_calls=(call("c1", "now"),), number=2)
    payload = GeminiProvider().build_payload(
        (USER, asked, ChatMessage("tool", ("1", "2"), tool_call_id="c1", number=3))
    )
    (part,) = payload.body["contents"][-1]["parts"]
    assert part["functionResponse"]["response"] == {"result": "1\n2"}


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        pytest.param((SYSTEM,), "Gemini needs a message besides the system message", id="system messages only"),
        pytest.param(
            (ChatMessage("assistant", None, tool_calls=(call("c1", "f", "3"),), number=2),),
            "message 2: the arguments of the tool call 'c1' are not a JSON object: '3'; write one, such as '{}'",
            id="arguments that are not an object",
        ),
        pytest.param(
            (
                ChatMessage("tool", "x", tool_call_id="c1", number=1),
                ChatMessage("assistant", None, tool_calls=(call("c1", "f"),)),
            ),
            "message 1: it answers the call 'c1', but no call comes before it",
            id="E3: a result before its call",
        ),
        pytest.param(
            (USER, ChatMessage("tool", "x", number=2)), "message 2: a tool message without 'tool_call_id'", id="no id"
        ),
    ],
)
def test_e3_messages_that_the_api_cannot_express_are_an_error(prompt: tuple[ChatMessage, ...], text: str) -> None:
    with pytest.raises(PayloadError) as caught:
        GeminiProvider().build_payload(prompt)
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize(
    ("reply", "text", "finish_reason", "blocked", "tokens"),
    [
        pytest.param(
            {
                "candidates": [
                    {
                        "content": {"parts": [{"text": "hm", "thought": True}, {"text": "a"}, {"functionCall": {}}, {"text": "b"}]},
                        "finishReason": "STOP",
                    }
                ],
                "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4, "thoughtsTokenCount": 5},
            },
            "ab", "STOP", None, (3, 9), id="all text, without the thoughts",
        ),
        pytest.param(
            {"candidates": [{"finishReason": "SAFETY"}]}, "", "SAFETY", "SAFETY", (None, None), id="a blocked answer"
        ),
        pytest.param(
            {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 3}},
            "", None, "PROHIBITED_CONTENT", (3, None), id="a blocked prompt",
        ),
    ],
)  # fmt: skip
def test_a_reply_becomes_a_response(
    reply: dict[str, Any],
    text: str,
    finish_reason: str | None,
    blocked: str | None,
    tokens: tuple[int | None, int | None],
) -> None:
    response = GeminiProvider().read_reply(reply)
    assert (response.text, response.finish_reason, response.blocked) == (text, finish_reason, blocked)
    assert (response.usage.input_tokens, response.usage.output_tokens) == tokens


def test_an_empty_key_is_not_sent() -> None:
    assert GeminiProvider().auth_headers("") == {}
