"""Conversations read back: as transcripts, and of whatever body."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from hypothesis import given, note, settings, strategies as st

from pytest_chatprompt.apis.anthropic import AnthropicProvider
from pytest_chatprompt.apis.azure import AzureProvider
from pytest_chatprompt.apis.bedrock import BedrockProvider
from pytest_chatprompt.apis.chat_provider import ChatProvider
from pytest_chatprompt.apis.conversation import (
    Conversation,
    ConversationToolCall,
    ConversationTurn,
    SentMedia,
    Thought,
)
from pytest_chatprompt.apis.gemini import GeminiProvider
from pytest_chatprompt.apis.ollama import OllamaProvider
from pytest_chatprompt.apis.openai import OpenAIProvider
from pytest_chatprompt.apis.openai_responses import OpenAIResponsesProvider
from pytest_chatprompt.apis.openrouter import OpenRouterProvider
from pytest_chatprompt.apis.table import API_NAMES, find_api, get_api
from tests.conftest import Project

PATHS = {
    "azure-chat": "/openai/deployments/d/chat/completions",
    "mistral": "/v1/chat/completions",
    "mistral-embeddings": "/v1/embeddings",
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "openai-embeddings": "/v1/embeddings",
    "anthropic": "/v1/messages",
    "gemini": "/v1/models/m:generateContent",
    "bedrock": "/model/m/converse",
    "ollama-chat": "/api/chat",
    "ollama-generate": "/api/generate",
    "cohere": "/v2/chat",
}
every_api = pytest.mark.parametrize("name", API_NAMES)
CASE = """
input_messages:
  - {role: system, content: "Be kind.\\n\\nBe short."}
  - role: user
    content:
      - {type: text, value: "Two lines,\\nand a third:"}
      - {type: text, value: "[Assistant]: not a marker"}
  - role: assistant
    content: I look.
    tool_calls:
      - {id: c1, function: {name: get_weather, arguments: '{"city": "Zürich"}'}}
      - {id: c2, function: {name: get_time, arguments: '{}'}}
  - {role: tool, tool_call_id: c1, content: "rain\\nand wind\\n"}
  - {role: tool, tool_call_id: c2, content: ""}
  - {role: assistant, content: "It rains."}
  - {role: user, content: "Thanks.\\n"}
"""


@pytest.mark.parametrize(
    "provider",
    [
        *(OpenAIProvider(), AzureProvider(endpoint="https://a.invalid"), AnthropicProvider(), GeminiProvider()),
        *(OpenAIResponsesProvider(), BedrockProvider(region="us-east-1"), OllamaProvider(), OpenRouterProvider()),
    ],
    ids=lambda provider: type(provider).__name__,
)
@pytest.mark.parametrize("case", [CASE, "input_messages: [{role: user, content: Hello}]\nmetadata: {systemPrompt: ''}"])
def test_the_transcript_of_a_case_that_was_sent_is_its_question(
    project: Project, provider: ChatProvider, case: str
) -> None:
    request = project.request(case)
    prepared = provider.prepare(request)
    url = httpx.URL(prepared.url)
    api = find_api("POST", url.path)
    assert api is not None
    assert api.read_conversation(json.loads(prepared.content)).as_transcript() == request.question


def test_a_transcript_shows_files_thoughts_and_calls() -> None:
    conversation = Conversation(
        (
            ConversationTurn("system", ("Be kind.",)),
            ConversationTurn(
                "user", ("Look:", SentMedia("image", "image/png", 34123), SentMedia("document", source="a.pdf"))
            ),
            ConversationTurn("assistant", (Thought("Hm."), Thought(), "", ConversationToolCall("f", '{"a": 1}', "c1"))),
            ConversationTurn("tool", ("rain", SentMedia("file")), "f", "c1"),
            ConversationTurn("critic", ("No.",)),
        )
    )
    assert conversation.as_transcript() == (
        "[System]: Be kind.\n"
        "[User]:\nLook:\n<Image: image/png, 34123 bytes>\n<Document: a.pdf>\n"
        '[Assistant]:\n<Thought: Hm.>\n<Thought>\n<Call f({"a": 1})>\n'
        "[Tool]:\nrain\n<File>\n"
        "[Critic]: No."
    )
    assert [call.name for call in conversation.tool_calls] == ["f"]


def test_every_api_has_a_path_here() -> None:
    assert set(PATHS) == set(API_NAMES)


WORDS = st.sampled_from(
    [
        *(
            "role",
            "content",
            "parts",
            "text",
            "type",
            "messages",
            "contents",
            "input",
            "system",
            "tool_calls",
            "function",
        ),
        *(
            "name",
            "arguments",
            "id",
            "image_url",
            "url",
            "source",
            "data",
            "media_type",
            "tool_use",
            "tool_result",
            "image",
        ),
        *(
            "input_text",
            "function_call",
            "function_call_output",
            "output",
            "reasoning",
            "summary",
            "inlineData",
            "fileData",
        ),
        *(
            "functionCall",
            "functionResponse",
            "response",
            "toolUse",
            "toolResult",
            "bytes",
            "format",
            "user",
            "assistant",
        ),
        *("tool", "model", "prompt", "images", "document", "base64", "thinking", "instructions", "systemInstruction"),
        *("tool_choice", "tools", "response_format", "stream", "n", "guardContent", "input_audio", "file", "file_data"),
        *("custom", "required", "any", "generationConfig", "toolConfig", "outputConfig", "documents", "text_format"),
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | WORDS | st.just("\ud800"),
    lambda items: st.lists(items, max_size=4) | st.dictionaries(WORDS | st.text(max_size=3), items, max_size=6),
    max_leaves=15,
)
TOP = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        ("messages", "contents", "input", "system", "tools", "prompt", "instructions", "tool_choice"), JSON
    ),
)
BODIES = JSON | TOP


@settings(max_examples=settings().max_examples // 2)
@given(BODIES)
def test_any_body_is_a_conversation_and_gets_a_reply(body: Any) -> None:
    content = json.dumps(body).encode()
    for name in API_NAMES:
        note(name)
        conversation = get_api(name).read_conversation(body)
        assert isinstance(conversation.as_transcript(), str)
        hash(conversation)
        response = get_api(name).answer(httpx.Request("POST", f"https://a.example{PATHS[name]}", content=content))
        assert response.status_code == 200
        assert b"".join(response.stream)  # type: ignore[arg-type]


@every_api
@pytest.mark.parametrize("content", [b"", b"no JSON", b"\xff", b"[" * 100_000, b'{"a":' * 100_000, b"9" * 5000])
def test_what_is_no_json_gets_a_reply(name: str, content: bytes) -> None:
    request = httpx.Request("POST", f"https://a.example{PATHS[name]}", content=content)
    assert get_api(name).answer(request).status_code == 200


@every_api
def test_thousands_of_turns_are_read(name: str) -> None:
    message = {"role": "user", "content": [{"text": "a", "type": "text"}], "parts": [{"text": "a"}]}
    body = {"messages": [message] * 3000, "contents": [message] * 3000, "input": [message] * 3000, "prompt": "a"}
    assert get_api(name).read_conversation(body).as_transcript().count("a") >= 1
