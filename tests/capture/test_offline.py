"""Offline: sockets and environment variables while a provider sends."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable

import pytest

from pytest_chatprompt.capture.offline import offline
from pytest_chatprompt.errors import BlockedConnectionError


@pytest.fixture
def listener() -> socket.socket:
    """A socket that listens on loopback."""
    return socket.create_server(("127.0.0.1", 0))


def call_method(family: int, kind: int, method: str, *arguments: object) -> None:
    with socket.socket(family, kind) as client:
        client.settimeout(1)
        getattr(client, method)(*arguments)


@pytest.mark.parametrize(
    ("attempt", "address"),
    [
        pytest.param(
            lambda: call_method(socket.AF_INET, socket.SOCK_STREAM, "connect", ("192.0.2.1", 80)),
            "192.0.2.1:80",
            id="connect",
        ),
        pytest.param(
            lambda: call_method(socket.AF_INET, socket.SOCK_STREAM, "connect_ex", ("192.0.2.1", 80)),
            "192.0.2.1:80",
            id="connect_ex",
        ),
        pytest.param(
            lambda: call_method(socket.AF_INET6, socket.SOCK_STREAM, "connect", ("2001:db8::1", 80)),
            "2001:db8::1:80",
            id="IPv6",
        ),
        pytest.param(
            lambda: call_method(socket.AF_INET, socket.SOCK_DGRAM, "sendto", b"x", ("192.0.2.1", 53)),
            "192.0.2.1:53",
            id="sendto",
        ),
        pytest.param(
            lambda: call_method(socket.AF_INET, socket.SOCK_DGRAM, "sendmsg", [b"x"], [], 0, ("192.0.2.1", 53)),
            "192.0.2.1:53",
            id="sendmsg",
        ),
        pytest.param(lambda: socket.gethostbyname("api.example"), "api.example", id="gethostbyname"),
        pytest.param(lambda: socket.gethostbyname_ex("api.example"), "api.example", id="gethostbyname_ex"),
        pytest.param(lambda: socket.getaddrinfo("api.example", 443), "api.example:443", id="getaddrinfo"),
        pytest.param(lambda: socket.getaddrinfo(b"api.example", 443), "api.example:443", id="getaddrinfo with bytes"),
        pytest.param(
            lambda: socket.create_connection(("api.example", 443), 1), "api.example:443", id="create_connection"
        ),
    ],
)
def test_an_attempt_to_reach_the_network_is_an_error(attempt: Callable[[], object], address: str) -> None:
    with offline() as attempts, pytest.raises(BlockedConnectionError) as caught:
        attempt()
    assert str(caught.value).startswith(f"no connection to {address}: this is an offline run, called at ")
    assert attempts.blocked == [address]


def test_connections_to_loopback_are_allowed_and_noted(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    with listener, offline() as attempts, socket.create_connection(("localhost", port), 1):
        pass
    assert attempts.blocked == []
    assert {f"127.0.0.1:{port}"} <= set(attempts.loopback) <= {f"127.0.0.1:{port}", f"::1:{port}"}


def test_calls_without_a_network_address_are_allowed() -> None:
    with offline() as attempts:
        assert socket.getaddrinfo(None, 80)
        with socket.socket(socket.AF_UNIX) as client, pytest.raises(FileNotFoundError):
            client.connect("/nowhere/socket")
        first, second = socket.socketpair()
        with first, second:
            first.sendall(b"x")
            first.sendmsg((b"x",))
        assert socket.gethostbyname("localhost") == "127.0.0.1"
    assert (attempts.blocked, attempts.loopback) == ([], [])


def test_other_threads_are_offline_too() -> None:
    def look_up() -> None:
        with pytest.raises(BlockedConnectionError):
            socket.getaddrinfo("api.example", 443)

    with offline() as attempts:
        thread = threading.Thread(target=look_up)
        thread.start()
        thread.join()
    assert attempts.blocked == ["api.example:443"]


def test_everything_is_restored_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "mine")
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.setenv("https_proxy", "http://proxy.example")
    before = (dict(os.environ), socket.getaddrinfo, dict(vars(socket.socket)))
    with pytest.raises(ZeroDivisionError), offline():
        raise ZeroDivisionError
    assert (dict(os.environ), socket.getaddrinfo, dict(vars(socket.socket))) == before


def test_a_guarded_function_that_a_module_kept_works_normally_after_the_guard() -> None:
    with offline() as attempts:
        getaddrinfo, connect = socket.getaddrinfo, socket.socket.connect
    with pytest.raises(socket.gaierror):
        getaddrinfo("name.invalid", 443, flags=socket.AI_NUMERICHOST)
    with socket.socket() as client, pytest.raises(ConnectionRefusedError):
        connect(client, ("127.0.0.1", 1))
    assert (attempts.blocked, attempts.loopback) == ([], [])


def test_a_guarded_function_that_a_module_kept_is_blocked_by_the_next_guard() -> None:
    with offline():
        getaddrinfo, connect = socket.getaddrinfo, socket.socket.connect
    with offline() as attempts:
        with pytest.raises(BlockedConnectionError):
            getaddrinfo("api.example", 443)
        with socket.socket() as client, pytest.raises(BlockedConnectionError):
            connect(client, ("192.0.2.1", 80))
    assert attempts.blocked == ["api.example:443", "192.0.2.1:80"]


def test_the_guard_of_another_tool_is_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(socket.socket, "connect", refuse)
    with offline():
        pass
    assert vars(socket.socket)["connect"] is refuse


def test_a_replaced_socket_class_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(socket, "socket", refuse)
    with offline() as attempts:
        assert vars(socket)["socket"] is refuse
    assert attempts.blocked == []


def test_the_environment_has_placeholders_and_no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "mine")
    monkeypatch.setenv("ALL_PROXY", "socks5://proxy.example")
    with offline():
        assert os.environ["ANTHROPIC_API_KEY"] == "offline"
        assert os.environ["AZURE_OPENAI_ENDPOINT"] == "https://azure-openai.invalid"
        assert "ALL_PROXY" not in os.environ
