"""Every client of the table: its requests are taken and answered, whenever and wherever it was made."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from pytest_chatprompt.capture.clients.interception import intercept_clients
from tests.capture.clients.interceptors import RecordingInterceptor, nothing_is_left
from tests.capture.clients.table import CLIENTS, Client

SYNC = [client for client in CLIENTS if client.make]
ASYNC = [client for client in CLIENTS if client.make_async]
# google-genai's own.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
each_sync = pytest.mark.parametrize("client", [pytest.param(client, id=client.name) for client in SYNC])
each_async = pytest.mark.parametrize("client", [pytest.param(client, id=client.name) for client in ASYNC])


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    with nothing_is_left():
        yield


def check_sent(client: Client, interceptor: RecordingInterceptor, *urls: str, is_async: bool = False) -> None:
    assert interceptor.targets == [f"POST {url}" for url in urls]
    for request in interceptor.sent:
        assert request.extensions["client"] == ((is_async and client.async_library) or client.library)
        assert b"Hello?" in request.content


@each_sync
@pytest.mark.parametrize("made", ["before", "during"])
def test_a_sync_client_is_answered(client: Client, made: str) -> None:
    assert client.make is not None
    assert client.send is not None
    interceptor = RecordingInterceptor(client.api.answer)
    instance = client.make() if made == "before" else None
    with intercept_clients(interceptor):
        instance = instance if made == "before" else client.make()
        assert [client.send(instance), client.send(instance)] == ["Hi there"] * 2
    client.close(instance)
    check_sent(client, interceptor, client.api.url, client.api.url)


@each_sync
def test_a_sync_client_is_streamed_to(client: Client) -> None:
    assert client.make is not None
    assert client.stream is not None
    interceptor = RecordingInterceptor(client.api.answer)
    with intercept_clients(interceptor):
        instance = client.make()
        assert client.stream(instance) == "Hi there"
        client.close(instance)
    check_sent(client, interceptor, client.api.stream_url)


@each_sync
def test_a_client_in_a_thread_is_answered(client: Client) -> None:
    texts: list[str] = []

    def run() -> None:
        assert client.make is not None
        assert client.send is not None
        instance = client.make()
        texts.append(client.send(instance))
        client.close(instance)

    interceptor = RecordingInterceptor(client.api.answer)
    with intercept_clients(interceptor):
        threads = [threading.Thread(target=run) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert texts == ["Hi there"] * 3
    check_sent(client, interceptor, *[client.api.url] * 3)


def run_async(client: Client, *calls: Callable[[Any], Awaitable[str]] | None, made: str = "during") -> list[str]:
    """Run calls of an async client at once in one event loop; the texts, and what it has sent."""
    interceptor = RecordingInterceptor(client.api.answer)

    async def run() -> list[str]:
        assert client.make_async is not None
        instance = client.make_async() if made == "before" else None
        with intercept_clients(interceptor):
            instance = instance if made == "before" else client.make_async()
            texts = await asyncio.gather(*(call(instance) for call in calls if call))
        await client.aclose(instance)
        return texts

    texts = asyncio.run(run())
    urls = [client.api.url if call is client.send_async else client.api.stream_url for call in calls]
    check_sent(client, interceptor, *urls, is_async=True)
    return texts


@each_async
@pytest.mark.parametrize("made", ["before", "during"])
def test_an_async_client_is_answered(client: Client, made: str) -> None:
    assert run_async(client, client.send_async, made=made) == ["Hi there"]


@each_async
def test_an_async_client_is_streamed_to(client: Client) -> None:
    assert run_async(client, client.stream_async) == ["Hi there"]


@each_async
def test_two_requests_at_once_in_one_event_loop(client: Client) -> None:
    assert run_async(client, client.send_async, client.send_async, client.send_async) == ["Hi there"] * 3
