"""Child processes: the server of an `EvalAPI`, which is started when its URL is first asked for.

Each request that comes to the server goes to the function that answers offline, or within `forward` to the one that
sees the requests of a live run, and on to the real API. `eval_api` owns a `ChildProcessCapture`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx

from pytest_chatprompt.errors import CaptureError

if TYPE_CHECKING:
    from pytest_chatprompt.capture.server.capture_server import CaptureServer

Handle = Callable[[httpx.Request], httpx.Response | None]


class ChildProcessCapture:
    """The server of an `EvalAPI` for child processes, started on first use.

    Args:
        is_live: whether the server may forward requests, at once or later.
    """

    def __init__(self, handle: Handle, *, is_live: bool) -> None:
        self._handle = handle
        self._is_live = is_live
        self._lock = threading.Lock()
        self._server: CaptureServer | None = None
        self._errors: list[BaseException] = []

    @property
    def url(self) -> str:
        """The URL of the server: `http://127.0.0.1:PORT`."""
        return self._open().url

    @property
    def environ(self) -> Mapping[str, str]:
        """The variables that point SDKs to the server."""
        return self._open().environ

    @property
    def errors(self) -> Sequence[BaseException]:
        """The errors that kept the server from answering, in order; kept when the server is closed."""
        return tuple(self._errors)

    @property
    def is_open(self) -> bool:
        """Whether somebody has asked for the server, which is not closed yet."""
        return self._server is not None

    def is_own(self, url: httpx.URL) -> bool:
        """Whether a URL is one of the server, which then gets the request by itself."""
        return self._server is not None and str(url).startswith(f"{self._server.url}/")

    @contextmanager
    def forward(self, handle: Handle) -> Iterator[None]:
        """Let requests go on to the real APIs.

        Args:
            handle: sees each request; what it returns answers the request, and `None` forwards it.
        """
        before, offline = len(self._errors), self._handle
        if self._server is not None:
            # It may have been started offline, with placeholders for keys.
            self._server.learn_environment()
        self._handle = handle
        try:
            yield
        finally:
            self._handle = offline
            self.raise_error(before)

    def send(self, request: httpx.Request) -> httpx.Response:
        """Send a request that the server got on to the real API; the stream of the response is not read yet."""
        if self._server is None:
            raise CaptureError("the server that the child process sent to is closed")
        return self._server.forward(request)

    def raise_error(self, before: int = 0) -> None:
        """Raise the first error of the server."""
        for error in self.errors[before:]:
            raise CaptureError(f"a request of a child process failed: {error}") from error

    def close(self) -> None:
        """End the server, if there is one."""
        with self._lock:
            if self._server is not None:
                self._server.close()
                self._server = None

    def _open(self) -> CaptureServer:
        # It imports h11, which most runs do not need.
        from pytest_chatprompt.capture.server.capture_server import CaptureServer  # noqa: PLC0415

        with self._lock:
            if self._server is None:
                self._server = CaptureServer(self._answer, is_live=self._is_live)
                self._errors = self._server.errors
            return self._server

    def _answer(self, request: httpx.Request) -> httpx.Response | None:
        return self._handle(request)
