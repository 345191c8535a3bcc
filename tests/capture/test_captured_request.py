"""Captured bodies of every API: sent to it again as they are, and to every other one with what is lost told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from pytest_chatprompt import (
    ChatProvider,
    EvalCase,
    EvalFileError,
    GeminiProvider,
    OpenAIProvider,
    PayloadError,
    ProviderRequest,
    build_request,
)
from pytest_chatprompt.capture.captured_request import captured_request
from pytest_chatprompt.cases.case import case_in_test
from pytest_chatprompt.cases.origin import CaseTest
from pytest_chatprompt.prompt.attachments import FileReader
from pytest_chatprompt.prompt.chat_prompt import ChatMessage, ChatPrompt, content_parts
from pytest_chatprompt.providers.context import use_context
from tests.apis.built_in import chat_providers, preflight_of
from tests.apis.test_round_trips import CHOICES, OFFLINE, TOOLS, prompts, some_examples
from tests.media import PNG, in_base64

every_provider = pytest.mark.parametrize("provider", chat_providers(), ids=lambda provider: provider.__name__)


def read(folder: Path, data: Any, **keys: Any) -> ProviderRequest:
    """The request of a case that sends a captured one."""
    (folder / "body.json").write_text(json.dumps(data), encoding="utf-8")
    case = case_in_test(EvalCase(id="a", request="./body.json", **keys), CaseTest("t", folder, folder))
    return captured_request(case, FileReader(folder), None)


def api_of(provider: type[ChatProvider]) -> str:
    """How an eval file names the API of a provider."""
    return "openai" if provider.offline_api in ("openai-chat", "azure-chat") else provider.name


def told_by_shape(folder: Path, body: Any) -> str:
    """The API that a body is taken for, else the error that names those it may be for."""
    try:
        return str(read(folder, body).captured.writer.name)
    except EvalFileError as error:
        return str(error) if "say for which, such as" in str(error) else ""


@some_examples
@every_provider
def test_a_body_is_sent_again_as_it_is_and_what_others_do_not_get_is_told(
    provider: Any, examples: int, tmp_path: Path
) -> None:
    others = [other for other in chat_providers() if other.offline_api != provider.offline_api]

    @settings(max_examples=examples)
    @given(prompts(provider), TOOLS, CHOICES)
    def check(prompt: ChatPrompt, tools: list[dict[str, Any]], choice: Any) -> None:
        written = provider(temperature=0.5).prepare(
            ProviderRequest(
                chat_prompt=prompt,
                tools=tuple(tools),
                tool_choice=choice if tools else None,
                metadata={"systemPrompt": ""},
            )
        )
        request = read(tmp_path, written.body, api=api_of(provider))
        if provider.name != "mistral":
            # That has OpenAI's shape.
            told = told_by_shape(tmp_path, written.body)
            assert told == api_of(provider) or f" {api_of(provider)} " in told
        again = provider().prepare(request)
        assert (again.content, again.adjustments) == (written.content, ())
        if not _said(tuple(each for each in prompt if each.role not in ("system", "developer"))):
            # Without its media nobody but the system may say anything, which is an error about them.
            return
        for other in others:
            sent = other().prepare(request)
            said = _all_text(sent.body)
            told = "\n".join(sent.adjustments)
            for text in _said(prompt):
                assert text in said or json.dumps(text, ensure_ascii=False)[1:-1][:30] in told
            for tool in tools:
                assert str(tool["name"]) in said or "tool" in told

    with use_context(OFFLINE):
        check()


def _said(prompt: tuple[ChatMessage, ...]) -> list[str]:
    """The texts, the names of calls and the bytes of media in a conversation."""
    texts = [str(part) for message in prompt for part in content_parts(message.content) if isinstance(part, str)]
    texts += [call.function.name for message in prompt for call in message.tool_calls]
    return [text for text in texts if text.strip()]


def _all_text(data: Any) -> str:
    if isinstance(data, Mapping):
        return "\n".join(map(_all_text, data.values()))
    return "\n".join(map(_all_text, data)) if isinstance(data, list) else str(data)


TEXT = {"role": "user", "content": "Hi"}
CHAT = {"model": "gpt-4o", "messages": [TEXT]}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": in_base64(PNG)}}
SHAPES: dict[str, tuple[dict[str, Any], str]] = {
    "chat": (CHAT, "openai"),
    "chat without a model, as Azure has it": ({"messages": [TEXT], "temperature": 1}, "openai"),
    "chat with limits": ({**CHAT, "max_tokens": 9}, "openai"),
    "chat with a system message": (
        {"model": "llama", "max_tokens": 9, "messages": [{"role": "system", "content": "a"}, TEXT]},
        "openai",
    ),
    "an unknown key": ({**CHAT, "model": "llama", "max_completion_tokens": 9, "new": 1}, "openai"),
    "Anthropic by its model": ({"model": "claude-sonnet-5-5", "max_tokens": 9, "messages": [TEXT]}, "anthropic"),
    "Anthropic by its system text": ({"model": "a", "max_tokens": 9, "system": "b", "messages": [TEXT]}, "anthropic"),
    "Anthropic by its blocks": (
        {"model": "a", "max_tokens": 9, "messages": [{"role": "user", "content": [IMAGE]}]},
        "anthropic",
    ),
    "a block that nobody knows": (
        {"model": "claude-3", "max_tokens": 9, "messages": [TEXT, {"role": "assistant", "content": [{"type": "new"}]}]},
        "anthropic",
    ),
    "Responses": ({"model": "gpt-4o", "input": "Hi"}, "openai_responses"),
    "Gemini": ({"contents": [{"parts": [{"text": "Hi"}]}]}, "gemini"),
    "Gemini in snake case": ({"system_instruction": "a", "contents": [{"parts": [{"text": "Hi"}]}]}, "gemini"),
    "Bedrock": ({"messages": [{"role": "user", "content": [{"text": "Hi"}]}]}, "bedrock"),
}


@pytest.mark.parametrize(("body", "name"), SHAPES.values(), ids=SHAPES)
def test_the_shape_of_a_body_tells_its_api(body: Any, name: str, tmp_path: Path) -> None:
    assert read(tmp_path, body).captured.writer.name == name


# A body, and what its adjustments are at another API, but for those that any prompt has.
LOST: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing": ({**CHAT, "temperature": 0, "max_tokens": 9, "stop": "X", "tools": [], "user": None}, []),
    "a schema": (
        {"contents": [{"parts": [{"text": "Hi"}]}], "generationConfig": {"responseMimeType": "application/json"}},
        [],
    ),
    "what only one API has": ({**CHAT, "logit_bias": {"1": 2}, "n": 2}, ["logit_bias: 1 2 left out", "n 2 left out"]),
    "many of a kind": (
        {
            "model": "claude-3",
            "max_tokens": 9,
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]}
                for text in "abc"
            ],
        },
        ['messages: cache_control "ephemeral" left out, and 2 more'],
    ),
    "a text that is part of another": (
        {
            "model": "claude-3",
            "max_tokens": 9,
            "messages": [
                {"role": "user", "content": "Hint"},
                {"role": "assistant", "content": [{"type": "new", "text": "Hi"}, {"type": "text", "text": "ok"}]},
            ],
        },
        ['messages: text "Hi" left out'],
    ),
    "a long text": ({**CHAT, "user": "a" * 99}, [f'user "{"a" * 38}… left out']),
    "a file that is elsewhere": (
        {
            **CHAT,
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "Hi"},
                        {"type": "file", "file": {"file_id": "file-1"}},
                    ],
                }
            ],
        },
        ['messages: file_id "file-1" left out'],
    ),
    "URL-safe base64, schemas with types in capitals, data of a tool": (
        {
            "contents": [
                {
                    "parts": [
                        {
                            "inlineData": {
                                "mimeType": "image/png",
                                "data": in_base64(PNG).replace("+", "-").replace("/", "_"),
                            }
                        }
                    ]
                },
                {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
                {"parts": [{"functionResponse": {"name": "f", "response": {"celsius": 21, "sky": ["blue"]}}}]},
            ],
            "tools": [
                {
                    "functionDeclarations": [
                        {"name": "f", "parameters": {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}}}
                    ]
                }
            ],
        },
        [],
    ),
    "results that say that all is well": (
        {
            "model": "claude-3",
            "max_tokens": 9,
            "messages": [
                {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]},
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "c", "content": "21", "is_error": False}],
                },
            ],
        },
        [],
    ),
}


@pytest.mark.parametrize(("body", "lost"), LOST.values(), ids=LOST)
def test_what_is_lost_is_told_by_its_key(body: Any, lost: list[str], tmp_path: Path) -> None:
    assert [*read(tmp_path, body).captured.lost] == lost


def test_where_the_body_cannot_be_written_again_it_is_told_that_nobody_knows_what_is_lost(tmp_path: Path) -> None:
    body = {"model": "gpt-4o", "input": [{"type": "function_call_output", "call_id": "c1", "output": "21"}]}
    request = read(tmp_path, {**body, "previous_response_id": "resp_1"})
    assert request.captured.lost[0].startswith("what is lost is not known: message 1: it answers the call 'c1', but")


def test_all_of_a_message_may_be_left_out(tmp_path: Path) -> None:
    thought = {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": "s"}]}
    body = {"model": "claude-3", "max_tokens": 9, "messages": [TEXT, thought, {"role": "user", "content": ""}]}
    prompt = read(tmp_path, body).chat_prompt or ()
    assert [(message.role, message.content, message.number) for message in prompt] == [
        ("user", "Hi", 1),
        ("user", "", 3),
    ]


def test_a_result_whose_image_is_left_out_stays_the_answer_to_its_call(tmp_path: Path) -> None:
    asked = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": [IMAGE]}]}
    request = read(tmp_path, {"model": "claude-3", "max_tokens": 9, "messages": [TEXT, asked, result]})
    with use_context(OFFLINE):
        sent = OpenAIProvider().prepare(request)
    assert sent.body["messages"][-1]["tool_call_id"] == "c"
    assert "image" in sent.adjustments[-1]


def test_a_format_without_a_name_gets_one(tmp_path: Path) -> None:
    schema = {"type": "object"}
    body = {"contents": [{"parts": [{"text": "Hi"}]}], "generationConfig": {"responseJsonSchema": schema}}
    assert read(tmp_path, body).response_format == {"type": "json_schema", "name": "answer", "schema": schema}


def test_a_request_made_without_the_fixture_is_refused(tmp_path: Path) -> None:
    case = EvalCase.model_validate({"id": "a", "request": "./body.json"})
    with pytest.raises(EvalFileError, match=r"a captured request is read by the fixture eval_request alone$"):
        build_request(case, folder=tmp_path, root=tmp_path)


def test_preflight_looks_at_the_body(tmp_path: Path) -> None:
    request = read(tmp_path, {**CHAT, "model": "gpt-5.5", "temperature": 0.5})
    provider: Any = next(each for each in chat_providers() if each.name == "openai")
    assert [finding.rule for finding in preflight_of(provider(), request)] == ["temperature-fixed"]


def test_an_api_that_can_send_nothing_but_the_system_message_is_an_error_about_what_it_lacks(tmp_path: Path) -> None:
    image = {"type": "image_url", "image_url": {"url": "https://a.example/image"}}
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": [image]}]
    request = read(tmp_path, {"model": "gpt-4o", "messages": messages})
    with use_context(OFFLINE), pytest.raises(PayloadError, match="needs the type of what is at a URL"):
        GeminiProvider().prepare(request)
