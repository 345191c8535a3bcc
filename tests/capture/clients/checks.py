"""What holds for every client of the table: a class of tests, for each environment that has some of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import httpx
import pytest

from pytest_chatprompt.capture.clients.seams import intercept_clients
from pytest_chatprompt.capture.recording.open_recording import OpenRecording, replay_or_send
from pytest_chatprompt.capture.recording.recorded_exchange import RecordedReply
from tests.capture.clients.client import Client
from tests.capture.clients.interceptors import RecordingInterceptor, nothing_is_left
from tests.capture.clients.table import CLIENTS


# google-genai's own.
@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
class ClientTests:
    """Every client of an environment: its requests are taken and answered, whenever and wherever it was made."""

    environment: ClassVar[str]

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        rows = [client for client in CLIENTS if client.tested_in == self.environment]
        if "client" in metafunc.fixturenames:
            kind = "make_async" if "_async" in metafunc.function.__name__ else "make"
            what = "stream" if "stream" in metafunc.function.__name__ else "send"
            needed = f"{what}_async" if kind == "make_async" else what
            chosen = [client for client in rows if getattr(client, kind) and getattr(client, needed)]
            metafunc.parametrize("client", chosen, ids=[client.name for client in chosen])

    @pytest.fixture(autouse=True)
    def _nothing_is_left(self) -> Iterator[None]:
        with nothing_is_left():
            yield

    @pytest.mark.parametrize("made", ["before", "during"])
    def test_a_client_is_answered(self, client: Client, made: str) -> None:
        assert client.make is not None
        assert client.send is not None
        interceptor = RecordingInterceptor(client.api.answer)
        instance = client.make() if made == "before" else None
        with intercept_clients(interceptor):
            instance = instance if made == "before" else client.make()
            assert [client.send(instance), client.send(instance)] == ["Hi there"] * 2
        client.close(instance)
        check_sent(client, interceptor, client.api.url, client.api.url)

    def test_a_client_is_given_a_stream(self, client: Client) -> None:
        assert client.make is not None
        assert client.stream is not None
        interceptor = RecordingInterceptor(client.api.answer)
        with intercept_clients(interceptor):
            instance = client.make()
            assert client.stream(instance) == "Hi there"
            client.close(instance)
        check_sent(client, interceptor, client.api.stream_url)

    def test_the_stream_of_a_client_is_recorded_whole(self, client: Client) -> None:
        assert client.make is not None
        assert client.stream is not None
        recording = OpenRecording(sends=True)
        with intercept_clients(Recorder(client, recording)):
            instance = client.make()
            assert client.stream(instance) == "Hi there"
            client.close(instance)
        assert recorded_stream(recording) == whole_stream(client)

    def test_a_client_in_a_thread_is_answered(self, client: Client) -> None:
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

    @pytest.mark.parametrize("made", ["before", "during"])
    def test_an_async_client_is_answered(self, client: Client, made: str) -> None:
        assert run_async(client, client.send_async, made=made) == ["Hi there"]

    def test_an_async_client_is_given_a_stream(self, client: Client) -> None:
        assert run_async(client, client.stream_async) == ["Hi there"]

    def test_the_stream_of_an_async_client_is_recorded_whole(self, client: Client) -> None:
        recording = OpenRecording(sends=True)

        async def run() -> None:
            assert client.make_async is not None
            assert client.stream_async is not None
            with intercept_clients(Recorder(client, recording)):
                instance = client.make_async()
                assert await client.stream_async(instance) == "Hi there"
            await client.aclose(instance)

        asyncio.run(run())
        assert recorded_stream(recording) == whole_stream(client)

    def test_three_requests_of_an_async_client_at_once_in_one_event_loop(self, client: Client) -> None:
        assert run_async(client, client.send_async, client.send_async, client.send_async) == ["Hi there"] * 3


@dataclass
class Recorder:
    """Answers the requests of a client, and records the replies as a live run does."""

    client: Client
    recording: OpenRecording

    async def handle(self, request: httpx.Request, *, is_async: bool) -> httpx.Response:  # noqa: ARG002
        return await replay_or_send(self.recording, request, self._send)

    def _send(self, request: httpx.Request) -> httpx.Response:
        response = self.client.api.answer(request)
        response.request = request
        return response


def recorded_stream(recording: OpenRecording) -> tuple[bool, list[Any]]:
    """Whether the only reply is whole, and its events."""
    (exchange,) = recording.exchanges()
    assert exchange.reply is not None
    return exchange.reply.is_complete, exchange.reply.events


def whole_stream(client: Client) -> tuple[bool, list[Any]]:
    """What `recorded_stream` gives for the whole stream of a client's API."""
    api = client.api
    return True, RecordedReply.of(200, {"content-type": api.content_type}, b"".join(api.stream)).events


def check_sent(client: Client, interceptor: RecordingInterceptor, *urls: str, is_async: bool = False) -> None:
    """Check the requests: their URLs, the library that they came through, and that they are whole."""
    assert interceptor.targets == [f"POST {url}" for url in urls]
    assert set(interceptor.libraries) == {(is_async and client.async_library) or client.library}
    assert all(b"Hello?" in request.content for request in interceptor.sent)


def run_async(client: Client, *calls: Callable[[Any], Awaitable[str]] | None, made: str = "during") -> list[str]:
    """Run calls of an async client at once in one event loop; returns the texts."""
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
