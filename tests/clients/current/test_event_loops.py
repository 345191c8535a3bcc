"""Other event loops, HTTP/2, and the test clients of web frameworks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import aiohttp
import anyio
import flask
import httpx
import httpx2
import openai
import pytest
import trio
import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from pytest_chatprompt.capture.clients.seams import intercept_clients
from tests.capture.clients.client import OPENAI, Parts
from tests.capture.clients.interceptors import RecordingInterceptor, nothing_is_left

URL = "https://api.example/"


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    with nothing_is_left():
        yield


def streaming() -> RecordingInterceptor:
    return RecordingInterceptor(lambda _: httpx.Response(200, stream=Parts([b"Hi", b" there"])))


async def get(module: Any) -> str:
    async with module.AsyncClient(http2=True) as client, client.stream("POST", URL, content=b"Hello?") as response:
        return "".join([text async for text in response.aiter_text()])


@pytest.mark.parametrize("module", [httpx, httpx2], ids=["httpx", "httpx2"])
@pytest.mark.parametrize("backend", ["trio", "asyncio"])
def test_httpx_in_trio_and_anyio(module: Any, backend: str) -> None:
    texts: list[str] = []

    async def run() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(add)

    async def add() -> None:
        texts.append(await get(module))

    interceptor = streaming()
    with intercept_clients(interceptor):
        anyio.run(run, backend=backend)
    assert texts == ["Hi there"] * 2
    assert [request.content for request in interceptor.sent] == [b"Hello?"] * 2


def test_openai_in_trio() -> None:
    async def run() -> str:
        async with openai.AsyncOpenAI(api_key="a-key") as client:
            completion = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "?"}])
            return completion.choices[0].message.content or ""

    with intercept_clients(RecordingInterceptor(OPENAI.answer)):
        assert trio.run(run) == "Hi there"


def test_uvloop() -> None:
    async def get_by_aiohttp() -> str:
        async with aiohttp.ClientSession() as session, session.post(URL, json={}) as response:
            return await response.text()

    async def run() -> list[str]:
        return list(await asyncio.gather(get_by_aiohttp(), get(httpx), get(httpx2), get_by_aiohttp()))

    with intercept_clients(streaming()):
        assert uvloop.run(run()) == ["Hi there"] * 4


@pytest.mark.parametrize("module", [httpx, httpx2], ids=["httpx", "httpx2"])
def test_http2(module: Any) -> None:
    interceptor = streaming()
    with intercept_clients(interceptor), module.Client(http2=True) as client:
        assert client.post(URL, json={"a": 1}).text == "Hi there"
    assert [request.content for request in interceptor.sent] == [b'{"a":1}']


def test_test_clients_of_web_frameworks_are_not_taken() -> None:
    async def hello(_: Request) -> PlainTextResponse:
        return PlainTextResponse("starlette")

    app = flask.Flask(__name__)
    app.add_url_rule("/", view_func=lambda: "flask")
    interceptor = streaming()
    with intercept_clients(interceptor):
        with TestClient(Starlette(routes=[Route("/", hello)])) as client:
            assert client.get("/").text == "starlette"
        assert app.test_client().get("/").text == "flask"
    assert interceptor.sent == []
