"""The review in a browser: the page of a run, served on this machine alone, and the decisions that are made there.

A page of another site can send requests to any port of this machine, and so can other users of it. So the address holds
a token that nobody can guess, and nothing is answered without it, under another host name, or to another origin.
"""

from __future__ import annotations

import json
import secrets
import sys
import threading
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any, Final

import pytest

from pytest_chatprompt.reports.acceptance import Acceptance
from pytest_chatprompt.reports.page import Decision, render_page
from pytest_chatprompt.reports.terminal import write_lines
from pytest_chatprompt.snapshots.changes import NEW
from pytest_chatprompt.wording import count, first_lines

_ADDRESS: Final = "127.0.0.1"
# A browser opens connections ahead, and sends nothing on some of them.
_IDLE_SECONDS: Final = 30
# So much later than the last decision the run ends, at most.
_POLL_SECONDS: Final = 0.05
_SHOWN_PROBLEMS: Final = 20
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def review_in_browser(acceptance: Acceptance, config: pytest.Config) -> None:
    """Serve the page of the run until each change is decided there, or until Ctrl-C."""
    if not acceptance.changes:
        return
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    try:
        server = ReviewServer(acceptance)
    except OSError as error:
        acceptance.problems.append(f"cannot serve the page of the review: {error}")
        return
    with server:
        # Below pytest's progress.
        write_lines(reporter, ("", f"Review at {server.url} (Ctrl-C ends it)"))
        reporter.flush()
        with suppress(KeyboardInterrupt):
            server.serve_forever(_POLL_SECONDS)
        # What is being written comes first, and no decision is taken any more.
        server.turn.acquire()


class ReviewServer(ThreadingTCPServer):
    """Serves the page of a run on a free port, and takes decisions, one request at a time.

    Attributes:
        acceptance: what can be accepted.
        url: the address of the page.
        path: the part of it that nobody can guess.
        decisions: those that are made, by the id of the change.
        turn: is held while a page is made, and while a decision is written.
    """

    # One on which a browser says nothing holds up no end.
    daemon_threads = True

    def __init__(self, acceptance: Acceptance) -> None:
        super().__init__((_ADDRESS, 0), _Handler)
        self.host = f"{_ADDRESS}:{self.server_address[1]}"
        self.path = f"/{secrets.token_urlsafe()}/"
        self.url = f"http://{self.host}{self.path}"
        self.decisions: dict[str, Decision] = {}
        self.turn = threading.Lock()
        self.acceptance = acceptance

    def page(self) -> str:
        """The page, with what is decided."""
        with self.turn:
            return render_page(self.acceptance.run, review=self.acceptance.review, decisions=self.decisions)

    def decide(self, change_id: str, word: str) -> tuple[int, str]:
        """Do what is decided, unless something was decided before: how many changes are left, and all decisions."""
        with self.turn:
            if change_id not in self.decisions:
                skipped = Decision("skipped", "skipped", [])
                self.decisions[change_id] = self._accept(change_id) if word == "accept" else skipped
            left = len(self.acceptance.changes) - len(self.decisions)
            return left, json.dumps(self.decisions)

    def _accept(self, change_id: str) -> Decision:
        problems = self.acceptance.accept(change_id)
        number = len(self.acceptance.changes[change_id]) - len(problems)
        accepted = f"accepted {'' if change_id == NEW else 'in '}{count(number, 'snapshot')}" if number else ""
        told = ", ".join(filter(None, (accepted, f"{len(problems)} not written" if problems else "")))
        return Decision("failed" if problems else "passed", told, first_lines(problems, _SHOWN_PROBLEMS))

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a browser that went away."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: ReviewServer
    timeout = _IDLE_SECONDS
    # Who is refused is told nothing else.
    server_version, sys_version, error_message_format = "pytest", "", ""

    def do_GET(self) -> None:
        """Answer with the page."""
        if self._path_below(origin=None) == "":
            self._answer("text/html; charset=utf-8", self.server.page())
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        """Take a decision, such as `accept/3f2a`, and answer with all that were made."""
        word, _, change_id = (self._path_below(origin=f"http://{self.server.host}") or "").partition("/")
        if word not in ("accept", "skip") or change_id not in self.server.acceptance.changes:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        left, decisions = self.server.decide(change_id, word)
        try:
            self._answer("application/json", decisions)
        finally:
            if not left:
                self.server.shutdown()

    def _path_below(self, origin: str | None) -> str | None:
        """What is asked for below the address of the page; `None` if not the page itself asks."""
        own = self.server.path
        is_known = secrets.compare_digest(self.path[: len(own)].encode(), own.encode())
        # A request of HTTP/0.9 has a plain dict of headers on Python 3.14.
        hosts = [value for name, value in self.headers.items() if name.lower() == "host"]
        is_here = hosts == [self.server.host] and self.headers.get("Origin") == origin
        is_page = self.headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin")
        return self.path[len(own) :] if is_known and is_here and is_page else None

    def _answer(self, media_type: str, text: str) -> None:
        content = text.encode()
        self.send_response(HTTPStatus.OK)
        for name, value in {"Content-Type": media_type, "Content-Length": str(len(content)), **_HEADERS}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that the library has
        """Write nothing to the terminal."""
