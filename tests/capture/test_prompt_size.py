"""The size of a prompt: which characters of a request count, and how many tokens they are about."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt.capture.prompt_size import count_characters, estimate_tokens, find_break
from pytest_chatprompt.capture.sent_request import SentRequest

CHAT = "POST /v1/chat/completions"
IMAGE = "iVBORw0KGgo" * 30


def messages(*parts: Any) -> dict[str, Any]:
    return {"model": "gpt", "temperature": 1, "messages": [{"role": "user", "content": part} for part in parts]}


@pytest.mark.parametrize(
    ("body", "characters"),
    [
        pytest.param(messages("hello", "you"), 8, id="the texts of messages"),
        pytest.param(messages([{"type": "text", "text": "hello"}]), 5, id="parts, without their type"),
        pytest.param({**messages("hello"), "user": "somebody", "stop": ["x"]}, 5, id="nothing beside the prompt"),
        pytest.param(
            messages([{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{IMAGE}"}}]), 0, id="no media"
        ),
        pytest.param(messages([{"type": "input_audio", "input_audio": {"data": IMAGE}}]), 0, id="no base64"),
        pytest.param(
            messages(
                [{"type": "image_url", "image_url": {"url": "data:;base64,<9 bytes, sha256:0123456789abcdef>"}}],
                "<image/png, 34123 bytes, sha256:0123456789abcdef>",
                "\\<image/png, 34123 bytes, sha256:0123456789abcdef>",
            ),
            50,
            id="no description of media, as it stands in a snapshot",
        ),
        pytest.param(
            messages([{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]),
            1,
            id="no marks of caches",
        ),
        pytest.param(
            {
                "tools": [
                    {
                        "type": "function",
                        "function": {
                            "name": "find",
                            "parameters": {"type": "object", "properties": {"type": {"description": "Which."}}},
                        },
                    }
                ]
            },
            14,
            id="tools, with the names of their arguments",
        ),
        pytest.param(messages(None, 5, True), 0, id="no texts"),
        pytest.param("a=1&b=2", 7, id="a body that is a text"),
        pytest.param(None, 0, id="no body"),
    ],
)
def test_what_a_model_reads_counts(body: Any, characters: int) -> None:
    assert count_characters(SentRequest(CHAT, body)) == characters


def test_a_property_of_a_schema_may_have_any_name() -> None:
    properties = {name: {"type": "string", "description": "d"} for name in ("data", "source", "json", "properties")}
    tool = {"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object", "properties": properties}}}}
    sent = SentRequest("POST /model/nova/converse", {"toolConfig": {"tools": [tool]}})
    assert count_characters(sent) == len("f") + sum(len(name) + len("d") for name in properties)


def test_what_a_function_of_gemini_returns_is_a_schema() -> None:
    response = {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}}
    body = {"tools": [{"functionDeclarations": [{"name": "find", "response": response}]}]}
    assert count_characters(SentRequest("POST /v1/models/m:generateContent", body)) == len("find") + len("city")


@pytest.mark.parametrize(
    ("config", "schema"),
    [
        ("generationConfig", "responseSchema"),
        ("generationConfig", "_responseJsonSchema"),
        ("generation_config", "response_json_schema"),
        ("generation_config", "response_schema"),
    ],
)
def test_of_the_settings_of_gemini_the_schema_of_the_answer_counts(config: str, schema: str) -> None:
    asked = {"type": "OBJECT", "properties": {"city": {"type": "STRING", "description": "Where."}}}
    body = {"contents": [{"parts": [{"text": "hi"}]}], config: {"stopSequences": ["x"], schema: asked}}
    assert count_characters(SentRequest("POST /v1/models/m:generateContent", body)) == len("hicityWhere.")


def test_of_an_unknown_api_all_texts_count_but_the_model() -> None:
    assert count_characters(SentRequest("POST /own", {"model": "m", 1: "one", "prompt": "hello"})) == 8


def test_four_characters_are_about_a_token() -> None:
    assert [estimate_tokens(number) for number in (0, 1, 3, 400, -400)] == [0, 0, 1, 100, -100]


@pytest.mark.parametrize(
    ("endpoint", "content", "characters"),
    [
        pytest.param(
            "POST /v1/messages",
            [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}],
            0,
            id="an image of Anthropic",
        ),
        pytest.param(
            "POST /v1/messages",
            [
                {
                    "type": "document",
                    "title": "T",
                    "source": {"type": "text", "media_type": "text/plain", "data": "hello"},
                }
            ],
            6,
            id="a text as a document",
        ),
        pytest.param(
            "POST /model/nova/converse",
            [
                {"image": {"format": "png", "source": {"bytes": "iVBORw0KGgo="}}},
                {"document": {"format": "txt", "name": "N", "source": {"text": "hello"}}},
            ],
            6,
            id="an image and a document of Bedrock",
        ),
        pytest.param(CHAT, [{"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}], 0, id="audio"),
        pytest.param(
            "POST /v1/messages",
            [{"type": "tool_use", "name": "draw", "input": {"data": "1,2", "format": "bars"}}],
            11,
            id="arguments of a tool are texts",
        ),
        pytest.param(
            "POST /v1/messages",
            [{"type": "tool_use", "name": "f", "input": {"id": "A17", "by": {"type": "mail", "source": {"data": "x"}}}}],
            9,
            id="whatever they are called, however deep",
        ),
        pytest.param(
            "POST /model/nova/converse",
            [{"toolResult": {"toolUseId": "1", "status": "success", "content": [{"json": {"id": "A177", "type": "mail"}}]}}],
            8,
            id="results of Bedrock that are data",
        ),
        pytest.param(
            "POST /v2/chat",
            [
                {"type": "document", "document": {"id": "1", "data": {"type": "mail"}}},
                {"type": "document", "document": {"data": '{"a": 1}'}},
            ],
            12,
            id="results of Cohere",
        ),
        pytest.param(CHAT, [{"type": "text", "text": "0123456789abcdef" * 4}], 64, id="a hash is a text where a text stands"),
        pytest.param("POST /v1/messages", [{"type": "tool_result", "tool_use_id": "1", "content": "0a1b2c3d" * 8}], 64, id="and as a result"),
        pytest.param("POST /v1/messages", [{"type": "thinking", "thinking": "Hm.", "signature": "c2lnbmVk" * 8}, {"type": "redacted_thinking", "data": "c2lnbmVk" * 8}], 3, id="thoughts, without their signatures"),
        pytest.param(CHAT, [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo=", "detail": "high"}}], 0, id="an image of OpenAI"),
        pytest.param(CHAT, [{"type": "image_url", "image_url": {"url": "https://a.example/b.png"}}, {"type": "text", "text": "https://a.example"}], 17, id="the address of an image, not one in a text"),
        pytest.param(CHAT, [{"type": "document_url", "document_url": "https://a.example/b.pdf"}, {"type": "image_url", "image_url": "https://a.example/b.png"}], 0, id="addresses of Mistral"),
        pytest.param("POST /v1/messages", [{"type": "image", "source": {"type": "url", "url": "https://a.example/b.png"}}, {"type": "document", "title": "T", "source": {"type": "file", "file_id": "file_1"}}], 1, id="addresses of Anthropic"),
        pytest.param("POST /model/nova/converse", [{"video": {"format": "mp4", "source": {"s3Location": {"uri": "s3://a/b.mp4", "bucketOwner": "1"}}}}], 0, id="an address of Bedrock"),
        pytest.param("POST /v1/messages", [{"type": "tool_use", "name": "f", "input": {"image_url": "abc", "source": {"url": "d"}}}], 5, id="addresses that a tool is given"),
    ],
)  # fmt: skip
def test_a_file_is_no_text_nor_is_what_says_of_which_type_it_is(endpoint: str, content: Any, characters: int) -> None:
    sent = SentRequest(endpoint, {"messages": [{"role": "user", "content": content}]})
    assert count_characters(sent) == characters
    one, other = (
        SentRequest(endpoint, {"messages": [{"role": "user", "content": each} for each in (content, text)]})
        for text in ("x", "y")
    )
    assert find_break(one, other) == ("messages[1].content", characters)


@pytest.mark.parametrize(
    "part",
    [
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}},
        {"inline_data": {"mime_type": "image/png", "data": "iVBORw0KGgo="}},
        {"fileData": {"mimeType": "image/png", "fileUri": "https://a.example/files/a"}},
        {"file_data": {"mime_type": "image/png", "file_uri": "https://a.example/files/a"}},
    ],
    ids=["in camel case", "in snake case", "its address", "its address in snake case"],
)
def test_a_file_of_gemini_is_no_text_either(part: Any) -> None:
    body = {"contents": [{"role": "user", "parts": [part, {"text": "hi"}]}]}
    assert count_characters(SentRequest("POST /v1/models/m:generateContent", body)) == 2


@pytest.mark.parametrize(
    "part",
    [
        {"type": "input_image", "image_url": "https://a.example/b.png"},
        {"type": "input_image", "file_id": "file_1"},
        {"type": "input_file", "file_url": "https://a.example/b.pdf"},
    ],
    ids=["an image", "a file of OpenAI's", "a document"],
)
def test_an_address_is_no_text_in_the_responses_api(part: Any) -> None:
    body = {"input": [{"role": "user", "content": [part, {"type": "input_text", "text": "hi"}]}]}
    assert count_characters(SentRequest("POST /v1/responses", body)) == 2
