"""The tap: what leaves in a live run, for whoever sent it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import respx

from pytest_chatprompt.secret_values import SecretValues
from pytest_chatprompt.tap import Tap

URL = "https://api.example/v1"


def transport() -> httpx.MockTransport:
    return httpx.MockTransport(lambda request: httpx.Response(200, text=f"real {request.url.path}"))


def post(path: str) -> str:
    with httpx.Client(transport=transport()) as client:
        return client.post(URL + path, headers={"authorization": "Bearer sk-0123456789"}).text


def new_tap() -> Tap:
    return Tap(SecretValues({}))


def test_a_request_is_kept_and_reaches_the_network() -> None:
    secrets = SecretValues({})
    with Tap(secrets).kept() as requests:
        assert post("/a") == "real /v1/a"
    assert [request.url.path for request in requests] == ["/v1/a"]
    assert secrets.scrubbed("it is sk-0123456789") == "it is [secret]"


def test_a_request_of_an_async_client_is_kept_too() -> None:
    async def send() -> str:
        async with httpx.AsyncClient(transport=transport()) as client:
            return (await client.post(f"{URL}/a")).text

    with new_tap().kept() as requests:
        assert asyncio.run(send()) == "real /v1/a"
    assert len(requests) == 1


def test_each_thread_gets_its_own() -> None:
    tap = new_tap()
    together = threading.Barrier(4)

    def send(number: int) -> list[str]:
        with tap.kept() as requests:
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


def test_a_thread_of_the_providers_own_is_its_as_long_as_it_sends_alone() -> None:
    tap = new_tap()
    with tap.kept() as requests:
        in_another_thread(lambda: post("/a"))
    assert len(requests) == 1
    with tap.kept() as one:
        opened = threading.Event()
        done = threading.Event()

        def other() -> None:
            with tap.kept():
                opened.set()
                done.wait()

        thread = threading.Thread(target=other)
        thread.start()
        opened.wait()
        in_another_thread(lambda: post("/b"))
        done.set()
        thread.join()
    assert one == []


def test_afterwards_nothing_is_kept_and_other_routers_are_as_they_were() -> None:
    with new_tap().kept() as requests:
        pass
    with respx.mock(using="httpx") as router:
        router.post(f"{URL}/a").respond(text="mocked")
        assert post("/a") == "mocked"
    assert requests == []
