"""Pass-through capture: the requests of a live run, for the thread that sent them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import respx

from pytest_chatprompt.capture.pass_through import PassThroughRouter
from pytest_chatprompt.capture.redaction import Redactor

URL = "https://api.example/v1"


def transport() -> httpx.MockTransport:
    return httpx.MockTransport(lambda request: httpx.Response(200, text=f"real {request.url.path}"))


def post(path: str) -> str:
    with httpx.Client(transport=transport()) as client:
        return client.post(URL + path, headers={"authorization": "Bearer sk-0123456789"}).text


def new_router() -> PassThroughRouter:
    return PassThroughRouter(Redactor({}))


def test_a_request_is_captured_and_reaches_the_network() -> None:
    redactor = Redactor({})
    with PassThroughRouter(redactor).capture() as requests:
        assert post("/a") == "real /v1/a"
    assert [request.url.path for request in requests] == ["/v1/a"]
    assert redactor.redact("it is sk-0123456789") == "it is [secret]"


def test_a_request_of_an_async_client_is_captured_too() -> None:
    async def send() -> str:
        async with httpx.AsyncClient(transport=transport()) as client:
            return (await client.post(f"{URL}/a")).text

    with new_router().capture() as requests:
        assert asyncio.run(send()) == "real /v1/a"
    assert len(requests) == 1


def test_each_thread_captures_its_own_requests() -> None:
    router = new_router()
    together = threading.Barrier(4)

    def send(number: int) -> list[str]:
        with router.capture() as requests:
            together.wait()
            post(f"/{number}")
            post(f"/{number}/again")
            together.wait()
            return [request.url.path for request in requests]

    with ThreadPoolExecutor() as pool:
        assert list(pool.map(send, range(4))) == [[f"/v1/{number}", f"/v1/{number}/again"] for number in range(4)]


def in_another_thread(call: Callable[[], object]) -> None:
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()


def test_a_thread_that_the_provider_starts_counts_as_its_own_if_no_other_capture_is_open() -> None:
    router = new_router()
    with router.capture() as requests:
        in_another_thread(lambda: post("/a"))
    assert len(requests) == 1
    with router.capture() as first:
        opened = threading.Event()
        done = threading.Event()

        def other() -> None:
            with router.capture():
                opened.set()
                done.wait()

        thread = threading.Thread(target=other)
        thread.start()
        opened.wait()
        in_another_thread(lambda: post("/b"))
        done.set()
        thread.join()
    assert first == []


def test_nothing_is_captured_afterwards_and_other_routers_work() -> None:
    with new_router().capture() as requests:
        pass
    with respx.mock(using="httpx") as router:
        router.post(f"{URL}/a").respond(text="mocked")
        assert post("/a") == "mocked"
    assert requests == []
