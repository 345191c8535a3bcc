"""Amazon Bedrock: the body that is sent, the reply that comes back, and where key, region and URL come from."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_chatprompt import (
    AuthenticationError,
    BedrockProvider,
    ChatMessage,
    MissingSettingError,
    NotFoundError,
    PayloadError,
    ProviderRequest,
)
from pytest_chatprompt.prompt.chat_prompt import Media
from pytest_chatprompt.providers.context import SendContext, use_context
from tests.apis.conversations import SYSTEM, TOOLS, USER
from tests.media import PNG
from tests.replies import plain_reply
from tests.server import Server

HI = ProviderRequest(chat_prompt=(ChatMessage("user", "hi"),), metadata={"systemPrompt": ""})
BEDROCK = BedrockProvider(region="us-east-1")
IMAGE = Media("image", "a.png", "image/png", PNG)
VARIABLES = (
    *("AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"),
    *("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL"),
    *("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_DEFAULT_PROFILE"),
)


@pytest.fixture(autouse=True)
def no_aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of AWS is set on this machine."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def test_text_is_in_blocks_and_the_path_names_the_model(server: Server) -> None:
    server.reply_with(plain_reply("bedrock"))
    provider = BedrockProvider(base_url=server.url, api_key="k1", temperature=0)
    response = provider.send(ProviderRequest(chat_prompt=(SYSTEM, USER)))
    provider.close()
    assert (response.text, response.finish_reason) == ("(offline)", "end_turn")
    ((path, headers, body),) = server.requests
    assert path == "/model/global.anthropic.claude-sonnet-5-5/converse"
    assert headers["authorization"] == "Bearer k1"
    assert body == {
        "system": [{"text": "Be kind."}],
        "messages": [{"role": "user", "content": [{"text": "hi"}]}],
        "inferenceConfig": {"temperature": 0},
    }


def test_e3_tool_calls_and_results_become_blocks_and_the_results_of_one_turn_are_sent_together() -> None:
    payload = BEDROCK.build_payload(TOOLS)
    assert payload.body["messages"] == [
        {"role": "user", "content": [{"text": "Weather?"}]},
        {
            "role": "assistant",
            "content": [
                {"text": "Let me see."},
                {"toolUse": {"toolUseId": "c1", "name": "weather", "input": {"city": "Paris"}}},
                {"toolUse": {"toolUseId": "c2", "name": "now", "input": {}}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": "c1", "content": [{"text": "sunny"}]}},
                {"toolResult": {"toolUseId": "c2", "content": [{"text": ""}]}},
                {"text": "And?"},
            ],
        },
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c3", "name": "more", "input": {}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c3", "content": [{"text": '{"a": 1}'}]}}]},
    ]
    assert payload.adjustments == (
        "message 5: null sent as an empty result",
        "tool results of messages 4 and 5 sent in one user turn",
        "message 6: sent in one turn with the tool results before it",
    )


def test_e3_only_the_first_user_message_after_tool_results_goes_with_them() -> None:
    more = (ChatMessage("user", ("See", IMAGE), number=9), ChatMessage("user", "more", number=10))
    payload = BEDROCK.build_payload((*TOOLS, *more))
    result = {"toolResult": {"toolUseId": "c3", "content": [{"text": '{"a": 1}'}]}}
    image = {"image": {"format": "png", "source": {"bytes": IMAGE.base64}}}
    assert payload.body["messages"][-2:] == [
        {"role": "user", "content": [result, {"text": "See"}, image]},
        {"role": "user", "content": [{"text": "more"}]},
    ]
    assert payload.adjustments[-1] == "message 9: sent in one turn with the tool results before it"


@pytest.mark.parametrize(
    ("options", "location", "reason"),
    [
        pytest.param(
            {"settings": {"seed": 1}},
            ("settings", "seed"),
            "Amazon Bedrock has no setting 'seed'; leave it out, or put it under the name of a provider that has it",
            id="a seed",
        ),
        pytest.param(
            {"settings": {"reasoning_effort": "minimal"}},
            ("settings", "reasoning_effort"),
            "Amazon Bedrock has no reasoning_effort 'minimal'; write one of low, medium, high, xhigh, max",
            id="an effort that it has not",
        ),
        pytest.param(
            {"tool_choice": "none"},
            ("tool_choice",),
            "Amazon Bedrock has no tool_choice 'none'; leave out the tools and the choice",
            id="a choice of none",
        ),
        pytest.param(
            {"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "a"}]}},
            ("tool_choice",),
            "Amazon Bedrock has no allowed_tools; write auto, required or the name of one function",
            id="allowed tools",
        ),
        pytest.param(
            {"response_format": {"type": "json_object"}},
            ("response_format",),
            "Amazon Bedrock has no JSON without a schema; write a json_schema, or ask for JSON in a message",
            id="JSON without a schema",
        ),
        pytest.param(
            {"tools": [{"type": "custom", "name": "a"}]},
            ("tools", 0),
            "Amazon Bedrock has no tool of OpenAI's type 'custom'; write a function, or one of the API's own tools "
            "as {type: raw, PROVIDER: {...}}",
            id="a custom tool",
        ),
    ],
)
def test_what_the_api_cannot_hold_is_an_error_with_its_place(
    options: dict[str, Any], location: tuple[str | int, ...], reason: str
) -> None:
    with pytest.raises(PayloadError) as caught:
        BEDROCK.prepare(HI.model_copy(update=options))
    assert (caught.value.location, caught.value.reason) == (location, reason)


def test_strict_of_a_format_is_left_out_and_text_is_the_default() -> None:
    schema = {"type": "object", "properties": {"ä": {"type": "string"}}}
    strict = {"type": "json_schema", "name": "n", "schema": schema, "strict": True}
    payload = BEDROCK.response_format_payload(strict)
    definition = {"schema": '{"type": "object", "properties": {"ä": {"type": "string"}}}', "name": "n"}
    assert payload.body == {
        "outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": definition}}}
    }
    assert payload.adjustments == ("response_format: strict left out, Amazon Bedrock has none",)
    assert BEDROCK.response_format_payload({"type": "text"}).body == {}


def test_an_empty_description_is_not_sent() -> None:
    payload = BEDROCK.tools_payload([{"type": "function", "name": "a", "description": ""}])
    specification = {"name": "a", "inputSchema": {"json": {"type": "object", "properties": {}}}}
    assert payload.body == {"toolConfig": {"tools": [{"toolSpec": specification}]}}


@pytest.mark.parametrize(
    ("blocks", "stop_reason", "text", "blocked"),
    [
        pytest.param(
            [{"reasoningContent": {"reasoningText": {"text": "hm"}}}, {"text": "a"}, {"text": "b"}],
            "end_turn", "ab", None, id="all text, without the reasoning",
        ),
        pytest.param(
            [{"text": "a"}, {"citationsContent": {"content": [{"text": "b"}, {"text": "c"}], "citations": []}},
             {"citationsContent": {"citations": []}}],
            "end_turn", "abc", None, id="text beside its citations",
        ),
        pytest.param([{"text": "No."}], "guardrail_intervened", "No.", "guardrail_intervened", id="a guardrail"),
        pytest.param([], "content_filtered", "", "content_filtered", id="a filtered answer"),
    ],
)  # fmt: skip
def test_a_reply_becomes_a_response(blocks: list[Any], stop_reason: str, text: str, blocked: str | None) -> None:
    reply = {"output": {"message": {"role": "assistant", "content": blocks}}, "stopReason": stop_reason}
    response = BEDROCK.read_reply(reply)
    assert (response.text, response.finish_reason, response.blocked) == (text, stop_reason, blocked)
    assert (response.usage.input_tokens, response.usage.output_tokens) == (None, None)


def test_calls_and_usage_are_read() -> None:
    block = {"toolUse": {"toolUseId": "c1", "name": "weather", "input": {"city": "Zürich"}}}
    reply = {
        "output": {"message": {"content": [{"text": "Let me see."}, block]}},
        "usage": {"inputTokens": 3, "outputTokens": 4, "totalTokens": 7},
    }
    response = BEDROCK.read_reply(reply)
    (called,) = response.tool_calls
    assert (called.id, called.function.name, called.function.arguments) == ("c1", "weather", '{"city": "Zürich"}')
    assert (response.usage.input_tokens, response.usage.output_tokens) == (3, 4)


def test_parameters_are_read_wherever_a_user_put_something_else() -> None:
    assert BEDROCK.model_parameters({"inferenceConfig": 1}).temperature is None


# --- where key, region and URL come from


@pytest.mark.parametrize(
    ("variables", "url"),
    [
        pytest.param({"AWS_REGION": "eu-west-1"}, "https://bedrock-runtime.eu-west-1.amazonaws.com", id="AWS_REGION"),
        pytest.param(
            {"AWS_REGION": "", "AWS_DEFAULT_REGION": "ap-south-1"},
            "https://bedrock-runtime.ap-south-1.amazonaws.com",
            id="an empty variable is not set",
        ),
        pytest.param(
            {"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "https://vpce.example/", "AWS_ENDPOINT_URL": "https://all.example"},
            "https://vpce.example",
            id="a URL of its own",
        ),
    ],
)
def test_the_url_comes_from_the_environment(
    variables: dict[str, str], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert BedrockProvider().base_url == url
    with use_context(SendContext(is_offline=True)):
        assert BedrockProvider().base_url == "https://bedrock-runtime.us-east-1.amazonaws.com"
        assert BedrockProvider(base_url="https://mine.example").base_url == "https://mine.example"
        assert BedrockProvider(region="eu-west-1").region == "eu-west-1"


def test_the_region_of_the_profile_counts_where_nothing_else_says_one(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("[default]\nregion = sa-east-1\n")
    assert BedrockProvider().base_url == "https://bedrock-runtime.sa-east-1.amazonaws.com"
    assert BedrockProvider(region="eu-west-1").region == "eu-west-1"


def test_the_error_for_a_missing_region_names_its_variable() -> None:
    with pytest.raises(MissingSettingError) as caught:
        BedrockProvider(api_key="k").send(HI)
    assert str(caught.value) == (
        "no region for Amazon Bedrock: set the environment variable AWS_REGION, or pass region to BedrockProvider"
    )


def test_a_key_needs_no_botocore(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "k-env")
    server.reply_with(plain_reply("bedrock"))
    provider = BedrockProvider(base_url=server.url)
    provider.send(HI)
    provider.close()
    assert server.requests[0][1]["authorization"] == "Bearer k-env"
    # Nor does the region, but then nothing reads the profile's.
    with pytest.raises(MissingSettingError, match="no region for Amazon Bedrock"):
        _ = BedrockProvider().region


def test_offline_nothing_is_signed_whatever_the_key_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    with use_context(SendContext(is_offline=True)):
        for provider, key in ((BedrockProvider(), "Bearer offline"), (BedrockProvider(api_key=""), None)):
            request: Any = None
            assert provider.authorize(request).get("authorization") == key


def test_without_a_key_a_request_is_signed(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    server.reply_with(plain_reply("bedrock"))
    provider = BedrockProvider(base_url=server.url, region="eu-west-1")
    assert provider.send(HI).text == "(offline)"
    provider.close()
    authorization = server.requests[0][1]["authorization"]
    assert authorization.startswith("AWS4-HMAC-SHA256 Credential=AKID/")
    assert "/eu-west-1/bedrock/aws4_request, SignedHeaders=content-type;host;x-amz-date, " in authorization


@pytest.mark.parametrize(
    ("key", "variable"),
    [
        pytest.param("k3y-1", "AWS_BEARER_TOKEN_BEDROCK", id="with a key"),
        pytest.param(None, "AWS_PROFILE or AWS_ACCESS_KEY_ID", id="signed"),
    ],
)
def test_an_error_names_what_has_authorized_the_request(
    key: str | None, variable: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    server.headers = {"x-amzn-errortype": "UnrecognizedClientException:http://x.example/", "x-amzn-requestid": "r-1"}
    server.reply_with({"message": "The security token included in the request is invalid."}, status=403)
    provider = BedrockProvider(base_url=server.url, region="eu-west-1", api_key=key)
    with pytest.raises(AuthenticationError) as caught:
        provider.send(HI)
    provider.close()
    assert str(caught.value) == (
        "Amazon Bedrock answered 403 Forbidden: The security token included in the request is invalid.\n"
        f"Check the key: the environment variable {variable}, or api_key.\n"
        "(UnrecognizedClientException, request r-1)"
    )


def test_a_404_names_model_and_url(server: Server) -> None:
    server.reply_with({"message": "no such model"}, status=404)
    provider = BedrockProvider(base_url=server.url, api_key="k", model="m")
    with pytest.raises(NotFoundError, match=f"Check the model 'm' and the base URL {server.url}"):
        provider.send(HI)
    provider.close()


def test_it_has_no_api_version() -> None:
    arguments: Any = {"api_version": "v1"}
    with pytest.raises(TypeError, match="BedrockProvider has no setting 'api_version'"):
        BedrockProvider(**arguments)
    with pytest.raises(ValueError, match="BedrockProvider: region must"):
        BedrockProvider(region="")
