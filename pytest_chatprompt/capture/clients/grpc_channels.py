"""grpc: its channels send through C, so each raises the audit event of a connection for the network guard to judge."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from functools import partial
from itertools import product
from types import ModuleType
from typing import Any, Final

from pytest_chatprompt.capture.clients.interceptor import Patch, Patching

# https://github.com/grpc/grpc/blob/master/doc/naming.md
_LOCAL: Final = ("unix:", "unix-abstract:", "vsock:")
_SCHEME: Final = re.compile(r"(?:dns|ipv4|ipv6|xds|passthrough|google-c2p(?:-experimental)?|https?):(?://[^/]*/)?/*")
_PORT: Final = re.compile(r":(\d+)$")
_CALLABLES: Final = tuple(
    f"{name}MultiCallable" for name in ("UnaryUnary", "UnaryStream", "StreamUnary", "StreamStream")
)
_SYNC_CALLABLES: Final = (*(f"_{name}" for name in _CALLABLES), "_SingleThreadedUnaryStreamMultiCallable")


def _audit(target: str) -> None:
    """Raise the audit event of a connection to each address of a target, such as `dns:///api.example:443`."""
    if target.startswith(_LOCAL):
        return
    for address in _SCHEME.sub("", target, count=1).split(","):
        port = _PORT.search(address) if address.count(":") == 1 or "]" in address else None
        host = address if port is None else address[: port.start()]
        sys.audit("socket.connect", None, (host.strip("[]"), 443 if port is None else int(port[1])))


def _made(original: Callable[..., Any]) -> Callable[..., Any]:
    def make(self: Any, target: str, *arguments: Any, **options: Any) -> None:
        _audit(target)
        original(self, target, *arguments, **options)

    return make


def _called(original: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        # The attribute of a sync callable, since grpc 1.57; an async one has it at its channel.
        target: Any = getattr(self, "_target", None) or getattr(self._channel, "target", b"(unknown)")
        _audit(target.decode())
        return original(self, *arguments, **options)

    return call


def _patches(callables: Iterable[str], calls: Iterable[str], module: ModuleType) -> tuple[Patch, ...]:
    # These classes are not public: another version of grpc may lack one, and still has to be imported.
    owners = [owner for name in callables if (owner := getattr(module, name, None)) is not None]
    patches = [Patch(owner, name, _called) for owner, name in product(owners, calls)]
    return (Patch(module.Channel, "__init__", _made), *patches)


CHANNELS: Final = Patching(
    {
        "grpc._channel": partial(_patches, _SYNC_CALLABLES, ("__call__", "with_call", "future")),
        "grpc.aio._channel": partial(_patches, _CALLABLES, ("__call__",)),
    }
)
