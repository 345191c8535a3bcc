"""The HTTP client: time limits, connections that break, and connections that are closed."""

from __future__ import annotations

import gc
import re
import socket
import threading
from types import SimpleNamespace

import pytest

from pytest_chatprompt import APIConnectionError, ChatMessage, OpenAIProvider, ProviderRequest
from tests.server import Reply, Server

HI = ProviderRequest(chat_prompt=(ChatMessage("user", "hi"),))
ANSWER = {"choices": [{"message": {"content": "ho"}, "finish_reason": "stop"}]}


def test_a_connection_opened_after_cancel_is_shut_down() -> None:
    client = OpenAIProvider(api_key="k")._http
    client.cancel()
    ours, theirs = socket.socketpair()
    client._trace("connection.connect_tcp.complete", {"return_value": SimpleNamespace(get_extra_info=lambda _: ours)})
    assert theirs.recv(1) == b""
    ours.close()
    theirs.close()


def test_a_provider_that_nobody_closes_leaves_no_connection_open(server: Server) -> None:
    server.reply_with(ANSWER)
    provider = OpenAIProvider(base_url=server.url, api_key="")
    provider.send(HI)
    (connection,) = provider._http._sockets
    del provider
    gc.collect()
    assert connection.fileno() == -1


def test_a_closed_provider_can_be_used_again(server: Server) -> None:
    server.reply_with(ANSWER)
    provider = OpenAIProvider(base_url=server.url, api_key="")
    provider.close()
    for _ in range(2):
        assert provider.send(HI).text == "ho"
        provider.close()
    assert "authorization" not in server.requests[0][1]


def test_the_error_for_an_incomplete_reply_says_so(server: Server) -> None:
    server.reply = Reply(fault="drop inside")
    provider = OpenAIProvider(base_url=server.url, api_key="k", max_retries=0)
    with pytest.raises(APIConnectionError, match=re.escape("OpenAI at 127.0.0.1 did not complete its reply: ")):
        provider.send(HI)
    provider.close()


def test_the_timeout_limits_a_reply_that_comes_byte_by_byte(server: Server) -> None:
    server.reply = Reply(fault="drip")
    provider = OpenAIProvider(base_url=server.url, api_key="k", max_retries=0, timeout_seconds=0.2)
    with pytest.raises(APIConnectionError, match=re.escape("OpenAI did not answer within 0.2 s (ReadTimeout)")):
        provider.send(HI)
    provider.close()


def test_the_error_for_a_silent_server_names_the_timeout(server: Server) -> None:
    server.stall = threading.Event()
    provider = OpenAIProvider(base_url=server.url, api_key="k", timeout_seconds=0.05, max_retries=0)
    with pytest.raises(APIConnectionError, match=re.escape("OpenAI did not answer within 0.05 s (ReadTimeout)")):
        provider.send(HI)
    server.stall.set()
    provider.close()


def test_the_error_for_an_unreachable_server_names_its_host() -> None:
    provider = OpenAIProvider(base_url="http://127.0.0.1:1", api_key="k", max_retries=0)
    with pytest.raises(APIConnectionError, match=re.escape("OpenAI at 127.0.0.1 cannot be reached: ")):
        provider.send(HI)
    provider.close()
