"""Audit events: which hosts are this machine, and which are addresses."""

from __future__ import annotations

import socket

import httpx
import pytest

from pytest_chatprompt.capture.audit_events import find_address, is_loopback, read_audit_event
from pytest_chatprompt.capture.clients.interceptor import run_now
from pytest_chatprompt.capture.eval_api import EvalAPI
from pytest_chatprompt.capture.offline import offline
from tests.capture.clients.echo_server import EchoServer
from tests.capture.clients.transports import TRANSPORTS, Outgoing

THIS_MACHINE = [
    "127.0.0.1", "127.9.9.9", "::1", "[::1]", "::1%lo", "localhost", "LocalHost",
    # Servers that listen on all interfaces show these as theirs.
    "0.0.0.0", "::", "[::]",
    # An IPv4 address within an IPv6 one, also as yarl writes it.
    "::ffff:127.0.0.1", "[::ffff:127.0.0.1]", "::ffff:7f00:1", "::ffff:0.0.0.0",
]  # fmt: skip
ELSEWHERE = [
    "api.openai.com", "10.0.0.1", "169.254.169.254", "fe80::1%eth0", "::ffff:10.0.0.1", "a:1", "mylocalhost",
    "localhost.example", "127.0.0.1.example", "127.1.example", "", ".",
    # The system asks a server for these names.
    "localhost.", "app.localhost", "secret.localhost",
    # Other spellings of 127.0.0.1, and no addresses.
    "127.1", "2130706433", "0x7f000001", "99999999999", "1.2.3.4.5", "127.0.0.1 ",
]  # fmt: skip


@pytest.mark.parametrize("host", THIS_MACHINE)
def test_these_are_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ELSEWHERE)
def test_these_are_not(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize(
    ("host", "expected"), [("10.0.0.1", True), ("fe80::1%eth0", True), ("abc", False), ("a.1", False)]
)
def test_an_address_is_told_from_a_name(host: str, expected: bool) -> None:
    assert (find_address(host) is not None) is expected


@pytest.mark.parametrize(
    ("transport", "host"),
    [(transport, host) for transport in TRANSPORTS for host in ("0.0.0.0", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]")],
)
def test_each_client_reaches_a_server_of_the_user_by_them(transport: str, host: str, echo_server: EchoServer) -> None:
    api = EvalAPI()
    url = f"http://{host}:{echo_server.server_port}/mine"
    with offline() as attempts, api.intercept():
        assert b'"path": "/mine"' in TRANSPORTS[transport](Outgoing(url)).content
    assert (api.sent, api.errors, attempts.blocked) == ((), [], [])


@pytest.mark.parametrize("host", ["[::]", "[::1]", "LocalHost"])
def test_a_request_to_them_passes(host: str) -> None:
    api = EvalAPI()
    request = httpx.Request("POST", f"http://{host}:8000/mine", json={})
    assert run_now(api.handle(request, is_async=False)) is None
    assert api.sent == ()


def test_the_name_of_this_machine_may_be_looked_up_and_no_more() -> None:
    # `http.server` does, for a server that listens on all interfaces (`socket.getfqdn`).
    name = socket.gethostname()
    lookup = read_audit_event("socket.gethostbyaddr", (name,))
    connection = read_audit_event("socket.connect", (None, (name, 80)))
    assert lookup is not None
    assert connection is not None
    assert (lookup.is_loopback, connection.is_loopback) == (True, is_loopback(name))
