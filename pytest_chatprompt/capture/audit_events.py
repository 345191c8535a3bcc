"""Audit events: how Python reports that code reaches for the network, or starts another program.

https://docs.python.org/3/library/audit_events.html
"""

from __future__ import annotations

import ipaddress
import os
import re
import socket
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple

# The forms of an IPv4 address that inet_aton(3) reads: one to four numbers, also octal or hexadecimal ones.
_IPV4: Final = re.compile(r"(0[xX][0-9a-fA-F]+|[0-9]+)(\.(0[xX][0-9a-fA-F]+|[0-9]+)){0,3}")


class Attempt(NamedTuple):
    """An attempt to reach for the network, or to start a program.

    Args:
        target: the address, `host:port`, or the program.
        environment: the environment variables that a program would get, where the event tells them.
        host: the name or address of a connection or a lookup.
    """

    kind: Literal["connection", "lookup", "program"]
    target: str
    is_loopback: bool = False
    environment: Mapping[str, str] | None = None
    host: str = ""


def read_audit_event(event: str, arguments: tuple[Any, ...]) -> Attempt | None:
    """Read an audit event; `None` if it has no network address, such as a connection to a Unix socket."""
    return WATCHED_EVENTS[event](*arguments)


def _connect(connected: Any, address: Any) -> Attempt | None:
    attempt = _connection(connected, address)
    is_udp = isinstance(connected, socket.socket) and connected.type == socket.SOCK_DGRAM
    # To connect a UDP socket sends nothing: programs learn the own address in this way. A name would be looked up.
    return None if attempt is not None and is_udp and is_address(attempt.host) else attempt


def _connection(_: Any, address: Any) -> Attempt | None:
    if not isinstance(address, tuple):
        # Unix sockets have a path for an address, and `sendmsg` may have none.
        return None
    return _attempt("connection", address[0], address[1])


def _lookup(host: Any, port: Any = None, *_: Any) -> Attempt | None:
    return None if host is None else _attempt("lookup", host, port)


def _name_lookup(address: Any) -> Attempt | None:
    return _attempt("lookup", address[0], address[1])


def _program(program: Any, *_: Any) -> Attempt:
    return Attempt("program", _text(program))


def _popen(program: Any, argv: Any, _: Any = None, environment: Any = None) -> Attempt:
    first = argv[0] if isinstance(argv, list | tuple) and argv else argv
    return Attempt("program", _text(program or first), environment=_variables(environment))


def _posix_spawn(program: Any, _: Any, environment: Any) -> Attempt:
    return Attempt("program", _text(program), environment=_variables(environment))


def _attempt(kind: Literal["connection", "lookup"], host: Any, port: Any) -> Attempt:
    name = _text(host)
    # A server that listens on all interfaces looks up the name of its own machine (`socket.getfqdn`).
    is_own = is_loopback(name) or (kind == "lookup" and name == socket.gethostname())
    return Attempt(kind, name if port is None else f"{name}:{_text(port)}", is_own, host=name)


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return os.fsdecode(value) if isinstance(value, os.PathLike) else str(value)


def _variables(environment: Any) -> dict[str, str]:
    # `None` has the program inherit the variables of this process; for `posix_spawn` since Python 3.13.
    given = os.environ if environment is None else environment
    return {_text(name): _text(value) for name, value in given.items()}


def is_address(host: str) -> bool:
    """Whether a host is an IP address, and not a name."""
    return _find_address(host) is not None


def is_loopback(host: str) -> bool:
    """Whether a host, a name or an address in any spelling, is this machine itself."""
    address = _find_address(host)
    if address is None:
        # Resolvers ask a server for `x.localhost`, and some for `localhost.` (https://www.rfc-editor.org/rfc/rfc6761#section-6.3).
        return host.lower() == "localhost"
    # Servers show the unspecified address, 0.0.0.0, as theirs, and clients that use it reach this machine.
    return address.is_loopback or address.is_unspecified


def _find_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a host is; `None` for a name."""
    if ":" in host:
        try:
            address = ipaddress.IPv6Address(host.strip("[]").partition("%")[0])
        except ValueError:
            return None
        return address.ipv4_mapped or address
    if not _IPV4.fullmatch(host):
        return None
    try:
        # Resolvers read addresses in this way, `127.1` too; `ipaddress` does not.
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except OSError:
        return None


FORK: Final = "os.fork"

# A fork is no attempt: the child is this very program, guard included. That of `forkpty` is there to become another
# program.
WATCHED_EVENTS: Final[Mapping[str, Callable[..., Attempt | None]]] = {
    "socket.connect": _connect,
    "socket.sendto": _connection,
    "socket.sendmsg": _connection,
    "socket.getaddrinfo": _lookup,
    "socket.gethostbyname": _lookup,
    "socket.gethostbyaddr": _lookup,
    "socket.getnameinfo": _name_lookup,
    "subprocess.Popen": _popen,
    "os.system": _program,
    "os.posix_spawn": _posix_spawn,
    "os.exec": _program,
    FORK: lambda: None,
    "os.forkpty": lambda: _program("in a terminal of its own (os.forkpty)"),
    "os.spawn": lambda _, program, *__: _program(program),
    "os.startfile": _program,
}
