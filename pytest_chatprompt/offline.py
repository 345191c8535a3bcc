"""Offline: while a provider sends, nothing leaves this machine and nothing of it shows in what is sent.

`offline()` is entered by `recording` around one send. Within it the environment holds placeholders for
keys and endpoints and no proxies, and a socket connects to loopback alone; every attempt at more is an
error that names the address. `session` enters `guarded_sockets()` alone, around all of a case. Nothing stays
changed afterwards.
"""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_chatprompt.errors import RecordingError
from pytest_chatprompt.providers import CHAT_PROVIDERS, AzureProvider

_PLACEHOLDERS: Final = {provider.key_variable: "offline" for provider in CHAT_PROVIDERS} | {
    AzureProvider.endpoint_variable: "https://azure-openai.invalid"
}
# What httpx reads when a client is made (httpx, "Environment Variables").
_PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")
_UNSET: Final = (*_PROXIES, *(name.lower() for name in _PROXIES))
_METHODS: Final = ("connect", "connect_ex", "sendto")


class BlockedConnectionError(RecordingError, OSError):
    """A socket was to reach beyond this machine; also an `OSError`, so that clients clean up after it."""


@dataclass(slots=True)
class Connections:
    """What sockets tried within `offline()`.

    Args:
        blocked: addresses beyond this machine, `host:port`; none of them was reached.
        local: loopback addresses; these were let through.
    """

    blocked: list[str] = field(default_factory=list)
    local: list[str] = field(default_factory=list)


@contextmanager
def offline() -> Iterator[Connections]:
    """Keep this process offline; yields what its sockets try."""
    with _placeholder_environment(), guarded_sockets() as connections:
        yield connections


@contextmanager
def _placeholder_environment() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in (*_PLACEHOLDERS, *_UNSET)}
    for name in _UNSET:
        os.environ.pop(name, None)
    os.environ.update(_PLACEHOLDERS)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def guarded_sockets() -> Iterator[Connections]:
    """Let sockets connect to loopback alone; yields what they try."""
    connections = Connections()
    if not isinstance(socket.socket, type):
        # Another tool has put something of its own in place of sockets, and guards them.
        yield connections
        return
    own = {name: socket.socket.__dict__.get(name) for name in _METHODS}
    getaddrinfo = socket.getaddrinfo

    def guarded(name: str) -> Any:
        original = getattr(socket.socket, name)

        def call(self: socket.socket, *args: Any) -> Any:
            address = args[-1]
            if self.family in (socket.AF_INET, socket.AF_INET6) and isinstance(address, tuple):
                _check(connections, address[0], address[1])
            return original(self, *args)

        return call

    def guarded_getaddrinfo(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        if host is not None:
            _check(connections, host, port, lookup=True)
        return getaddrinfo(host, port, *args, **kwargs)

    for name in _METHODS:
        setattr(socket.socket, name, guarded(name))
    socket.getaddrinfo = guarded_getaddrinfo
    try:
        yield connections
    finally:
        socket.getaddrinfo = getaddrinfo
        for name, method in own.items():
            if method is None:
                delattr(socket.socket, name)
            else:
                setattr(socket.socket, name, method)


def _check(connections: Connections, host: Any, port: Any, *, lookup: bool = False) -> None:
    shown_host = host.decode(errors="replace") if isinstance(host, bytes) else str(host)
    shown = f"{shown_host}:{port}"
    if not _is_loopback(shown_host):
        connections.blocked.append(shown)
        raise BlockedConnectionError(f"no connection to {shown}: this is an offline run")
    if not lookup:
        connections.local.append(shown)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host == "localhost"
