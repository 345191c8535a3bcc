"""Bodies in which any value is another than the API takes: an app may send them, and no run is ever broken by one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import httpx
import pytest

from pytest_chatprompt.apis.conversation import json_text
from pytest_chatprompt.apis.table import get_api
from pytest_chatprompt.capture.captured_request import captured_request
from pytest_chatprompt.capture.offline_api import preflight_requests
from pytest_chatprompt.capture.prompt_size import describe_break, prompt_parts
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.errors import ChatPromptError
from pytest_chatprompt.prompt.attachments import FileReader
from pytest_chatprompt.providers.context import SendContext, use_context
from pytest_chatprompt.reports.page_data import page_requests
from pytest_chatprompt.snapshots.layout import dump
from pytest_chatprompt.snapshots.masks import elide_media
from tests.apis.built_in import chat_providers
from tests.capture.test_captured_request import api_of
from tests.conftest import Project

MEDIA: Final = "A" * 400
CASE: Final = """
input_messages:
  - {role: system, content: Be kind.}
  - {role: user, content: [{type: text, value: Look}, {type: image, value: photo.png}]}
  - {role: assistant, content: I look., tool_calls: [{id: c1, function: {name: f, arguments: '{"a": 1}'}}]}
  - {role: tool, tool_call_id: c1, content: rain}
  - {role: user, content: And now?}
tools: [{type: function, name: f, parameters: {type: object, properties: {a: {type: integer}}, required: [a]}}]
tool_choice: {type: function, name: f}
response_format: {type: json_schema, name: n, schema: {type: object, properties: {a: {type: string}}}, strict: true}
settings: {temperature: 1, max_output_tokens: 100}
"""
# What no built-in provider sends, and clients do.
MORE: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "openai-chat": (
        "https://api.openai.com/v1/chat/completions",
        {
            "model": "gpt-5.5",
            "messages": [{"role": "user", "content": [{"input_audio": {"data": MEDIA, "format": "wav"}}]}],
            "tools": [{"type": "custom", "custom": {"name": "c"}}],
            "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"type": "custom"}]}},
        },
    ),
    "openai-responses": (
        "https://api.openai.com/v1/responses",
        {
            "model": "gpt-5.5",
            "input": [
                {"type": "custom_tool_call", "name": "c", "input": "i", "call_id": "1"},
                {"type": "custom_tool_call_output", "call_id": "1", "output": [{"type": "input_text", "text": "x"}]},
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "s"}]},
            ],
            "prompt": {"id": "p", "variables": {"c": {"type": "input_text", "text": "z"}}},
        },
    ),
    "openai-embeddings": (
        "https://api.openai.com/v1/embeddings",
        {"model": "m", "input": ["a", "b"], "dimensions": 8, "encoding_format": "base64"},
    ),
    "anthropic": (
        "https://api.anthropic.com/v1/messages",
        {
            "model": "claude-sonnet-5",
            "max_tokens": 10,
            "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
            "messages": [
                {"role": "assistant", "content": [{"type": "thinking", "thinking": "h", "signature": "s"}]},
                {"role": "user", "content": [{"type": "document", "source": {"type": "url", "url": "u"}}]},
            ],
            "thinking": {"type": "enabled", "budget_tokens": 1024},
        },
    ),
    "gemini": (
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:generateContent",
        {
            "contents": [
                {"parts": [{"functionResponse": {"name": "f", "response": {}, "parts": [{"inlineData": {}}]}}]}
            ],
            "generationConfig": {"thinkingConfig": {"thinkingBudget": 1}, "responseModalities": ["TEXT"]},
        },
    ),
    "ollama-generate": (
        "http://localhost:11434/api/generate",
        {"model": "m", "prompt": "p", "system": "s", "images": [MEDIA], "format": {"type": "object"}},
    ),
}
ODD: Final[tuple[Any, ...]] = ([], {}, 3, "x", None, True, [[]], 10**400)


def places(data: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield from places(value, (*at, key))


def replaced(data: Any, at: tuple[Any, ...], value: Any) -> Any:
    if not at:
        return value
    copy = data.copy()
    copy[at[0]] = replaced(data[at[0]], at[1:], value)
    return copy


def read_in_every_way(api: Any, url: str, body: Any) -> None:
    request = httpx.Request("POST", url, content=json_text(body).encode(), headers={"content-type": "application/json"})
    sent = SentRequest.from_httpx(request)
    assert sent.question == api.read_conversation(sent.body).as_transcript()
    assert b"".join(api.answer(request).stream)
    preflight_requests([request])
    prompt_parts(sent)
    describe_break([sent, sent])
    shown = elide_media({"requests": [sent.as_data()]})
    assert json.dumps(page_requests(shown))
    assert dump(shown)


def check_each_place(api: Any, url: str, body: Any) -> None:
    for at in places(body):
        for value in ODD:
            odd = replaced(body, at, value)
            try:
                read_in_every_way(api, url, odd)
            except Exception as error:
                raise AssertionError(f"{value!r} at {at} of {json.dumps(odd)}") from error


@pytest.mark.parametrize("name", MORE)
def test_a_body_with_any_value_in_any_place_is_read(name: str) -> None:
    check_each_place(get_api(name), *MORE[name])


@pytest.mark.parametrize("provider", chat_providers(), ids=lambda provider: provider.__name__)
def test_a_body_of_a_provider_with_any_value_in_any_place_is_read(project: Project, provider: Any) -> None:
    project.write("photo.png", b"\x89PNG\r\n\x1a\n" + bytes(300))
    with use_context(SendContext(is_offline=True)):
        prepared = provider().prepare(project.request(CASE))
    check_each_place(get_api(provider.offline_api), prepared.url, json.loads(prepared.content))


@pytest.mark.parametrize("provider", chat_providers(), ids=lambda provider: provider.__name__)
def test_a_case_sends_such_a_body_as_it_is_or_says_why_not(project: Project, provider: Any) -> None:
    project.write("photo.png", b"\x89PNG\r\n\x1a\n" + bytes(300))
    with use_context(SendContext(is_offline=True)):
        body = json.loads(provider().prepare(project.request(CASE)).content)
        for at in places(body):
            for value in (*ODD[:3], ODD[-1]):
                project.write("sent.json", json_text(replaced(body, at, value)))
                case = project.case(f"request: ./sent.json\napi: {api_of(provider)}")
                with suppress(ChatPromptError):
                    provider().prepare(captured_request(case, FileReader(project.root), provider.name))
