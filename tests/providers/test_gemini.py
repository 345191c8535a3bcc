"""Google's Gemini API."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt import ChatMessage, GeminiProvider, PayloadError, ProviderRequest
from tests.server import Server

from .conversations import SYSTEM, TOOLS, USER, call


def test_the_model_is_in_the_path_and_the_key_in_a_header(server: Server) -> None:
    server.answers(GeminiProvider.offline_reply)
    provider = GeminiProvider(base_url=server.url, model="gemini-x", api_key="k1", temperature=0, max_output_tokens=5)
    assert (
        provider.send(ProviderRequest(chat_prompt=(SYSTEM, USER, ChatMessage("assistant", "ho")))).text == "(offline)"
    )
    provider.close()
    ((path, headers, body),) = server.requests
    assert path == "/v1beta/models/gemini-x:generateContent"
    assert headers["x-goog-api-key"] == "k1"
    assert body == {
        "systemInstruction": {"parts": [{"text": "Be kind."}]},
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}, {"role": "model", "parts": [{"text": "ho"}]}],
        "generationConfig": {"temperature": 0, "maxOutputTokens": 5},
    }


def test_without_system_and_settings_there_are_contents_alone() -> None:
    assert GeminiProvider().build_payload((USER,)).body == {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}


def test_a_whole_resource_name_is_kept() -> None:
    assert (
        GeminiProvider(model="tunedModels/my model").endpoint_path() == "/v1beta/tunedModels/my%20model:generateContent"
    )


def test_extra_body_is_laid_into_the_generation_config(server: Server) -> None:
    server.answers(GeminiProvider.offline_reply)
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


def test_tool_calls_and_results_become_parts_and_results_of_one_turn_go_together() -> None:
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


@pytest.mark.parametrize(
    ("prompt", "told"),
    [
        pytest.param((SYSTEM,), "Gemini needs a turn, and only a system message is left", id="no turn"),
        pytest.param(
            (ChatMessage("assistant", None, tool_calls=(call("c1", "f", "3"),), number=2),),
            "message 2: the arguments of the tool call 'c1' are no JSON object: '3'; write one, such as '{}'",
            id="arguments that are no object",
        ),
        pytest.param(
            (USER, ChatMessage("tool", "x", number=2)), "message 2: a tool message without 'tool_call_id'", id="no id"
        ),
    ],
)
def test_what_the_shape_cannot_hold_is_an_error(prompt: tuple[ChatMessage, ...], told: str) -> None:
    with pytest.raises(PayloadError) as caught:
        GeminiProvider().build_payload(prompt)
    assert str(caught.value).startswith(told)


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
            "ab", "STOP", None, (3, 9), id="all text, none of the thoughts",
        ),
        pytest.param(
            {"candidates": [{"finishReason": "SAFETY"}]}, "", "SAFETY", "SAFETY", (None, None), id="a withheld answer"
        ),
        pytest.param(
            {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 3}},
            "", None, "PROHIBITED_CONTENT", (3, None), id="a blocked prompt",
        ),
    ],
)  # fmt: skip
def test_replies_are_read(
    reply: dict[str, Any],
    text: str,
    finish_reason: str | None,
    blocked: str | None,
    tokens: tuple[int | None, int | None],
) -> None:
    response = GeminiProvider().read_reply(reply)
    assert (response.text, response.finish_reason, response.blocked) == (text, finish_reason, blocked)
    assert (response.usage.input_tokens, response.usage.output_tokens) == tokens


def test_an_empty_key_is_no_header() -> None:
    assert GeminiProvider().auth_headers("") == {}
