"""The connection pools of threads: one for each, with the same settings."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import httpcore
import httpx
import pytest

from pytest_chatprompt.providers.http.network_backend import limit_connections
from pytest_chatprompt.providers.http.per_thread_pool import PerThreadPool
from pytest_chatprompt.providers.http.request_deadline import RequestDeadline
from tests.raw_server import RawServer, http_reply, read_request


def test_each_thread_has_a_pool_of_its_own_until_it_ends(
    raw_server: RawServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[httpcore.ConnectionPool] = []
    handle_request = httpcore.ConnectionPool.handle_request

    def note_pool(pool: httpcore.ConnectionPool, request: httpcore.Request) -> httpcore.Response:
        seen.append(pool)
        return handle_request(pool, request)

    def talk(connection: socket.socket, _: int) -> None:
        read_request(connection)
        # Else the client might use the connection again while the server closes it.
        connection.sendall(http_reply(b"{}", "connection: close"))

    # What captures or mocks requests replaces this method of the class.
    monkeypatch.setattr(httpcore.ConnectionPool, "handle_request", note_pool)
    raw_server.talk = talk
    both_are_here = threading.Barrier(2, timeout=60)
    with httpx.Client(limits=httpx.Limits(max_connections=7)) as client, ThreadPoolExecutor(2) as threads:
        limit_connections(client, RequestDeadline())

        def get_twice(_: int) -> None:
            both_are_here.wait()
            for _ in range(2):
                client.post(raw_server.url, content=b"{}")

        list(threads.map(get_twice, range(2)))
    assert len(seen) == 4
    assert len(set(seen)) == 2
    assert [pool._max_connections for pool in seen] == [7] * 4
    assert [pool.connections for pool in seen] == [[]] * 4


def test_closing_it_closes_the_connections_of_all_threads(raw_server: RawServer) -> None:
    ended = threading.Event()

    def talk(connection: socket.socket, _: int) -> None:
        read_request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n")
        if connection.recv(1) == b"":
            ended.set()

    raw_server.talk = talk
    pools = PerThreadPool(httpcore.ConnectionPool())
    opened, closed = threading.Event(), threading.Event()
    headers = [("host", "api.example"), ("content-length", "2")]

    def leave_open() -> None:
        response = pools.handle_request(httpcore.Request("POST", raw_server.url, headers=headers, content=b"{}"))
        opened.set()
        assert closed.wait(60)
        del response

    thread = threading.Thread(target=leave_open)
    thread.start()
    assert opened.wait(60)
    with pools:
        pass
    assert ended.wait(60)
    closed.set()
    thread.join()
