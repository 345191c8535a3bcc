"""Proxies: through a proxy on this machine no client sends a request that `eval_api` refuses, or one that it answers."""

from __future__ import annotations

import asyncio
import http.client
import socket
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import aiohttp
import boto3
import httpx
import httpx2
import openai
import pytest
import requests
import urllib3
from botocore.config import Config

from pytest_chatprompt.capture.eval_api import EvalAPI
from tests.capture.clients.interceptors import nothing_is_left

# By HTTP, and by a tunnel.
URLS = ["http://beyond.example/x", "https://beyond.example/x"]


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    with nothing_is_left():
        yield


@pytest.fixture
def proxy() -> Iterator[socket.socket]:
    """A server on loopback that nobody may connect to."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        yield server
        with pytest.raises(BlockingIOError):
            server.accept()


def url_of(proxy: socket.socket) -> str:
    return f"http://127.0.0.1:{proxy.getsockname()[1]}"


def with_http_client(proxy: socket.socket, url: str) -> None:
    host, port = proxy.getsockname()
    if url.startswith("https"):
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(host, port)
        connection.set_tunnel("beyond.example", 443)
        connection.request("GET", "/x")
    else:
        connection = http.client.HTTPConnection(host, port)
        connection.request("GET", url)
    connection.getresponse()


def with_urllib(proxy: socket.socket, url: str) -> None:
    handler = urllib.request.ProxyHandler({"http": url_of(proxy), "https": url_of(proxy)})
    open_url(urllib.request.build_opener(handler), url)


def open_url(opener: urllib.request.OpenerDirector, url: str) -> None:
    try:
        opener.open(url).close()
    except urllib.error.HTTPError as error:
        # It holds the reply: Python 3.14 warns if nobody closes it.
        error.close()
        raise


async def with_aiohttp(url: str, **options: Any) -> None:
    async with aiohttp.ClientSession(trust_env=True) as session, session.get(url, **options):
        pass


async def with_async_httpx(module: Any, url: str, **options: Any) -> None:
    async with module.AsyncClient(**options) as client:
        await client.get(url)


def with_boto3(_: socket.socket, url: str, **options: Any) -> None:
    session = boto3.session.Session(aws_access_key_id="a", aws_secret_access_key="b", region_name="eu-west-1")
    config = Config(retries={"max_attempts": 0}, **options)
    session.client("s3", endpoint_url=url.removesuffix("/x"), config=config).list_buckets()


BY_ARGUMENT: dict[str, Callable[[socket.socket, str], object]] = {
    "httpx": lambda proxy, url: httpx.get(url, proxy=url_of(proxy)),
    "httpx, async": lambda proxy, url: asyncio.run(with_async_httpx(httpx, url, proxy=url_of(proxy))),
    "httpx2": lambda proxy, url: httpx2.get(url, proxy=url_of(proxy)),
    "httpx2, async": lambda proxy, url: asyncio.run(with_async_httpx(httpx2, url, proxy=url_of(proxy))),
    "requests": lambda proxy, url: requests.get(url, proxies={"http": url_of(proxy), "https": url_of(proxy)}),
    "urllib3": lambda proxy, url: urllib3.ProxyManager(url_of(proxy)).request("GET", url),
    "aiohttp": lambda proxy, url: asyncio.run(with_aiohttp(url, proxy=url_of(proxy))),
    "urllib.request": with_urllib,
    "http.client": with_http_client,
    "boto3": lambda proxy, url: with_boto3(proxy, url, proxies={"http": url_of(proxy), "https": url_of(proxy)}),
}
BY_VARIABLE: dict[str, Callable[[socket.socket, str], object]] = {
    "httpx": lambda _, url: httpx.get(url),
    "httpx, async": lambda _, url: asyncio.run(with_async_httpx(httpx, url)),
    "httpx2": lambda _, url: httpx2.get(url),
    "requests": lambda _, url: requests.get(url),
    "aiohttp": lambda _, url: asyncio.run(with_aiohttp(url)),
    # `urlopen` would keep the proxy for all tests that follow.
    "urllib.request": lambda _, url: open_url(urllib.request.build_opener(), url),
    "boto3": with_boto3,
    "openai": lambda _, url: openai.OpenAI(api_key="k", base_url=url, max_retries=0).models.list(),
}


@pytest.mark.parametrize("url", URLS, ids=["plain", "tunnel"])
@pytest.mark.parametrize("client", BY_ARGUMENT)
def test_a_proxy_that_a_client_is_given_gets_no_request(proxy: socket.socket, client: str, url: str) -> None:
    assert_refused(lambda: BY_ARGUMENT[client](proxy, url))


@pytest.mark.parametrize("url", URLS, ids=["plain", "tunnel"])
@pytest.mark.parametrize("client", BY_VARIABLE)
def test_a_proxy_that_a_fixture_puts_into_the_environment_gets_no_request(
    proxy: socket.socket, monkeypatch: pytest.MonkeyPatch, client: str, url: str
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, url_of(proxy))
    assert_refused(lambda: BY_VARIABLE[client](proxy, url))


def assert_refused(send: Callable[[], object]) -> None:
    api = EvalAPI()
    # Some clients raise for the status of the refusal.
    with api.intercept(), suppress(Exception):
        send()
    (unanswered,) = map(str, api.errors)
    assert "://beyond.example/" in unanswered
