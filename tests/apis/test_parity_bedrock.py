"""Parity of Bedrock: the provider sends what boto3 sends with `converse`, to the same path."""

from __future__ import annotations

import json
from typing import Any

import boto3
import pytest
from botocore.config import Config

from pytest_chatprompt import BedrockProvider, ChatMessage
from pytest_chatprompt.prompt.chat_prompt import Media
from tests.apis.conversations import call
from tests.apis.test_parity import (
    CONVERSATIONS,
    MEDIA,
    NOISY_PNG,
    OPTIONS,
    RESULT,
    SCHEMA,
    UNICODE,
    WEATHER_ARGUMENTS,
    Conversation,
    received_request,
    sent_by,
    sent_media,
    sent_with,
)
from tests.media import FORMATS, PDF, PNG
from tests.replies import plain_reply
from tests.server import Server


def says(role: str, *texts: str) -> dict[str, Any]:
    return {"role": role, "content": [{"text": text} for text in texts]}


def use(call_id: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": call_id, "name": name, "input": arguments}}


def calls(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def results(*answers: tuple[str, str]) -> dict[str, Any]:
    blocks = [{"toolResult": {"toolUseId": call_id, "content": [{"text": text}]}} for call_id, text in answers]
    return {"role": "user", "content": blocks}


HI = [says("user", "hi")]
QUESTION = says("user", "Weather?")

# The turns of each conversation, as boto3's users write them.
MESSAGES: dict[str, list[dict[str, Any]]] = {
    "a single message": HI,
    "a system message and several turns": [says("user", "one"), says("assistant", "two"), says("user", "three")],
    "the same role twice": [
        says("user", "one"),
        says("user", "two"),
        says("assistant", "three"),
        says("assistant", "four"),
        says("user", "five"),
    ],
    "unicode, controls, CRLF and trailing blanks": [says("user", UNICODE)],
    "a long text": [says("user", "0123456789 äöü\n" * 20_000)],
    "a prefilled answer": [says("user", "JSON!"), says("assistant", '{"a":')],
    "a tool round trip, its result JSON": [
        QUESTION,
        calls(use("c1", "weather", WEATHER_ARGUMENTS)),
        results(("c1", RESULT)),
    ],
    "an empty tool result, and text beside the call": [
        QUESTION,
        calls({"text": "Let me see."}, use("c1", "now", {})),
        results(("c1", "")),
    ],
    "parallel tools": [
        QUESTION,
        calls(use("c1", "weather", {"city": "Rome"}), use("c2", "now", {})),
        results(("c1", "sunny"), ("c2", "noon")),
        says("assistant", "Sunny, at noon."),
        says("user", "Thanks."),
    ],
    "one tool after the other": [
        QUESTION,
        calls(use("c1", "now", {})),
        results(("c1", "noon")),
        calls(use("c2", "weather", {})),
        results(("c2", "sunny")),
    ],
    "names, which only OpenAI has": [says("user", "hi"), says("assistant", "ho"), says("user", "hm")],
    "temperature 0": HI,
    "a temperature": HI,
    "an output cap": HI,
    "a cap and a temperature": HI,
}
NAMES = {"max_output_tokens": "maxTokens", "temperature": "temperature"}


def converse(server: Server, model: str, **arguments: Any) -> tuple[str, Any]:
    """What boto3 sends."""
    client = boto3.client(
        "bedrock-runtime",
        endpoint_url=server.url,
        region_name="us-east-1",
        aws_access_key_id="a",
        aws_secret_access_key="s",
        config=Config(retries={"total_max_attempts": 1}),
    )
    client.converse(modelId=model, **arguments)
    client.close()
    return received_request(server)


@pytest.mark.parametrize(
    ("conversation", "messages"),
    [pytest.param(CONVERSATIONS[name], MESSAGES[name], id=name) for name in CONVERSATIONS],
)
def test_it_sends_what_boto3_sends(conversation: Conversation, messages: Any, server: Server) -> None:
    server.reply_with(plain_reply("bedrock"))
    arguments: dict[str, Any] = {"messages": messages}
    if conversation.system is not None:
        arguments["system"] = [{"text": conversation.system}]
    if conversation.settings:
        arguments["inferenceConfig"] = {NAMES[name]: value for name, value in conversation.settings.items()}
    theirs = converse(server, "us.anthropic.claude-x-v1:0", **arguments)
    ours = BedrockProvider(
        model="us.anthropic.claude-x-v1:0", base_url=server.url, api_key="k", **conversation.settings
    )
    assert sent_by(ours, conversation, server) == theirs


@pytest.mark.parametrize(
    "model",
    ["amazon.nova-lite-v1:0", "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-x"],
)
def test_the_path_names_a_model_as_boto3_names_it(model: str, server: Server) -> None:
    server.reply_with(plain_reply("bedrock"))
    conversation = CONVERSATIONS["a single message"]
    theirs = converse(server, model, messages=HI)
    assert sent_by(BedrockProvider(model=model, base_url=server.url, api_key="k"), conversation, server) == theirs


def picture(image_format: str, content: bytes) -> dict[str, Any]:
    return {"image": {"format": image_format, "source": {"bytes": content}}}


def sound(audio_format: str, content: bytes) -> list[dict[str, Any]]:
    return [{"text": "Listen:"}, {"audio": {"format": audio_format, "source": {"bytes": content}}}]


# The blocks of each media, as boto3's users write them: with the bytes themselves.
BLOCKS: dict[str, list[dict[str, Any]]] = {
    "a PNG": [picture("png", NOISY_PNG)],
    "a JPEG": [picture("jpeg", FORMATS["image/jpeg"])],
    "a WebP": [picture("webp", FORMATS["image/webp"])],
    "a GIF": [picture("gif", FORMATS["image/gif"])],
    "a document": [
        {"document": {"format": "pdf", "name": "report", "source": {"bytes": PDF}}},
        {"text": "Sum it up."},
    ],
    "a WAV": sound("wav", FORMATS["audio/wav"]),
    "an MP3": sound("mp3", FORMATS["audio/mpeg"]),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_it_sends_the_media_that_boto3_sends(name: str, server: Server) -> None:
    server.reply_with(plain_reply("bedrock"))
    theirs = converse(server, "m", messages=[{"role": "user", "content": BLOCKS[name]}])
    ours = BedrockProvider(model="m", base_url=server.url, api_key="k")
    assert sent_media(ours, MEDIA[name], server) == theirs


def test_it_sends_the_media_in_a_result_that_boto3_sends(server: Server) -> None:
    server.reply_with(plain_reply("bedrock"))
    content = [{"text": "Done:"}, picture("png", PNG), BLOCKS["a document"][0]]
    turns = [
        calls(use("c1", "look", {})),
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": content}}]},
    ]
    theirs = converse(server, "m", messages=turns)
    media = (Media("image", "a.png", "image/png", PNG), Media("document", "a/report.pdf", "application/pdf", PDF))
    prompt = (
        ChatMessage("assistant", None, tool_calls=(call("c1", "look"),)),
        ChatMessage("tool", ("Done:", *media), tool_call_id="c1"),
    )
    ours = BedrockProvider(model="m", base_url=server.url, api_key="k")
    assert sent_by(ours, Conversation(prompt, [], []), server) == theirs


def test_it_sends_a_question_after_tool_results_as_boto3_does(server: Server) -> None:
    server.reply_with(plain_reply("bedrock"))
    answers = results(("c1", "noon"), ("c2", "sunny"))
    answers["content"].append({"text": "And tomorrow?"})
    theirs = converse(server, "m", messages=[QUESTION, calls(use("c1", "now", {}), use("c2", "weather", {})), answers])
    prompt = (
        ChatMessage("user", "Weather?"),
        ChatMessage("assistant", None, tool_calls=(call("c1", "now"), call("c2", "weather"))),
        ChatMessage("tool", "noon", tool_call_id="c1"),
        ChatMessage("tool", "sunny", tool_call_id="c2"),
        ChatMessage("user", "And tomorrow?"),
    )
    ours = BedrockProvider(model="m", base_url=server.url, api_key="k")
    assert sent_by(ours, Conversation(prompt, [], []), server) == theirs


def test_the_media_that_are_compared_are_all_but_those_with_a_url() -> None:
    assert set(MEDIA) - set(BLOCKS) == {"texts around two images", "a document at a URL", "a sound at a URL"}


def tool(name: str, schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"toolSpec": {"name": name, "inputSchema": {"json": schema}, **more}}


WEATHER_TOOL = tool("weather", SCHEMA, description="The forecast", strict=True)
NOW_TOOL = tool("now", {"type": "object", "properties": {}})
FORMAT = {
    "type": "json_schema",
    "structure": {"jsonSchema": {"schema": json.dumps(SCHEMA), "name": "weather", "description": "A forecast"}},
}

# The options, as boto3's users write them; those that are missing here this API lacks.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "two tools, one without arguments": {"toolConfig": {"tools": [WEATHER_TOOL, NOW_TOOL]}},
    "a choice of auto": {"toolConfig": {"tools": [WEATHER_TOOL], "toolChoice": {"auto": {}}}},
    "a choice of required": {"toolConfig": {"tools": [WEATHER_TOOL], "toolChoice": {"any": {}}}},
    "a named tool": {"toolConfig": {"tools": [WEATHER_TOOL], "toolChoice": {"tool": {"name": "weather"}}}},
    "a schema": {"outputConfig": {"textFormat": FORMAT}},
    "sampling and a stop": {"inferenceConfig": {"temperature": 0, "topP": 0.5, "stopSequences": ["END"]}},
    "several stops and a limit": {"inferenceConfig": {"stopSequences": ["a", "b"], "maxTokens": 9}},
    "an effort": {"outputConfig": {"effort": "low"}},
    "an effort and a schema": {"outputConfig": {"effort": "low", "textFormat": FORMAT}},
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_it_sends_the_options_that_boto3_sends(name: str, server: Server) -> None:
    server.reply_with(plain_reply("bedrock"))
    theirs = converse(server, "other", messages=HI, **ARGUMENTS[name])
    ours = BedrockProvider(model="m", base_url=server.url, api_key="k")
    assert sent_with(ours, OPTIONS[name], server) == theirs


def test_more_of_the_body_is_what_boto3_calls_additional_fields(server: Server) -> None:
    server.reply_with(plain_reply("bedrock"))
    fields = {"additionalModelRequestFields": {"top_k": 3}, "requestMetadata": {"team": "a"}}
    theirs = converse(server, "m", messages=HI, **fields)
    ours = BedrockProvider(model="m", base_url=server.url, api_key="k", extra_body=fields)
    assert sent_by(ours, CONVERSATIONS["a single message"], server) == theirs


def test_what_is_compared_is_all_but_what_the_api_lacks() -> None:
    allowed = {"allowed tools", "an allowed tool that need not be called"}
    lacking = {"a choice of none", *allowed, "JSON without a schema", "a seed"}
    # What is merged into the body is another thing in each API.
    assert set(OPTIONS) - set(ARGUMENTS) == lacking | {"more of the body"}
