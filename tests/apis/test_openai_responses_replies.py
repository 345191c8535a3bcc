"""OpenAI's Responses API: the replies that the official SDK reads, and the requests that are read back."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import openai
import pydantic
import pytest
from openai.types.responses import Response, ResponseStreamEvent

from pytest_chatprompt.apis.conversation import (
    ConversationToolCall,
    ConversationTurn,
    SentMedia,
    Thought,
)
from pytest_chatprompt.apis.reply import Reply
from pytest_chatprompt.apis.table import get_api
from tests.apis.sdk_clients import Replies, ask, check_strictly, events
from tests.apis.test_openai_chat import async_client, client

PATH = "/v1/responses"
HELLO: dict[str, Any] = {"model": "gpt-5.5", "input": "Hello"}
WEATHER: Any = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"enum": ["Paris"]}}, "required": ["city"]},
}
TIME: Any = {"type": "function", "name": "get_time"}
SQL: Any = {"type": "custom", "name": "run_sql"}
CALLS = [{"name": "get_weather", "arguments": {"city": "Zürich"}}, {"name": "get_time", "arguments": {}, "id": "mine"}]


class Verdict(pydantic.BaseModel):
    stars: int = pydantic.Field(gt=3)


@pytest.mark.parametrize(
    ("reply", "more"),
    [
        pytest.param(None, {}, id="default"),
        pytest.param(
            None, {"instructions": "Be kind.", "tools": [WEATHER, TIME, {"type": "web_search"}]}, id="repeats"
        ),
        pytest.param(None, {"text": {"verbosity": "low"}, "previous_response_id": "resp_1"}, id="text without format"),
        pytest.param(Reply("Hello, you"), {}, id="text"),
        pytest.param(Reply(""), {}, id="empty text"),
        pytest.param(Reply("Let me see", tool_calls=CALLS), {}, id="text and calls"),
        pytest.param(
            Reply(tool_calls=[{"name": "run_sql", "arguments": {"input": "a b"}}]), {"tools": [SQL]}, id="custom"
        ),
        pytest.param(
            Reply("a", usage={"input_tokens": 3, "output_tokens": 5}, finish_reason="length"), {}, id="length"
        ),
        pytest.param(Reply("a", finish_reason="content_filter"), {}, id="filtered"),
    ],
)
def test_replies_are_valid_by_the_types_of_the_sdk_and_the_same_streamed(reply: Reply | None, more: Any) -> None:
    content = ask(PATH, HELLO | more, reply).content
    whole = check_strictly(Response, content)
    streamed = [
        check_strictly(ResponseStreamEvent, data) for data in events(ask(PATH, HELLO | more | {"stream": True}, reply))
    ]
    assert [event.sequence_number for event in streamed] == list(range(len(streamed)))
    final = streamed[-1].response
    assert final.model_dump(exclude={"id"}) == whole.model_dump(exclude={"id"})
    deltas = "".join(event.delta for event in streamed if event.type.endswith(".delta"))
    texts = [
        getattr(item, "arguments", None) or getattr(item, "input", None) or item.content[0].text
        for item in whole.output
    ]
    assert deltas == "".join(texts)


def test_the_sdk_reads_a_reply_whole_and_streamed_sync_and_async() -> None:
    replies = Replies(*[Reply("Hello, you", tool_calls=CALLS, usage={"input_tokens": 3, "output_tokens": 5})] * 4)
    whole = client(replies).responses.create(**HELLO)
    assert whole.output_text == "Hello, you"
    assert whole.usage is not None
    assert whole.usage.total_tokens == 8
    with client(replies).responses.stream(**HELLO) as stream:
        final = stream.get_final_response()
    assert [item.type for item in final.output] == ["message", "function_call", "function_call"]

    async def run() -> tuple[str, str]:
        api = async_client(replies)
        whole = await api.responses.create(**HELLO)
        async with api.responses.stream(**HELLO) as stream:
            final = await stream.get_final_response()
        return whole.output_text, final.output_text

    assert asyncio.run(run()) == ("Hello, you", "Hello, you")


def test_a_demanded_schema_gets_an_instance() -> None:
    assert client(Replies()).responses.parse(**HELLO, text_format=Verdict).output_parsed == Verdict(stars=4)
    body = ask(PATH, HELLO | {"text": {"format": {"type": "json_object"}}}).json()
    assert body["output"][0]["content"][0]["text"] == "{}"


@pytest.mark.parametrize(
    "choice",
    [
        "required",
        {"type": "function", "name": "get_weather"},
        {"type": "allowed_tools", "mode": "required", "tools": [WEATHER]},
    ],
)
def test_a_forced_tool_is_called_with_an_instance_of_its_parameters(choice: Any) -> None:
    answer = client(Replies()).responses.create(
        **HELLO, tools=[{"type": "web_search"}, WEATHER, TIME], tool_choice=choice
    )
    [call] = answer.output
    assert call.type == "function_call"
    assert (call.name, call.arguments) == ("get_weather", '{"city": "Paris"}')


@pytest.mark.parametrize(
    "choice", ["auto", {"type": "web_search"}, {"type": "allowed_tools", "mode": "auto", "tools": [TIME]}]
)
def test_a_tool_that_is_only_offered_is_not_called(choice: Any) -> None:
    body = ask(PATH, HELLO | {"tools": [WEATHER], "tool_choice": choice}).json()
    assert body["output"][0]["content"][0]["text"] == "(offline)"


def test_items_have_ids_by_their_places_and_replies_by_the_request() -> None:
    one, two = (ask(PATH, {"input": [{"role": "user", "content": text}]}).json() for text in ("one", "two"))
    assert one["id"] != two["id"]
    assert one["output"][0]["id"] == two["output"][0]["id"]
    three = ask(PATH, {"input": [{"role": "user", "content": "one"}, one["output"][0]]}).json()
    assert three["output"][0]["id"] != one["output"][0]["id"]


def test_an_error_is_raised_by_the_sdk_as_its_own() -> None:
    with pytest.raises(openai.RateLimitError) as raised:
        client(Replies(Reply(error=429)), max_retries=0).responses.create(**HELLO)
    assert raised.value.code == "rate_limit_exceeded"


def read(body: Any) -> tuple[ConversationTurn, ...]:
    return get_api("openai-responses").read_conversation(body).turns


def test_a_conversation_is_read_back() -> None:
    items = [
        {"role": "developer", "content": "Be kind."},
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "Look:"},
                {"type": "input_image", "image_url": "data:image/png;base64,AAECAw=="},
                {"type": "input_image", "file_id": "file-1"},
                {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AAEC"},
                {"type": "input_file", "file_url": "https://example.com/b.pdf"},
            ],
        },
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": '{"city":"Paris"}'},
        {"type": "custom_tool_call", "call_id": "c2", "name": "run_sql", "input": "SELECT 1"},
        {"type": "function_call_output", "call_id": "c1", "output": "rain"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "1"}]},
        {"type": "function_call", "call_id": "c3", "name": "f", "arguments": "{}"},
        {"type": "reasoning", "encrypted_content": "x"},
        {"role": "assistant", "content": "One."},
        {"role": "assistant", "content": "Two."},
    ]
    assert read({"instructions": "Rules.", "prompt": {"id": "p1"}, "input": items}) == (
        ConversationTurn("system", ("Rules.",)),
        ConversationTurn("system", ('{"prompt": {"id": "p1"}}',)),
        ConversationTurn("system", ("Be kind.",)),
        ConversationTurn(
            "user",
            (
                "Look:",
                SentMedia("image", "image/png", 4),
                SentMedia("image", source="file-1"),
                SentMedia("document", "application/pdf", 3, "a.pdf"),
                SentMedia("document", source="https://example.com/b.pdf"),
            ),
        ),
        ConversationTurn(
            "assistant",
            (
                Thought("Hm."),
                "I look.",
                ConversationToolCall("get_weather", '{"city":"Paris"}', "c1"),
                ConversationToolCall("run_sql", "SELECT 1", "c2"),
            ),
        ),
        ConversationTurn("tool", ("rain",), call_id="c1"),
        ConversationTurn("tool", ("1",), call_id="c2"),
        ConversationTurn("assistant", (ConversationToolCall("f", "{}", "c3"),)),
        ConversationTurn("assistant", (Thought(), "One.")),
        ConversationTurn("assistant", ("Two.",)),
    )


def test_a_text_is_the_turn_of_the_user() -> None:
    assert read({"input": "Hello"}) == (ConversationTurn("user", ("Hello",)),)


def test_items_that_are_not_understood_stay_as_json_text() -> None:
    items = [
        5,
        {"role": 5},
        {"type": "web_search_call", "id": "ws_1"},
        {"type": "computer_call_output"},
    ]
    assert [(turn.role, turn.content) for turn in read({"instructions": [{"role": "user"}], "input": items})] == [
        ("user", ""),
        ("user", "5"),
        ("unknown", '{"role": 5}'),
        ("assistant", '{"type": "web_search_call", "id": "ws_1"}'),
        ("tool", '{"type": "computer_call_output"}'),
    ]


def test_what_the_api_repeats_is_that_of_the_request() -> None:
    body = json.loads(ask(PATH, HELLO | {"temperature": 0, "tools": ["odd", TIME]}).content)
    assert body["temperature"] == 0
    assert body["tools"] == [{"parameters": None, "strict": None, "type": "function", "name": "get_time"}]
