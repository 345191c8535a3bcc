"""The HTTP client: time limits, connections that break, and connections that are closed."""

from __future__ import annotations

import gc
import re
import socket
import ssl
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from pytest_chatprompt import APIConnectionError, ChatMessage, NotFoundError, OpenAIProvider, ProviderRequest
from pytest_chatprompt.providers.context import Cancellation
from pytest_chatprompt.providers.http.client import trusted_certificates
from tests.server import Reply, Server

HI = ProviderRequest(chat_prompt=(ChatMessage("user", "hi"),))
ANSWER = {"choices": [{"message": {"content": "ho"}, "finish_reason": "stop"}]}


def test_a_connection_opened_after_cancel_is_shut_down() -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    ours, theirs = socket.socketpair()
    cancellation.use(ours)
    assert theirs.recv(1) == b""
    ours.close()
    theirs.close()


def test_a_connection_that_is_closed_already_can_be_cancelled() -> None:
    ours, theirs = socket.socketpair()
    cancellation = Cancellation()
    cancellation.use(ours)
    ours.close()
    theirs.close()
    cancellation.cancel()
    assert cancellation.cancelled.is_set()


def test_a_connection_that_a_request_no_longer_uses_is_not_shut_down() -> None:
    ours, theirs = socket.socketpair()
    cancellation = Cancellation()
    cancellation.use(ours)
    cancellation.use(None)
    cancellation.cancel()
    ours.sendall(b"x")
    assert theirs.recv(1) == b"x"
    ours.close()
    theirs.close()


def test_a_provider_that_nobody_closes_leaves_no_connection_open(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.reply_with(ANSWER)
    provider = OpenAIProvider(base_url=server.url, api_key="")
    opened: list[socket.socket] = []
    connect = socket.create_connection

    def keep_socket(*args: Any, **kwargs: Any) -> Any:
        opened.append(connect(*args, **kwargs))
        return opened[-1]

    monkeypatch.setattr(socket, "create_connection", keep_socket)
    provider.send(HI)
    del provider
    gc.collect()
    assert [connection.fileno() for connection in opened] == [-1]


def test_a_reply_of_a_mocked_transport_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", lambda *_: httpx.Response(200, json=ANSWER))
    assert OpenAIProvider(api_key="k").send(HI).text == "ho"


# Where the environment names a proxy, a client of httpx sends.
_PROXIES = [pytest.param("", id="no proxy"), pytest.param("http://proxy.invalid:1", id="a proxy for other hosts")]


@pytest.fixture(params=_PROXIES)
def _beside_proxy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", request.param)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.mark.usefixtures("_beside_proxy")
def test_a_request_has_the_headers_of_an_httpx_client_and_those_of_its_provider(server: Server) -> None:
    server.reply_with(ANSWER)
    url = server.url.replace("http://", "http://me:password@")
    OpenAIProvider(base_url=url, api_key="k").send(HI)
    OpenAIProvider(base_url=url, api_key="").send(HI)
    client = {name: httpx.Client().headers[name] for name in ("accept", "connection", "user-agent")}
    given = {"content-type": "application/json", "accept-encoding": "gzip, deflate", "authorization": "Bearer k"}
    keyed, open_to_all = ({**headers} for _, headers, _ in server.requests)
    assert keyed.pop("host") == server.url.removeprefix("http://")
    assert keyed == {**client, **given, "content-length": keyed["content-length"]}
    assert "authorization" not in open_to_all


@pytest.mark.usefixtures("_beside_proxy")
def test_a_cookie_and_a_redirect_are_not_followed(server: Server) -> None:
    server.reply = Reply(ANSWER, headers={"set-cookie": "a=b"})
    provider = OpenAIProvider(base_url=server.url, api_key="k", max_retries=0)
    provider.send(HI)
    server.reply = Reply(ANSWER, status=307, headers={"location": server.url})
    with pytest.raises(NotFoundError, match=f"It redirects to {re.escape(server.url)}"):
        provider.send(HI)
    assert ["cookie" in headers for _, headers, _ in server.requests] == [False, False]


def test_the_proxy_of_the_environment_gets_the_request(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.reply_with(ANSWER)
    monkeypatch.setenv("HTTP_PROXY", server.url)
    monkeypatch.setenv("NO_PROXY", "localhost")
    assert OpenAIProvider(base_url="http://api.invalid/v1", api_key="k").send(HI).text == "ho"
    ((path, headers, _),) = server.requests
    assert (path, headers["host"]) == ("http://api.invalid/v1/chat/completions", "api.invalid")


def test_a_variable_that_is_removed_while_httpx_looks_for_proxies_is_no_error(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", server.url)
    provider = OpenAIProvider(base_url=server.url, api_key="k", max_retries=0)
    server.reply = Reply(ANSWER)
    made: list[object] = []
    make = httpx.Client.__init__

    def fail_first(client: httpx.Client, **arguments: Any) -> None:
        made.append(client)
        if len(made) == 1:
            raise KeyError("PYTEST_CURRENT_TEST")
        make(client, **arguments)

    monkeypatch.setattr(httpx.Client, "__init__", fail_first)
    assert provider.send(HI).text == "ho"
    assert len(made) == 2
    provider.close()


def test_the_error_for_an_incomplete_reply_says_so(server: Server) -> None:
    server.reply = Reply(fault="drop inside")
    provider = OpenAIProvider(base_url=server.url, api_key="k", max_retries=0)
    with pytest.raises(APIConnectionError, match=r"OpenAI at 127\.0\.0\.1:\d+ did not complete its reply: "):
        provider.send(HI)
    provider.close()


def test_the_timeout_limits_a_reply_that_comes_byte_by_byte(server: Server) -> None:
    server.reply = Reply(fault="drip")
    provider = OpenAIProvider(base_url=server.url, api_key="k", max_retries=0, timeout_seconds=0.3)
    with pytest.raises(APIConnectionError, match=re.escape("OpenAI did not answer within 0.3 s")):
        provider.send(HI)
    provider.close()


def test_the_error_for_a_silent_server_names_the_timeout(server: Server) -> None:
    server.stall = threading.Event()
    provider = OpenAIProvider(base_url=server.url, api_key="k", timeout_seconds=0.3, max_retries=0)
    with pytest.raises(APIConnectionError, match=re.escape("OpenAI did not answer within 0.3 s")):
        provider.send(HI)
    server.stall.set()
    provider.close()


def test_the_error_for_an_unreachable_server_names_its_host_and_port() -> None:
    provider = OpenAIProvider(base_url="http://127.0.0.1:1", api_key="k", max_retries=0)
    with pytest.raises(APIConnectionError, match=re.escape("OpenAI at 127.0.0.1:1 cannot be reached: ")):
        provider.send(HI)
    provider.close()


def test_threads_that_begin_together_read_the_certificates_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[ssl.SSLContext] = []

    def create() -> ssl.SSLContext:
        time.sleep(0.05)
        read.append(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
        return read[-1]

    monkeypatch.setattr(httpx, "create_ssl_context", create)
    # Another value than that of other tests.
    monkeypatch.setenv("SSL_CERT_FILE", "/no/such/certificates.pem")

    with ThreadPoolExecutor(4) as threads:
        given = list(threads.map(lambda _: trusted_certificates(), range(4)))

    assert given == read * 4
