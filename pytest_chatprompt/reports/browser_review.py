"""The review in a browser: the page of a run, served on this machine alone, and the decisions that are made there.

A page of another site can send requests to any port of this machine. So the address holds a token that nobody can
guess, and the server answers nothing without it, under another host name, or to another origin.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

# Decides one change, `accept` or `skip`, and gives what became of all changes that are decided, by their ids.
Decide = Callable[[str, str], Mapping[str, str]]

_LONGEST_DECISION: Final = 1_000
# A browser opens connections ahead, and sends nothing on some of them.
_IDLE_SECONDS: Final = 30
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class ReviewServer(ThreadingHTTPServer):
    """Serves the page of a review until `shutdown`; one request at a time is answered.

    Args:
        render: gives the page, with what is decided so far.
        decide: is called with the id of a change and what was decided. A `LookupError` says that there is no such change.
    """

    daemon_threads = True

    def __init__(self, render: Callable[[], str], decide: Decide) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.render = render
        self.decide = decide
        self.origin = f"http://127.0.0.1:{self.server_port}"
        self.path = f"/{secrets.token_urlsafe(24)}/"
        self.answering = threading.Lock()

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"{self.origin}{self.path}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a browser that went away."""


class _Handler(BaseHTTPRequestHandler):
    server: ReviewServer
    timeout = _IDLE_SECONDS

    def do_GET(self) -> None:  # noqa: N802 - the name that the library calls
        """Answer with the page."""
        if self._is_ours(self.server.path):
            with self.server.answering:
                self._answer("text/html; charset=utf-8", self.server.render())

    def do_POST(self) -> None:  # noqa: N802 - the name that the library calls
        """Take a decision, `{"id": ..., "decision": "accept" or "skip"}`, and answer with all that were made."""
        if not self._is_ours(f"{self.server.path}decide", origins=(self.server.origin,)):
            return
        try:
            length = int(self.headers.get("Content-Length", ""))
            asked = json.loads(self.rfile.read(length)) if 0 <= length <= _LONGEST_DECISION else None
            change_id, decision = str(asked["id"]), str(asked["decision"])
            with self.server.answering:
                decided = self.server.decide(change_id, decision)
        except (LookupError, TypeError, ValueError):
            self.send_error(HTTPStatus.BAD_REQUEST)
            return
        self._answer("application/json", json.dumps(decided))

    def _is_ours(self, path: str, origins: tuple[str | None, ...] = (None,)) -> bool:
        """Whether the page itself asks; else nothing is said but that there is nothing."""
        is_here = self.headers.get_all("Host") == [self.server.origin.removeprefix("http://")]
        same_site = self.headers.get("Sec-Fetch-Site", "same-origin") in ("same-origin", "none")
        is_known = secrets.compare_digest(self.path.encode(), path.encode())
        if is_here and same_site and is_known and self.headers.get("Origin") in origins:
            return True
        self.send_error(HTTPStatus.NOT_FOUND)
        return False

    def _answer(self, media_type: str, text: str) -> None:
        content = text.encode()
        self.send_response(HTTPStatus.OK)
        for name, value in {"Content-Type": media_type, "Content-Length": str(len(content)), **_HEADERS}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that the library has
        """Write nothing to the terminal: it shows the review."""
