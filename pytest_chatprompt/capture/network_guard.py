"""The network guard: while it is active, sockets connect to loopback only.

`guard_network()` is entered by `items.report_hooks` around a whole case, and by `recorder` and `offline` around one
send. A connection or a name lookup beyond this machine is an error that names the address. The guard restores the
functions of `socket` when it ends.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_chatprompt.errors import CaptureError

_METHODS: Final = ("connect", "connect_ex", "sendto", "sendmsg")
_LOOKUPS: Final = ("getaddrinfo", "gethostbyname", "gethostbyname_ex")
_SENDMSG_ARGUMENTS_WITH_ADDRESS: Final = 4


class BlockedConnectionError(CaptureError, OSError):
    """A socket tried to reach beyond this machine.

    It is an `OSError` too, so that HTTP clients clean up as they do after any failed connection.
    """


@dataclass(eq=False, slots=True)
class ConnectionAttempts:
    """What sockets tried to reach while a guard was active.

    Args:
        blocked: addresses beyond this machine, `host:port`; none of them was reached.
        loopback: addresses on this machine; these connections were allowed.
    """

    blocked: list[str] = field(default_factory=list)
    loopback: list[str] = field(default_factory=list)


# The active guards of this process, the innermost last.
_active_guards: Final[list[ConnectionAttempts]] = []


@contextmanager
def guard_network() -> Iterator[ConnectionAttempts]:
    """Allow connections to loopback only, in all threads; yields the attempts, which go on being added to."""
    attempts = ConnectionAttempts()
    if not isinstance(socket.socket, type):
        # Another tool has replaced the class of sockets, and guards them itself.
        yield attempts
        return
    methods = {name: socket.socket.__dict__.get(name) for name in _METHODS}
    lookups = {name: getattr(socket, name) for name in _LOOKUPS}
    for name in methods:
        setattr(socket.socket, name, _guarded_method(name, attempts))
    for name, function in lookups.items():
        setattr(socket, name, _guarded_lookup(function, attempts))
    _active_guards.append(attempts)
    try:
        yield attempts
    finally:
        _active_guards.remove(attempts)
        for name, function in lookups.items():
            setattr(socket, name, function)
        for name, method in methods.items():
            if method is None:
                delattr(socket.socket, name)
            else:
                setattr(socket.socket, name, method)


def _guarded_method(name: str, attempts: ConnectionAttempts) -> Any:
    original = getattr(socket.socket, name)

    def call(self: socket.socket, *args: Any) -> Any:
        # The address is the last argument; only `sendmsg` can be called without one.
        has_address = name != "sendmsg" or len(args) >= _SENDMSG_ARGUMENTS_WITH_ADDRESS
        address = args[-1] if has_address else None
        if self.family in (socket.AF_INET, socket.AF_INET6) and isinstance(address, tuple):
            _check_address(attempts, address[0], address[1])
        return original(self, *args)

    return call


def _guarded_lookup(original: Any, attempts: ConnectionAttempts) -> Any:
    def call(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host is not None:
            _check_address(attempts, host, args[0] if args else kwargs.get("port"), is_lookup=True)
        return original(host, *args, **kwargs)

    return call


def _check_address(own: ConnectionAttempts, host: Any, port: Any, *, is_lookup: bool = False) -> None:
    """Note an attempt, and raise if it goes beyond this machine."""
    # A module may have kept a guarded function of a guard that has ended: then the guard that is active now decides.
    attempts = own if own in _active_guards else next(reversed(_active_guards), None)
    if attempts is None:
        return
    host_name = host.decode(errors="replace") if isinstance(host, bytes) else str(host)
    address = host_name if port is None else f"{host_name}:{port}"
    if not _is_loopback(host_name):
        attempts.blocked.append(address)
        raise BlockedConnectionError(f"no connection to {address}: this is an offline run")
    if not is_lookup:
        attempts.loopback.append(address)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host == "localhost"
