"""Cookies of replies: they are sent with the next request, and a reply without one costs nothing."""

from __future__ import annotations

from http.cookiejar import CookieJar

import httpx
import pytest

from pytest_chatprompt import ChatMessage, OpenAIProvider, ProviderRequest
from pytest_chatprompt.providers.http.reply_cookies import ReplyCookies
from tests.server import Reply, Server

HI = ProviderRequest(chat_prompt=(ChatMessage("user", "hi"),))


def test_a_cookie_of_a_reply_is_sent_with_the_next_request(server: Server) -> None:
    server.script = lambda number, _: Reply(headers={} if number else {"Set-Cookie": "session=1; Path=/"})
    provider = OpenAIProvider(base_url=server.url, api_key="k")
    for _ in range(3):
        provider.send(HI)
    provider.close()
    assert [headers.get("cookie") for _, headers, _ in server.requests] == [None, "session=1", "session=1"]


@pytest.mark.parametrize(
    ("headers", "reads"),
    [
        pytest.param({"content-type": "application/json"}, 0, id="no cookie"),
        pytest.param({"Set-Cookie": "a=1"}, 1, id="a cookie"),
        pytest.param({"set-cookie2": "a=1; version=1"}, 1, id="a cookie of the old kind"),
    ],
)
def test_only_a_reply_that_sets_a_cookie_is_read(
    headers: dict[str, str], reads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[object] = []
    monkeypatch.setattr(CookieJar, "extract_cookies", lambda _, *arguments: read.append(arguments))
    request = httpx.Request("POST", "http://127.0.0.1/")
    ReplyCookies().extract_cookies(httpx.Response(200, headers=headers, request=request))
    assert len(read) == reads
