"""OpenAI's chat completions: the replies that the official SDK reads, and the requests that are read back."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal

import httpx2
import openai
import pydantic
import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from pytest_chatprompt.apis.conversation import (
    Conversation,
    ConversationToolCall,
    ConversationTurn,
    SentMedia,
    Thought,
)
from pytest_chatprompt.apis.reply import Reply
from pytest_chatprompt.apis.table import get_api
from tests.apis.sdk_clients import Replies, ask, check_strictly, events

PATH = "/v1/chat/completions"
HELLO: dict[str, Any] = {"model": "gpt-5.5", "messages": [{"role": "user", "content": "Hello"}]}
WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"enum": ["Paris"]}}, "required": ["city"]},
    },
}
TIME: Any = {"type": "function", "function": {"name": "get_time"}}
CALLS = [{"name": "get_weather", "arguments": {"city": "Zürich"}}, {"name": "get_time", "arguments": {}, "id": "mine"}]


class Verdict(pydantic.BaseModel):
    stars: Literal[3, 4]
    words: list[str] = pydantic.Field(min_length=1)


def client(replies: Replies, **settings: Any) -> openai.OpenAI:
    return openai.OpenAI(api_key="k", http_client=openai.DefaultHttpxClient(transport=replies.httpx2()), **settings)


def async_client(replies: Replies) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(api_key="k", http_client=httpx2.AsyncClient(transport=replies.httpx2()))


@pytest.mark.parametrize(
    ("reply", "more"),
    [
        pytest.param(None, {}, id="default"),
        pytest.param(None, {"n": 2}, id="two choices"),
        pytest.param(Reply("Hello, you"), {}, id="text"),
        pytest.param(Reply(""), {}, id="empty text"),
        pytest.param(Reply("Let me see", tool_calls=CALLS), {}, id="text and calls"),
        pytest.param(Reply(tool_calls=CALLS), {}, id="calls"),
        pytest.param(Reply(json=[1, {"a": None}]), {}, id="json"),
        pytest.param(Reply("a", usage={"input_tokens": 3, "output_tokens": 5}, finish_reason="length"), {}, id="usage"),
    ],
)
def test_replies_are_valid_by_the_types_of_the_sdk_and_the_same_streamed(reply: Reply | None, more: Any) -> None:
    whole = check_strictly(ChatCompletion, ask(PATH, HELLO | more, reply).content)
    streamed = ask(PATH, HELLO | more | {"stream": True, "stream_options": {"include_usage": True}}, reply)
    *chunks, last = events(streamed)
    assert last == "[DONE]"
    texts = [""] * len(whole.choices)
    calls: list[dict[int, list[str]]] = [{} for _ in whole.choices]
    reasons: dict[int, str] = {}
    for data in chunks:
        chunk = check_strictly(ChatCompletionChunk, data)
        for choice in chunk.choices:
            texts[choice.index] += choice.delta.content or ""
            for call in choice.delta.tool_calls or ():
                known = calls[choice.index].setdefault(call.index, [call.id, call.function.name, ""])
                known[2] += call.function.arguments
            if choice.finish_reason:
                reasons[choice.index] = choice.finish_reason
    assert texts == [choice.message.content or "" for choice in whole.choices]
    assert [list(found.values()) for found in calls] == [
        [[call.id, call.function.name, call.function.arguments] for call in choice.message.tool_calls or ()]
        for choice in whole.choices
    ]
    assert reasons == {choice.index: choice.finish_reason for choice in whole.choices}
    assert check_strictly(ChatCompletionChunk, chunks[-1]).usage == whole.usage


def test_the_sdk_reads_a_text_whole_and_streamed_sync_and_async() -> None:
    replies = Replies(*[Reply("Hello, you", usage={"input_tokens": 3, "output_tokens": 5})] * 4)
    whole = client(replies).chat.completions.create(**HELLO)
    assert whole.choices[0].message.content == "Hello, you"
    assert whole.usage is not None
    assert (whole.usage.prompt_tokens, whole.usage.completion_tokens, whole.usage.total_tokens) == (3, 5, 8)
    with client(replies).chat.completions.stream(**HELLO) as stream:
        assert stream.get_final_completion().choices[0].message.content == "Hello, you"

    async def run() -> tuple[str | None, str | None]:
        api = async_client(replies)
        whole = await api.chat.completions.create(**HELLO)
        async with api.chat.completions.stream(**HELLO) as stream:
            final = await stream.get_final_completion()
        return whole.choices[0].message.content, final.choices[0].message.content

    assert asyncio.run(run()) == ("Hello, you", "Hello, you")


def test_a_stream_has_no_usage_unless_the_request_asks_for_it() -> None:
    for data in events(ask(PATH, HELLO | {"stream": True}))[:-1]:
        assert "usage" not in json.loads(data)


def test_the_default_reply_is_a_short_text() -> None:
    body = ask(PATH, HELLO).json()
    assert body["choices"][0]["message"]["content"] == "(offline)"
    assert body["choices"][0]["finish_reason"] == "stop"
    assert body["model"] == "gpt-5.5"


def test_a_demanded_schema_gets_an_instance() -> None:
    parsed = client(Replies()).chat.completions.parse(**HELLO, response_format=Verdict)
    assert parsed.choices[0].message.parsed == Verdict(stars=3, words=[""])
    assert (
        ask(PATH, HELLO | {"response_format": {"type": "json_object"}}).json()["choices"][0]["message"]["content"]
        == "{}"
    )


@pytest.mark.parametrize(
    "choice",
    [
        "required",
        {"type": "function", "function": {"name": "get_weather"}},
        {
            "type": "allowed_tools",
            "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "get_weather"}}]},
        },
    ],
)
def test_a_forced_tool_is_called_with_an_instance_of_its_parameters(choice: Any) -> None:
    answer = client(Replies()).chat.completions.create(**HELLO, tools=[WEATHER, TIME], tool_choice=choice)
    message = answer.choices[0].message
    assert message.content is None
    assert answer.choices[0].finish_reason == "tool_calls"
    assert [(call.function.name, call.function.arguments) for call in message.tool_calls] == [
        ("get_weather", '{"city": "Paris"}')
    ]


@pytest.mark.parametrize(
    "choice", ["auto", "none", {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [TIME]}}]
)
def test_a_tool_that_is_only_offered_is_not_called(choice: Any) -> None:
    body = ask(PATH, HELLO | {"tools": [WEATHER], "tool_choice": choice}).json()
    assert body["choices"][0]["message"]["content"] == "(offline)"


def test_of_several_forced_tools_the_first_not_yet_called_is_called_else_the_last() -> None:
    messages: list[Any] = [{"role": "user", "content": "Hello"}]
    called = []
    for _ in range(4):
        body = {"model": "m", "messages": messages, "tools": [WEATHER, TIME], "tool_choice": "required"}
        message = ask(PATH, body).json()["choices"][0]["message"]
        called.append(message["tool_calls"][0])
        messages += [message, {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "ok"}]
    assert [call["function"]["name"] for call in called] == ["get_weather", "get_time", "get_time", "get_time"]
    assert len({call["id"] for call in called}) == 4


def test_a_custom_tool_takes_a_text() -> None:
    tool = {"type": "custom", "custom": {"name": "run_sql"}}
    body = HELLO | {"tools": [tool], "tool_choice": {"type": "custom", "custom": {"name": "run_sql"}}}
    completion = check_strictly(ChatCompletion, ask(PATH, body).content)
    assert completion.choices[0].message.tool_calls[0].custom.input == "(offline)"
    queued = Reply(tool_calls=[{"name": "run_sql", "arguments": {"input": "SELECT 1"}}])
    streamed = "".join(events(ask(PATH, body | {"stream": True}, queued)))
    assert '"input":"SELECT"' in streamed


def test_the_same_request_gets_the_same_reply_and_another_gets_other_ids() -> None:
    first, again, other = (ask(PATH, body).json() for body in (HELLO, HELLO, HELLO | {"seed": 1}))
    assert first == again
    assert first["id"] != other["id"]


def test_the_ids_of_calls_do_not_change_with_the_words_of_a_prompt() -> None:
    ids = {
        ask(PATH, {"messages": [{"role": "user", "content": word}], "tools": [TIME], "tool_choice": "required"}).json()[
            "choices"
        ][0]["message"]["tool_calls"][0]["id"]
        for word in ("one", "two")
    }
    assert len(ids) == 1


def test_json_is_the_arguments_of_the_tool_that_the_request_forces() -> None:
    forced = HELLO | {"tools": [TIME, WEATHER], "tool_choice": "required"}
    call = ask(PATH, forced, Reply(json={"city": "Rome"})).json()["choices"][0]["message"]["tool_calls"][0]
    assert call["function"] == {"name": "get_weather", "arguments": '{"city": "Rome"}'}
    text = ask(PATH, forced, Reply(json={"other": 1})).json()["choices"][0]["message"]["content"]
    assert text == '{"other": 1}'
    only = HELLO | {"tools": [TIME, WEATHER], "tool_choice": {"type": "function", "function": {"name": "get_time"}}}
    call = ask(PATH, only, Reply(json={"a": 1})).json()["choices"][0]["message"]["tool_calls"][0]
    assert call["function"] == {"name": "get_time", "arguments": '{"a": 1}'}
    assert ask(PATH, forced, Reply(json=[1])).json()["choices"][0]["message"]["content"] == "[1]"


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, openai.BadRequestError),
        (401, openai.AuthenticationError),
        (403, openai.PermissionDeniedError),
        (404, openai.NotFoundError),
        (408, openai.APIStatusError),
        (409, openai.ConflictError),
        (413, openai.APIStatusError),
        (422, openai.UnprocessableEntityError),
        (429, openai.RateLimitError),
        (500, openai.InternalServerError),
        (503, openai.InternalServerError),
        (529, openai.InternalServerError),
    ],
)
def test_an_error_is_raised_by_the_sdk_as_its_own(status: int, error: type[openai.APIStatusError]) -> None:
    with pytest.raises(error) as raised:
        client(Replies(Reply(error=status)), max_retries=0).chat.completions.create(**HELLO)
    assert raised.value.status_code == status
    assert raised.value.body["message"].endswith("(queued by the test)")  # type: ignore[index]
    assert raised.value.request_id is not None


def test_the_sdk_retries_after_an_error_without_waiting() -> None:
    replies = Replies(Reply(error=429), Reply(error=500), Reply("at last"))
    assert client(replies).chat.completions.create(**HELLO).choices[0].message.content == "at last"
    assert len(replies.requests) == 3


def test_azure_answers_in_its_own_words() -> None:
    replies = Replies(Reply("Hello"), Reply(error=404))
    http_client = openai.DefaultHttpxClient(transport=replies.httpx2())
    azure = openai.AzureOpenAI(
        api_key="k", api_version="2024-10-21", azure_endpoint="https://a.invalid", http_client=http_client
    )
    answer = azure.chat.completions.create(**HELLO)
    assert replies.requests[0].url.path == "/openai/deployments/gpt-5.5/chat/completions"
    assert answer.choices[0].message.content == "Hello"
    assert answer.to_dict()["prompt_filter_results"]
    with pytest.raises(openai.NotFoundError) as raised:
        azure.chat.completions.create(**HELLO)
    assert raised.value.code == "DeploymentNotFound"


def read(*messages: Any) -> tuple[ConversationTurn, ...]:
    return get_api("openai-chat").read_conversation({"messages": list(messages)}).turns


def test_a_conversation_is_read_back() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Paris"}'}}
    turns = read(
        {"role": "developer", "content": "Be kind."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look:"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAECAw=="}},
                {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
                {"type": "image_url", "image_url": {"url": "data:image/svg+xml,%3Csvg/%3E"}},
                {"type": "input_audio", "input_audio": {"data": "AAEC", "format": "wav"}},
                {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAEC"}},
                {"type": "file", "file": {"filename": "b.pdf", "file_data": "AAEC"}},
                {"type": "file", "file": {"file_id": "file-1"}},
            ],
        },
        {"role": "assistant", "content": None, "tool_calls": [call], "reasoning_content": "Hm."},
        {"role": "tool", "tool_call_id": "c1", "content": "rain"},
        {"role": "assistant", "content": None, "refusal": "No.", "audio": {"id": "audio_1"}},
        {"role": "function", "name": "f", "content": "1"},
        {"role": "assistant", "content": "", "function_call": {"name": "f", "arguments": "{}"}},
    )
    assert turns == (
        ConversationTurn("system", ("Be kind.",)),
        ConversationTurn(
            "user",
            (
                "Look:",
                SentMedia("image", "image/png", 4),
                SentMedia("image", source="https://example.com/a.png"),
                SentMedia("image", source="data:image/svg+xml,%3Csvg/%3E"),
                SentMedia("audio", "audio/wav", 3),
                SentMedia("document", "application/pdf", 3, "a.pdf"),
                SentMedia("document", "", 3, "b.pdf"),
                SentMedia("document", source="file-1"),
            ),
        ),
        ConversationTurn("assistant", (Thought("Hm."), ConversationToolCall("get_weather", '{"city":"Paris"}', "c1"))),
        ConversationTurn("tool", ("rain",), call_id="c1"),
        ConversationTurn("assistant", ("No.", SentMedia("audio", source="audio_1"))),
        ConversationTurn("tool", ("1",), "f", ""),
        ConversationTurn("assistant", ("", ConversationToolCall("f", "{}"))),
    )


def test_what_is_not_understood_stays_as_json_text() -> None:
    assert read("Hello", {"role": "user"}, {"role": 1}, {"role": "user", "content": [{"type": "new", "é": 1}, 5]}) == (
        ConversationTurn("user", ("Hello",)),
        ConversationTurn("user", ()),
        ConversationTurn("unknown", ('{"role": 1}',)),
        ConversationTurn("user", ('{"type": "new", "é": 1}', "5")),
    )
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    assert read({"role": "assistant", "content": [thinking]}) == (ConversationTurn("assistant", (Thought("Hm."),)),)
    assert read({"role": "assistant", "tool_calls": ["what"]}) == (ConversationTurn("assistant", ('"what"',)),)


def test_a_body_without_messages_is_an_empty_conversation() -> None:
    assert get_api("openai-chat").read_conversation(None) == Conversation()


def test_a_schema_that_no_sdk_writes_is_an_error_that_says_to_queue_a_reply() -> None:
    schema = {"if": {"const": 1}, "then": {"const": 2}}
    body = HELLO | {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}}
    tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
    for each, what in (
        (body, "the answer"),
        (HELLO | {"tools": [tool], "tool_choice": "required"}, "the arguments of 'f'"),
    ):
        response = ask(PATH, each)
        assert response.status_code == 400
        assert response.json()["error"]["message"] == (
            f"the JSON Schema of {what} is one for which no offline reply can be made up; "
            "queue one: eval_api.reply(json={...})"
        )
    assert ask(PATH, body, Reply(json={"a": 1})).json()["choices"][0]["message"]["content"] == '{"a": 1}'
