"""Audit events: how Python reports that code reaches for the network, or starts another program.

https://docs.python.org/3/library/audit_events.html
"""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

# How ordinary code reaches for the network and starts programs.
WATCHED_EVENTS: Final = frozenset(
    (
        *("socket.connect", "socket.sendto", "socket.sendmsg"),
        *("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"),
        *("subprocess.Popen", "os.system"),
    )
)


class Attempt(NamedTuple):
    """An attempt to reach for the network, `host:port`, or to start a program, with its environment if that is told."""

    kind: Literal["connection", "lookup", "program"]
    target: str
    is_loopback: bool = False
    environment: Mapping[str, str] | None = None
    host: str = ""


def read_audit_event(event: str, arguments: tuple[Any, ...]) -> Attempt | None:
    """Read an audit event; `None` if it has no network address, such as a connection to a Unix socket."""
    match event, arguments:
        case "socket.connect" | "socket.sendto" | "socket.sendmsg", (client, (host, port, *_)):
            is_udp = isinstance(client, socket.socket) and client.type == socket.SOCK_DGRAM
            if event == "socket.connect" and is_udp and find_address(_text(host)) is not None:
                # It sends nothing: programs learn the own address in this way.
                return None
            return _attempt("connection", host, port)
        case "socket.getaddrinfo" | "socket.gethostbyname" | "socket.gethostbyaddr", (str() | bytes() as host, *rest):
            return _attempt("lookup", host, rest[0] if rest else None)
        case "socket.getnameinfo", ((host, port, *_),):
            return _attempt("lookup", host, port)
        case "subprocess.Popen", (program, argv, _, environment):
            first = argv[0] if isinstance(argv, list | tuple) and argv else argv
            # With `None` the program inherits the variables of this process.
            given = os.environ if environment is None else environment
            variables = {_text(name): _text(value) for name, value in given.items()}
            return Attempt("program", _text(program or first), environment=variables)
        case "os.system", (command,):
            return Attempt("program", _text(command))
    return None


def _attempt(kind: Literal["connection", "lookup"], host: Any, port: Any) -> Attempt:
    name = _text(host)
    # A server that listens on all interfaces looks up the name of its own machine (`socket.getfqdn`).
    is_own = is_loopback(name) or (kind == "lookup" and name == socket.gethostname())
    return Attempt(kind, name if port is None else f"{name}:{_text(port)}", is_own, host=name)


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return os.fsdecode(value) if isinstance(value, os.PathLike) else str(value)


def is_loopback(host: str) -> bool:
    """Whether a host, a name or an address in any spelling, is this machine itself."""
    address = find_address(host)
    if address is None:
        # Resolvers ask a server for `x.localhost`, and some for `localhost.` (https://www.rfc-editor.org/rfc/rfc6761#section-6.3).
        return host.lower() == "localhost"
    # Servers show the unspecified address, 0.0.0.0, as theirs, and clients that use it reach this machine.
    return address.is_loopback or address.is_unspecified


def find_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a host is; `None` for a name."""
    try:
        address = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
