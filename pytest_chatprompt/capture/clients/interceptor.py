"""What all seams need: who gets the requests at the moment, and methods of a library that are replaced for a while."""

from __future__ import annotations

import functools
import importlib.abc
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from importlib.machinery import ModuleSpec
from inspect import isawaitable
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar

from pytest_chatprompt.providers.context import holding

if TYPE_CHECKING:
    import httpx

    Send = Callable[[httpx.Request], httpx.Response | Awaitable[httpx.Response]]

T = TypeVar("T")

# Packages of mocks that replace the same methods as we do. The user's mocks win.
_MOCKS: Final = ("respx", "vcr", "unittest")


class Patch(NamedTuple):
    """A method, defined in that very class, and what makes the replacement of the original."""

    owner: type
    name: str
    wrap: Callable[[Callable[..., Any]], Callable[..., Any]]


# Gets the library's module, which has just been imported.
Seam = Callable[[ModuleType], Iterable[Patch]]


def _is_mock(value: Any) -> bool:
    return (getattr(value, "__module__", None) or "").partition(".")[0] in _MOCKS


class Patching(importlib.abc.MetaPathFinder):
    """The patches of this process: installed at the first `start`, removed at the last `stop`.

    It is a finder too, which finds nothing itself: it patches a module as soon as it has been imported.
    """

    def __init__(self, seams: Mapping[str, Seam]) -> None:
        self._seams = seams
        self._lock = threading.RLock()
        self._users = 0
        # Each with the original and the replacement.
        self._installed: list[tuple[Patch, Any, Any]] = []

    def start(self) -> None:
        """Install the patches, unless they are installed already."""
        with self._lock:
            self._users += 1
            if self._users > 1:
                return
            self._remove()
            # Not the first: to remove its own finder, pyfakefs removes whichever is the first.
            sys.meta_path.insert(1, self)
            for name in self._seams:
                self._patch(name, sys.modules.get(name))

    def stop(self) -> None:
        """Remove the patches, unless another context still needs them."""
        with self._lock:
            self._users -= 1
            if not self._users:
                sys.meta_path.remove(self)
                self._remove()

    def _patch(self, name: str, module: ModuleType | None) -> None:
        for patch in () if module is None else self._seams[name](module):
            original = vars(patch.owner).get(patch.name)
            # Ours may still be there, put back by a mock that ended after us.
            is_ours = any(replacement is original for _, _, replacement in self._installed)
            if callable(original) and not (is_ours or _is_mock(original) or _is_mock(patch.owner)):
                replacement = functools.wraps(original)(patch.wrap(original))
                self._installed.append((patch, original, replacement))
                setattr(patch.owner, patch.name, replacement)

    def _remove(self) -> None:
        """Put the originals back; what other code has replaced since does nothing, and is tried again the next time."""
        installed, self._installed = self._installed, []
        for patch, original, replacement in installed:
            if vars(patch.owner).get(patch.name) is replacement:
                setattr(patch.owner, patch.name, original)
            else:
                self._installed.append((patch, original, replacement))

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        """Let the other finders find a module of the table."""
        if fullname not in self._seams:
            return None
        found = (each.find_spec(fullname, path, target) for each in sys.meta_path if each is not self)
        spec = next((each for each in found if each is not None), None)
        if spec is not None and spec.loader is not None:
            self._watch(spec.loader)
        return spec

    def _watch(self, loader: Any) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            execute(module)
            with self._lock:
                if self._users:
                    self._patch(module.__name__, module)

        loader.exec_module = exec_module


class Interceptor(Protocol):
    """Decides what becomes of a request: it returns a response, or `None` to let the request go on to the network."""

    async def handle(self, request: httpx.Request, *, is_async: bool) -> httpx.Response | None:
        """Handle a request, its body read; only for an async client it may wait, in the event loop of the client."""


# The innermost last. A list of the process, since the clients of all threads and event loops belong to it.
interceptors: Final[list[Interceptor]] = []
_lets_pass: Final[ContextVar[bool]] = ContextVar("_lets_pass", default=False)


def current_interceptor() -> Interceptor | None:
    """The interceptor of the calling thread or task; `None` if its requests go to the network."""
    # Another thread may end the last one meanwhile.
    return None if _lets_pass.get() else next(iter(interceptors[-1:]), None)


def let_pass() -> AbstractContextManager[None]:
    """Send the requests of the calling thread or task to the network, without an interceptor."""
    return holding(_lets_pass, True)


def run_now(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never has to wait: what an async client shares with a sync one."""
    results: list[T] = []

    async def run() -> None:
        results.append(await coroutine)

    list(run().__await__())
    return results[0]


async def awaited(value: T | Awaitable[T]) -> T:
    """What a function has returned, be it async or not."""
    return await value if isawaitable(value) else value
