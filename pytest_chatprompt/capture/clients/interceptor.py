"""What all seams need: who gets the requests at the moment, and methods of a library that are replaced for a while."""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from inspect import isawaitable
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

if TYPE_CHECKING:
    import httpx

    Send = Callable[[httpx.Request], httpx.Response | Awaitable[httpx.Response]]

T = TypeVar("T")

# Packages of mocks that replace the same methods as we do. The user's mocks win.
_MOCKS: Final = ("respx", "vcr", "unittest")


@dataclass(frozen=True, slots=True)
class Patch:
    """A method, defined in that very class, and what makes the replacement of the original."""

    owner: type
    name: str
    wrap: Callable[[Callable[..., Any]], Callable[..., Any]]


# Gets the library's module, which has just been imported.
Seam = Callable[[ModuleType], Iterable[Patch]]


def is_mock(value: Any) -> bool:
    """Whether a class or a function is a mock of the user's."""
    return getattr(value, "__module__", None) is not None and value.__module__.partition(".")[0] in _MOCKS


@dataclass(frozen=True, slots=True)
class _Installed:
    owner: type
    name: str
    original: Any
    replacement: Any

    def remove(self) -> bool:
        """Put the original back; `False` if other code has replaced the method since."""
        if vars(self.owner).get(self.name) is not self.replacement:
            return False
        setattr(self.owner, self.name, self.original)
        return True


class Patching:
    """The patches of this process: installed at the first `start`, removed at the last `stop`."""

    def __init__(self, seams: Mapping[str, Seam]) -> None:
        self._seams = seams
        self._lock = threading.RLock()
        self._users = 0
        self._installed: list[_Installed] = []
        self._finder = _ImportWatcher(seams, self._patch_imported)

    def start(self) -> None:
        """Install the patches, unless they are installed already."""
        with self._lock:
            self._users += 1
            if self._users > 1:
                return
            self._remove()
            sys.meta_path.insert(0, self._finder)
            for name in self._seams:
                module = sys.modules.get(name)
                if module is not None:
                    self._patch(name, module)

    def stop(self) -> None:
        """Remove the patches, unless another context still needs them."""
        with self._lock:
            self._users -= 1
            if not self._users:
                sys.meta_path.remove(self._finder)
                self._remove()

    def _patch_imported(self, module: ModuleType) -> None:
        with self._lock:
            if self._users:
                self._patch(module.__name__, module)

    def _patch(self, name: str, module: ModuleType) -> None:
        for patch in self._seams[name](module):
            original = vars(patch.owner).get(patch.name)
            # Ours may still be there, put back by a mock that ended after us.
            is_ours = any(each.replacement is original for each in self._installed)
            if callable(original) and not (is_ours or is_mock(original) or is_mock(patch.owner)):
                replacement = functools.wraps(original)(patch.wrap(original))
                self._installed.append(_Installed(patch.owner, patch.name, original, replacement))
                setattr(patch.owner, patch.name, replacement)

    def _remove(self) -> None:
        # What cannot be removed now does nothing, and is tried again with the next start and stop.
        self._installed = [each for each in self._installed if not each.remove()]


class _ImportWatcher(importlib.abc.MetaPathFinder):
    """Calls back as soon as a module of the table has been imported; finds nothing itself."""

    def __init__(self, names: Iterable[str], imported: Callable[[ModuleType], None]) -> None:
        self._names = frozenset(names)
        self._imported = imported
        self._searching = threading.local()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        del path, target
        if fullname not in self._names or getattr(self._searching, "name", None) == fullname:
            return None
        self._searching.name = fullname
        try:
            # Asks all finders, and so this one again, which finds nothing then.
            spec = importlib.util.find_spec(fullname)
        finally:
            self._searching.name = None
        if spec is not None and spec.loader is not None:
            self._watch(spec.loader)
        return spec

    def _watch(self, loader: Any) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            execute(module)
            self._imported(module)

        loader.exec_module = exec_module


class Interceptor(Protocol):
    """Decides what becomes of a request: it returns a response, or `None` to let the request go on to the network."""

    def handle(self, request: httpx.Request) -> httpx.Response | None:
        """Handle a request of a sync client, its body read; `extensions["client"]` names the library."""
        ...

    async def handle_async(self, request: httpx.Request) -> httpx.Response | None:
        """Handle a request of an async client, in its event loop."""
        ...


# The innermost last. A list of the process, since the clients of all threads and event loops belong to it.
_interceptors: Final[list[Interceptor]] = []
_lets_pass: Final[ContextVar[bool]] = ContextVar("_lets_pass", default=False)


def current_interceptor() -> Interceptor | None:
    """The interceptor of the calling thread or task; `None` if its requests go to the network."""
    # Another thread may end the last one meanwhile.
    return None if _lets_pass.get() else next(iter(_interceptors[-1:]), None)


@contextmanager
def interceptor_entered(interceptor: Interceptor) -> Iterator[None]:
    """Let all requests go to an interceptor, until a later one is entered; they may end in any order."""
    _interceptors.append(interceptor)
    try:
        yield
    finally:
        # By identity: interceptors may define equality.
        index = next(index for index in reversed(range(len(_interceptors))) if _interceptors[index] is interceptor)
        del _interceptors[index]


@contextmanager
def let_pass() -> Iterator[None]:
    """Send the requests of the calling thread or task to the network, without an interceptor."""
    token = _lets_pass.set(True)
    try:
        yield
    finally:
        _lets_pass.reset(token)


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
