"""The server of `eval_api`: who answers what comes to it, offline and in a live run. No client here is intercepted."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from unittest import mock

import httpx
import pytest

from pytest_chatprompt.apis.reply import Reply
from pytest_chatprompt.capture.clients.interceptor import let_pass
from pytest_chatprompt.capture.eval_api import EvalAPI
from pytest_chatprompt.capture.live_capture import LiveCaptureRouter
from pytest_chatprompt.capture.offline import offline
from pytest_chatprompt.capture.provider_capture import capture_live, capture_offline
from pytest_chatprompt.capture.reply_queue import QueuedReply
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.errors import CaptureError
from pytest_chatprompt.prompt.request import ProviderRequest
from tests.server import CHAT_REPLY, Server

REQUEST = ProviderRequest(question="hello")
BODY = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


@pytest.fixture
def api(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[EvalAPI]:
    """The stand-in of an eval item in a live run, whose real API is the test's server."""
    server.reply_with(CHAT_REPLY)
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real-key")
    api = EvalAPI(goes_live=True)
    yield api
    api.children.close()


def ask(environ: dict[str, str]) -> str:
    """Ask as a child process does that has these variables."""
    headers = {"authorization": f"Bearer {environ['OPENAI_API_KEY']}"}
    reply = httpx.post(f"{environ['OPENAI_BASE_URL']}/chat/completions", json=BODY, headers=headers, timeout=60)
    return str(reply.json()["choices"][0]["message"]["content"]) if reply.is_success else "refused"


def ask_as_child(environ: dict[str, str]) -> str:
    """The same past every interceptor."""
    with let_pass():
        return ask(environ)


def test_a_request_is_answered_offline_before_and_forwarded_meanwhile(api: EvalAPI, server: Server) -> None:
    environ = dict(api.environ)
    router = LiveCaptureRouter(Redactor({}))
    compared = capture_offline(lambda _: ask_as_child(environ), REQUEST, api)
    assert server.requests == []
    live = capture_live(lambda _: ask_as_child(environ), REQUEST, router, api=api)
    assert (compared.response.text, live.response.text) == ("(offline)", "a real answer")
    assert [sent.url for sent in live.sent] == ["https://api.openai.com/v1/chat/completions"]
    assert live.sent == compared.sent
    assert [headers["authorization"] for _, headers, _ in server.requests] == ["Bearer sk-real-key"]
    assert ask_as_child(environ) == "(offline)"


def test_queued_replies_are_given_in_both_and_their_requests_go_nowhere(api: EvalAPI, server: Server) -> None:
    environ = dict(api.environ)
    api.reply("queued")
    compared = capture_offline(lambda _: ask_as_child(environ), REQUEST, api)
    assert compared.replies == (QueuedReply(Reply("queued")),)
    live = capture_live(
        lambda _: ask_as_child(environ), REQUEST, LiveCaptureRouter(Redactor({})), compared.replies, api=api
    )
    assert live.response.text == "queued"
    assert server.requests == []


def test_variables_that_are_set_for_this_process_too_lead_to_the_real_api(api: EvalAPI, server: Server) -> None:
    def send(_: ProviderRequest) -> str:
        # The server starts here, where the keys are placeholders.
        with mock.patch.dict(os.environ, api.environ):
            return ask_as_child(dict(os.environ))

    assert capture_offline(send, REQUEST, api).response.text == "(offline)"
    assert capture_live(send, REQUEST, LiveCaptureRouter(Redactor({})), api=api).response.text == "a real answer"
    assert [headers["authorization"] for _, headers, _ in server.requests] == ["Bearer sk-real-key"]


async def ask_async(environ: dict[str, str]) -> str:
    headers = {"authorization": f"Bearer {environ['OPENAI_API_KEY']}"}
    async with httpx.AsyncClient() as client:
        reply = await client.post(f"{environ['OPENAI_BASE_URL']}/chat/completions", json=BODY, headers=headers)
    return str(reply.json()["choices"][0]["message"]["content"])


@pytest.mark.parametrize("ask", [ask, ask_async])
def test_a_client_of_this_process_that_is_led_to_the_server_is_taken_once(
    api: EvalAPI, server: Server, ask: Callable[[dict[str, str]], str]
) -> None:
    environ = dict(api.environ)
    compared = capture_offline(lambda _: ask(environ), REQUEST, api)
    live = capture_live(lambda _: ask(environ), REQUEST, LiveCaptureRouter(Redactor({})), api=api)
    assert [sent.endpoint for sent in live.sent] == ["POST /v1/chat/completions"]
    assert live.sent == compared.sent
    assert len(server.requests) == 1


@pytest.mark.parametrize("is_live", [False, True])
def test_what_kept_it_from_answering_is_raised_even_if_it_was_swallowed(
    api: EvalAPI, server: Server, is_live: bool
) -> None:
    environ = dict(api.environ)
    api.post(path="/v1/chat/completions").mock(side_effect=KeyError("mine"))
    if not is_live:
        with pytest.raises(CaptureError, match="a request of a child process failed: 'mine'"):
            capture_offline(lambda _: ask_as_child(environ), REQUEST, api)
        return
    with mock.patch.dict(os.environ, {"OPENAI_API_KEY": ""}), pytest.raises(CaptureError) as caught:
        capture_live(lambda _: ask_as_child(environ), REQUEST, LiveCaptureRouter(Redactor({})), api=api)
    assert str(caught.value) == (
        "a request of a child process failed: POST https://api.openai.com/v1/chat/completions cannot be sent on "
        "without a key: set OPENAI_API_KEY"
    )
    assert server.requests == []


def test_errors_stay_when_it_is_closed() -> None:
    def refuse(_: httpx.Request) -> httpx.Response:
        raise KeyError("mine")

    api = EvalAPI()
    api.route().mock(side_effect=refuse)
    api.children.close()
    with offline():
        assert httpx.post(f"{api.url}/openai/v1/chat/completions", json=BODY).status_code == 404
    api.children.close()
    assert list(map(str, api.errors)) == ["a request of a child process failed: 'mine'"]
