"""Offline: what sockets and the environment are while a provider sends."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable

import pytest

from pytest_chatprompt.offline import offline
from pytest_chatprompt.sockets import BlockedConnectionError


@pytest.fixture
def listener() -> socket.socket:
    """A socket that listens on loopback."""
    return socket.create_server(("127.0.0.1", 0))


def reach(family: int, kind: int, method: str, *arguments: object) -> None:
    with socket.socket(family, kind) as reaching:
        reaching.settimeout(1)
        getattr(reaching, method)(*arguments)


@pytest.mark.parametrize(
    ("attempt", "address"),
    [
        pytest.param(
            lambda: reach(socket.AF_INET, socket.SOCK_STREAM, "connect", ("192.0.2.1", 80)),
            "192.0.2.1:80",
            id="connect",
        ),
        pytest.param(
            lambda: reach(socket.AF_INET, socket.SOCK_STREAM, "connect_ex", ("192.0.2.1", 80)),
            "192.0.2.1:80",
            id="connect_ex",
        ),
        pytest.param(
            lambda: reach(socket.AF_INET6, socket.SOCK_STREAM, "connect", ("2001:db8::1", 80)),
            "2001:db8::1:80",
            id="IPv6",
        ),
        pytest.param(
            lambda: reach(socket.AF_INET, socket.SOCK_DGRAM, "sendto", b"x", ("192.0.2.1", 53)),
            "192.0.2.1:53",
            id="sendto",
        ),
        pytest.param(
            lambda: reach(socket.AF_INET, socket.SOCK_DGRAM, "sendmsg", [b"x"], [], 0, ("192.0.2.1", 53)),
            "192.0.2.1:53",
            id="sendmsg",
        ),
        pytest.param(lambda: socket.gethostbyname("api.example"), "api.example", id="gethostbyname"),
        pytest.param(lambda: socket.gethostbyname_ex("api.example"), "api.example", id="gethostbyname_ex"),
        pytest.param(lambda: socket.getaddrinfo("api.example", 443), "api.example:443", id="a name looked up"),
        pytest.param(lambda: socket.getaddrinfo(b"api.example", 443), "api.example:443", id="a name in bytes"),
        pytest.param(
            lambda: socket.create_connection(("api.example", 443), 1), "api.example:443", id="create_connection"
        ),
    ],
)
def test_nothing_beyond_this_machine_is_reached(attempt: Callable[[], object], address: str) -> None:
    with offline() as connections, pytest.raises(BlockedConnectionError) as caught:
        attempt()
    assert str(caught.value) == f"no connection to {address}: this is an offline run"
    assert connections.blocked == [address]


def test_loopback_is_reached_and_noted(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    with listener, offline() as connections, socket.create_connection(("localhost", port), 1):
        pass
    assert connections.blocked == []
    assert {f"127.0.0.1:{port}"} <= set(connections.local) <= {f"127.0.0.1:{port}", f"::1:{port}"}


def test_what_has_no_address_is_let_through() -> None:
    with offline() as connections:
        assert socket.getaddrinfo(None, 80)
        with socket.socket(socket.AF_UNIX) as local, pytest.raises(FileNotFoundError):
            local.connect("/nowhere/socket")
        first, second = socket.socketpair()
        with first, second:
            first.sendall(b"x")
            first.sendmsg((b"x",))
        assert socket.gethostbyname("localhost") == "127.0.0.1"
    assert (connections.blocked, connections.local) == ([], [])


def test_a_thread_is_kept_offline_too() -> None:
    def look_up() -> None:
        with pytest.raises(BlockedConnectionError):
            socket.getaddrinfo("api.example", 443)

    with offline() as connections:
        thread = threading.Thread(target=look_up)
        thread.start()
        thread.join()
    assert connections.blocked == ["api.example:443"]


def test_nothing_stays_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "mine")
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.setenv("https_proxy", "http://proxy.example")
    before = (dict(os.environ), socket.getaddrinfo, dict(vars(socket.socket)))
    with pytest.raises(ZeroDivisionError), offline():
        raise ZeroDivisionError
    assert (dict(os.environ), socket.getaddrinfo, dict(vars(socket.socket))) == before


def test_a_function_that_a_module_took_while_it_was_guarded_is_as_it_was() -> None:
    with offline() as connections:
        taken, connect = socket.getaddrinfo, socket.socket.connect
    with pytest.raises(socket.gaierror):
        taken("name.invalid", 443, flags=socket.AI_NUMERICHOST)
    with socket.socket() as reaching, pytest.raises(ConnectionRefusedError):
        connect(reaching, ("127.0.0.1", 1))
    assert (connections.blocked, connections.local) == ([], [])


def test_a_function_that_a_module_took_is_guarded_again_by_the_next_guard() -> None:
    with offline():
        taken, connect = socket.getaddrinfo, socket.socket.connect
    with offline() as connections:
        with pytest.raises(BlockedConnectionError):
            taken("api.example", 443)
        with socket.socket() as reaching, pytest.raises(BlockedConnectionError):
            connect(reaching, ("192.0.2.1", 80))
    assert connections.blocked == ["api.example:443", "192.0.2.1:80"]


def test_guards_that_another_tool_set_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(socket.socket, "connect", refuse)
    with offline():
        pass
    assert vars(socket.socket)["connect"] is refuse


def test_what_another_tool_put_in_place_of_sockets_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(socket, "socket", refuse)
    with offline() as connections:
        assert vars(socket)["socket"] is refuse
    assert connections.blocked == []


def test_the_environment_holds_placeholders_and_no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "mine")
    monkeypatch.setenv("ALL_PROXY", "socks5://proxy.example")
    with offline():
        assert os.environ["ANTHROPIC_API_KEY"] == "offline"
        assert os.environ["AZURE_OPENAI_ENDPOINT"] == "https://azure-openai.invalid"
        assert "ALL_PROXY" not in os.environ
