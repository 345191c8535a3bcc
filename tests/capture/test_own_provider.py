"""Providers of your own: objects and functions, sync and async."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Any

import pytest

from pytest_chatprompt import ProviderError, ProviderRequest, ProviderResponse
from pytest_chatprompt.capture.provider_capture import call_provider

REQUEST = ProviderRequest(question="hi")
OK = ProviderResponse(text="ok")
VARIABLE: ContextVar[str] = ContextVar("VARIABLE", default="unset")


class Sync:
    def send(self, request: ProviderRequest) -> ProviderResponse:
        return ProviderResponse(text=request.question)


class Async:
    async def send(self, request: ProviderRequest) -> str:
        await asyncio.sleep(0)
        return f"{request.question} {VARIABLE.get()}"


async def async_function(_: ProviderRequest) -> ProviderResponse:
    return OK


@pytest.mark.parametrize(
    ("provider", "text"),
    [
        pytest.param(Sync(), "hi", id="an object"),
        pytest.param(lambda _: OK, "ok", id="a function"),
        pytest.param(lambda _: "text", "text", id="a function that returns a text"),
        pytest.param(Async(), "hi set", id="an object whose send is async"),
        pytest.param(async_function, "ok", id="an async function"),
    ],
)
def test_whatever_sends_gives_a_response(provider: Any, text: str) -> None:
    token = VARIABLE.set("set")
    try:
        assert call_provider(provider, REQUEST) == ProviderResponse(text=text)
    finally:
        VARIABLE.reset(token)


def test_an_async_provider_may_be_called_while_an_event_loop_runs() -> None:
    async def within_a_loop() -> ProviderResponse:
        VARIABLE.set("set")
        return call_provider(Async(), REQUEST)

    assert asyncio.run(within_a_loop()).text == "hi set"


async def failing(_: ProviderRequest) -> str:
    raise KeyError("mine")


@pytest.mark.parametrize("in_a_loop", [False, True])
def test_an_error_of_an_async_provider_is_raised_unchanged(in_a_loop: bool) -> None:
    async def within_a_loop() -> ProviderResponse:
        return call_provider(failing, REQUEST)

    with pytest.raises(KeyError, match="mine") as caught:
        asyncio.run(within_a_loop()) if in_a_loop else call_provider(failing, REQUEST)
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("provider", "message"),
    [
        pytest.param("gpt", "the provider is str 'gpt', which has no send(request)", id="no provider"),
        pytest.param(Sync, "the provider is the class Sync; make an instance of it: Sync(...)", id="a class"),
        pytest.param(lambda _: None, "the provider returned NoneType, not a ProviderResponse or a str", id="nothing"),
    ],
)
def test_what_is_no_provider_is_an_error(provider: Any, message: str) -> None:
    with pytest.raises(ProviderError) as caught:
        call_provider(provider, REQUEST)
    assert str(caught.value) == message
