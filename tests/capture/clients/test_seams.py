"""Interception: who gets a request, for how long, and what stays as it was."""

from __future__ import annotations

import asyncio
import http.client
import inspect
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from unittest import mock

import aiohttp
import httpcore
import httpcore2
import httpx
import httpx2
import pytest
import requests
import respx
import urllib3
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from pytest_chatprompt.capture.clients.interceptor import let_pass
from pytest_chatprompt.capture.clients.seams import intercept_clients
from tests.capture.clients.echo_server import EchoServer
from tests.capture.clients.interceptors import RecordingInterceptor, nothing_is_left, patched_methods
from tests.capture.clients.transports import TRANSPORTS, Outgoing

each_transport = pytest.mark.parametrize("transport", TRANSPORTS)


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    with nothing_is_left():
        yield


def answering(text: str) -> RecordingInterceptor:
    return RecordingInterceptor(lambda _: httpx.Response(200, text=text))


def passing() -> RecordingInterceptor:
    return RecordingInterceptor(lambda _: None)


def test_the_last_one_entered_gets_the_requests() -> None:
    outer, inner = answering("outer"), answering("inner")
    url = "https://api.example/"
    with intercept_clients(outer):
        with intercept_clients(inner):
            assert requests.get(url, timeout=30).text == "inner"
        assert requests.get(url, timeout=30).text == "outer"
    assert (len(outer.sent), len(inner.sent)) == (1, 1)


@each_transport
def test_what_the_inner_one_lets_pass_goes_to_the_network(transport: str, echo_server: EchoServer) -> None:
    outer, inner = answering("outer"), passing()
    with intercept_clients(outer), intercept_clients(inner):
        assert b'"path": "/a"' in TRANSPORTS[transport](Outgoing(f"{echo_server.url}/a")).content
    assert (len(outer.sent), len(inner.sent), echo_server.requests) == (0, 1, 1)


def test_they_may_be_left_in_any_order() -> None:
    first, second = answering("first"), answering("second")
    contexts = [intercept_clients(first), intercept_clients(second)]
    for context in contexts:
        context.__enter__()
    contexts[0].__exit__(None, None, None)
    assert httpx.get("https://api.example/").text == "second"
    contexts[1].__exit__(None, None, None)
    assert patched_methods() == []


def test_the_same_interceptor_may_be_entered_twice() -> None:
    interceptor = answering("Hi")
    with intercept_clients(interceptor):
        with intercept_clients(interceptor):
            pass
        assert httpx.get("https://api.example/").text == "Hi"
    assert patched_methods() == []


@each_transport
def test_let_pass_sends_to_the_network(transport: str, echo_server: EchoServer) -> None:
    interceptor = answering("Hi")
    with intercept_clients(interceptor), let_pass():
        assert b'"path": "/a"' in TRANSPORTS[transport](Outgoing(f"{echo_server.url}/a")).content
    assert interceptor.sent == []


def test_let_pass_is_for_the_calling_thread_only() -> None:
    texts: list[str] = []
    with intercept_clients(answering("Hi")), let_pass():
        thread = threading.Thread(target=lambda: texts.append(httpx.get("https://api.example/").text))
        thread.start()
        thread.join(60)
    assert texts == ["Hi"]


def test_methods_keep_their_names_and_signatures() -> None:
    methods: list[tuple[type, str]] = [
        (httpcore.ConnectionPool, "handle_request"),
        (httpcore2.AsyncConnectionPool, "handle_async_request"),
        (urllib3.connection.HTTPConnection, "connect"),
        (aiohttp.BaseConnector, "connect"),
    ]

    def described(owner: type, name: str) -> Any:
        method = getattr(owner, name)
        return (
            method.__name__,
            method.__qualname__,
            inspect.signature(method),
            inspect.getfullargspec(method).args[:1],
            inspect.iscoroutinefunction(method),
        )

    before = [described(*method) for method in methods]
    with intercept_clients(passing()):
        assert [described(*method) for method in methods] == before
        assert len(patched_methods()) == 10


def test_what_is_imported_meanwhile_is_taken_too_and_nothing_else_is_imported() -> None:
    script = """
import sys
import httpx
from pytest_chatprompt.capture.clients.seams import intercept_clients

names = {"httpcore2", "urllib3", "aiohttp", "httpx2", "requests"}
class Interceptor:
    async def handle(self, request, *, is_async):
        return httpx.Response(200, text=f"taken from {request.url.path}")

assert not names & set(sys.modules), names & set(sys.modules)
with intercept_clients(Interceptor()):
    assert not names & set(sys.modules)
    import requests, httpx2, aiohttp, asyncio
    async def run():
        async with aiohttp.ClientSession() as session, session.get("https://api.example/aiohttp") as response:
            return await response.text()
    print(requests.get("https://api.example/requests").text)
    print(httpx2.get("https://api.example/httpx2").text)
    print(asyncio.run(run()))
assert not [each for each in sys.meta_path if type(each).__module__.startswith("pytest_chatprompt")]
assert not hasattr(aiohttp.BaseConnector.connect, "__wrapped__")
assert "exec_module" not in vars(sys.modules["httpcore2"].__loader__)
with intercept_clients(Interceptor()):
    assert requests.get("https://api.example/again").text == "taken from /again"
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (result.stdout, result.stderr) == ("taken from /requests\ntaken from /httpx2\ntaken from /aiohttp\n", "")


@each_transport
def test_a_connection_from_before_is_taken_and_works_again_afterwards(transport: str, echo_server: EchoServer) -> None:
    # The clients of the other tests are new for each request; here one is kept.
    url = f"{echo_server.url}/a"
    texts = KEPT[transport](url, answering("Hi"))
    assert ["/a" in text for text in texts] == [True, False, True, True]
    assert texts[1] == "Hi"
    assert echo_server.requests == 3


def _kept_sync(make: Callable[[], Any], get: Callable[[Any, str], str]) -> Any:
    def run(url: str, interceptor: RecordingInterceptor) -> list[str]:
        client = make()
        texts = [get(client, url)]
        with intercept_clients(interceptor):
            texts.append(get(client, url))
            with intercept_clients(passing()):
                texts.append(get(client, url))
        texts.append(get(client, url))
        (client.clear if isinstance(client, urllib3.PoolManager) else client.close)()
        return texts

    return run


def _kept_async(make: Callable[[], Any]) -> Any:
    async def get(client: Any, url: str) -> str:
        if isinstance(client, aiohttp.ClientSession):
            async with client.get(url) as response:
                return await response.text()
        return str((await client.get(url)).text)

    def run(url: str, interceptor: RecordingInterceptor) -> list[str]:
        async def kept() -> list[str]:
            async with make() as client:
                texts = [await get(client, url)]
                with intercept_clients(interceptor):
                    texts.append(await get(client, url))
                    with intercept_clients(passing()):
                        texts.append(await get(client, url))
                texts.append(await get(client, url))
                return texts

        return asyncio.run(kept())

    return run


def _get_http_client(connection: Any, url: str) -> str:
    connection.request("GET", url[url.index("/a") :])
    return str(connection.getresponse().read().decode())


class _Opener:
    """`urllib.request` keeps nothing: it closes each connection."""

    def close(self) -> None:
        pass


def _http_client_kept(url: str, interceptor: RecordingInterceptor) -> Any:
    host = url.removeprefix("http://").partition("/")[0]
    return _kept_sync(lambda: http.client.HTTPConnection(host, timeout=30), _get_http_client)(url, interceptor)


KEPT: dict[str, Callable[[str, RecordingInterceptor], list[str]]] = {
    "httpx": _kept_sync(httpx.Client, lambda client, url: str(client.get(url).text)),
    "httpx async": _kept_async(httpx.AsyncClient),
    "httpx2": _kept_sync(httpx2.Client, lambda client, url: str(client.get(url).text)),
    "httpx2 async": _kept_async(httpx2.AsyncClient),
    "urllib3": _kept_sync(urllib3.PoolManager, lambda pool, url: str(pool.request("GET", url).data.decode())),
    "urllib3 requests": _kept_sync(requests.Session, lambda session, url: str(session.get(url).text)),
    "http.client": _http_client_kept,
    "http.client urllib.request": _kept_sync(
        _Opener, lambda _, url: TRANSPORTS["http.client urllib.request"](Outgoing(url, "GET")).content.decode()
    ),
    "aiohttp": _kept_async(aiohttp.ClientSession),
}


def test_in_memory_transports_are_not_taken() -> None:
    def reply(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, text=f"mock of {request.url.host}")

    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"asgi"})

    def wsgi_app(_: Any, start_response: Any) -> Any:
        start_response("200 OK", [])
        return [b"wsgi"]

    async def run() -> str:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:
            return (await client.get("https://api.example/")).text

    interceptor = answering("Hi")
    with intercept_clients(interceptor):
        with httpx.Client(transport=httpx.MockTransport(reply)) as client:
            assert client.get("https://api.example/").text == "mock of api.example"
        with httpx.Client(transport=httpx.WSGITransport(wsgi_app)) as client:
            assert client.get("https://api.example/").text == "wsgi"
        assert asyncio.run(run()) == "asgi"
    assert interceptor.sent == []


def test_aiohttps_test_client_goes_over_loopback() -> None:
    async def hello(_: web.Request) -> web.Response:
        return web.Response(text="a test server")

    async def run() -> str:
        app = web.Application()
        app.router.add_get("/", hello)
        async with TestClient(TestServer(app)) as client, client.get("/") as response:
            return await response.text()

    interceptor = passing()
    with intercept_clients(interceptor):
        assert asyncio.run(run()) == "a test server"
    assert [request.url.host for request in interceptor.sent] == ["127.0.0.1"]


@pytest.mark.parametrize("using", ["httpx", "httpcore"])
@pytest.mark.parametrize("is_first", [True, False], ids=["respx first", "respx second"])
def test_respx_wins(using: str, is_first: bool) -> None:
    interceptor = answering("ours")
    router = respx.mock(using=using, assert_all_called=False)
    with ExitStack() as stack:
        contexts: list[Any] = [router, intercept_clients(interceptor)]
        for context in contexts if is_first else reversed(contexts):
            stack.enter_context(context)
        router.get("https://api.example/").respond(text="respx")
        assert httpx.get("https://api.example/").text == "respx"

        async def run() -> str:
            async with httpx.AsyncClient() as client:
                return (await client.get("https://api.example/")).text

        assert asyncio.run(run()) == "respx"
        # respx does not know it.
        assert httpx2.get("https://api.example/").text == "ours"
    assert len(interceptor.sent) == 1


def test_a_mock_that_ends_after_us_leaves_nothing_that_acts(echo_server: EchoServer) -> None:
    router = respx.mock(using="httpcore", assert_all_called=False)
    interceptor = answering("ours")
    context = intercept_clients(interceptor)
    context.__enter__()
    router.start()
    context.__exit__(None, None, None)
    router.stop()
    # respx has put our method back, which does nothing any more.
    assert b'"path": "/a"' in httpx.post(f"{echo_server.url}/a").content
    assert interceptor.sent == []
    with intercept_clients(interceptor):
        assert httpx.get("https://api.example/").text == "ours"
    assert patched_methods() == []


def test_a_mocked_method_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    handle_request = mock.MagicMock(return_value=httpcore.Response(200, content=b"mocked"))
    interceptor = answering("ours")
    monkeypatch.setattr(httpcore.ConnectionPool, "handle_request", handle_request)
    with intercept_clients(interceptor):
        assert httpx.get("https://api.example/").text == "mocked"
    assert interceptor.sent == []
    monkeypatch.undo()


def test_two_event_loops_in_two_threads() -> None:
    barrier = threading.Barrier(2, timeout=60)

    class Meeting(RecordingInterceptor):
        async def handle(self, request: httpx.Request, *, is_async: bool) -> httpx.Response | None:
            # Each waits until the other is here too.
            await asyncio.to_thread(barrier.wait)
            return await super().handle(request, is_async=is_async)

    texts: list[str] = []

    async def run() -> None:
        async with httpx2.AsyncClient() as client:
            texts.append((await client.get("https://api.example/")).text)

    interceptor = Meeting(lambda _: httpx.Response(200, text="Hi"))
    with intercept_clients(interceptor):
        threads = [threading.Thread(target=lambda: asyncio.run(run())) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert texts == ["Hi", "Hi"]


def test_the_first_finder_of_another_tool_stays_the_first() -> None:
    """Such as pyfakefs's: where a test fails, it takes away whichever finder is the first."""
    first = sys.meta_path[0]
    with intercept_clients(passing()):
        assert sys.meta_path[0] is first
    assert sys.meta_path[0] is first
