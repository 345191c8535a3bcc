"""Metering: who bills a request of another client, and what its reply costs."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from pytest_chatprompt.apis.ollama import OllamaProvider
from pytest_chatprompt.apis.openai import OpenAIProvider
from pytest_chatprompt.capture.clients.interceptor import run_now
from pytest_chatprompt.capture.recording.open_recording import (
    OpenRecording,
    RecordingEntry,
    billing_of_sent,
    find_billing,
    replay_or_send,
)
from pytest_chatprompt.capture.recording.recorded_exchange import RecordedRequest
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.errors import BudgetError
from pytest_chatprompt.live.budget import RunBudget
from pytest_chatprompt.providers.context import SendContext, use_context
from pytest_chatprompt.providers.http.client import PROVIDER_EXTENSION
from pytest_chatprompt.providers.prices import Billing

CHAT = "https://api.openai.com/v1/chat/completions"
BODY = {"model": "gpt-5.5", "messages": [{"role": "user", "content": "hello"}]}
USAGE = {"usage": {"prompt_tokens": 1000, "completion_tokens": 100}}


def post(url: str = CHAT, body: Any = None, sender: type | None = None) -> httpx.Request:
    extensions = {} if sender is None else {PROVIDER_EXTENSION: sender}
    return httpx.Request("POST", url, json=BODY if body is None else body, extensions=extensions)


@pytest.mark.parametrize(
    ("url", "body", "expected"),
    [
        (CHAT, BODY, ("openai-chat", "gpt-5.5", "openai")),
        ("https://api.openai.com/v1/responses", {"model": "gpt-5.5", "input": "x"}, ("openai-responses", "gpt-5.5", "openai")),
        ("https://api.openai.com/v1/embeddings", {"model": "text-embedding-3-small", "input": "x"},
         ("openai-embeddings", "text-embedding-3-small", "openai")),
        ("https://mine.openai.azure.com/openai/deployments/gpt%2D5.5/chat/completions?api-version=1", {"messages": []},
         ("azure-chat", "gpt-5.5", "azure")),
        ("https://api.anthropic.com/v1/messages", {"model": "claude-sonnet-5-5", "messages": []},
         ("anthropic", "claude-sonnet-5-5", "anthropic")),
        ("https://generativelanguage.googleapis.com/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse", {},
         ("gemini", "gemini-3.8-flash", "google")),
        ("https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse", {},
         ("bedrock", "anthropic.claude-sonnet-4-5-20250929-v1:0", "aws")),
        ("https://api.mistral.ai/v1/chat/completions", {"model": "mistral-large-latest", "messages": []},
         ("mistral", "mistral-large-latest", "mistral")),
        ("https://api.cohere.com/v2/chat", {"model": "command-a-03-2025", "messages": []}, ("cohere", "command-a-03-2025", "cohere")),
        ("http://localhost:11434/api/chat", {"model": "llama", "messages": []}, ("ollama-chat", "llama", "")),
        (CHAT, {"model": 3, "messages": []}, ("openai-chat", "", "openai")),
    ],
)  # fmt: skip
def test_the_vendor_and_the_model_of_a_request(url: str, body: Any, expected: tuple[str, str, str]) -> None:
    billing = find_billing(post(url, body))
    assert billing is not None
    assert (billing.account, billing.model, billing.vendor) == expected
    assert url.startswith(billing.base_url)
    assert billing_of_sent(SentRequest.from_httpx(post(url, body))) == billing


def test_a_request_to_something_else_is_billed_by_nobody() -> None:
    assert find_billing(post("https://files.example/upload")) is None


def test_a_provider_meters_its_own_requests_where_it_knows_the_budget() -> None:
    request = post("https://gateway.example/v1/chat/completions", sender=OllamaProvider)
    assert find_billing(request) == Billing("Ollama", "gpt-5.5", "", "https://gateway.example/v1/chat/completions")
    for each, cost in ((post(sender=OpenAIProvider), 0), (post(), 0.008)):
        budget = RunBudget(1)
        with use_context(SendContext(budget=budget)):
            send(budget, httpx.Response(200, json=USAGE), each)
        assert budget.spent_usd == pytest.approx(cost)
    billing = find_billing(post(sender=OpenAIProvider))
    assert billing is not None
    assert (billing.account, billing.vendor) == ("OpenAI", "openai")


def recording_for(budget: RunBudget) -> OpenRecording:
    recording = OpenRecording(sends=True)
    recording.budget = budget
    return recording


def send(budget: RunBudget, reply: httpx.Response, request: httpx.Request | None = None) -> httpx.Response:
    """Send a request as a client of the user does, and read its reply."""
    response = run_now(replay_or_send(recording_for(budget), request or post(), lambda _: reply))
    response.read()
    return response


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        pytest.param(httpx.Response(200, json=USAGE), 0.008, id="a reply with its usage"),
        pytest.param(
            httpx.Response(
                200,
                headers={"content-type": "text/event-stream"},
                text="".join(
                    f"data: {each}\n\n" for each in (json.dumps({"choices": []}), json.dumps(USAGE), "[DONE]")
                ),
            ),
            0.008,
            id="a stream with its usage",
        ),
        pytest.param(httpx.Response(400, json=USAGE), 0, id="an error"),
    ],
)
def test_a_reply_says_what_it_costs(reply: httpx.Response, expected: float) -> None:
    budget = RunBudget(1)
    send(budget, reply)
    assert budget.spent_usd == pytest.approx(expected)


def test_embeddings_cost_their_input() -> None:
    budget = RunBudget(1)
    request = post("https://api.openai.com/v1/embeddings", {"model": "text-embedding-3-small", "input": "x"})
    send(budget, httpx.Response(200, json={"data": [], "usage": {"prompt_tokens": 1_000_000}}), request)
    assert budget.spent_usd == pytest.approx(0.02)


def test_a_reply_without_usage_is_estimated_by_its_length() -> None:
    budget = RunBudget(1000)
    send(budget, httpx.Response(200, text="x" * 4_000_000))
    # A million tokens at $30, and a few of the request.
    assert budget.spent_usd == pytest.approx(30, abs=0.001)


def test_a_model_that_loses_its_price_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    budget = RunBudget(1)
    pending = RecordingEntry(RecordedRequest(sha256="0" * 64))
    pending.meter(budget, post())
    monkeypatch.setattr(Billing, "cost_usd", lambda *_: None)
    pending.pay(None, 4000)
    assert budget.spent_usd == 0


def test_a_request_that_is_not_sent_costs_nothing() -> None:
    budget = RunBudget(1)
    recording = recording_for(budget)

    def fail(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    with pytest.raises(httpx.ConnectError):
        run_now(replay_or_send(recording, post(), fail))
    assert budget.spent_usd == 0
    send(budget, httpx.Response(200, json=USAGE))
    assert budget.spent_usd == pytest.approx(0.008)


class Broken(httpx.SyncByteStream):
    """A stream that breaks off."""

    def __iter__(self) -> Any:
        yield b"x" * 400
        raise httpx.ReadError("broken")


def test_a_reply_that_breaks_off_costs_what_came() -> None:
    budget = RunBudget(1)
    with pytest.raises(httpx.ReadError):
        send(budget, httpx.Response(200, stream=Broken()))
    # 100 tokens at $30 for a million, and a few of the request.
    assert 0.003 < budget.spent_usd < 0.004


def test_a_reply_that_nobody_reads_costs_its_request() -> None:
    budget = RunBudget(1)
    response = run_now(replay_or_send(recording_for(budget), post(), lambda _: httpx.Response(200, json=USAGE)))
    response.close()
    assert 0 < budget.spent_usd < 0.001


def test_what_the_budget_refuses_is_not_sent() -> None:
    budget = RunBudget(0.001)
    send(budget, httpx.Response(200, json=USAGE))
    recording = recording_for(budget)
    with pytest.raises(BudgetError, match=r"^the budget of \$0\.001 is spent: \$0\.008 so far$"):
        run_now(replay_or_send(recording, post(), lambda _: httpx.Response(200, json=USAGE)))


def test_without_a_budget_nothing_is_metered() -> None:
    recording = OpenRecording(sends=True)
    assert run_now(replay_or_send(recording, post(), lambda _: httpx.Response(200, json=USAGE))).read()
    pending = recording.take(SentRequest.from_httpx(post()))
    assert pending.replayed is None
    pending.pay(None, 0)
