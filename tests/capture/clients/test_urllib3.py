"""urllib3: its own retries and redirects see replies as those of a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import httpx
import pytest
import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.util import SKIP_HEADER, Retry

from pytest_chatprompt.capture.clients.seams import intercept_clients
from pytest_chatprompt.capture.clients.stdlib_http import urllib3_patches
from tests.capture.clients.client import Parts
from tests.capture.clients.interceptors import RecordingInterceptor, nothing_is_left

URL = "https://api.example/old"


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    with nothing_is_left():
        yield


def script(*replies: httpx.Response | Exception) -> RecordingInterceptor:
    """Answers the n-th request with the n-th reply."""

    def answer(_: httpx.Request) -> httpx.Response:
        reply = replies[len(interceptor.sent) - 1]
        if isinstance(reply, Exception):
            raise reply
        return reply

    interceptor = RecordingInterceptor(answer)
    return interceptor


def post(interceptor: RecordingInterceptor, retries: Any = None, **options: Any) -> urllib3.BaseHTTPResponse:
    with intercept_clients(interceptor), urllib3.HTTPSConnectionPool("api.example") as pool:
        return pool.urlopen("POST", "/old", b"Hello?", retries=retries, **options)


BUSY = httpx.Response(503, text="busy")
FINE = httpx.Response(200, text="fine")
RETRY = Retry(2, status_forcelist=[503], allowed_methods=None, backoff_factor=0)


def test_a_status_of_the_list_is_sent_again_with_its_body() -> None:
    interceptor = script(BUSY, BUSY, FINE)
    assert post(interceptor, RETRY).data == b"fine"
    assert [request.content for request in interceptor.sent] == [b"Hello?"] * 3


def test_a_session_of_requests_with_retries_sends_again() -> None:
    interceptor = script(BUSY, FINE)
    with intercept_clients(interceptor), requests.Session() as session:
        session.mount("https://", HTTPAdapter(max_retries=RETRY))
        assert session.post(URL, data=b"Hello?", timeout=30).text == "fine"
    assert [request.content for request in interceptor.sent] == [b"Hello?"] * 2


def test_too_many_retries_are_an_error_or_the_last_reply() -> None:
    with pytest.raises(urllib3.exceptions.MaxRetryError, match="too many 503 error responses"):
        post(script(BUSY, BUSY, BUSY), RETRY)
    kept = Retry(0, status_forcelist=[503], allowed_methods=None, raise_on_status=False)
    assert post(script(BUSY), kept).data == b"busy"


def redirect(status: int, location: str) -> httpx.Response:
    return httpx.Response(status, headers={"Location": location})


@pytest.mark.parametrize(
    ("status", "location", "check_host", "expected"),
    [
        (307, "/new?a=1", True, ("POST https://api.example/new?a=1", b"Hello?", True, True)),
        (303, "/new?a=1", True, ("GET https://api.example/new?a=1", b"", True, False)),
        (308, "https://other.example/new", False, ("POST https://other.example/new", b"Hello?", False, True)),
        (303, "https://other.example/new", False, ("GET https://other.example/new", b"", False, False)),
    ],
)
def test_a_pool_redirects(status: int, location: str, check_host: bool, expected: Any) -> None:
    interceptor = script(redirect(status, location), FINE)
    headers = {"Authorization": "Bearer a", "Content-Type": "text/plain"}
    response = post(interceptor, headers=headers, assert_same_host=check_host)
    assert response.data == b"fine"
    (_, sent) = interceptor.sent
    has = ["authorization" in sent.headers, "content-type" in sent.headers]
    assert (f"{sent.method} {sent.url}", sent.content, *has) == expected


def test_too_many_redirects_are_an_error_or_the_last_reply() -> None:
    with pytest.raises(urllib3.exceptions.MaxRetryError, match="too many redirects"):
        post(script(redirect(307, "/new")), Retry(redirect=0))
    assert post(script(redirect(307, "/new")), retries=False).status == 307


def test_headers_may_be_bytes_and_be_skipped() -> None:
    interceptor = script(FINE)
    headers: Any = {b"X-One": b"1", "Host": SKIP_HEADER, "User-Agent": "me", "Accept-Encoding": SKIP_HEADER}
    post(interceptor, headers=headers)
    (sent,) = interceptor.sent
    assert dict(sent.headers) == {"x-one": "1", "user-agent": "me", "content-length": "6"}


@pytest.mark.parametrize(
    ("body", "framing"),
    [
        pytest.param(lambda: "Hellö", {"content-length": "6"}, id="a text"),
        pytest.param(lambda: iter([b"Hell", "ö"]), {"transfer-encoding": "chunked"}, id="an iterator"),
        pytest.param(lambda: None, {"content-length": "0"}, id="nothing"),
    ],
)
def test_bodies(body: Callable[[], Any], framing: dict[str, str]) -> None:
    interceptor = script(FINE)
    with intercept_clients(interceptor), urllib3.HTTPSConnectionPool("api.example") as pool:
        headers = {"Host": "api.example", "User-Agent": SKIP_HEADER, "Accept-Encoding": SKIP_HEADER}
        pool.urlopen("POST", "/", body(), headers)
    (sent,) = interceptor.sent
    assert dict(sent.headers) == {"host": "api.example", **framing}
    assert sent.content.decode() == ("" if body() is None else "Hellö")


def test_a_stream_is_read_as_it_comes_and_may_be_closed_early() -> None:
    parts = Parts([b"one\n", b"two\n", b"three\n"])
    with intercept_clients(RecordingInterceptor(lambda _: httpx.Response(200, stream=parts))):
        response = requests.post(URL, stream=True, timeout=30)
        lines = response.iter_lines()
        assert (next(lines), parts.taken) == (b"one", 1)
        response.close()
    assert (parts.taken, parts.is_closed) == (1, True)


def test_cookies_of_a_reply_are_kept() -> None:
    interceptor = script(httpx.Response(200, headers={"Set-Cookie": "a=1"}), FINE)
    with intercept_clients(interceptor), requests.Session() as session:
        session.get(URL, timeout=30)
        session.get(URL, timeout=30)
    assert interceptor.sent[1].headers["cookie"] == "a=1"


def test_a_form_with_files_is_seen_whole() -> None:
    interceptor = script(FINE)
    with intercept_clients(interceptor):
        requests.post(URL, data={"a": "1"}, files={"file": ("a.txt", b"Hello")}, timeout=30)
    assert b'filename="a.txt"\r\n\r\nHello\r\n' in interceptor.sent[0].content


def test_a_package_that_takes_the_name_of_urllib3_is_left_alone() -> None:
    # urllib3-future, which niquests installs: its connections are none of `http.client`.
    module = ModuleType("urllib3.connection")
    vars(module).update(HTTPConnection=object, HTTPSConnection=object)
    assert urllib3_patches(module) == ()
