"""Anthropic's Messages API: the replies that the official SDK reads, and the requests that are read back."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal

import anthropic
import httpx2
import pydantic
import pytest
from anthropic.types import Message, RawMessageStreamEvent

from pytest_chatprompt.apis.conversation import (
    ConversationToolCall,
    ConversationTurn,
    SentMedia,
    Thought,
)
from pytest_chatprompt.apis.reply import Reply
from pytest_chatprompt.apis.table import get_api
from tests.apis.sdk_clients import Replies, ask, check_strictly, events

PATH = "/v1/messages"
HELLO: dict[str, Any] = {"model": "claude", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello"}]}
WEATHER: Any = {
    "name": "get_weather",
    "input_schema": {"type": "object", "properties": {"city": {"enum": ["Paris"]}}, "required": ["city"]},
}
TIME: Any = {"name": "get_time", "input_schema": {"type": "object"}}
SEARCH: Any = {"type": "web_search_20250305", "name": "web_search"}
CALLS = [{"name": "get_weather", "arguments": {"city": "Zürich"}}, {"name": "get_time", "arguments": {}, "id": "mine"}]


class Verdict(pydantic.BaseModel):
    stars: int = pydantic.Field(gt=3)


def client(replies: Replies, **settings: Any) -> anthropic.Anthropic:
    http_client = anthropic.DefaultHttpxClient(transport=replies.httpx2())
    return anthropic.Anthropic(api_key="k", http_client=http_client, **settings)


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(None, id="default"),
        pytest.param(Reply("Hello, you"), id="text"),
        pytest.param(Reply(""), id="empty text"),
        pytest.param(Reply("Let me see", tool_calls=CALLS), id="text and calls"),
        pytest.param(Reply(tool_calls=CALLS), id="calls"),
        pytest.param(Reply("a", usage={"input_tokens": 3, "output_tokens": 5}, finish_reason="length"), id="usage"),
        pytest.param(Reply("a", finish_reason="pause_turn"), id="the API's own finish reason"),
        pytest.param(Reply("a", finish_reason="content_filter"), id="refusal"),
    ],
)
def test_replies_are_valid_by_the_types_of_the_sdk_and_the_same_streamed(reply: Reply | None) -> None:
    whole = check_strictly(Message, ask(PATH, HELLO, reply).content)
    streamed = events(ask(PATH, HELLO | {"stream": True}, reply))
    names = [check_strictly(RawMessageStreamEvent, data).type for data in streamed if data != '{"type":"ping"}']
    assert names[0] == "message_start"
    assert names[-2:] == ["message_delta", "message_stop"]
    replies = Replies(*[reply] if reply else [])
    with client(replies).messages.stream(**HELLO) as stream:
        final = stream.get_final_message()
    assert final.model_dump(exclude={"id"}) == whole.model_dump(exclude={"id"})


def test_the_sdk_reads_a_reply_async() -> None:
    replies = Replies(Reply("Hello, you"), Reply("Hello, you"))

    async def run() -> tuple[Any, str]:
        api = anthropic.AsyncAnthropic(api_key="k", http_client=httpx2.AsyncClient(transport=replies.httpx2()))
        whole = await api.messages.create(**HELLO)
        async with api.messages.stream(**HELLO) as stream:
            return whole.content[0], await stream.get_final_text()

    block, text = asyncio.run(run())
    assert (block.text, text) == ("Hello, you", "Hello, you")


class Place(pydantic.BaseModel):
    name: Literal["here", "there"] = "here"
    at: tuple[float, float] = pydantic.Field(default=(0.0, 0.0), description="Degrees")
    path: tuple[tuple[int, str], bool] | None


def test_a_schema_with_tuples_gets_an_instance() -> None:
    parsed = client(Replies()).messages.parse(**HELLO, output_format=Place).parsed_output
    assert parsed == Place(path=((0, ""), False))


def test_a_demanded_schema_gets_an_instance() -> None:
    assert client(Replies()).messages.parse(**HELLO, output_format=Verdict).parsed_output == Verdict(stars=4)
    wanted = {"type": "json_schema", "schema": {"const": [1]}}
    for key, value in (("output_config", {"format": wanted}), ("output_format", wanted)):
        assert ask(PATH, HELLO | {key: value}).json()["content"][0]["text"] == "[1]"


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "get_weather"}])
def test_a_forced_tool_is_called_with_an_instance_of_its_parameters(choice: Any) -> None:
    answer = client(Replies()).messages.create(**HELLO, tools=[SEARCH, WEATHER, TIME], tool_choice=choice)
    [call] = answer.content
    assert call.type == "tool_use"
    assert (call.name, call.input) == ("get_weather", {"city": "Paris"})
    assert answer.stop_reason == "tool_use"


def test_a_tool_that_is_only_offered_is_not_called() -> None:
    body = ask(PATH, HELLO | {"tools": [WEATHER], "tool_choice": {"type": "auto"}}).json()
    assert body["content"][0]["text"] == "(offline)"


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (400, anthropic.BadRequestError, "invalid_request_error"),
        (401, anthropic.AuthenticationError, "authentication_error"),
        (403, anthropic.PermissionDeniedError, "permission_error"),
        (404, anthropic.NotFoundError, "not_found_error"),
        (408, anthropic.APIStatusError, "timeout_error"),
        (409, anthropic.ConflictError, "invalid_request_error"),
        (413, anthropic.RequestTooLargeError, "request_too_large"),
        (422, anthropic.UnprocessableEntityError, "invalid_request_error"),
        (429, anthropic.RateLimitError, "rate_limit_error"),
        (500, anthropic.InternalServerError, "api_error"),
        (503, anthropic.ServiceUnavailableError, "api_error"),
        (529, anthropic.OverloadedError, "overloaded_error"),
    ],
)
def test_an_error_is_raised_by_the_sdk_as_its_own(
    status: int, error: type[anthropic.APIStatusError], kind: str
) -> None:
    with pytest.raises(error) as raised:
        client(Replies(Reply(error=status)), max_retries=0).messages.create(**HELLO)
    assert raised.value.status_code == status
    assert raised.value.body["error"]["type"] == kind  # type: ignore[index]
    assert raised.value.request_id is not None


def test_the_sdk_retries_after_an_error_without_waiting() -> None:
    replies = Replies(Reply(error=529), Reply(error=429), Reply("at last"))
    assert client(replies).messages.create(**HELLO).content[0].text == "at last"


def test_vertex_names_the_model_in_the_path() -> None:
    path = "/v1/projects/p/locations/l/publishers/anthropic/models/claude-sonnet@20250101:"
    assert ask(f"{path}rawPredict", {"messages": []}).json()["model"] == "claude-sonnet"
    assert events(ask(f"{path}streamRawPredict", {"messages": [], "stream": True}))[-1] == '{"type":"message_stop"}'


def read(body: Any) -> tuple[ConversationTurn, ...]:
    return get_api("anthropic").read_conversation(body).turns


def test_a_conversation_is_read_back() -> None:
    image = {"type": "base64", "media_type": "image/png", "data": "AAECAw=="}
    messages = [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look:", "cache_control": {"type": "ephemeral"}},
                {"type": "image", "source": image},
                {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
                {"type": "document", "title": "a.pdf", "source": image | {"media_type": "application/pdf"}},
                {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "plain"}},
                {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "in it"}]}},
                {"type": "document", "source": {"type": "new"}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "x"},
                {"type": "redacted_thinking", "data": "x"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "c1", "name": "get_weather", "input": {"city": "Zürich"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "c1",
                    "content": [{"type": "text", "text": "rain"}, {"type": "image", "source": image}],
                },
                {"type": "tool_result", "tool_use_id": "c2", "content": "sun"},
                {"type": "text", "text": "Well?"},
            ],
        },
    ]
    assert read({"system": [{"type": "text", "text": "Be kind."}], "messages": messages}) == (
        ConversationTurn("system", ("Be kind.",)),
        ConversationTurn(
            "user",
            (
                "Look:",
                SentMedia("image", "image/png", 4),
                SentMedia("image", source="https://example.com/a.png"),
                SentMedia("document", "application/pdf", 4, "a.pdf"),
                SentMedia("document", source="file_1"),
                "plain",
                "in it",
                '{"type": "new"}',
            ),
        ),
        ConversationTurn(
            "assistant",
            (Thought("Hm."), Thought(), "I look.", ConversationToolCall("get_weather", '{"city": "Zürich"}', "c1")),
        ),
        ConversationTurn("tool", ("rain", SentMedia("image", "image/png", 4)), call_id="c1"),
        ConversationTurn("tool", ("sun",), call_id="c2"),
        ConversationTurn("user", ("Well?",)),
    )


def test_what_is_not_understood_stays_as_json_text() -> None:
    messages = ["Hello", {"role": None}, {"role": "user", "content": [{"type": "image", "source": 5}, None]}]
    assert [(turn.role, turn.content) for turn in read({"messages": messages})] == [
        ("user", "Hello"),
        ("unknown", '{"role": null}'),
        ("user", '{"type": "image", "source": 5}\nnull'),
    ]
    assert read(None) == ()


def test_what_a_result_cannot_hold_is_text_in_it() -> None:
    call = {"type": "tool_use", "id": "c2", "name": "f", "input": {"a": 1}}
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    inner = {"type": "tool_result", "tool_use_id": "c2", "content": ["done", image]}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": [call, inner]}
    conversation = get_api("anthropic").read_conversation({"messages": [{"role": "user", "content": [result]}]})
    parts = (json.dumps(call), json.dumps(inner))
    assert conversation.turns == (ConversationTurn("tool", parts, call_id="c1"),)
