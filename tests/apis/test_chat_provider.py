"""What all chat providers share: which messages are sent (rule E2), keys, base URLs, replies and errors."""

from __future__ import annotations

import contextlib
import json
import math
import re
import sys
from typing import Any, Unpack

import httpx
import pytest

from pytest_chatprompt import (
    AnthropicProvider,
    APIStatusError,
    AzureProvider,
    ChatMessage,
    ChatPrompt,
    ChatProvider,
    ChatSettings,
    GeminiProvider,
    MissingSettingError,
    NotFoundError,
    OpenAIProvider,
    Payload,
    PayloadError,
    ProviderRequest,
    ProviderResponse,
    UnreadableReplyError,
)
from pytest_chatprompt.apis.sending import read_http_reply
from tests.server import Reply, Server

HI = ProviderRequest(chat_prompt=(ChatMessage("user", "hi"),))
ANSWER = {"choices": [{"message": {"content": "ho"}, "finish_reason": "stop"}]}


def prompt_of(**request: Any) -> list[tuple[str, object]]:
    prompt = OpenAIProvider().build_chat_prompt(ProviderRequest.model_validate(request))
    return [(message.role, message.content) for message in prompt]


USER = {"role": "user", "content": "hi"}


@pytest.mark.parametrize(
    ("request_data", "prompt"),
    [
        pytest.param(
            {"chat_prompt": [USER], "guidelines": ["g"], "question": "q"},
            [("system", "You are a careful assistant."), ("user", "hi")],
            id="E2: guidelines are not added to the system prompt put in front",
        ),
        pytest.param(
            {"question": " a \n\n", "metadata": {"systemPrompt": " S "}},
            [("system", " S "), ("user", " a \n\n")],
            id="E2: a legacy question and its system prompt are sent as they are",
        ),
        pytest.param(
            {"question": "q", "guidelines": ["g\n", "", " \ufeff", "h"]},
            [("system", "You are a careful assistant.\n\n[[ ## Guidelines ## ]]\n\ng\n\n\nh"), ("user", "q")],
            id="E2, B4: guidelines of a legacy request",
        ),
        pytest.param(
            {"question": "q", "guidelines": [" "], "metadata": {"systemPrompt": ""}},
            [("user", "q")],
            id="E2, B4: blank guidelines of a legacy request",
        ),
        pytest.param(
            {"chat_prompt": [USER]},
            [("system", "You are a careful assistant."), ("user", "hi")],
            id="the default system prompt",
        ),
        pytest.param(
            {"chat_prompt": [USER], "metadata": {"systemPrompt": "Mine."}},
            [("system", "Mine."), ("user", "hi")],
            id="a system prompt in the metadata",
        ),
        pytest.param(
            {"chat_prompt": [USER], "metadata": {"systemPrompt": ""}}, [("user", "hi")], id="an empty system prompt"
        ),
        pytest.param(
            {"chat_prompt": [USER, {"role": "system", "content": "x"}], "question": "q", "guidelines": ["g"]},
            [("user", "hi"), ("system", "x")],
            id="a system message anywhere in the prompt",
        ),
        pytest.param(
            {"question": "q"}, [("system", "You are a careful assistant."), ("user", "q")], id="a legacy request"
        ),
        pytest.param(
            {"question": "q", "guidelines": ["g1", "g2"], "metadata": {"systemPrompt": "Mine."}},
            [("system", "Mine.\n\n[[ ## Guidelines ## ]]\n\ng1\n\ng2"), ("user", "q")],
            id="a legacy request with guidelines",
        ),
        pytest.param(
            {"question": "q", "guidelines": ["g"], "metadata": {"systemPrompt": ""}},
            [("system", "[[ ## Guidelines ## ]]\n\ng"), ("user", "q")],
            id="a legacy request with guidelines and an empty system prompt",
        ),
        pytest.param(
            {"question": "q", "metadata": {"systemPrompt": ""}},
            [("user", "q")],
            id="a legacy request with an empty system prompt",
        ),
    ],
)
def test_e2_a_system_message_is_put_before_a_prompt_that_has_none(
    request_data: dict[str, Any], prompt: list[tuple[str, str]]
) -> None:
    assert prompt_of(**request_data) == prompt


def test_a_previewed_body_is_the_prepared_one_decoded() -> None:
    provider = OpenAIProvider(extra_body={"pair": (1, "é")})
    assert provider.prepare(HI).body == json.loads(provider.prepare(HI).content)
    assert provider.prepare(HI).body["pair"] == [1, "é"]


@pytest.mark.parametrize(
    "provider",
    [AzureProvider(endpoint="https://azure.example"), OpenAIProvider(), AnthropicProvider(), GeminiProvider()],
    ids=lambda provider: provider.vendor,
)
def test_d4_the_question_is_not_sent_if_there_is_a_chat_prompt(provider: ChatProvider) -> None:
    content = provider.prepare(HI.model_copy(update={"question": "the transcript"})).content
    assert b'"hi"' in content
    assert b"the transcript" not in content


def test_e2_an_empty_chat_prompt_is_an_error_even_with_a_question() -> None:
    with pytest.raises(PayloadError, match="the chat prompt is an empty list"):
        prompt_of(chat_prompt=[], question="q")


def test_a_request_without_prompt_and_question_is_an_error() -> None:
    with pytest.raises(PayloadError, match="the request has neither a chat prompt nor a question"):
        prompt_of()


def test_the_body_is_json_in_utf8_and_the_answer_is_returned(server: Server) -> None:
    server.reply_with(ANSWER)
    provider = OpenAIProvider(model="m", base_url=f"{server.url}/v1/", api_key="sk-1", timeout_seconds=5)
    response = provider.send(ProviderRequest(chat_prompt=(ChatMessage("system", "ä"), ChatMessage("user", "😀\r\n"))))
    assert response.text == "ho"
    ((path, headers, body),) = server.requests
    assert path == "/v1/chat/completions"
    assert headers["authorization"] == "Bearer sk-1"
    assert headers["content-type"] == "application/json"
    assert body == {
        "model": "m",
        "messages": [{"role": "system", "content": "ä"}, {"role": "user", "content": "😀\r\n"}],
    }
    provider.close()


def test_the_key_comes_from_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.reply_with(ANSWER)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
    provider = OpenAIProvider(base_url=server.url)
    provider.send(HI)
    provider.close()
    assert server.requests[0][1]["authorization"] == "Bearer sk-env"


def test_the_error_for_a_missing_key_names_its_variable(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(MissingSettingError) as caught:
        OpenAIProvider(base_url=server.url).send(HI)
    assert str(caught.value) == (
        "no key for OpenAI: set the environment variable OPENAI_API_KEY, or pass api_key to OpenAIProvider"
    )
    assert server.requests == []


def test_a_base_url_without_a_scheme_is_refused_at_once() -> None:
    with pytest.raises(
        ValueError,
        match=re.escape("OpenAIProvider: 'localhost:8000' is not an http or https URL with a host and without a query"),
    ):
        OpenAIProvider(base_url="localhost:8000")


def test_extra_body_is_merged_into_the_body(server: Server) -> None:
    server.reply_with(ANSWER)
    provider = OpenAIProvider(
        base_url=server.url, api_key="k", extra_body={"model": "other", "reasoning": {"effort": "low"}}
    )
    provider.extra_body["messages"] = []
    provider.send(HI)
    provider.close()
    assert server.requests[0][2] == {"model": "other", "messages": [], "reasoning": {"effort": "low"}}


@pytest.mark.parametrize(
    ("prompt", "settings", "text"),
    [
        pytest.param(
            (ChatMessage("user", "\ud800"),),
            {},
            r"the body cannot be encoded as JSON: 'utf-8' codec can't encode character '\ud800' in position 116",
            id="half a character",
        ),
        pytest.param(
            (ChatMessage("user", "x"),),
            {"extra_body": {"x": math.inf}},
            "the body cannot be encoded as JSON",
            id="infinity",
        ),
    ],
)
def test_text_that_json_cannot_hold_is_an_error_before_anything_is_sent(
    server: Server, prompt: tuple[ChatMessage, ...], settings: dict[str, Any], text: str
) -> None:
    with pytest.raises(PayloadError, match=re.escape(text)):
        OpenAIProvider(base_url=server.url, api_key="k", **settings).send(ProviderRequest(chat_prompt=prompt))
    assert server.requests == []


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param(
            {"error": {"message": "bad key sk-secret"}},
            "bad key [key]",
            id="the API's own message, without the key",
        ),
        pytest.param(b"<html>oops</html>", "<html>oops</html>", id="not JSON"),
        pytest.param(b"", "(an empty body)", id="an empty body"),
        pytest.param({"detail": "not here"}, '{"detail": "not here"}', id="another shape"),
        pytest.param(b"x" * 600, "x" * 500 + "...", id="a long text"),
    ],
)
def test_an_error_shows_status_and_message(server: Server, body: Any, text: str) -> None:
    server.reply_with(body, status=401)
    server.headers["x-request-id"] = "req_1"
    provider = OpenAIProvider(base_url=server.url, api_key="sk-secret")
    with pytest.raises(APIStatusError) as caught:
        provider.send(HI)
    provider.close()
    assert str(caught.value) == (
        f"OpenAI answered 401 Unauthorized: {text}\n"
        "Check the key: the environment variable OPENAI_API_KEY, or api_key.\n"
        "(request req_1)"
    )
    assert caught.value.status == 401


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param(b"{cut", "OpenAI answered with a body that is not valid JSON: {cut", id="not JSON"),
        pytest.param(
            {"choices": []}, 'OpenAI answered with a body in an unexpected shape: {"choices": []}', id="no choices"
        ),
        pytest.param(
            {"choices": [{"message": {"content": 5}}]},
            "OpenAI answered with a body in an unexpected shape: {",
            id="a number in place of text",
        ),
        pytest.param([], "OpenAI answered with a body in an unexpected shape: []", id="a list"),
        pytest.param(
            b"[" * 200_000, "OpenAI answered with a body that is not valid JSON: [[[[[[", id="lists that nest deeply"
        ),
        pytest.param(b'"\xff"', 'OpenAI answered with a body that is not valid JSON: "\ufffd"', id="not UTF-8"),
    ],
)
def test_an_unreadable_reply_is_an_error(server: Server, body: Any, text: str) -> None:
    server.reply_with(body)
    provider = OpenAIProvider(base_url=server.url, api_key="k")
    with pytest.raises(UnreadableReplyError, match=re.escape(text)):
        provider.send(HI)
    provider.close()


@pytest.mark.parametrize("provider_class", [AnthropicProvider, GeminiProvider], ids=["anthropic", "gemini"])
def test_arguments_of_a_call_that_nest_deeply_are_read_or_an_error(
    provider_class: type[AnthropicProvider | GeminiProvider],
) -> None:
    provider = provider_class(api_key="k")
    before, after = (
        ('{"content": [{"type": "tool_use", "id": "i", "name": "f", "input": {"a": ', "}}]}")
        if provider_class is AnthropicProvider
        else ('{"candidates": [{"content": {"parts": [{"functionCall": {"name": "f", "args": {"a": ', "}}}]}}]}")
    )
    outcomes = set()
    limit = sys.getrecursionlimit()
    # Somewhere in between Python can still read them, and no longer write them. Python 3.12 and newer read more.
    for depth in (*range(100, limit), *range(limit, 100 * limit, limit)):
        body = before + "[" * depth + "]" * depth + after
        try:
            response = read_http_reply(httpx.Response(200, content=body), provider.read_reply, provider._error_context)
        except UnreadableReplyError:
            outcomes.add("an error")
        else:
            assert response.tool_calls[0].function.name == "f"
            outcomes.add("read")
    assert outcomes == {"an error", "read"}


HALF = r"half \ud83d a \\ud83d character"
WHOLE = "half \ufffd a \\ud83d character"


@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        pytest.param(400, f'{{"error": {{"message": "{HALF}"}}}}', {}, id="a message"),
        pytest.param(400, f'"{HALF}"', {}, id="another shape"),
        pytest.param(400, f'{{"error": {{"message": "m", "code": "{HALF}"}}}}', {}, id="a code"),
        pytest.param(400, f'{{"error": {{"message": "m"}}, "request_id": "{HALF}"}}', {}, id="an id of a request"),
        pytest.param(
            400,
            f'{{"error": {{"message": "m", "code": "content_filter", "innererror": {{"content_filter_result":'
            f' {{"{HALF}": {{"filtered": true, "severity": "{HALF}"}}}}}}}}}}',
            {},
            id="a category of a filter",
        ),
        pytest.param(
            500, f"{HALF}", {"content-type": "text/html; charset=unicode_escape"}, id="text in a strange codec"
        ),
        pytest.param(200, f'"{HALF}"', {}, id="an unreadable reply"),
    ],
)
def test_an_error_with_half_a_character_can_be_written_and_sent(
    server: Server, status: int, body: str, headers: dict[str, str]
) -> None:
    server.reply = Reply(body.encode(), status, headers)
    provider = OpenAIProvider(base_url=server.url, api_key="k", max_retries=0)
    with pytest.raises(APIStatusError) as caught:
        provider.send(HI)
    provider.close()
    error = caught.value
    for text in (str(error), error.message, error.code or "", error.request_id or ""):
        text.encode()
    assert "half" in str(error)


@pytest.mark.parametrize("codec", ["zlib", "bz2", "hex", "idna", "punycode", "undefined", "no such"])
def test_the_character_set_that_an_error_names_does_not_matter(server: Server, codec: str) -> None:
    server.reply = Reply("not tö be".encode(), 400, {"content-type": f"text/plain; charset={codec}"})
    provider = OpenAIProvider(base_url=server.url, api_key="k", max_retries=0)
    with pytest.raises(APIStatusError, match="not tö be"):
        provider.send(HI)
    provider.close()


def test_an_answer_with_half_a_character_can_be_written_and_sent(server: Server) -> None:
    call = f'{{"id": "c", "type": "function", "function": {{"name": "f", "arguments": "{HALF}"}}}}'
    message = f'{{"content": "{HALF}", "tool_calls": [{call}]}}'
    server.reply = Reply(f'{{"choices": [{{"message": {message}, "finish_reason": "{HALF}"}}]}}'.encode())
    provider = OpenAIProvider(base_url=server.url, api_key="k")
    response = provider.send(HI)
    provider.close()
    assert response.text == response.finish_reason == WHOLE
    assert response.tool_calls[0].function.arguments == WHOLE
    assert response.raw["choices"][0]["message"]["content"] == WHOLE


@pytest.mark.parametrize(
    ("provider", "target"),
    [
        pytest.param(
            lambda url: OpenAIProvider(model="gpt-x", base_url=url, api_key="k"),
            "the model 'gpt-x' and the base URL {url}",
            id="openai",
        ),
        pytest.param(
            lambda url: AnthropicProvider(model="claude-x", base_url=url, api_key="k"),
            "the model 'claude-x' and the base URL {url}",
            id="anthropic",
        ),
        pytest.param(
            lambda url: GeminiProvider(model="gemini-x", base_url=url, api_key="k"),
            "the model 'gemini-x' and the base URL {url}",
            id="gemini",
        ),
        pytest.param(
            lambda url: AzureProvider(deployment="d", endpoint=url, api_key="k"),
            "the deployment 'd', the endpoint {url} and the API version 2024-10-21",
            id="azure by deployment",
        ),
        pytest.param(
            lambda url: AzureProvider(deployment="d", endpoint=url, api_key="k", api_version=None),
            "the deployment 'd', the endpoint {url}",
            id="azure by the v1 path",
        ),
        pytest.param(
            lambda url: OpenAIProvider(model="m", base_url=url.replace("//", "//me:secret@"), api_key="k"),
            "the model 'm' and the base URL {url}",
            id="a base URL with a password",
        ),
    ],
)
def test_a_404_names_what_the_request_was_sent_to(server: Server, provider: Any, target: str) -> None:
    server.reply_with({"error": {"message": "no such thing"}}, status=404)
    chat_provider = provider(server.url)
    with pytest.raises(NotFoundError) as caught:
        chat_provider.send(HI)
    chat_provider.close()
    text = target.format(url=server.url)
    assert str(caught.value) == f"{chat_provider.vendor} answered 404 Not Found: no such thing\nCheck {text}."


class MinimalProvider(ChatProvider):
    """The least that a provider for another API has to define."""

    vendor = "Mine"
    key_variable = "MINE_API_KEY"

    def build_payload(self, prompt: ChatPrompt) -> Payload:
        return Payload({"text": prompt[-1].content})

    def endpoint_path(self) -> str:
        return "/ask"

    def auth_headers(self, key: str) -> dict[str, str]:
        return {"x-mine": key}

    def read_reply(self, data: Any) -> ProviderResponse:
        return ProviderResponse(text=data["text"])


def test_a_provider_for_another_api_needs_four_methods(server: Server) -> None:
    server.reply_with({"text": "ho"})
    provider = MinimalProvider(base_url=server.url, api_key="k")
    assert provider.send(HI).text == "ho"
    server.reply_with({}, status=404)
    with pytest.raises(NotFoundError, match=re.escape(f"Check the base URL {server.url}.")):
        provider.send(HI)
    provider.close()
    assert server.requests[0][2] == {"text": "hi"}


class VersionedProvider(MinimalProvider):
    """A provider whose API has models and versions."""

    def __init__(self, *, model: str = "large", **settings: Unpack[ChatSettings]) -> None:
        super().__init__(model=model, base_url="https://api.example/v1/", api_version="v2", **settings)


def test_the_base_class_keeps_model_and_api_version() -> None:
    provider = VersionedProvider(temperature=0)
    assert (provider.model, provider.api_version, provider.temperature) == ("large", "v2", 0)
    assert provider.target == "the model 'large' and the base URL https://api.example/v1"
    assert (MinimalProvider(base_url=None).model, MinimalProvider(base_url=None).api_version) == ("", None)


def test_an_api_without_a_key_variable_needs_no_key() -> None:
    class LocalProvider(OpenAIProvider):
        key_variable = ""

    with contextlib.closing(LocalProvider()) as provider:
        assert provider.credentials() == {}
        assert provider.placeholders() == {}
    with contextlib.closing(LocalProvider(api_key="k")) as provider:
        assert provider.credentials() == {"authorization": "Bearer k"}
