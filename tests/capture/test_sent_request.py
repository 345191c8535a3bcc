"""Sent requests: endpoint and body."""

from __future__ import annotations

import gzip
import zlib
from typing import Any

import httpx
import pytest

from pytest_chatprompt.capture.sent_request import SentRequest


@pytest.mark.parametrize(
    ("content", "body"),
    [
        pytest.param(b"", None, id="none"),
        pytest.param(b'{"a": 1}', {"a": 1}, id="JSON"),
        pytest.param(b"a=1&b=2", "a=1&b=2", id="a form"),
        pytest.param(b"\xff\x00", {"base64": "/wA="}, id="bytes"),
    ],
)
def test_a_body_is_json_else_text_else_base64(content: bytes, body: Any) -> None:
    assert SentRequest.from_httpx(httpx.Request("POST", "https://x.example/", content=content), None).body == body


@pytest.mark.parametrize(
    ("url", "base_url", "endpoint"),
    [
        pytest.param("https://x.example/a/b?c=d%2F", None, "GET /a/b?c=d%2F", id="no base URL"),
        pytest.param("https://x.example/a/b", "https://x.example", "GET /a/b", id="a base URL without path"),
        pytest.param("https://x.example/a/b", "https://x.example/a/", "GET /b", id="a base URL with a path"),
        pytest.param("https://x.example/a?b", "https://x.example/a", "GET ?b", id="only a query"),
        pytest.param("https://x.example/ab", "https://x.example/a", "GET /ab", id="part of a segment is not a base"),
        pytest.param("https://y.example/a/b", "https://x.example/a", "GET /a/b", id="another host"),
        pytest.param("https://y.example/a/b", 5, "GET /a/b", id="a base URL of another type"),
    ],
)
def test_the_endpoint_is_relative_to_the_base_url(url: str, base_url: Any, endpoint: str) -> None:
    assert SentRequest.from_httpx(httpx.Request("GET", url), base_url).endpoint == endpoint


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_compressed_body_is_decompressed(encoding: str) -> None:
    content = gzip.compress(b'{"a": 1}') if encoding == "gzip" else zlib.compress(b'{"a": 1}')
    request = httpx.Request("POST", "https://x.example/", content=content, headers={"content-encoding": encoding})
    assert SentRequest.from_httpx(request, None).body == {"a": 1}


def test_a_body_that_is_sent_as_it_is_may_say_so() -> None:
    request = httpx.Request("POST", "https://x.example/", content=b"plain", headers={"content-encoding": "Identity"})
    assert SentRequest.from_httpx(request, None).body == "plain"


def test_only_headers_that_change_what_the_model_does_are_kept() -> None:
    headers = {"Authorization": "Bearer x", "Anthropic-Beta": "a,b", "anthropic-version": "2023-06-01"}
    request = httpx.Request("POST", "https://x.example/", json=1, headers=headers)
    sent = SentRequest.from_httpx(request)
    assert sent.headers == {"anthropic-beta": "a,b"}
    assert sent.as_data() == {"endpoint": "POST /", "headers": {"anthropic-beta": "a,b"}, "request": 1}
    assert list(sent.as_data()) == ["endpoint", "headers", "request"]
    assert SentRequest("POST /", 1).as_data() == {"endpoint": "POST /", "request": 1}


def test_requests_are_equal_if_they_send_the_same() -> None:
    def sent(body: Any, endpoint: str = "POST /", **headers: str) -> SentRequest:
        return SentRequest(endpoint, body, headers=headers)

    different = [
        sent({"a": 1, "b": 2}), sent({"b": 2, "a": 1}), sent({"a": 1.0, "b": 2}), sent({"a": True, "b": 2}),
        sent({"a": 1, "b": 2}, "POST /x"), sent({"a": 1, "b": 2}, beta="x"), sent(float("nan")), sent(None), "other",
    ]  # fmt: skip
    for index, one in enumerate(different):
        assert [one == other for other in different] == [index == place for place in range(len(different))]
    assert sent(float("nan")) == sent(float("nan"))
    assert sent({"a": [1]}) == SentRequest("POST /", {"a": [1]}, "https://x.example/", "network", is_late=True)


def test_requests_are_sorted_by_endpoint_then_body_then_headers() -> None:
    one, two = (SentRequest("POST /a", 1, headers={"openai-beta": beta}) for beta in "ab")
    body, endpoint = SentRequest("POST /a", 2), SentRequest("GET /a", 3)
    assert sorted([body, two, endpoint, one]) == [endpoint, one, two, body]


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        pytest.param("q=a%20b&api_key=s3cret&token=t", "q=a%20b&api_key=hidden&token=hidden", id="several"),
        pytest.param("api-key=a&x-api-key=b", "api-key=hidden&x-api-key=hidden", id="with dashes"),
        pytest.param("subscription-key=a&accessToken=b", "subscription-key=hidden&accessToken=hidden", id="Azure's"),
        pytest.param("sv=2024&sig=a%2B%3D&code=b", "sv=2024&sig=hidden&code=hidden", id="signatures and codes"),
        pytest.param("client_secret=a;password=b", "client_secret=hidden;password=hidden", id="semicolons"),
        pytest.param("api%5Fkey=a&api%2Dkey", "api%5Fkey=hidden&api%2Dkey", id="a name that is percent-encoded"),
        pytest.param("api-version=2024-10-21&max_tokens=5", "api-version=2024-10-21&max_tokens=5", id="none"),
    ],
)
def test_a_key_in_the_query_is_hidden(query: str, shown: str) -> None:
    request = httpx.Request("GET", f"https://x.example/ask?{query}")
    assert SentRequest.from_httpx(request, None).endpoint == f"GET /ask?{shown}"
