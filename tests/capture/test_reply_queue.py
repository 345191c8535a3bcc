"""Queued replies: which request takes which, from however many threads, and what is said of those that are left."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from pytest_chatprompt.capture.eval_api import EvalAPI
from pytest_chatprompt.capture.sent_request import SentRequest

CHAT = "https://api.openai.com/v1/chat/completions"
GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:generateContent"
EMBEDDINGS = "https://api.openai.com/v1/embeddings"


def ask(text: str, url: str = CHAT) -> str:
    body = {"model": "gpt-5", "messages": [{"role": "user", "content": [{"type": "text", "text": text}]}]}
    response = httpx.post(url, json=body)
    return str(response.json()["choices"][0]["message"]["content"]) if response.is_success else response.text


async def ask_async(text: str) -> str:
    async with httpx.AsyncClient() as client:
        response = await client.post(CHAT, json={"messages": [{"role": "user", "content": text}]})
        return str(response.json()["choices"][0]["message"]["content"])


def test_a_reply_waits_for_the_first_request_that_holds_its_text() -> None:
    api = EvalAPI()
    api.reply("Hello, Ada", when="Ada")
    api.reply("Hello, Grace", when='"Grace"\n')
    with api.intercept():
        assert [ask('called "Grace"\n'), ask("nobody"), ask("Ada"), ask("Ada")] == [
            "Hello, Grace",
            "(offline)",
            "Hello, Ada",
            "(offline)",
        ]
    assert [sent.answered_by for sent in api.sent] == ["reply", "default", "reply", "default"]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_whatever_the_order_a_request_takes_the_reply_that_is_meant_for_it(order: tuple[int, ...]) -> None:
    texts = ["Ada", "Grace", "anybody"]
    api = EvalAPI()
    api.reply("any")
    api.reply("for Ada", when="Ada")
    api.reply("for Grace", when=lambda sent: "Grace" in sent.question)
    with api.intercept():
        answers = {texts[index]: ask(texts[index]) for index in order}
    assert answers == {"Ada": "for Ada", "Grace": "for Grace", "anybody": "any"}


def test_threads_and_tasks_each_take_their_own() -> None:
    names = [f"<{number}>" for number in range(40)]
    api = EvalAPI()
    for name in reversed(names * 2):
        api.reply(f"for {name}", when=name)

    async def gather() -> list[str]:
        return await asyncio.gather(*map(ask_async, names))

    with api.intercept(), ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, names)) == [f"for {name}" for name in names]
        assert asyncio.run(gather()) == [f"for {name}" for name in names]
    assert api.reply_queue.waiting == []


@pytest.mark.parametrize(
    "when",
    [
        pytest.param("gemini-3-pro", id="the model in the path"),
        pytest.param(lambda sent: sent.endpoint.endswith(":generateContent"), id="a function"),
        pytest.param("Where", id="a text in the body"),
    ],
)
def test_a_reply_may_wait_for_a_model_or_an_api(when: Any) -> None:
    api = EvalAPI()
    api.reply("from Gemini", when=when)
    with api.intercept():
        assert ask("x") == "(offline)"
        body = {"contents": [{"role": "user", "parts": [{"text": "Where?"}]}]}
        assert "from Gemini" in httpx.post(GEMINI, json=body).text


def test_a_reply_that_an_api_cannot_give_waits_even_if_it_fits() -> None:
    api = EvalAPI()
    api.reply("text", when="Ada")
    with api.intercept():
        assert httpx.post(EMBEDDINGS, json={"input": "Ada", "model": "m"}).is_success
        assert ask("Ada") == "text"


def test_keys_are_no_texts_of_a_request() -> None:
    api = EvalAPI()
    api.reply("taken", when="messages")
    with api.intercept():
        assert ask("Ada") == "(offline)"


def test_a_function_that_fails_refuses_the_request_and_is_told() -> None:
    def is_greeting(sent: SentRequest) -> bool:
        return bool(sent.body["input"])

    api = EvalAPI()
    api.reply("one")
    api.reply("two", when=is_greeting)
    message = (
        "reply 2 of eval_api.reply cannot tell whether POST /v1/chat/completions is its request: "
        "is_greeting raised KeyError: 'input'"
    )
    with api.intercept():
        assert message.replace("'", "\\'") in ask("Ada").replace("'", "\\'")
    assert [str(error) for error in api.errors] == [message]


def test_a_function_may_itself_send_a_request() -> None:
    api = EvalAPI()
    api.reply("yes", when="classify")
    api.reply("for Ada", when=lambda sent: "Ada" in sent.question and ask("classify") == "yes")
    with api.intercept(), ThreadPoolExecutor(1) as pool:
        assert pool.submit(ask, "Ada").result(timeout=60) == "for Ada"


def test_a_reply_goes_to_one_of_the_requests_that_it_fits_at_once() -> None:
    api = EvalAPI()
    together = threading.Barrier(2)

    def fits(_: SentRequest) -> bool:
        together.wait(60)
        return True

    api.reply("one", when=fits)
    with api.intercept(), ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(ask, ["Ada", "Grace"])) == ["(offline)", "one"]


async def is_async(sent: SentRequest) -> bool:
    return "Ada" in sent.question


@pytest.mark.parametrize(
    ("when", "error", "text"),
    [
        (is_async, TypeError, "when is an async function, which nobody awaits here; make it an ordinary one"),
        ("", ValueError, "when is an empty text, which every request holds; leave it out"),
        (3, TypeError, "when must be a text that the request holds, or a function of the request, not 3"),
        (["Ada"], TypeError, r"when must be a text .*, not \['Ada'\]"),
    ],
)
def test_what_no_request_could_be_asked_is_refused(when: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=f"^{text}$"):
        EvalAPI().reply("x", when=when)


class Later:
    def __await__(self) -> Iterator[None]:
        raise AssertionError("nobody awaits it")


def test_a_function_whose_answer_has_to_be_awaited_is_told() -> None:
    api = EvalAPI()
    api.reply("for Ada", when=lambda _: Later())
    with api.intercept():
        assert "for Ada" not in ask("Grace")
    (error,) = api.errors
    assert str(error).endswith(
        " raised TypeError: its answer has to be awaited, and nobody does; make it an ordinary one"
    )


class Matcher:
    def __call__(self, sent: SentRequest) -> bool:
        return not sent


def is_ada(sent: SentRequest) -> bool:
    return "Ada" in sent.question


LEFT: list[tuple[Callable[[EvalAPI], object], str]] = [
    (lambda api: api.reply("Hello, Ada"), "'Hello, Ada'"),
    (lambda api: api.reply("x" * 100, when="Ada"), f"'{'x' * 39}..., when='Ada'"),
    (
        lambda api: api.reply(tool_calls=[{"name": "a"}, {"name": "b"}]),
        "tool_calls=({'name': 'a', 'arguments': {}}, {'name'...",
    ),
    (lambda api: api.reply("a", tool_calls=[{"name": "a"}]), "'a', tool_calls=({'name': 'a', 'arguments': {}},)"),
    (lambda api: api.reply(json={"a": 1}, usage={"input_tokens": 3}), "json={'a': 1}, usage={'input_tokens': 3}"),
    (lambda api: api.reply(error=429, when=is_ada), "error=429, when=is_ada"),
    (lambda api: api.reply(finish_reason="length", when=Matcher()), "finish_reason='length', when=Matcher"),
]


@pytest.mark.parametrize(("queue", "described"), LEFT, ids=[described for _, described in LEFT])
def test_a_reply_that_is_left_is_told_as_it_was_queued(queue: Callable[[EvalAPI], object], described: str) -> None:
    api = EvalAPI()
    queue(api)
    assert api.reply_queue.describe_waiting() == (
        "eval_api.reply queued a reply that no request has taken; remove it, or send its request:\n"
        f"  reply 1: {described}"
    )


def test_of_many_that_are_left_the_first_ones_are_told() -> None:
    api = EvalAPI()
    for number in range(1, 14):
        api.reply(f"number {number}")
    with api.intercept():
        ask("Ada")
    assert api.reply_queue.describe_waiting().splitlines() == [
        "eval_api.reply queued 12 replies that no request has taken; remove them, or send their requests:",
        *(f"  reply {number}: 'number {number}'" for number in range(2, 12)),
        "  and 2 more",
    ]
