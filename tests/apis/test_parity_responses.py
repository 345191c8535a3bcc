"""Parity of OpenAI Responses: the provider sends what OpenAI's SDK sends with `responses.create`."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import openai
import pytest
from openai.types.responses.response_function_call_output_item_param import ResponseFunctionCallOutputItemParam
from openai.types.responses.response_input_content_param import ResponseInputContentParam

from pytest_chatprompt import OpenAIResponsesProvider
from tests.apis.test_parity import (
    CONVERSATIONS,
    IMAGE_URL,
    MEDIA,
    OPTIONS,
    PDF_URL,
    RESULT,
    SCHEMA,
    UNICODE,
    WEATHER,
    Conversation,
    received_request,
    sent_by,
    sent_media,
    sent_with,
)
from tests.media import PDF, PNG, data_url
from tests.replies import plain_reply
from tests.server import Server

HI = [{"role": "user", "content": "hi"}]
QUESTION = {"role": "user", "content": "Weather?"}


def call(call_id: str, name: str, arguments: str = "{}") -> dict[str, str]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def output(call_id: str, text: str) -> dict[str, str]:
    return {"type": "function_call_output", "call_id": call_id, "output": text}


# The turns of each conversation, as the SDK's users write them.
INPUTS: dict[str, list[dict[str, str]]] = {
    "a single message": HI,
    "a system message and several turns": [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": "three"},
    ],
    "the same role twice": [
        {"role": "user", "content": "one"},
        {"role": "user", "content": "two"},
        {"role": "assistant", "content": "three"},
        {"role": "assistant", "content": "four"},
        {"role": "user", "content": "five"},
    ],
    "unicode, controls, CRLF and trailing blanks": [{"role": "user", "content": UNICODE}],
    "a long text": [{"role": "user", "content": "0123456789 äöü\n" * 20_000}],
    "a prefilled answer": [{"role": "user", "content": "JSON!"}, {"role": "assistant", "content": '{"a":'}],
    "a tool round trip, its result JSON": [QUESTION, call("c1", "weather", WEATHER), output("c1", RESULT)],
    "an empty tool result, and text beside the call": [
        QUESTION,
        {"role": "assistant", "content": "Let me see."},
        call("c1", "now"),
        output("c1", ""),
    ],
    "parallel tools": [
        QUESTION,
        call("c1", "weather", '{"city": "Rome"}'),
        call("c2", "now"),
        output("c1", "sunny"),
        output("c2", "noon"),
        {"role": "assistant", "content": "Sunny, at noon."},
        {"role": "user", "content": "Thanks."},
    ],
    "one tool after the other": [
        QUESTION,
        call("c1", "now"),
        output("c1", "noon"),
        call("c2", "weather"),
        output("c2", "sunny"),
    ],
    "names, which only OpenAI has": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "ho"},
        {"role": "user", "content": "hm"},
    ],
    "temperature 0": HI,
    "a temperature": HI,
    "an output cap": HI,
    "a cap and a temperature": HI,
}


@pytest.mark.parametrize(
    ("conversation", "turns"),
    [pytest.param(CONVERSATIONS[name], INPUTS[name], id=name) for name in CONVERSATIONS],
)
def test_it_sends_what_the_sdk_sends(conversation: Conversation, turns: Any, server: Server) -> None:
    server.reply_with(plain_reply("openai-responses"))
    base_url = f"{server.url}/v1"
    system: dict[str, Any] = {} if conversation.system is None else {"instructions": conversation.system}
    with openai.OpenAI(api_key="k", base_url=base_url, max_retries=0) as client:
        client.responses.create(model="m", input=turns, **system, **conversation.settings)
    theirs = received_request(server)
    assert theirs[0] == "/v1/responses"
    ours = OpenAIResponsesProvider(model="m", base_url=base_url, api_key="k", **conversation.settings)
    assert sent_by(ours, conversation, server) == theirs


# The parts of each media, as the SDK's users write them; those that are missing here this API lacks.
PARTS: dict[str, list[dict[str, str]]] = {
    **{
        name: [{"type": "input_image", "image_url": parts.openai[0]["image_url"]["url"]}]
        for name, parts in MEDIA.items()
        if name in ("a PNG", "a JPEG", "a WebP", "a GIF") and parts.openai
    },
    "texts around two images": [
        {"type": "input_text", "text": "Compare:"},
        {"type": "input_image", "image_url": data_url(PNG)},
        {"type": "input_image", "image_url": IMAGE_URL},
        {"type": "input_text", "text": "one\ntwo"},
    ],
    "a document": [
        {"type": "input_file", "filename": "report.pdf", "file_data": data_url(PDF, "application/pdf")},
        {"type": "input_text", "text": "Sum it up."},
    ],
    "a document at a URL": [{"type": "input_file", "file_url": PDF_URL}],
}


@pytest.mark.parametrize("name", PARTS)
def test_it_sends_the_media_that_the_sdk_sends(name: str, server: Server) -> None:
    server.reply_with(plain_reply("openai-responses"))
    base_url = f"{server.url}/v1"
    turns: Any = [{"role": "user", "content": PARTS[name]}]
    with openai.OpenAI(api_key="k", base_url=base_url, max_retries=0) as client:
        client.responses.create(model="m", input=turns)
    theirs = received_request(server)
    assert sent_media(OpenAIResponsesProvider(model="m", base_url=base_url, api_key="k"), MEDIA[name], server) == theirs


def types_of(union: Any) -> list[dict[str, Any]]:
    """The fields of each part in a union of the SDK, by name."""
    return [get_type_hints(part) for part in get_args(union)]


@pytest.mark.parametrize(
    "union", [ResponseInputContentParam, ResponseFunctionCallOutputItemParam], ids=["a message", "a result"]
)
def test_the_types_of_the_sdk_have_each_part_that_is_sent_and_no_sound(union: Any) -> None:
    known = {get_args(fields["type"])[0]: set(fields) for fields in types_of(union)}
    assert set(known) == {"input_text", "input_image", "input_file"}
    for parts in PARTS.values():
        for part in parts:
            assert set(part) <= known[part["type"]]


def test_the_media_that_are_compared_are_all_but_what_the_api_lacks() -> None:
    assert set(MEDIA) - set(PARTS) == {"a WAV", "an MP3", "a sound at a URL"}


WEATHER_TOOL = {
    "type": "function",
    "name": "weather",
    "description": "The forecast",
    "parameters": SCHEMA,
    "strict": True,
}
NOW_TOOL = {"type": "function", "name": "now"}
FORMAT = {"type": "json_schema", "name": "weather", "description": "A forecast", "schema": SCHEMA, "strict": True}

# The options, as the SDK's users write them; those that are missing here this API lacks.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "two tools, one without arguments": {"tools": [WEATHER_TOOL, NOW_TOOL]},
    "a choice of auto": {"tools": [WEATHER_TOOL], "tool_choice": "auto"},
    "a choice of none": {"tools": [WEATHER_TOOL], "tool_choice": "none"},
    "a choice of required": {"tools": [WEATHER_TOOL], "tool_choice": "required"},
    "a named tool": {"tools": [WEATHER_TOOL], "tool_choice": {"type": "function", "name": "weather"}},
    "allowed tools": {
        "tools": [WEATHER_TOOL, NOW_TOOL],
        "tool_choice": {"type": "allowed_tools", "mode": "required", "tools": [NOW_TOOL]},
    },
    "an allowed tool that need not be called": {
        "tools": [WEATHER_TOOL, NOW_TOOL],
        "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [NOW_TOOL]},
    },
    "a schema": {"text": {"format": FORMAT}},
    "JSON without a schema": {"text": {"format": {"type": "json_object"}}},
    "an effort": {"reasoning": {"effort": "low"}},
    "an effort and a schema": {"reasoning": {"effort": "low"}, "text": {"format": FORMAT}},
    "more of the body": {"extra_body": {"metadata": {"user_id": "u"}}},
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_it_sends_the_options_that_the_sdk_sends(name: str, server: Server) -> None:
    server.reply_with(plain_reply("openai-responses"))
    base_url = f"{server.url}/v1"
    turns: Any = HI
    with openai.OpenAI(api_key="k", base_url=base_url, max_retries=0) as client:
        client.responses.create(model="other", input=turns, **ARGUMENTS[name])
    theirs = received_request(server)
    ours = OpenAIResponsesProvider(model="m", base_url=base_url, api_key="k")
    assert sent_with(ours, OPTIONS[name], server) == theirs


def test_what_is_compared_is_all_but_what_the_api_lacks() -> None:
    assert set(OPTIONS) - set(ARGUMENTS) == {"sampling and a stop", "several stops and a limit", "a seed"}
