"""The request: the URL and the headers as the client sends them."""

from __future__ import annotations

import httpx
import pytest

from pytest_chatprompt.capture.clients.wire import build_request, join_url
from pytest_chatprompt.capture.sent_request import sent_target


@pytest.mark.parametrize(
    ("parts", "url"),
    [
        (("https", "api.example", None, "/a?b=1"), "https://api.example/a?b=1"),
        (("https", "api.example", 443, "/"), "https://api.example:443/"),
        (("http", "2001:db8::1", 8080, "/a"), "http://[2001:db8::1]:8080/a"),
        (("http", "proxy.example", 3128, "http://api.example/a"), "http://api.example/a"),
        (("http", "api.example", None, "/a?next=https://b.example/"), "http://api.example/a?next=https://b.example/"),
    ],
)
def test_a_url_is_joined(parts: tuple[str, str, int | None, str], url: str) -> None:
    assert join_url(*parts) == url


def test_no_header_is_added() -> None:
    request = build_request("POST", "https://api.example/a%2Fb", [(b"X-One", b"1")], b"Hello")
    assert request.headers.raw == [(b"X-One", b"1")]
    assert (request.content, request.url.raw_path) == (b"Hello", b"/a%2Fb")
    assert request.extensions == {}
    assert request.url == httpx.URL("https://api.example/a%2Fb")


@pytest.mark.parametrize("target", ["/a/../b", "/a?b=<c>", "/a#b", "/%7E?a=%2f", "/a?"])
def test_path_and_query_stay_as_the_client_wrote_them(target: str) -> None:
    request = build_request("GET", f"https://api.example:8443{target}", [], b"")
    assert sent_target(request) == target
    assert sent_target(build_request("GET", "https://api.example", [], b"")) == "/"
