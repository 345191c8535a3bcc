"""Parity of Mistral: the official SDK knows every field that `MistralProvider` sends, by the same name and type."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mistralai.client import models

from pytest_chatprompt import ChatMessage, Media, MistralProvider, ProviderRequest
from pytest_chatprompt.cases.message import FunctionCall, ToolCall

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
    body = MistralProvider().preview_body(ProviderRequest(chat_prompt=CONVERSATION, **options)).body
    read = models.ChatCompletionRequest.model_validate(body)
    assert json.loads(read.model_dump_json(by_alias=True, exclude_unset=True)) == body
