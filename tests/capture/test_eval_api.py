"""The stand-in of the APIs: what it answers, and for which clients."""

from __future__ import annotations

import asyncio
import re

import httpx
import pytest
import respx

from pytest_chatprompt import CaptureError, EvalAPI

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
    assert [(request.method, str(request.url), request.content) for request in api.sent] == [("POST", url, b'{"a":1}')]
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


def test_a_client_with_its_own_transport_is_answered_too() -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(500))
    with EvalAPI().intercept(), httpx.Client(transport=transport) as client:
        assert client.post(ANSWERED[0]).status_code == 200


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
            "https://api.example/v1/embeddings",
            "nothing answers POST https://api.example/v1/embeddings offline;",
            id="another path",
        ),
    ],
)
def test_a_request_that_nothing_answers_is_an_error(method: str, url: str, message: str) -> None:
    api = EvalAPI()
    with api.intercept(), httpx.Client() as client, pytest.raises(CaptureError, match=re.escape(message)):
        client.request(method, url)
    assert api.unanswered == [message.split(" ", 2)[2].partition(" offline")[0]]


def test_each_interception_starts_with_no_requests() -> None:
    api = EvalAPI()
    for _ in range(2):
        with api.intercept(), httpx.Client() as client:
            client.post(ANSWERED[0])
        assert len(api.sent) == 1


def test_outside_of_intercept_nothing_is_answered() -> None:
    api = EvalAPI()
    api.get("https://mine.example/").respond(204)
    with api.intercept():
        pass
    transport = httpx.MockTransport(lambda _: httpx.Response(418))
    with httpx.Client(transport=transport) as client:
        assert client.get("https://mine.example/").status_code == 418
    assert not respx.mocks.HTTPXMocker.routers
