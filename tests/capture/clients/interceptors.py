"""An interceptor for tests: it keeps what it gets, and answers as it is told."""

from __future__ import annotations

import gc
import os
import socket
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from traceback import walk_stack
from typing import Any

import httpx

from pytest_chatprompt.capture.clients.seams import SEAMS

# Threads that a library keeps for its own use.
_POOL_THREADS = ("litellm-logging", "Trio thread")
Answer = Callable[[httpx.Request], httpx.Response | None]


@dataclass
class RecordingInterceptor:
    """Keeps the requests, and answers them.

    Args:
        answer: the response to a request, or `None` to let it pass.
        sent: the requests.
        libraries: the HTTP library that each of them came through.
    """

    answer: Answer
    sent: list[httpx.Request] = field(default_factory=list)
    libraries: list[str] = field(default_factory=list)

    async def handle(self, request: httpx.Request, *, is_async: bool) -> httpx.Response | None:  # noqa: ARG002
        self.sent.append(request)
        self.libraries.append(sending_library())
        return self.answer(request)

    @property
    def targets(self) -> list[str]:
        """Method and URL of each request."""
        return [f"{request.method} {request.url}" for request in self.sent]


def sending_library() -> str:
    """The HTTP library that sends a request now, by the modules on the stack; urllib3 is above `http.client`."""
    modules = {frame.f_globals["__name__"].partition(".")[0] for frame, _ in walk_stack(sys._getframe())}
    return next((name for name in ("aiohttp", "httpx2", "httpx", "urllib3") if name in modules), "http.client")


def patched_methods() -> list[str]:
    """The methods that are replaced now, in all libraries that are imported."""
    modules = [(name, sys.modules[name]) for name in SEAMS if name in sys.modules]
    return [
        f"{name}.{patch.owner.__name__}.{patch.name}"
        for name, module in modules
        for patch in SEAMS[name](module)
        if hasattr(vars(patch.owner).get(patch.name), "__wrapped__")
    ]


def sockets() -> set[int]:
    """The inodes of this process's sockets to other hosts; psutil would read the connections of the whole machine."""
    found = set()
    for descriptor in Path("/dev/fd").iterdir():
        # The one that lists them is closed by now.
        with suppress(OSError):
            status = os.fstat(int(descriptor.name))
            if stat.S_ISSOCK(status.st_mode):
                with socket.socket(fileno=os.dup(int(descriptor.name))) as each:
                    # An event loop that a library keeps has sockets to itself.
                    if each.family != socket.AF_UNIX:
                        found.add(status.st_ino)
    return found


@contextmanager
def nothing_is_left() -> Iterator[None]:
    """Check that afterwards no patch, no thread and no socket is left; what is about to end has five seconds for it."""
    before = _resources()
    yield
    assert patched_methods() == []
    deadline = time.monotonic() + 5
    while (left := _resources() - before) and time.monotonic() < deadline:
        # What is in a circle of references is closed only now, and a server's thread ends after its connection.
        gc.collect()
        time.sleep(0.01)
    assert not left


def _resources() -> set[Any]:
    """The threads, the inodes of sockets, and our own finders of modules."""
    ours = {finder for finder in sys.meta_path if type(finder).__module__.startswith("pytest_chatprompt")}
    threads = {thread for thread in threading.enumerate() if not thread.name.startswith(_POOL_THREADS)}
    return ours | threads | sockets()
