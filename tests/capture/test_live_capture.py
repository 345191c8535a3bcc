"""Pass-through capture: the requests of a live run, for the thread that sent them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
import requests

from pytest_chatprompt.apis.reply import Reply
from pytest_chatprompt.capture.live_capture import LiveCaptureRouter
from pytest_chatprompt.capture.recording.open_recording import OpenRecording
from pytest_chatprompt.capture.secrets.redaction import Redactor
from tests.server import Server


def post(server: Server, path: str) -> int:
    headers = {"authorization": "Bearer sk-0123456789"}
    return httpx.post(f"{server.url}{path}", headers=headers, json={}).status_code


def new_router() -> LiveCaptureRouter:
    return LiveCaptureRouter(Redactor({}))


def test_a_request_is_captured_and_reaches_the_network(server: Server) -> None:
    redactor = Redactor({})
    with LiveCaptureRouter(redactor).capture() as capture:
        assert post(server, "/v1/a") == 200
    assert [(entry.request.url.path, entry.answered_by) for entry in capture.log] == [("/v1/a", "network")]
    assert redactor.redact("it is sk-0123456789") == "it is [secret]"
    assert len(server.requests) == 1


def test_a_request_of_another_client_is_captured_too(server: Server) -> None:
    with new_router().capture() as capture:
        assert requests.post(f"{server.url}/a", json={"a": 1}, timeout=60).ok
    assert [entry.request.content for entry in capture.log] == [b'{"a": 1}']


def test_a_request_of_an_async_client_is_captured_too(server: Server) -> None:
    async def send() -> int:
        async with httpx.AsyncClient() as client:
            return (await client.post(f"{server.url}/a", json={})).status_code

    with new_router().capture() as capture:
        assert asyncio.run(send()) == 200
    assert len(capture.log) == 1


def test_each_thread_captures_its_own_requests(server: Server) -> None:
    router = new_router()
    together = threading.Barrier(4)

    def send(number: int) -> list[str]:
        with router.capture() as capture:
            together.wait(60)
            post(server, f"/{number}")
            post(server, f"/{number}/again")
            together.wait(60)
            return [entry.request.url.path for entry in capture.log]

    with ThreadPoolExecutor() as pool:
        assert list(pool.map(send, range(4))) == [[f"/{number}", f"/{number}/again"] for number in range(4)]


def in_another_thread(call: Callable[[], object]) -> None:
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()


def test_a_thread_that_the_provider_starts_counts_as_its_own_if_no_other_capture_is_open(server: Server) -> None:
    router = new_router()
    with router.capture() as capture:
        in_another_thread(lambda: post(server, "/a"))
    assert len(capture.log) == 1
    with router.capture() as first:
        opened = threading.Event()
        done = threading.Event()

        def other() -> None:
            with router.capture():
                opened.set()
                done.wait(60)

        thread = threading.Thread(target=other)
        thread.start()
        assert opened.wait(60)
        in_another_thread(lambda: post(server, "/b"))
        done.set()
        thread.join()
    assert first.log == []


def test_queued_replies_are_given_and_their_requests_go_nowhere(server: Server) -> None:
    with new_router().capture() as capture:
        capture.reply_queue.add(Reply("queued"), None)
        assert post(server, "/elsewhere") == 200
        assert "queued" in httpx.post(f"{server.url}/v1/messages", json={}).text
        assert post(server, "/v1/messages") == 200
    assert [entry.answered_by for entry in capture.log] == ["network", "reply", "network"]
    assert [path for path, _, _ in server.requests] == ["/elsewhere", "/v1/messages"]


def test_nothing_is_captured_afterwards(server: Server) -> None:
    with new_router().capture() as capture:
        pass
    assert post(server, "/a") == 200
    assert capture.log == []


@pytest.mark.parametrize(("is_kept", "answered_by"), [(True, "nothing"), (False, "network")])
def test_what_cannot_be_sent_on_is_sent_by_its_own_client_unless_the_run_records(
    is_kept: bool, answered_by: str
) -> None:
    recording = OpenRecording(sends=True, is_kept=is_kept)
    body = {"model": "gpt-5", "messages": []}
    with new_router().capture() as capture:
        capture.recording = recording
        with pytest.raises(httpx.ConnectError):
            httpx.post("http://127.0.0.1:1/v1/chat/completions", json=body)
    assert [entry.answered_by for entry in capture.log] == [answered_by]


def test_a_reply_that_cannot_tell_whether_it_fits_is_an_error_of_the_capture() -> None:
    with new_router().capture() as capture:
        capture.reply_queue.add(Reply("queued"), lambda sent: sent.body["input"])
        reply = httpx.post("https://api.openai.com/v1/chat/completions", json={"model": "gpt-5", "messages": []})
    assert reply.status_code == 404
    assert "raised KeyError: 'input'" in str(capture.errors[0])
