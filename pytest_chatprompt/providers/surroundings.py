"""What a provider has around it: the variables that it reads, what takes its requests, and whether it may wait.

By default it is the process's own environment and the network. `recording` puts stand-ins there while a case is sent
offline; `chat`, `azure`, `channel` and `patience` look here and nowhere else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final

import httpx

Handler = Callable[[httpx.Request], httpx.Response]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a provider has around it.

    Args:
        environment: where keys and endpoints are looked up.
        handler: takes a request and gives the reply; `None` for the network.
        is_patient: whether anything is waited for or tried again: offline it is not, where an error is one that a test
            has asked for.
    """

    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    handler: Handler | None = None
    is_patient: bool = True


_REAL: Final = Surroundings()
_around: Final[ContextVar[Surroundings]] = ContextVar("_around", default=_REAL)


def surroundings() -> Surroundings:
    """Those of the calling thread."""
    return _around.get()


@contextmanager
def surrounded(by: Surroundings) -> Iterator[None]:
    """Let providers that the calling thread calls have other surroundings for as long as this lasts."""
    token = _around.set(by)
    try:
        yield
    finally:
        _around.reset(token)
