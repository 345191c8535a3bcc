"""Parity of Mistral: the official SDK knows every field that `MistralProvider` sends, and sends the same body."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from mistralai.client import Mistral, models

from pytest_chatprompt import ChatMessage, Media, MistralProvider, ProviderRequest
from pytest_chatprompt.cases.message import FunctionCall, ToolCall
from tests.apis.sdk_differences import as_ours
from tests.replies import plain_reply

CALL = ToolCall(id="abcdefgh1", function=FunctionCall(name="f", arguments='{"a": 1}'))
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
FUNCTION = {"type": "function", "name": "f", "description": "It", "parameters": SCHEMA, "strict": True}
FORMAT = {"type": "json_schema", "name": "n", "schema": SCHEMA, "strict": True}
CONVERSATION = (
    ChatMessage("system", "Be kind."),
    ChatMessage(
        "user",
        (
            "Look",
            Media("image", "https://a.example/a.png", "image/png"),
            Media("document", "a.pdf", "application/pdf", b"%PDF-"),
            Media("audio", "a.mp3", "audio/mpeg", b"ID3"),
        ),
        name="ann",
    ),
    ChatMessage("assistant", None, tool_calls=(CALL,)),
    ChatMessage("tool", "rain", tool_call_id=CALL.id),
)
SETTINGS: dict[str, Any] = {"temperature": 0.5, "top_p": 0.5, "stop": ["x"], "seed": 1, "max_output_tokens": 5}


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="messages"),
        pytest.param({"settings": {**SETTINGS, "reasoning_effort": "high"}}, id="settings"),
        pytest.param({"settings": {"stop": "x"}}, id="one stop"),
        pytest.param({"tools": [FUNCTION, {"type": "function", "name": "g"}], "tool_choice": "required"}, id="tools"),
        pytest.param({"tools": [FUNCTION], "tool_choice": {"type": "function", "name": "f"}}, id="one tool"),
        pytest.param({"response_format": FORMAT}, id="a schema"),
        pytest.param({"response_format": {"type": "json_object"}}, id="JSON"),
    ],
)
def test_the_sdk_reads_a_request_without_loss(options: dict[str, Any]) -> None:
    body = MistralProvider().prepare(ProviderRequest(chat_prompt=CONVERSATION, **options)).body
    read = models.ChatCompletionRequest.model_validate(body)
    assert json.loads(read.model_dump_json(by_alias=True, exclude_unset=True)) == body


def test_the_sdk_sends_the_same_body() -> None:
    sent: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.content))
        return httpx.Response(200, json=plain_reply("mistral"))

    messages: Any = [
        {"role": "user", "content": "Rain?"},
        {"role": "assistant", "tool_calls": [CALL.model_dump()]},
        {"role": "tool", "content": "rain", "tool_call_id": CALL.id},
    ]
    with Mistral(api_key="k", client=httpx.Client(transport=httpx.MockTransport(answer))) as client:
        client.chat.complete(model="m", messages=messages)
    prompt = (ChatMessage("user", "Rain?"), ChatMessage("assistant", None, tool_calls=(CALL,)), CONVERSATION[-1])
    ours = MistralProvider(model="m").prepare(ProviderRequest(chat_prompt=prompt, metadata={"systemPrompt": ""}))
    (body,) = sent
    assert as_ours(("", body), "Mistral", "OpenAI and the like") == ("", ours.body)
