"""The stand-in of the APIs: what it answers, and for whom."""

from __future__ import annotations

import asyncio
import re

import httpx
import pytest
import respx

from pytest_chatprompt import EvalAPI, RecordingError

ANSWERED = [
    "https://azure.example/openai/deployments/d/chat/completions?api-version=1",
    "https://azure.example/openai/v1/chat/completions",
    "http://localhost:11434/v1/chat/completions",
    "https://gateway.example/anthropic/v1/messages",
    "https://gemini.example/v1beta/models/m:generateContent",
]


@pytest.mark.parametrize("url", ANSWERED)
def test_the_four_apis_are_answered_on_any_host(url: str) -> None:
    api = EvalAPI()
    with api.active(), httpx.Client() as client:
        assert "(offline)" in client.post(url, content=b'{"a":1}').text
    assert [(request.method, str(request.url), request.content) for request in api.sent] == [("POST", url, b'{"a":1}')]
    assert api.calls.last.response.status_code == 200


def test_async_clients_are_answered_too() -> None:
    async def post(url: str) -> str:
        async with httpx.AsyncClient() as client:
            return (await client.post(url)).text

    api = EvalAPI()
    api.post("https://mine.example/").respond(text="own")
    with api.active():
        assert "(offline)" in asyncio.run(post(ANSWERED[0]))
        assert asyncio.run(post("https://mine.example/")) == "own"


def test_a_clients_own_transport_is_no_way_around_it() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(500))
    with EvalAPI().active(), httpx.Client(transport=transport) as client:
        assert client.post(ANSWERED[0]).status_code == 200


def test_a_tests_own_routes_come_first() -> None:
    api = EvalAPI()
    route = api.post(path="/openai/v1/chat/completions").respond(429)
    with api.active(), httpx.Client() as client:
        assert client.post(ANSWERED[1]).status_code == 429
        assert client.post(ANSWERED[3]).status_code == 200
    assert route.call_count == 1
    assert len(api.sent) == 2


@pytest.mark.parametrize(
    ("method", "url", "told"),
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
            "https://api.example/v1/embeddings",
            "nothing answers POST https://api.example/v1/embeddings offline;",
            id="another path",
        ),
    ],
)
def test_what_no_route_answers_is_an_error(method: str, url: str, told: str) -> None:
    api = EvalAPI()
    with api.active(), httpx.Client() as client, pytest.raises(RecordingError, match=re.escape(told)):
        client.request(method, url)
    assert api.unanswered == [told.split(" ", 2)[2].partition(" offline")[0]]


def test_what_was_sent_before_is_forgotten() -> None:
    api = EvalAPI()
    for _ in range(2):
        with api.active(), httpx.Client() as client:
            client.post(ANSWERED[0])
        assert len(api.sent) == 1


def test_outside_of_it_nothing_is_answered() -> None:
    api = EvalAPI()
    api.get("https://mine.example/").respond(204)
    with api.active():
        pass
    transport = httpx.MockTransport(lambda _: httpx.Response(418))
    with httpx.Client(transport=transport) as client:
        assert client.get("https://mine.example/").status_code == 418
    assert not respx.mocks.HTTPXMocker.routers
