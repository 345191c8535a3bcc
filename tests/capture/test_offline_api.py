"""What answers a request offline: the class of its provider, else its path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import httpx
import pytest

from pytest_chatprompt import EvalAPI, OpenAIProvider, ProviderRequest, ProviderResponse
from pytest_chatprompt.apis.chat_provider import ChatProvider
from pytest_chatprompt.apis.reply import Reply
from pytest_chatprompt.apis.table import API_NAMES
from pytest_chatprompt.capture.clients.interceptor import run_now
from pytest_chatprompt.capture.offline_api import find_offline_api
from pytest_chatprompt.providers.http.client import PROVIDER_EXTENSION
from tests.apis.built_in import chat_providers


class Fim(OpenAIProvider):
    offline_path = r"/fim$"
    offline_reply: ClassVar[Mapping[str, Any]] = {"completion": "(fim)"}


class Agentic(OpenAIProvider):
    """Looks at its replies itself, so they have to be valid for each request."""

    def send(self, request: ProviderRequest) -> ProviderResponse:
        return ProviderResponse(text=request.question)


def post(path: str, sender: type[ChatProvider], body: Any = None) -> httpx.Request:
    extensions = {PROVIDER_EXTENSION: sender}
    return httpx.Request("POST", f"https://api.example{path}", json=body or {}, extensions=extensions)


@pytest.mark.parametrize("provider", chat_providers())
def test_every_built_in_provider_names_an_api(provider: type[ChatProvider]) -> None:
    assert provider.offline_api in API_NAMES


def test_a_declared_reply_comes_first_and_a_queued_one_before_it() -> None:
    request = post("/v1/fim", Fim)
    api = find_offline_api(request)
    assert api is not None
    assert api.answer(request).json() == {"completion": "(fim)"}
    assert api.accepts(Reply("queued"))
    assert api.answer(request, Reply("queued")).json()["choices"][0]["message"]["content"] == "queued"


def test_an_api_that_a_class_names_says_which_replies_it_can_give() -> None:
    request = post("/v1/chat/completions", Agentic)
    api = find_offline_api(request)
    assert api is not None
    assert api.accepts(Reply("queued"))
    demanding = post("/v1/chat/completions", Agentic, {"response_format": {"type": "json_object"}})
    assert api.answer(demanding).json()["choices"][0]["message"]["content"] == "{}"
    assert api.answer(request, Reply("queued")).json()["choices"][0]["message"]["content"] == "queued"


def test_a_request_to_no_known_api_has_no_answer() -> None:
    assert find_offline_api(post("/v1/rerank", OpenAIProvider)) is None
    assert find_offline_api(httpx.Request("GET", "https://api.example/v1/messages")) is None


def test_a_queued_reply_goes_to_a_subclass_too() -> None:
    eval_api = EvalAPI()
    eval_api.reply("queued")
    reply = run_now(eval_api.handle(post("/v1/chat/completions", OpenAIProvider), is_async=False))
    assert reply is not None
    assert "queued" in reply.text
