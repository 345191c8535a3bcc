"""The server of a review in a browser: what the page gets and may do, and that nobody else gets anything."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection, HTTPResponse

import pytest

from pytest_chatprompt.reports.browser_review import ReviewServer

JSON = {"Content-Type": "application/json"}
DEADLINE_SECONDS = 30


class Decisions:
    """Notes what is decided, as a run that has the change `3f2a` and no other."""

    def __init__(self) -> None:
        self.made: dict[str, str] = {}

    def decide(self, change_id: str, decision: str) -> Mapping[str, str]:
        if change_id != "3f2a":
            raise LookupError(change_id)
        self.made[change_id] = decision
        return self.made


@pytest.fixture
def decisions() -> Decisions:
    return Decisions()


@pytest.fixture
def server(decisions: Decisions) -> Iterator[ReviewServer]:
    with ReviewServer(lambda: f"<p>page {decisions.made}", decisions.decide) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join(DEADLINE_SECONDS)


def ask(server: ReviewServer, method: str, path: str, body: str = "", **headers: str) -> tuple[HTTPResponse, str]:
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=DEADLINE_SECONDS)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, named)
        response = connection.getresponse()
        return response, response.read().decode()
    finally:
        connection.close()


def decide(server: ReviewServer, body: object, **headers: str) -> tuple[int, str]:
    sent = body if isinstance(body, str) else json.dumps(body)
    response, text = ask(server, "POST", f"{server.path}decide", sent, **{"Origin": server.origin, **headers})
    return response.status, text


def test_the_page_is_served_at_its_address(server: ReviewServer) -> None:
    assert server.url == f"http://127.0.0.1:{server.server_port}{server.path}"
    response, text = ask(server, "GET", server.path)
    assert (response.status, text) == (200, "<p>page {}")
    assert response.getheader("Content-Type") == "text/html; charset=utf-8"
    assert response.getheader("Cache-Control") == "no-store"
    assert response.getheader("X-Frame-Options") == "DENY"


def test_each_review_has_another_address(server: ReviewServer, decisions: Decisions) -> None:
    with ReviewServer(str, decisions.decide) as other:
        assert other.path != server.path
    assert len(server.path) >= 32


def test_a_decision_is_taken_and_shown_by_every_later_page(server: ReviewServer, decisions: Decisions) -> None:
    assert decide(server, {"id": "3f2a", "decision": "accept"}) == (200, '{"3f2a": "accept"}')
    assert decisions.made == {"3f2a": "accept"}
    assert ask(server, "GET", server.path)[1] == "<p>page {'3f2a': 'accept'}"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        pytest.param("GET", "/", id="no token"),
        pytest.param("GET", "/wrong/", id="another token"),
        pytest.param("POST", "/wrong/decide", id="a decision with another token"),
        pytest.param("GET", "{path}../../etc/passwd", id="a file"),
        pytest.param("GET", "{path}page.js", id="a path below"),
        pytest.param("GET", "{path}?a=1", id="a query"),
        pytest.param("GET", "http://127.0.0.1{path}", id="as to a proxy"),
    ],
)
def test_nothing_else_is_served(server: ReviewServer, decisions: Decisions, method: str, path: str) -> None:
    body = '{"id": "3f2a", "decision": "accept"}'
    response, text = ask(server, method, path.format(path=server.path), body, Origin=server.origin)
    assert response.status == 404
    assert "page" not in text.replace("webpage", "")
    assert decisions.made == {}


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "HEAD"])
def test_other_methods_are_refused(server: ReviewServer, method: str) -> None:
    assert ask(server, method, server.path)[0].status == 501


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"Host": "evil.example"}, id="a name that leads here"),
        pytest.param({"Host": "localhost:{port}"}, id="localhost"),
        pytest.param({"Origin": "https://evil.example"}, id="another origin"),
        pytest.param({"Origin": "null"}, id="a sandboxed frame"),
        pytest.param({"Sec_Fetch_Site": "cross-site"}, id="another site"),
        pytest.param({"Sec_Fetch_Site": "same-site"}, id="another port"),
    ],
)
def test_nobody_else_gets_anything(server: ReviewServer, decisions: Decisions, headers: dict[str, str]) -> None:
    named = {name: value.format(port=server.server_port) for name, value in headers.items()}
    assert ask(server, "GET", server.path, **named)[0].status == 404
    assert decide(server, {"id": "3f2a", "decision": "accept"}, **named)[0] == 404
    assert decisions.made == {}


def test_a_decision_without_an_origin_is_refused(server: ReviewServer, decisions: Decisions) -> None:
    body = '{"id": "3f2a", "decision": "accept"}'
    assert ask(server, "POST", f"{server.path}decide", body)[0].status == 404
    assert decisions.made == {}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"id": "0000", "decision": "accept"}, id="no such change"),
        pytest.param({"id": "3f2a"}, id="no decision"),
        pytest.param([1], id="a list"),
        pytest.param("{", id="no JSON"),
        pytest.param("", id="nothing"),
        pytest.param({"id": "3f2a", "decision": "accept", "more": "x" * 2_000}, id="too long"),
    ],
)
def test_a_decision_that_makes_no_sense_is_refused(server: ReviewServer, decisions: Decisions, body: object) -> None:
    assert decide(server, body)[0] == 400
    assert decisions.made == {}


def test_a_connection_that_says_nothing_holds_up_nobody(server: ReviewServer) -> None:
    with socket.create_connection(("127.0.0.1", server.server_port)):
        assert ask(server, "GET", server.path)[0].status == 200


def test_a_browser_that_goes_away_is_no_error(server: ReviewServer, capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_connection(("127.0.0.1", server.server_port)) as connection:
        connection.sendall(f"POST {server.path}decide HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n".encode())
    assert ask(server, "GET", server.path)[0].status == 200
    assert capfd.readouterr() == ("", "")
