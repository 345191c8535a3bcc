"""The stand-in of the APIs: what it answers, and for which clients."""

from __future__ import annotations

import asyncio
import os

import httpx
import pytest

from pytest_chatprompt import EvalAPI
from pytest_chatprompt.capture.guard import guard_network
from tests.server import Server

ANSWERED = [
    "https://azure.example/openai/deployments/d/chat/completions?api-version=1",
    "https://azure.example/openai/v1/chat/completions",
    "http://localhost:11434/v1/chat/completions",
    "https://gateway.example/anthropic/v1/messages",
    "https://gemini.example/v1beta/models/m:generateContent",
]


@pytest.mark.parametrize("url", ANSWERED)
def test_the_built_in_apis_are_answered_on_any_host(url: str) -> None:
    api = EvalAPI()
    with api.intercept(), httpx.Client() as client:
        assert "(offline)" in client.post(url, content=b'{"a":1}').text
    (sent,) = api.sent
    assert (sent.url, sent.endpoint, sent.body, sent.answered_by) == (
        url,
        f"POST {httpx.URL(url).raw_path.decode()}",
        {"a": 1},
        "default",
    )
    assert api.calls.last.response.status_code == 200


def test_async_clients_are_answered_too() -> None:
    async def post(url: str) -> str:
        async with httpx.AsyncClient() as client:
            return (await client.post(url)).text

    api = EvalAPI()
    api.post("https://mine.example/").respond(text="own")
    with api.intercept():
        assert "(offline)" in asyncio.run(post(ANSWERED[0]))
        assert asyncio.run(post("https://mine.example/")) == "own"


def test_a_transport_in_memory_is_not_taken() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(418))
    api = EvalAPI()
    with api.intercept(), httpx.Client(transport=transport) as client:
        assert client.post(ANSWERED[0]).status_code == 418
    assert api.sent == ()


def test_routes_of_the_test_come_first() -> None:
    api = EvalAPI()
    route = api.post(path="/openai/v1/chat/completions").respond(429)
    with api.intercept(), httpx.Client() as client:
        assert client.post(ANSWERED[1]).status_code == 429
        assert client.post(ANSWERED[3]).status_code == 200
    assert route.call_count == 1
    assert len(api.sent) == 2


@pytest.mark.parametrize(
    ("method", "url", "message"),
    [
        pytest.param(
            "GET",
            "https://user:secret@api.example/v1/messages?key=secret",
            "nothing answers GET https://api.example/v1/messages offline; give the fixture eval_api a route for it, as in\n"
            "  eval_api.get('https://api.example/v1/messages').respond(json={...})\n"
            "or run with --chatprompt-live",
            id="another method",
        ),
        pytest.param(
            "POST",
            "https://api.example/v1/rerank",
            "nothing answers POST https://api.example/v1/rerank offline;",
            id="another path",
        ),
    ],
)
def test_a_request_that_nothing_answers_gets_an_error_that_no_sdk_retries(method: str, url: str, message: str) -> None:
    api = EvalAPI()
    with api.intercept(), httpx.Client() as client:
        reply = client.request(method, url)
    assert reply.status_code == 404
    assert reply.json()["error"]["message"].startswith(message)
    assert [str(error).startswith(message) for error in api.errors] == [True]
    assert [sent.answered_by for sent in api.sent] == ["nothing"]


def test_what_was_sent_adds_up_until_it_is_cleared() -> None:
    api = EvalAPI()
    for count in (1, 2):
        with api.intercept(), httpx.Client() as client:
            client.post(ANSWERED[0])
        assert len(api.sent) == count
    api.clear_sent()
    assert api.sent == ()


def test_outside_of_intercept_nothing_is_answered(server: Server) -> None:
    api = EvalAPI()
    api.get(f"{server.url}/a").respond(418)
    with api.intercept():
        assert httpx.get(f"{server.url}/a").status_code == 418
    assert httpx.post(f"{server.url}/a", json={}).status_code == 200


def test_on_this_machine_known_apis_and_routes_are_taken_and_the_rest_passes(server: Server) -> None:
    api = EvalAPI()
    api.post(f"{server.url}/routed").respond(418)
    with api.intercept():
        assert httpx.post(f"{server.url}/v1/messages", json={}).status_code == 200
        assert httpx.post(f"{server.url}/routed", json={}).status_code == 418
        assert httpx.post(f"{server.url}/mine", json={}).status_code == 200
    assert [sent.endpoint for sent in api.sent] == ["POST /v1/messages", "POST /routed"]
    assert len(server.requests) == 1


def test_a_route_may_pass_a_request_through(server: Server) -> None:
    api = EvalAPI()
    api.post(f"{server.url}/v1/messages").pass_through()
    with api.intercept():
        assert httpx.post(f"{server.url}/v1/messages", json={}).status_code == 200
        assert asyncio.run(post_async(f"{server.url}/v1/messages")) == 200
    assert (api.sent, len(server.requests)) == ((), 2)


async def post_async(url: str) -> int:
    async with httpx.AsyncClient() as client:
        return (await client.post(url, json={})).status_code


def test_queued_replies_are_given_in_order_and_the_default_one_after_them() -> None:
    api = EvalAPI()
    api.reply("one")
    api.reply(error=429)
    with api.intercept(), httpx.Client() as client:
        replies = [client.post(ANSWERED[1], json={}) for _ in range(3)]
    assert [reply.status_code for reply in replies] == [200, 429, 200]
    assert ["one" in replies[0].text, "(offline)" in replies[2].text] == [True, True]
    assert [sent.answered_by for sent in api.sent] == ["reply", "reply", "default"]
    assert api.reply_queue.describe_waiting() == ""


def test_a_route_comes_before_a_queued_reply() -> None:
    api = EvalAPI()
    api.reply("queued")
    api.post("https://azure.example/openai/v1/chat/completions").respond(text="routed")
    with api.intercept():
        assert httpx.post(ANSWERED[1], json={}).text == "routed"
    assert len(api.reply_queue.waiting) == 1


def test_in_a_live_run_requests_go_on_but_for_queued_replies(server: Server) -> None:
    api = EvalAPI(is_live=True)
    api.reply("queued")
    api.post(f"{server.url}/v1/messages").respond(418)
    with api.intercept():
        assert "queued" in httpx.post(f"{server.url}/v1/messages", json={}).text
        assert httpx.post(f"{server.url}/v1/messages", json={}).status_code == 200
        assert asyncio.run(post_async(f"{server.url}/v1/messages")) == 200
    assert [sent.answered_by for sent in api.sent] == ["reply", "network", "network"]
    assert len(server.requests) == 2


def test_the_server_answers_as_the_object_does() -> None:
    api = EvalAPI()
    api.reply("to a child")
    try:
        assert api.url == api.url
        url = api.environ["OPENAI_BASE_URL"]
        assert url.startswith(api.url)
        assert "to a child" in httpx.post(f"{url}/chat/completions", json={}).text
    finally:
        api.children.close()
    api.children.close()
    assert [sent.url for sent in api.sent] == ["https://api.openai.com/v1/chat/completions"]


def test_a_path_that_applications_have_too_is_taken_on_this_machine_only_with_a_model(server: Server) -> None:
    api = EvalAPI()
    with api.intercept():
        assert httpx.post(f"{server.url}/api/chat", json={"question": "hi"}).status_code == 200
        assert "(offline)" in httpx.post(f"{server.url}/api/chat", json={"model": "m", "messages": []}).text
        assert "(offline)" in httpx.post("https://ollama.example/api/chat", json={}).text
    assert len(server.requests) == 1


def test_the_server_refuses_what_nothing_answers() -> None:
    api = EvalAPI()
    try:
        reply = httpx.get(f"{api.url}/ollama/api/tags")
    finally:
        api.children.close()
    assert reply.status_code == 404
    (error,) = api.errors
    assert str(error).startswith("nothing answers GET http://127.0.0.1:11434/api/tags offline;")


def test_a_body_that_is_nested_too_deep_is_kept_as_text() -> None:
    body = "[" * 100_000
    api = EvalAPI()
    with api.intercept():
        httpx.post(ANSWERED[0], content=body)
    assert api.sent[0].body == body


def test_a_reply_waits_for_an_api_that_can_give_it() -> None:
    api = EvalAPI()
    api.reply("a text")
    with api.intercept():
        vectors = httpx.post("https://api.openai.com/v1/embeddings", json={"input": "hi", "model": "m"}).json()
        assert len(vectors["data"]) == 1
        assert "a text" in httpx.post(ANSWERED[1], json={}).text


def test_requests_whose_order_is_chance_can_be_sorted() -> None:
    api = EvalAPI()
    with api.intercept():
        for number in (2, 1):
            httpx.post(ANSWERED[1], json={"number": number})
    assert [sent.body["number"] for sent in sorted(api.sent)] == [1, 2]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_forked_process_is_refused_unless_it_sends_to_this_machine(
    is_async: bool, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def post(url: str) -> int:
        return asyncio.run(post_async(url)) if is_async else httpx.post(url, json={}).status_code

    server.reply_with({})
    api = EvalAPI()
    with guard_network(), api.intercept():
        child = os.fork()
        if child == 0:
            is_right = (post(ANSWERED[1]), post(f"{server.url}/mine")) == (404, 200)
            os._exit(not is_right)
        assert os.waitpid(child, 0)[1] == 0
        # What the forked process did, where its coverage is measured.
        monkeypatch.setattr(os, "getpid", lambda: -1)
        assert (post(ANSWERED[1]), post(f"{server.url}/mine")) == (404, 200)
    assert api.sent == ()


def test_a_route_that_raises_has_answered_too() -> None:
    api = EvalAPI()
    api.post(ANSWERED[1]).mock(side_effect=httpx.ReadTimeout)
    with api.intercept(), pytest.raises(httpx.ReadTimeout):
        httpx.post(ANSWERED[1], json={})
    with api.intercept():
        httpx.post(ANSWERED[3], json={})
    assert [sent.answered_by for sent in api.sent] == ["route", "default"]
