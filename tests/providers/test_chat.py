"""What all chat providers share: which messages are sent (ruling E2), sending, and what comes back."""

from __future__ import annotations

import gc
import math
import re
import socket
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_chatprompt import (
    AnthropicProvider,
    ApiError,
    AzureProvider,
    ChatMessage,
    ChatPrompt,
    ChatProvider,
    GeminiProvider,
    MissingSettingError,
    NotFoundError,
    OpenAIProvider,
    Payload,
    PayloadError,
    ProviderRequest,
    ProviderResponse,
    UnreachableError,
)
from tests.server import Answer, Server

HI = ProviderRequest(chat_prompt=(ChatMessage("user", "hi"),))
ANSWER = {"choices": [{"message": {"content": "ho"}, "finish_reason": "stop"}]}


def prompt_of(**request: Any) -> list[tuple[str, str | None]]:
    prompt = OpenAIProvider().build_chat_prompt(ProviderRequest.model_validate(request))
    return [(message.role, message.content) for message in prompt]


USER = {"role": "user", "content": "hi"}


@pytest.mark.parametrize(
    ("request_data", "prompt"),
    [
        pytest.param(
            {"chat_prompt": [USER]}, [("system", "You are a careful assistant."), ("user", "hi")], id="the default"
        ),
        pytest.param(
            {"chat_prompt": [USER], "metadata": {"systemPrompt": "Mine."}},
            [("system", "Mine."), ("user", "hi")],
            id="set",
        ),
        pytest.param({"chat_prompt": [USER], "metadata": {"systemPrompt": ""}}, [("user", "hi")], id="none wanted"),
        pytest.param(
            {"chat_prompt": [USER, {"role": "system", "content": "x"}], "question": "q", "guidelines": ["g"]},
            [("user", "hi"), ("system", "x")],
            id="a system message anywhere",
        ),
        pytest.param({"question": "q"}, [("system", "You are a careful assistant."), ("user", "q")], id="legacy"),
        pytest.param(
            {"question": "q", "guidelines": ["g1", "g2"], "metadata": {"systemPrompt": "Mine."}},
            [("system", "Mine.\n\n[[ ## Guidelines ## ]]\n\ng1\n\ng2"), ("user", "q")],
            id="legacy with guidelines",
        ),
        pytest.param(
            {"question": "q", "guidelines": ["g"], "metadata": {"systemPrompt": ""}},
            [("system", "[[ ## Guidelines ## ]]\n\ng"), ("user", "q")],
            id="legacy with guidelines alone",
        ),
        pytest.param({"question": "q", "metadata": {"systemPrompt": ""}}, [("user", "q")], id="legacy without system"),
    ],
)
def test_the_chat_prompt_is_sent_with_a_system_message_in_front(
    request_data: dict[str, Any], prompt: list[tuple[str, str]]
) -> None:
    assert prompt_of(**request_data) == prompt


def test_an_empty_chat_prompt_is_an_error_and_not_absent() -> None:
    with pytest.raises(PayloadError, match="the chat prompt is an empty list"):
        prompt_of(chat_prompt=[], question="q")


def test_a_request_of_nothing_is_an_error() -> None:
    with pytest.raises(PayloadError, match="the request has neither a chat prompt nor a question"):
        prompt_of()


def test_the_body_is_utf8_json_and_the_answer_comes_back(server: Server) -> None:
    server.answers(ANSWER)
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


def test_a_closed_provider_can_be_used_again(server: Server) -> None:
    server.answers(ANSWER)
    provider = OpenAIProvider(base_url=server.url, api_key="")
    provider.close()
    for _ in range(2):
        assert provider.send(HI).text == "ho"
        provider.close()
    assert "authorization" not in server.requests[0][1]


def test_a_connection_that_comes_after_the_stop_is_ended() -> None:
    channel = OpenAIProvider(api_key="k")._channel
    channel.cancel()
    ours, theirs = socket.socketpair()
    channel._trace("connection.connect_tcp.complete", {"return_value": SimpleNamespace(get_extra_info=lambda _: ours)})
    assert theirs.recv(1) == b""
    ours.close()
    theirs.close()


def test_a_provider_that_nobody_closes_leaves_no_connection_open(server: Server) -> None:
    server.answers(ANSWER)
    provider = OpenAIProvider(base_url=server.url, api_key="")
    provider.send(HI)
    (connection,) = provider._channel._sockets
    del provider
    gc.collect()
    assert connection.fileno() == -1


def test_the_key_comes_from_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.answers(ANSWER)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
    provider = OpenAIProvider(base_url=server.url)
    provider.send(HI)
    provider.close()
    assert server.requests[0][1]["authorization"] == "Bearer sk-env"


def test_a_missing_key_is_told_by_its_variable(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(MissingSettingError) as caught:
        OpenAIProvider(base_url=server.url).send(HI)
    assert str(caught.value) == (
        "no key for OpenAI: set the environment variable OPENAI_API_KEY, or pass api_key to OpenAIProvider"
    )
    assert server.requests == []


def test_a_base_url_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(
        ValueError,
        match=re.escape("OpenAIProvider: 'localhost:8000' is no http or https URL with a host and without a query"),
    ):
        OpenAIProvider(base_url="localhost:8000")


def test_extra_body_is_laid_over_the_body(server: Server) -> None:
    server.answers(ANSWER)
    provider = OpenAIProvider(
        base_url=server.url, api_key="k", extra_body={"model": "other", "reasoning": {"effort": "low"}}
    )
    provider.extra_body["messages"] = []
    provider.send(HI)
    provider.close()
    assert server.requests[0][2] == {"model": "other", "messages": [], "reasoning": {"effort": "low"}}


@pytest.mark.parametrize(
    ("prompt", "settings", "told"),
    [
        pytest.param((ChatMessage("user", "\ud800"),), {}, "half a character (U+D800)", id="half a character"),
        pytest.param(
            (ChatMessage("user", "x"),), {"extra_body": {"x": math.inf}}, "cannot be written as JSON", id="infinity"
        ),
    ],
)
def test_what_json_cannot_hold_is_an_error_before_it_is_sent(
    server: Server, prompt: tuple[ChatMessage, ...], settings: dict[str, Any], told: str
) -> None:
    with pytest.raises(PayloadError, match=re.escape(told)):
        OpenAIProvider(base_url=server.url, api_key="k", **settings).send(ProviderRequest(chat_prompt=prompt))
    assert server.requests == []


@pytest.mark.parametrize(
    ("body", "told"),
    [
        pytest.param(
            {"error": {"message": "bad key sk-secret"}},
            "bad key [key]",
            id="the API's own message, without the key",
        ),
        pytest.param(b"<html>oops</html>", "<html>oops</html>", id="no JSON"),
        pytest.param(b"", "(an empty body)", id="nothing"),
        pytest.param({"detail": "not here"}, '{"detail": "not here"}', id="another shape"),
        pytest.param(b"x" * 600, "x" * 500 + "...", id="a long text"),
    ],
)
def test_an_http_error_shows_status_and_message(server: Server, body: Any, told: str) -> None:
    server.answers(body, status=401)
    server.headers["x-request-id"] = "req_1"
    provider = OpenAIProvider(base_url=server.url, api_key="sk-secret")
    with pytest.raises(ApiError) as caught:
        provider.send(HI)
    provider.close()
    assert str(caught.value) == (
        f"OpenAI answered 401 Unauthorized: {told}\n"
        "Check the key: the environment variable OPENAI_API_KEY, or api_key.\n"
        "(request req_1)"
    )
    assert caught.value.status == 401


@pytest.mark.parametrize(
    ("body", "told"),
    [
        pytest.param(b"{cut", "OpenAI answered with a body that is no JSON: {cut", id="no JSON"),
        pytest.param({"choices": []}, 'OpenAI answered in a shape unknown here: {"choices": []}', id="no choice"),
        pytest.param(
            {"choices": [{"message": {"content": 5}}]},
            "OpenAI answered in a shape unknown here: {",
            id="a number for text",
        ),
        pytest.param([], "OpenAI answered in a shape unknown here: []", id="a list"),
    ],
)
def test_an_unreadable_answer_is_an_error(server: Server, body: Any, told: str) -> None:
    server.answers(body)
    provider = OpenAIProvider(base_url=server.url, api_key="k")
    with pytest.raises(ApiError, match=re.escape(told)):
        provider.send(HI)
    provider.close()


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
def test_what_is_not_found_is_told_with_the_place(server: Server, provider: Any, target: str) -> None:
    server.answers({"error": {"message": "no such thing"}}, status=404)
    asked = provider(server.url)
    with pytest.raises(NotFoundError) as caught:
        asked.send(HI)
    asked.close()
    told = target.format(url=server.url)
    assert str(caught.value) == f"{asked.vendor} answered 404 Not Found: no such thing\nCheck {told}."


class Least(ChatProvider):
    """As little as an API of one's own needs."""

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


def test_an_api_of_ones_own_needs_little(server: Server) -> None:
    server.answers({"text": "ho"})
    provider = Least(base_url=server.url, api_key="k")
    assert provider.send(HI).text == "ho"
    server.answers({}, status=404)
    with pytest.raises(NotFoundError, match=re.escape(f"Check the base URL {server.url}.")):
        provider.send(HI)
    provider.close()
    assert server.requests[0][2] == {"text": "hi"}


def test_a_reply_that_breaks_off_is_told_as_such(server: Server) -> None:
    server.answer = Answer(fault="drop inside")
    provider = OpenAIProvider(base_url=server.url, api_key="k", max_retries=0)
    with pytest.raises(UnreachableError, match=re.escape("OpenAI at 127.0.0.1 broke off: ")):
        provider.send(HI)
    provider.close()


def test_a_reply_that_drips_in_is_not_waited_for_beyond_the_timeout(server: Server) -> None:
    server.answer = Answer(fault="drip")
    provider = OpenAIProvider(base_url=server.url, api_key="k", max_retries=0, timeout_seconds=0.2)
    with pytest.raises(UnreachableError, match=re.escape("OpenAI did not answer within 0.2 s (ReadTimeout)")):
        provider.send(HI)
    provider.close()


def test_a_server_that_does_not_answer_is_told_with_the_timeout(server: Server) -> None:
    server.stall = threading.Event()
    provider = OpenAIProvider(base_url=server.url, api_key="k", timeout_seconds=0.05, max_retries=0)
    with pytest.raises(UnreachableError, match=re.escape("OpenAI did not answer within 0.05 s (ReadTimeout)")):
        provider.send(HI)
    server.stall.set()
    provider.close()


def test_a_server_that_is_not_there_is_told_by_its_host() -> None:
    provider = OpenAIProvider(base_url="http://127.0.0.1:1", api_key="k", max_retries=0)
    with pytest.raises(UnreachableError, match=re.escape("OpenAI at 127.0.0.1 cannot be reached: ")):
        provider.send(HI)
    provider.close()
