"""The data of the page."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt.reports.page_data import page_requests


def turns_of(endpoint: str, body: Any) -> Any:
    (request,) = page_requests({"endpoint": endpoint, "request": body})
    return request["turns"]


USER = {"role": "user", "parts": ["Hi"]}
SYSTEM = {"role": "system", "parts": ["Be kind."]}


@pytest.mark.parametrize(
    ("endpoint", "body"),
    [
        (
            "POST /chat/completions",
            {"messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}]},
        ),
        ("POST /v1/responses?x=1", {"instructions": "Be kind.", "input": "Hi"}),
        ("POST /v1/messages", {"system": "Be kind.", "messages": [{"role": "user", "content": "Hi"}]}),
        (
            "POST /v1beta/models/m:generateContent",
            {
                "systemInstruction": {"parts": [{"text": "Be kind."}]},
                "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
            },
        ),
    ],
)
def test_a_request_of_each_api_is_the_same_conversation(endpoint: str, body: Any) -> None:
    assert turns_of(endpoint, body) == [SYSTEM, USER]


def test_calls_results_thoughts_and_files_are_parts() -> None:
    image = {"type": "image", "source": {"type": "url", "url": "https://x.test/a.png"}}
    turns = turns_of(
        "POST /v1/messages",
        {
            "messages": [
                {"role": "user", "content": [image]},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
                        {"type": "tool_use", "id": "c1", "name": "find", "input": {"a": 1}},
                    ],
                },
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "3"}]},
            ]
        },
    )
    parts = [part for turn in turns for part in turn["parts"]]
    assert parts == [
        {"kind": "media", "text": "<Image: https://x.test/a.png>"},
        {"kind": "thought", "text": "Hm."},
        {"kind": "call", "name": "find", "id": "c1", "text": '{"a": 1}'},
        {"kind": "result", "name": "", "id": "c1", "parts": ["3"]},
    ]


def test_settings_are_the_scalars_of_a_request() -> None:
    body = {
        "model": "m",
        "stream": True,
        "system": "no setting",
        "messages": [],
        "stop": None,
        "user": "u" * 100,
        "generationConfig": {"temperature": 0.5},
    }
    (request,) = page_requests({"endpoint": "POST /v1/messages", "request": body})
    assert request["settings"] == [
        ["model", "m"],
        ["stream", "true"],
        ["user", f"{'u' * 80}…"],
        ["temperature", "0.5"],
    ]


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ({"tools": [{"type": "function", "function": {"name": "a"}}, {"type": "function", "name": "b"}]}, ["a", "b"]),
        ({"tools": [{"functionDeclarations": [{"name": "a"}, {"name": "b"}]}]}, ["a", "b"]),
        ({"tools": [{"type": "web_search"}, {"odd": 1}, "odd"]}, ["web_search"]),
        ({"toolConfig": {"tools": [{"toolSpec": {"name": "a"}}]}}, ["a"]),
        ({"tools": "odd"}, None),
        ("no mapping", None),
    ],
)
def test_tools_are_told_by_name(body: Any, names: list[str] | None) -> None:
    (request,) = page_requests({"endpoint": "POST /v1/messages", "request": body})
    assert request.get("tools") == names


def test_a_request_of_no_known_api_shows_its_question() -> None:
    data = {"endpoint": "POST /ask", "request": {"q": "Hi"}}
    assert page_requests({**data, "question": "Hi"}) == [
        {"endpoint": "POST /ask", "settings": [["q", "Hi"]], "turns": [{"role": "question", "parts": ["Hi"]}]}
    ]
    assert page_requests(data) == [{"endpoint": "POST /ask", "settings": [["q", "Hi"]], "turns": []}]


def test_the_requests_of_a_test_or_an_agent_are_all_there() -> None:
    request = {"endpoint": "POST /v1/messages", "request": {"messages": [{"role": "user", "content": "Hi"}]}}
    agent = {"argv": ["codex"], "prompt": "Do it.", "requests": [request, "odd", {"request": 1}]}
    shown = {"endpoint": "POST /v1/messages", "turns": [USER]}
    assert page_requests({"requests": [request, request]}) == [shown, {**shown, "kept": 1, "earlier": 1}]
    assert page_requests(agent) == [
        {"endpoint": "prompt of the agent", "turns": [{"role": "user", "parts": ["Do it."]}]},
        shown,
    ]


def test_the_chat_prompt_of_a_provider_that_sent_nothing_is_a_conversation() -> None:
    assert page_requests({"messages": [{"role": "user", "content": "Hi"}]}) == [{"turns": [USER]}]


@pytest.mark.parametrize("data", [None, "text", [1], {}, {"requests": "odd"}, {"prompt": "no agent"}])
def test_other_data_shows_no_request(data: Any) -> None:
    assert page_requests(data) == []


def test_the_requests_to_a_judge_come_last_and_say_so() -> None:
    body = {"messages": [{"role": "user", "content": "Hi"}]}
    data = {
        "endpoint": "POST /chat/completions",
        "question": "Hi",
        "request": body,
        "judge": [
            {"endpoint": "POST /v1/messages", "request": body},
            {"messages": body["messages"]},
            {"argv": ["cli"], "prompt": "Hi"},
            "of another shape",
        ],
    }
    assert page_requests(data) == [
        {"endpoint": "POST /chat/completions", "turns": [USER]},
        {"endpoint": "to the judge: POST /v1/messages", "turns": [USER]},
        {"endpoint": "to the judge", "turns": [USER]},
        {"endpoint": "to the judge: prompt of the agent", "turns": [USER]},
    ]
    assert len(page_requests({**data, "judge": "of another shape"})) == 1


def test_headers_are_settings_too_and_a_header_that_is_no_mapping_is_none() -> None:
    entry = {"endpoint": "POST /v1/messages", "headers": {"anthropic-beta": "a,b"}, "request": {"model": "m"}}
    (shown,) = page_requests({"requests": [entry]})
    assert shown["settings"] == [["anthropic-beta", "a,b"], ["model", "m"]]
    (shown,) = page_requests({**entry, "headers": 5})
    assert shown["settings"] == [["model", "m"]]


def test_a_body_that_is_shown_as_its_text_is_a_conversation_too() -> None:
    text = '{"messages":[],"messages":[{"role":"user","content":"Hi"}]}'
    assert turns_of("POST /v1/chat/completions", text) == [USER]


@pytest.mark.parametrize(
    ("endpoint", "content"),
    [
        (
            "POST /v1/chat/completions",
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,<7860 bytes, sha256:0123456789abcdef>"}},
        ),
        (
            "POST /v1/messages",
            {
                "type": "image",
                "source": {
                    "type": "base64",
                    "media_type": "image/png",
                    "data": "<image/png, 7860 bytes, sha256:0123456789abcdef>",
                },
            },
        ),
    ],
)
def test_an_image_has_the_size_of_its_bytes(endpoint: str, content: Any) -> None:
    (turn,) = turns_of(endpoint, {"messages": [{"role": "user", "content": [content]}]})
    assert turn["parts"] == [{"kind": "media", "text": "<Image: image/png, 7860 bytes>"}]


def test_gemini_and_bedrock_name_the_size_of_an_image_too() -> None:
    data = "<image/png, 7860 bytes, sha256:0123456789abcdef, URL-safe>"
    parts = [{"inlineData": {"mimeType": "image/png", "data": data}}]
    assert turns_of("POST /v1/models/m:generateContent", {"contents": [{"parts": parts}]})[0]["parts"] == [
        {"kind": "media", "text": "<Image: image/png, 7860 bytes>"}
    ]
    blocks = [{"image": {"format": "png", "source": {"bytes": data}}}]
    assert turns_of("POST /model/m/converse", {"messages": [{"role": "user", "content": blocks}]})[0]["parts"] == [
        {"kind": "media", "text": "<Image: image/png, 7860 bytes>"}
    ]
