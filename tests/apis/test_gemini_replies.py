"""Gemini's API: the replies that the official SDK reads, and the requests that are read back."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import httpx2
import pydantic
import pytest
from google import genai
from google.genai import errors, types

from pytest_chatprompt.apis.conversation import (
    ConversationToolCall,
    ConversationTurn,
    SentMedia,
    Thought,
)
from pytest_chatprompt.apis.reply import Reply
from pytest_chatprompt.apis.table import get_api
from tests.apis.sdk_clients import Replies, ask, events

PATH = "/v1beta/models/gemini-x:generateContent"
STREAM_PATH = "/v1beta/models/gemini-x:streamGenerateContent"
HELLO: dict[str, Any] = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}
WEATHER: Any = {
    "name": "get_weather",
    "parameters": {
        "type": "OBJECT",
        "properties": {"city": {"type": "STRING", "enum": ["Paris"]}},
        "required": ["city"],
    },
}
TIME: Any = {"name": "get_time"}
CALLS = [{"name": "get_weather", "arguments": {"city": "Zürich"}}, {"name": "get_time", "arguments": {}, "id": "mine"}]


class Verdict(pydantic.BaseModel):
    stars: int = pydantic.Field(ge=4)


def client(replies: Replies, **settings: Any) -> genai.Client:
    transports: Any = {
        "httpx_client": httpx2.Client(transport=replies.httpx2()),
        "httpx_async_client": httpx2.AsyncClient(transport=replies.httpx2()),
    }
    return genai.Client(http_options=types.HttpOptions(**transports, **settings), api_key="k")


def check_strictly(data: Any) -> types.GenerateContentResponse:
    # The SDK's types refuse keys that they do not know, and enums of theirs warn of unknown words.
    return types.GenerateContentResponse.model_validate_json(json.dumps(data))


def parts(candidate: types.Candidate) -> list[types.Part]:
    assert candidate.content is not None
    return candidate.content.parts or []


@pytest.mark.parametrize(
    ("reply", "config"),
    [
        pytest.param(None, {}, id="default"),
        pytest.param(None, {"candidateCount": 2}, id="two candidates"),
        pytest.param(Reply("Hello, you"), {}, id="text"),
        pytest.param(Reply(""), {}, id="empty text"),
        pytest.param(Reply("Let me see", tool_calls=CALLS), {}, id="text and calls"),
        pytest.param(Reply("a", usage={"input_tokens": 3, "output_tokens": 5}, finish_reason="length"), {}, id="usage"),
        pytest.param(Reply("a", finish_reason="BLOCKLIST"), {}, id="the API's own finish reason"),
    ],
)
@pytest.mark.parametrize("is_array", [True, False])
def test_replies_are_valid_by_the_types_of_the_sdk_and_the_same_streamed(
    reply: Reply | None, config: Any, *, is_array: bool
) -> None:
    body = HELLO | {"generationConfig": config}
    whole = check_strictly(ask(PATH, body, reply).json())
    response = ask(STREAM_PATH if is_array else f"{STREAM_PATH}?alt=sse", body, reply)
    if is_array:
        assert response.headers["content-type"] == "application/json; charset=UTF-8"
        chunks = json.loads(b"".join(response.stream))  # type: ignore[arg-type]
    else:
        assert response.headers["content-type"].startswith("text/event-stream")
        chunks = [json.loads(data) for data in events(response)]
    assert whole.candidates is not None
    for candidate in whole.candidates:
        found = [
            chosen
            for chunk in map(check_strictly, chunks)
            for chosen in chunk.candidates or ()
            if chosen.index == candidate.index
        ]
        streamed, wanted = [part for chosen in found for part in parts(chosen)], parts(candidate)
        assert "".join(part.text or "" for part in streamed) == "".join(part.text or "" for part in wanted)
        calls = [part.function_call for part in wanted if part.function_call]
        assert [part.function_call for part in streamed if part.function_call] == calls
        assert [chosen.finish_reason for chosen in found if chosen.finish_reason] == [candidate.finish_reason]
    assert check_strictly(chunks[-1]).usage_metadata == whole.usage_metadata


@pytest.mark.parametrize("version", ["v1", "v1beta"])
def test_the_sdk_reads_a_reply_whole_and_streamed_sync_and_async(version: str) -> None:
    replies = Replies(*[Reply("Hello, you", usage={"input_tokens": 3, "output_tokens": 5})] * 4)
    api = client(replies, api_version=version)
    whole = api.models.generate_content(model="gemini-x", contents="Hello")
    assert whole.text == "Hello, you"
    assert whole.usage_metadata is not None
    assert whole.usage_metadata.total_token_count == 8
    assert replies.requests[0].url.path == f"/{version}/models/gemini-x:generateContent"
    chunks = list(api.models.generate_content_stream(model="gemini-x", contents="Hello"))
    assert "".join(chunk.text or "" for chunk in chunks) == "Hello, you"

    async def run() -> str:
        stream = await api.aio.models.generate_content_stream(model="gemini-x", contents="Hello")
        text = "".join([chunk.text or "" async for chunk in stream])
        again = await api.aio.models.generate_content(model="gemini-x", contents="Hello")
        assert again.text == text
        return text

    assert asyncio.run(run()) == "Hello, you"


def test_vertex_answers_too() -> None:
    path = "/v1beta1/projects/p/locations/l/publishers/google/models/gemini-x:generateContent"
    assert check_strictly(ask(path, HELLO).json()).model_version == "gemini-x"


@pytest.mark.parametrize("key", ["response_schema", "response_json_schema"])
def test_a_demanded_schema_gets_an_instance(key: str) -> None:
    schema: Any = Verdict if key == "response_schema" else Verdict.model_json_schema()
    config = types.GenerateContentConfig(**{"response_mime_type": "application/json", key: schema})
    text = client(Replies()).models.generate_content(model="m", contents="Hello", config=config).text
    assert text == '{"stars": 4}'


def test_json_without_a_schema_is_an_object_and_an_enum_is_its_first_word() -> None:
    def text(**config: Any) -> str:
        body = ask(PATH, HELLO | {"generationConfig": config}).json()
        return str(body["candidates"][0]["content"]["parts"][0]["text"])

    assert text(responseMimeType="application/json") == "{}"
    enum = {"type": "STRING", "enum": ["red", "blue"]}
    assert text(responseMimeType="text/x.enum", responseSchema=enum) == "red"


@pytest.mark.parametrize("allowed", [{}, {"allowedFunctionNames": ["get_weather"]}])
def test_a_forced_tool_is_called_with_an_instance_of_its_parameters(allowed: Any) -> None:
    config = {"functionCallingConfig": {"mode": "ANY", **allowed}}
    body = HELLO | {"tools": [{"functionDeclarations": [WEATHER, TIME]}, {"googleSearch": {}}], "toolConfig": config}
    whole = check_strictly(ask(PATH, body).json())
    [call] = whole.function_calls or []
    assert (call.name, call.args) == ("get_weather", {"city": "Paris"})


def test_a_tool_that_is_only_offered_is_not_called() -> None:
    body = HELLO | {"tools": [{"function_declarations": [WEATHER]}]}
    assert check_strictly(ask(PATH, body).json()).text == "(offline)"


@pytest.mark.parametrize(
    ("status", "word"),
    [
        (400, "INVALID_ARGUMENT"),
        (401, "UNAUTHENTICATED"),
        (403, "PERMISSION_DENIED"),
        (404, "NOT_FOUND"),
        (408, "DEADLINE_EXCEEDED"),
        (409, "ABORTED"),
        (413, "INVALID_ARGUMENT"),
        (422, "INVALID_ARGUMENT"),
        (429, "RESOURCE_EXHAUSTED"),
        (500, "INTERNAL"),
        (503, "UNAVAILABLE"),
        (529, "UNAVAILABLE"),
    ],
)
def test_an_error_is_raised_by_the_sdk_as_its_own(status: int, word: str) -> None:
    with pytest.raises(errors.APIError) as raised:
        client(Replies(Reply(error=status))).models.generate_content(model="m", contents="Hello")
    assert (raised.value.code, raised.value.status) == (status, word)
    with pytest.raises(errors.APIError):
        list(client(Replies(Reply(error=status))).models.generate_content_stream(model="m", contents="Hello"))
    assert ask(STREAM_PATH, HELLO, Reply(error=status)).json()[0]["error"]["status"] == word


def read(body: Any) -> tuple[ConversationTurn, ...]:
    return get_api("gemini").read_conversation(body).turns


def test_a_conversation_is_read_back() -> None:
    contents = [
        {
            "parts": [
                {"text": "Look:"},
                {"inlineData": {"mimeType": "image/png", "data": "AAECAw==", "displayName": "a.png"}},
                {"file_data": {"mime_type": "video/mp4", "file_uri": "https://example.com/a.mp4"}},
            ],
        },
        {
            "role": "model",
            "parts": [
                {"text": "Hm.", "thought": True},
                {"text": "I look."},
                {"functionCall": {"id": "c1", "name": "get_weather", "args": {"city": "Zürich"}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "c1", "name": "get_weather", "response": {"result": "rain"}}},
                {"functionResponse": {"name": "get_time", "response": {"hour": 1, "minute": 2}}},
            ],
        },
    ]
    assert read({"systemInstruction": {"parts": [{"text": "Be kind."}]}, "contents": contents}) == (
        ConversationTurn("system", ("Be kind.",)),
        ConversationTurn(
            "user",
            (
                "Look:",
                SentMedia("image", "image/png", 4, "a.png"),
                SentMedia("video", "video/mp4", source="https://example.com/a.mp4"),
            ),
        ),
        ConversationTurn(
            "assistant", (Thought("Hm."), "I look.", ConversationToolCall("get_weather", '{"city": "Zürich"}', "c1"))
        ),
        ConversationTurn("tool", ("rain",), "get_weather", "c1"),
        ConversationTurn("tool", ('{"hour": 1, "minute": 2}',), "get_time", ""),
    )


def test_what_is_not_understood_stays_as_json_text() -> None:
    body = {
        "system_instruction": "Be kind.",
        "contents": ["Hello", {"role": "user"}, {"parts": [{"executableCode": {}}]}, {"role": 5}],
    }
    assert [(turn.role, turn.content) for turn in read(body)] == [
        ("system", "Be kind."),
        ("user", "Hello"),
        ("user", '{"role": "user"}'),
        ("user", '{"executableCode": {}}'),
        ("unknown", '{"role": 5}'),
    ]
    assert read({"contents": {"parts": [{"text": "one"}]}}) == (ConversationTurn("user", ("one",)),)


def test_the_schema_of_google_genai_is_read_in_snake_case_too() -> None:
    schema = {
        "type": "OBJECT",
        "properties": {
            "min_items": {"type": "ARRAY", "items": {"type": "STRING", "min_length": 2}, "min_items": 1},
            "either": {"any_of": [{"type": "INTEGER"}, {"type": "STRING"}]},
            "parent": {"nullable": True},
        },
        "required": ["min_items", "either", "parent"],
    }
    body = {"contents": [], "generationConfig": {"responseMimeType": "application/json", "responseSchema": schema}}
    url = "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent"
    reply = get_api("gemini").answer(httpx.Request("POST", url, json=body)).json()
    instance = json.loads(reply["candidates"][0]["content"]["parts"][0]["text"])
    assert [len(text) for text in instance["min_items"]] == [2]
    assert isinstance(instance["either"], int | str)
    assert instance["parent"] is None
