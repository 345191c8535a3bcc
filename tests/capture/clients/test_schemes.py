"""Schemes: a URL that a client refuses is refused in the same way while its requests are taken."""

from __future__ import annotations

import asyncio
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import aiohttp
import anthropic
import httpx
import httpx2
import openai
import pytest
import requests
import urllib3

from pytest_chatprompt.capture.eval_api import EvalAPI
from tests.capture.clients.interceptors import nothing_is_left

MESSAGES: Any = [{"role": "user", "content": "x"}]


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    with nothing_is_left():
        yield


async def with_httpx(module: Any, url: str) -> None:
    async with module.AsyncClient() as client:
        await client.get(url)


async def with_aiohttp(url: str) -> None:
    async with aiohttp.ClientSession() as session, session.get(url):
        pass


def with_urllib3(url: str) -> None:
    with urllib3.PoolManager() as manager:
        manager.request("GET", url)


def with_urllib3_pool(url: str) -> None:
    with urllib3.HTTPSConnectionPool("api.openai.com") as pool:
        pool.urlopen("GET", url)


def with_openai(url: str) -> None:
    openai.OpenAI(base_url=url, api_key="k", max_retries=0).chat.completions.create(model="m", messages=MESSAGES)


def with_async_openai(url: str) -> None:
    async def run() -> None:
        async with openai.AsyncOpenAI(base_url=url, api_key="k", max_retries=0) as client:
            await client.chat.completions.create(model="m", messages=MESSAGES)

    asyncio.run(run())


def with_anthropic(url: str) -> None:
    anthropic.Anthropic(base_url=url, api_key="k", max_retries=0).messages.create(
        model="m", max_tokens=5, messages=MESSAGES
    )


SENDS: dict[str, Callable[[str], object]] = {
    "httpx": httpx.get,
    "httpx, async": lambda url: asyncio.run(with_httpx(httpx, url)),
    "httpx2": httpx2.get,
    "httpx2, async": lambda url: asyncio.run(with_httpx(httpx2, url)),
    "requests": requests.get,
    "urllib3": with_urllib3,
    "a pool of urllib3": with_urllib3_pool,
    "aiohttp": lambda url: asyncio.run(with_aiohttp(url)),
    "urllib.request": urllib.request.urlopen,
    "openai": with_openai,
    "openai, async": with_async_openai,
    "anthropic": with_anthropic,
}


def error_of(send: Callable[[str], object], url: str) -> tuple[type, str]:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - each client has its own
        send(url)
    cause = caught.value.__cause__
    # The text of one error of urllib3 has the address of an object.
    return type(caught.value), str(cause or caught.value).partition(" at 0x")[0].partition("(host=")[0]


@pytest.mark.parametrize(
    "url",
    ["htps://api.openai.com/v1/chat/completions", "api.openai.com/v1/chat/completions", "gopher://api.openai.com/v1"],
)
@pytest.mark.parametrize("client", SENDS)
def test_a_client_refuses_a_scheme_as_it_does_without_eval_api(client: str, url: str) -> None:
    if client in ("urllib3", "a pool of urllib3") and "://" not in url:
        # urllib3 takes it for http, and a path of the pool; no way to compare without a network.
        url = "htps://api.openai.com"
    expected = error_of(SENDS[client], url)
    api = EvalAPI()
    with api.intercept():
        assert error_of(SENDS[client], url) == expected
    assert (api.sent, api.errors) == ((), [])
