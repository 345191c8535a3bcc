"""The server of a review in a browser: what the page gets and may do, and that nobody else gets anything."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import pytest

from pytest_chatprompt.reports.acceptance import Acceptance
from pytest_chatprompt.reports.browser_review import ReviewServer
from pytest_chatprompt.snapshots.layout import dump
from tests.reports.test_acceptance import sends

DEADLINE_SECONDS = 30
SENT = {"n": 1}


class Review:
    """A review of the cases `a` and `b`, whose snapshots differ, and `n`, which has none; it is served in a thread."""

    def __init__(self, root: Path) -> None:
        self.results = [sends("a", {"a": 0}, {"a": 1}), sends("b", {"b": 0}, {"b": 1}), sends("n", None, SENT)]
        self.folder = root / "__snapshots__"
        self.folder.mkdir()
        for name in "ab":
            (self.folder / f"{name}.yaml").write_text(dump({name: 0}))
        self.acceptance = Acceptance(self.results, root)
        self.server = ReviewServer(self.acceptance)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    @property
    def ids(self) -> list[str]:
        return list(self.acceptance.changes)

    def ask(self, method: str, path: str, **headers: str) -> tuple[HTTPResponse, str]:
        connection = HTTPConnection("127.0.0.1", self.server.server_address[1], timeout=DEADLINE_SECONDS)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, headers=named)
            response = connection.getresponse()
            return response, response.read().decode()
        finally:
            connection.close()

    def get(self, **headers: str) -> str:
        response, text = self.ask("GET", self.server.path, **headers)
        assert response.status == 200
        return text

    def decide(self, word: str, change_id: str, **headers: str) -> dict[str, Any]:
        own = {"Origin": f"http://{self.server.host}", "Sec_Fetch_Site": "same-origin", **headers}
        response, text = self.ask("POST", f"{self.server.path}{word}/{change_id}", **own)
        assert response.status == 200
        decisions: dict[str, Any] = json.loads(text)
        return decisions

    def send(self, text: str) -> tuple[str, str]:
        """Send what no browser would, and get the head and the body of the answer, as far as there is one."""
        parts: list[bytes] = []
        address = ("127.0.0.1", self.server.server_address[1])
        with socket.create_connection(address, DEADLINE_SECONDS) as connection, suppress(ConnectionError):
            connection.sendall(text.format(path=self.server.path, host=self.server.host).encode("latin-1"))
            parts += iter(lambda: connection.recv(65_536), b"")
        head, _, body = b"".join(parts).decode().partition("\r\n\r\n")
        return head, body

    def refuses(self, method: str, path: str, **headers: str) -> bool:
        response, text = self.ask(method, path, **headers)
        return response.status == 404 and text == ""


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    review = Review(tmp_path)
    yield review
    review.server.shutdown()
    review.thread.join(DEADLINE_SECONDS)
    review.server.server_close()


def written(review: Review) -> list[str]:
    """The snapshots that were written."""
    return [name for name in "abn" if (path := review.folder / f"{name}.yaml").exists() and "1" in path.read_text()]


def test_the_page_is_served_at_its_address_and_kept_by_nobody(review: Review) -> None:
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{43}/", review.server.url)
    response, text = review.ask("GET", review.server.path)
    assert response.status == 200
    assert "1 distinct change" not in text
    assert "2 distinct changes in 2 snapshots, 1 new snapshot" in text
    headers = {name: response.getheader(name) for name in ("Content-Type", "Cache-Control", "Content-Security-Policy")}
    assert headers == {
        "Content-Type": "text/html; charset=utf-8",
        "Cache-Control": "no-store",
        "Content-Security-Policy": "frame-ancestors 'none'",
    }


def test_each_review_has_another_address(review: Review) -> None:
    with ReviewServer(review.acceptance) as other:
        assert other.path != review.server.path


def test_what_is_accepted_is_written_at_once_and_shown_by_every_later_page(review: Review) -> None:
    first, second, _ = review.ids
    assert review.decide("accept", first) == {first: ["passed", "accepted in 1 snapshot", []]}
    assert written(review) == ["a"]
    assert review.decide("skip", second)[second] == ["skipped", "skipped", []]
    assert written(review) == ["a"]
    page = review.get()
    assert f'data-id="{first}">\n      <p><span class="badge passed">accepted in 1 snapshot</span></p>' in page
    assert re.findall('aria-label="(Accept|Skip) ([^"]*)"', page) == [
        ("Accept", "new snapshots"),
        ("Skip", "new snapshots"),
    ]


def test_the_server_ends_when_all_is_decided_and_told(review: Review) -> None:
    *others, last = review.ids
    for each in others:
        review.decide("skip", each)
    assert review.thread.is_alive()
    assert review.decide("accept", last)["new"] == ["passed", "accepted 1 snapshot", []]
    review.thread.join(DEADLINE_SECONDS)
    assert not review.thread.is_alive()


def test_it_ends_even_if_the_browser_goes_away_before_it_is_told(
    review: Review, capfd: pytest.CaptureFixture[str]
) -> None:
    *others, last = review.ids
    for each in others:
        review.decide("skip", each)
    with review.server.turn, socket.create_connection(("127.0.0.1", review.server.server_address[1])) as connection:
        host = review.server.host
        request = f"POST {review.server.path}skip/{last} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n\r\n"
        connection.sendall(request.encode())
        # It closes with a reset.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    review.thread.join(DEADLINE_SECONDS)
    assert not review.thread.is_alive()
    assert capfd.readouterr() == ("", "")


def test_what_another_tab_has_decided_stays(review: Review) -> None:
    first, second, _ = review.ids
    review.decide("skip", first)
    assert review.decide("accept", first) == {first: ["skipped", "skipped", []]}
    assert review.decide("accept", second).keys() == {first, second}
    assert written(review) == ["b"]


def test_what_cannot_be_written_is_told_and_counts_as_decided(review: Review) -> None:
    first, _, new = review.ids
    (review.folder / "a.yaml").write_text(dump({"a": 7}))
    problem = "__snapshots__/a.yaml is not written: it has changed since the run compared with it; run again"
    assert review.decide("accept", first) == {first: ["failed", "1 not written", [problem]]}
    assert (review.folder / "a.yaml").read_text() == dump({"a": 7})
    page = review.get()
    assert '<span class="badge failed">1 not written</span>' in page
    assert f'<p class="problem"><bdi>{problem}</bdi></p>' in page
    # Two reviews at once: the other one has written it.
    (review.folder / "n.yaml").write_text(dump({"n": 2}))
    assert review.decide("accept", new)["new"][1] == "1 not written"
    assert review.acceptance.problems == [problem, problem.replace("a.yaml", "n.yaml")]


def test_of_many_problems_the_first_are_told(tmp_path: Path) -> None:
    results = [sends(f"c{number}", {"a": 0}, {"a": 1}) for number in range(25)]
    (tmp_path / "__snapshots__").mkdir()
    (tmp_path / "__snapshots__/c3.yaml").write_text(dump({"a": 0}))
    acceptance = Acceptance(results, tmp_path)
    (change_id,) = acceptance.changes
    with ReviewServer(acceptance) as server:
        left, text = server.decide(change_id, "accept")
    outcome, told, problems = json.loads(text)[change_id]
    assert (left, outcome, told) == (0, "failed", "accepted in 1 snapshot, 24 not written")
    assert problems[19].startswith("__snapshots__/c20.yaml is not written: ")
    assert problems[20:] == ["and 4 more"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        pytest.param("GET", "/", id="no token"),
        pytest.param("GET", "/favicon.ico", id="an icon"),
        pytest.param("GET", "/wrong/", id="another token"),
        pytest.param("GET", "/\xe4\xf6/", id="no ASCII"),
        pytest.param("GET", "{short}", id="a part of the token"),
        pytest.param("POST", "/wrong/accept/{id}", id="a decision with another token"),
        pytest.param("POST", "/accept/{id}", id="a decision without one"),
        pytest.param("GET", "{path}../../etc/passwd", id="a file"),
        pytest.param("GET", "{path}page.js", id="a path below"),
        pytest.param("GET", "{path}accept/{id}", id="a decision that is only read"),
        pytest.param("GET", "{path}?a=1", id="a query"),
        pytest.param("GET", "http://{host}{path}", id="as to a proxy"),
        pytest.param("POST", "{path}", id="no decision"),
        pytest.param("POST", "{path}accept", id="no change"),
        pytest.param("POST", "{path}accept/", id="an empty change"),
        pytest.param("POST", "{path}accept/0000", id="no such change"),
        pytest.param("POST", "{path}accept/{id}/", id="more than a change"),
        pytest.param("POST", "{path}accept/{short_id}", id="a part of an id"),
        pytest.param("POST", "{path}refuse/{id}", id="another word"),
        pytest.param("POST", "{path}accept/{long}", id="a long path"),
        pytest.param("PUT", "{path}", id="PUT"),
        pytest.param("DELETE", "{path}", id="DELETE"),
        pytest.param("OPTIONS", "{path}accept/{id}", id="what a browser asks before it asks for another site"),
        pytest.param("HEAD", "{path}", id="HEAD"),
        pytest.param("TRACE", "{path}", id="TRACE"),
    ],
)
def test_nothing_else_is_served(review: Review, method: str, path: str) -> None:
    own, change_id = review.server.path, review.ids[0]
    values = {"path": own, "short": own[:-2], "id": change_id, "short_id": change_id[:-1], "long": "x" * 9_000}
    asked = path.format(host=review.server.host, **values)
    origin = "Origin: http://{host}\r\n" if method == "POST" else ""
    head, body = review.send(f"{method} {asked} HTTP/1.1\r\nHost: {{host}}\r\n{origin}\r\n")
    assert re.match("HTTP/1.0 (404|501) ", head)
    assert body == ""
    assert review.server.decisions == {}


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"Host": "evil.example"}, id="a name that leads here"),
        pytest.param({"Host": "evil.example:{port}"}, id="a name that leads here, with the port"),
        pytest.param({"Host": "localhost:{port}"}, id="localhost"),
        pytest.param({"Host": "127.0.0.1"}, id="no port"),
        pytest.param({"Host": ""}, id="an empty name"),
        pytest.param({"Origin": "https://evil.example"}, id="another origin"),
        pytest.param({"Origin": "http://localhost:{port}"}, id="localhost as the origin"),
        pytest.param({"Origin": "null"}, id="a sandboxed frame"),
        pytest.param({"Sec_Fetch_Site": "cross-site"}, id="another site"),
        pytest.param({"Sec_Fetch_Site": "same-site"}, id="another port"),
    ],
)
def test_nobody_else_gets_anything(review: Review, headers: dict[str, str]) -> None:
    server = review.server
    named = {name: value.format(port=server.server_address[1]) for name, value in headers.items()}
    own = {"Origin": f"http://{server.host}"}
    assert review.refuses("GET", server.path, **named)
    assert review.refuses("POST", f"{server.path}accept/{review.ids[0]}", **{**own, **named})
    assert server.decisions == {}
    assert written(review) == []


def test_a_decision_without_an_origin_is_refused(review: Review) -> None:
    assert review.refuses("POST", f"{review.server.path}accept/{review.ids[0]}")
    assert review.server.decisions == {}


@pytest.mark.parametrize(
    "request_text",
    [
        pytest.param("garbage\r\n\r\n", id="no HTTP"),
        pytest.param("\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", id="TLS"),
        pytest.param("GET {path} HTTP/1.1\r\n\r\n", id="no host"),
        pytest.param("GET {path}\r\n\r\n", id="HTTP/0.9"),
        pytest.param("GET {path} HTTP/2.0\r\nHost: {host}\r\n\r\n", id="HTTP/2"),
        pytest.param("GET {path} HTTP/1.1\r\nHost: {host}\r\nHost: evil.example\r\n\r\n", id="two hosts"),
        pytest.param("GET {path} HTTP/1.1\r\n" + "X: y\r\n" * 200 + "\r\n", id="many headers"),
        pytest.param("GET {path} HTTP/1.1\r\nX: " + "y" * 70_000 + "\r\n\r\n", id="a long header"),
    ],
)
def test_what_no_browser_sends_gets_nothing(
    review: Review, request_text: str, capfd: pytest.CaptureFixture[str]
) -> None:
    head, body = review.send(request_text)
    # Of some of it so much is left unread that the connection is reset.
    assert head == "" or re.match("HTTP/1.0 (400|404|431|505) ", head)
    assert body == ""
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("headers", [{"Content_Length": "9999999999"}, {"Transfer_Encoding": "chunked"}])
def test_a_body_is_never_read(review: Review, headers: dict[str, str]) -> None:
    assert review.decide("skip", review.ids[0], **headers).keys() == {review.ids[0]}


def test_a_connection_that_says_nothing_or_half_of_it_holds_up_nobody(review: Review) -> None:
    address = ("127.0.0.1", review.server.server_address[1])
    with socket.create_connection(address), socket.create_connection(address) as slow:
        slow.sendall(f"POST {review.server.path}accept/{review.ids[0]} HTTP/1.1\r\nHost: ".encode())
        assert review.get()
        for each in review.ids:
            review.decide("skip", each)
        review.thread.join(DEADLINE_SECONDS)
        assert not review.thread.is_alive()


def test_one_request_at_a_time_is_answered(review: Review) -> None:
    answers: list[dict[str, Any]] = []
    first = review.ids[0]
    threads = [threading.Thread(target=lambda: answers.append(review.decide("accept", first))) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_SECONDS)
    assert answers == [{first: ["passed", "accepted in 1 snapshot", []]}] * 10
    assert review.acceptance.accepted == [f"accepted change {first} in 1 snapshot"]


def test_an_error_of_the_review_itself_is_not_hidden(
    review: Review, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(review.acceptance, "accept", lambda _: 1 / 0)
    with pytest.raises(ConnectionError):
        review.decide("accept", review.ids[0])
    assert "ZeroDivisionError" in capfd.readouterr().err
