"""The server: from a request of whatever client to the function that answers it, and back."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import httpx
import pytest

from pytest_chatprompt.capture.guard import guard_network
from pytest_chatprompt.capture.server.capture_server import CaptureServer
from pytest_chatprompt.errors import BlockedConnectionError
from tests.capture.server.conftest import DEADLINE_SECONDS, StartServer, connect, receive, receive_all

CHAT_REPLY = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 0,
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hello"}}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}
ASK_OPENAI = """
import openai
reply = openai.OpenAI().chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
print(reply.choices[0].message.content)
"""


class Log:
    """Answers every request, and keeps it."""

    def __init__(self, data: object = None) -> None:
        self.requests: list[httpx.Request] = []
        self.data = data

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return httpx.Response(200, json=self.data)


def get(server: CaptureServer, path: str, **arguments: object) -> httpx.Response:
    with httpx.Client(timeout=DEADLINE_SECONDS, trust_env=False) as client:
        return client.request("POST", server.url + path, **arguments)  # type: ignore[arg-type]


def test_an_sdk_in_a_child_process_finds_the_server_by_the_environment(start_server: StartServer) -> None:
    log = Log(CHAT_REPLY)
    server = start_server(log)
    child = subprocess.run(
        [sys.executable, "-c", ASK_OPENAI],
        env={**os.environ, **server.environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (child.stdout, child.stderr) == ("hello\n", "")
    (request,) = log.requests
    assert (request.method, str(request.url)) == ("POST", "https://api.openai.com/v1/chat/completions")
    assert request.headers["host"] == "api.openai.com"
    assert request.headers["authorization"] == f"Bearer {server.environ['OPENAI_API_KEY']}"
    assert request.read() == b'{"model":"m","messages":[{"role":"user","content":"hi"}]}'


def test_a_request_has_the_url_of_the_real_api_and_the_body_as_sent(start_server: StartServer) -> None:
    log = Log()
    server = start_server(log)
    get(server, "/gemini/v1beta/models/m%2F1:generateContent?alt=sse&x=%20", content=b"\x00\xff", headers={"x-a": "b"})
    get(server, "/v1/unknown?q=1")
    first, second = log.requests
    assert str(first.url) == (
        "https://generativelanguage.googleapis.com/v1beta/models/m%2F1:generateContent?alt=sse&x=%20"
    )
    assert (first.content, first.headers["x-a"], first.headers["content-length"]) == (b"\x00\xff", "b", "2")
    assert str(second.url) == f"{server.url}/v1/unknown?q=1"
    assert "content-type" not in second.headers


def test_an_error_of_the_function_is_kept_and_the_client_gets_an_error_that_no_sdk_retries(
    start_server: StartServer,
) -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        pytest.fail(f"no route for {request.url.path}")

    server = start_server(fail)
    reply = get(server, "/openai/v1/files")
    assert (reply.status_code, reply.json()["error"]["message"]) == (404, "no route for /v1/files")
    assert reply.json()["message"] == "no route for /v1/files"
    assert [str(error) for error in server.errors] == ["no route for /v1/files"]


def test_an_error_without_a_text_is_told_by_its_name(start_server: StartServer) -> None:
    def fail(_: httpx.Request) -> httpx.Response:
        raise KeyError

    server = start_server(fail)
    assert get(server, "/openai/v1/files").json()["message"] == "KeyError"


def test_nothing_is_forwarded_offline(start_server: StartServer) -> None:
    server = start_server(lambda _: None)
    reply = get(server, "/openai/v1/chat/completions?key=x")
    text = (
        "nothing answers POST https://api.openai.com/v1/chat/completions offline; "
        "add a route to eval_api, or run with --chatprompt-live"
    )
    assert (reply.status_code, reply.json()["message"]) == (404, text)
    assert [str(error) for error in server.errors] == [text]


def test_many_clients_are_served_at_once(start_server: StartServer) -> None:
    together = threading.Barrier(20, timeout=DEADLINE_SECONDS)

    def answer(request: httpx.Request) -> httpx.Response:
        together.wait()
        return httpx.Response(200, content=request.content)

    server = start_server(answer)
    replies: list[bytes] = []
    threads = [
        threading.Thread(target=lambda n=n: replies.append(get(server, "/openai/v1/x", content=b"%d" % n).content))
        for n in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(replies, key=int) == [b"%d" % n for n in range(20)]


def test_a_connection_is_used_again(start_server: StartServer) -> None:
    server = start_server(Log())
    with httpx.Client(trust_env=False) as client:
        streams = {id(client.get(server.url).extensions["network_stream"]) for _ in range(3)}
    assert len(streams) == 1


def test_each_event_of_a_stream_arrives_before_the_next_is_made(start_server: StartServer) -> None:
    arrived = threading.Semaphore(0)

    def events() -> Iterator[bytes]:
        for number in range(3):
            yield b"data: %d\n\n" % number
            assert arrived.acquire(timeout=DEADLINE_SECONDS)

    server = start_server(
        lambda _: httpx.Response(200, headers={"content-type": "text/event-stream"}, content=events())
    )
    with httpx.Client(timeout=DEADLINE_SECONDS, trust_env=False) as client, client.stream("POST", server.url) as reply:
        lines = []
        for line in reply.iter_lines():
            if line:
                lines.append(line)
                arrived.release()
    assert lines == ["data: 0", "data: 1", "data: 2"]
    assert server.errors == []


def test_a_client_that_hangs_up_ends_its_stream_and_nothing_else(
    start_server: StartServer, capfd: pytest.CaptureFixture[str]
) -> None:
    ended = threading.Event()

    def endless() -> Iterator[bytes]:
        try:
            while True:
                yield b"x" * 65536
        finally:
            ended.set()

    server = start_server(lambda _: httpx.Response(200, content=endless()))
    with connect(server) as client:
        client.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        client.recv(10)
    assert ended.wait(DEADLINE_SECONDS)
    with connect(server) as client:
        client.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        assert client.recv(8) == b"HTTP/1.1"
    assert server.errors == []
    server.close()
    assert capfd.readouterr() == ("", "")


def test_a_stream_that_breaks_off_is_no_complete_reply(start_server: StartServer) -> None:
    def broken() -> Iterator[bytes]:
        yield b"a"
        raise OSError("disk full")

    server = start_server(lambda _: httpx.Response(200, content=broken()))
    with pytest.raises(httpx.RemoteProtocolError):
        get(server, "/openai/v1/x")
    assert [str(error) for error in server.errors] == ["disk full"]


def test_close_ends_connections_threads_and_sockets(start_server: StartServer) -> None:
    threads_before = set(threading.enumerate())
    stalled = threading.Event()

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "PUT":
            stalled.set()
            time.sleep(0.3)
        return httpx.Response(200)

    server = start_server(answer)
    idle, busy = connect(server), connect(server)
    with idle, busy:
        idle.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        receive(idle, b"\r\n\r\n")
        busy.sendall(b"PUT / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n")
        assert stalled.wait(DEADLINE_SECONDS)
        server.close()
        server.close()
        assert idle.recv(10) == b""
        assert receive_all(busy) == b""
    assert set(threading.enumerate()) == threads_before
    with pytest.raises(ConnectionRefusedError):
        connect(server)


def test_a_client_that_goes_before_it_is_accepted_does_no_harm(start_server: StartServer) -> None:
    server = start_server(Log())
    for _ in range(50):
        # A reset instead of an orderly end.
        client = connect(server)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        client.close()
    assert get(server, "/openai/v1/x").status_code == 200


def test_no_name_is_looked_up_and_the_guard_lets_the_server_be(start_server: StartServer) -> None:
    with guard_network() as attempts:
        server = start_server(Log())
        assert get(server, "/openai/v1/x").status_code == 200
        server.close()
    assert (attempts.blocked, attempts.programs) == ([], [])


def test_a_child_that_is_led_to_the_server_may_start_offline(start_server: StartServer) -> None:
    server = start_server(Log(CHAT_REPLY))
    led = {**os.environ, **server.environ}
    with guard_network() as attempts:
        child = subprocess.run([sys.executable, "-c", ASK_OPENAI], env=led, capture_output=True, text=True, check=False)
        assert (child.stdout, child.stderr) == ("hello\n", "")
        other = {**led, "ANTHROPIC_BASE_URL": "http://127.0.0.1:1/anthropic"}
        for environment in (None, other, {}):
            with pytest.raises(BlockedConnectionError):
                subprocess.run([sys.executable, "-c", ""], env=environment, check=False)
    assert attempts.programs == [sys.executable] * 3
    server.close()
    with guard_network(), pytest.raises(BlockedConnectionError):
        subprocess.run([sys.executable, "-c", ""], env=led, check=False)
