"""Sockets that reach no further than this machine.

`reports` enters `guarded_sockets()` around all of a case, `offline` and `recording` around what a provider does. Within
it a socket connects to loopback alone, and names are not looked up; every attempt at more is an error that names the
address. Nothing stays changed afterwards.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_chatprompt.errors import RecordingError

_METHODS: Final = ("connect", "connect_ex", "sendto", "sendmsg")
_LOOK_UPS: Final = ("getaddrinfo", "gethostbyname", "gethostbyname_ex")
_SENDMSG_WITH_ADDRESS: Final = 4


class BlockedConnectionError(RecordingError, OSError):
    """A socket was to reach beyond this machine; also an `OSError`, so that clients clean up after it."""


@dataclass(eq=False, slots=True)
class Connections:
    """What sockets tried while they were guarded.

    Args:
        blocked: addresses beyond this machine, `host:port`; none of them was reached.
        local: loopback addresses; these were let through.
    """

    blocked: list[str] = field(default_factory=list)
    local: list[str] = field(default_factory=list)


# The guards of this process, the innermost last.
_in_force: Final[list[Connections]] = []


@contextmanager
def guarded_sockets() -> Iterator[Connections]:
    """Let sockets connect to loopback alone; yields what they try."""
    connections = Connections()
    if not isinstance(socket.socket, type):
        # Another tool has put something of its own in place of sockets, and guards them.
        yield connections
        return
    methods = {name: socket.socket.__dict__.get(name) for name in _METHODS}
    functions = {name: getattr(socket, name) for name in _LOOK_UPS}
    for name in methods:
        setattr(socket.socket, name, _guarded_method(name, connections))
    for name, function in functions.items():
        setattr(socket, name, _guarded_look_up(function, connections))
    _in_force.append(connections)
    try:
        yield connections
    finally:
        _in_force.remove(connections)
        for name, function in functions.items():
            setattr(socket, name, function)
        for name, method in methods.items():
            if method is None:
                delattr(socket.socket, name)
            else:
                setattr(socket.socket, name, method)


def _guarded_method(name: str, connections: Connections) -> Any:
    original = getattr(socket.socket, name)

    def call(self: socket.socket, *args: Any) -> Any:
        # The address comes last, except that `sendmsg` may go without one.
        address = None if name == "sendmsg" and len(args) < _SENDMSG_WITH_ADDRESS else args[-1]
        if self.family in (socket.AF_INET, socket.AF_INET6) and isinstance(address, tuple):
            _check(connections, address[0], address[1])
        return original(self, *args)

    return call


def _guarded_look_up(original: Any, connections: Connections) -> Any:
    def call(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host is not None:
            _check(connections, host, args[0] if args else kwargs.get("port"), lookup=True)
        return original(host, *args, **kwargs)

    return call


def _check(own: Connections, host: Any, port: Any, *, lookup: bool = False) -> None:
    # A module that was imported under a guard may have kept the guarded function; what holds now holds for it too.
    connections = own if own in _in_force else next(reversed(_in_force), None)
    if connections is None:
        return
    shown_host = host.decode(errors="replace") if isinstance(host, bytes) else str(host)
    shown = shown_host if port is None else f"{shown_host}:{port}"
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
