"""The users' own mocks win, whether they were entered before or after."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import aiohttp
import boto3
import httpx
import httpx2
import pytest
import pytest_httpx
import requests
import responses
import urllib3
import vcr

from pytest_chatprompt.capture.clients.seams import intercept_clients
from tests.capture.clients.interceptors import RecordingInterceptor, nothing_is_left

URL = "https://api.example/"
in_either_order = pytest.mark.parametrize("is_first", [True, False], ids=["the mock first", "the mock second"])


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    with nothing_is_left():
        yield


@pytest.fixture
def interceptor() -> RecordingInterceptor:
    return RecordingInterceptor(lambda _: httpx.Response(200, text="ours"))


def entered(is_first: bool, mock: AbstractContextManager[Any], interceptor: RecordingInterceptor) -> ExitStack:
    stack = ExitStack()
    contexts: list[AbstractContextManager[Any]] = [mock, intercept_clients(interceptor)]
    for context in contexts if is_first else reversed(contexts):
        stack.enter_context(context)
    return stack


async def aiohttp_text(url: str) -> str:
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return await response.text()


GETS: dict[str, Callable[[str], str]] = {
    "httpx": lambda url: httpx.get(url).text,
    "httpx2": lambda url: str(httpx2.get(url).text),
    "requests": lambda url: requests.get(url, timeout=30).text,
    "urllib3": lambda url: urllib3.PoolManager().request("GET", url).data.decode(),
    "aiohttp": lambda url: asyncio.run(aiohttp_text(url)),
}


def test_pytest_httpx(httpx_mock: pytest_httpx.HTTPXMock, interceptor: RecordingInterceptor) -> None:
    httpx_mock.add_response(url=URL, text="theirs")
    with intercept_clients(interceptor):
        assert httpx.get(URL).text == "theirs"
    assert interceptor.sent == []


@in_either_order
def test_responses(is_first: bool, interceptor: RecordingInterceptor) -> None:
    mock = responses.RequestsMock()
    with entered(is_first, mock, interceptor):
        mock.get(URL, body="theirs")
        assert requests.get(URL, timeout=30).text == "theirs"
    assert interceptor.sent == []


CASSETTE = """version: 1
interactions:
- request: {body: null, headers: {}, method: GET, uri: 'https://api.example/'}
  response:
    body: {string: theirs}
    headers: {}
    status: {code: 200, message: OK}
"""


@in_either_order
@pytest.mark.parametrize("client", GETS)
def test_a_cassette_of_vcr(client: str, is_first: bool, interceptor: RecordingInterceptor, tmp_path: Path) -> None:
    path = tmp_path / "cassette.yaml"
    path.write_text(CASSETTE, encoding="utf-8")
    mock = vcr.VCR(record_mode="none").use_cassette(str(path))
    with entered(is_first, mock, interceptor):
        assert GETS[client](URL) == "theirs"
    assert interceptor.sent == []


@in_either_order
def test_a_cassette_is_recorded_from_us(is_first: bool, interceptor: RecordingInterceptor, tmp_path: Path) -> None:
    path = tmp_path / "cassette.yaml"
    mock = vcr.VCR(record_mode="once").use_cassette(str(path))
    with entered(is_first, mock, interceptor):
        assert httpx.get(URL).text == "ours"
    assert "ours" in path.read_text(encoding="utf-8")


@in_either_order
def test_botocores_stubber(is_first: bool, interceptor: RecordingInterceptor) -> None:
    stub = pytest.importorskip("botocore.stub")
    client = boto3.client(
        "bedrock-runtime", region_name="us-east-1", aws_access_key_id="a-key-id", aws_secret_access_key="a-key"
    )
    stubber = stub.Stubber(client)
    reply = {"output": {"message": {"role": "assistant", "content": [{"text": "theirs"}]}}, "stopReason": "end_turn"}
    stubber.add_response(
        "converse",
        {**reply, "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}, "metrics": {"latencyMs": 1}},
    )
    with entered(is_first, stubber, interceptor):
        text = client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": "Hello?"}]}])
    assert text["output"]["message"]["content"][0]["text"] == "theirs"
    assert interceptor.sent == []
