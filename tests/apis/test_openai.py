"""OpenAI: the body that is sent, and the reply that comes back."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt import OpenAIProvider
from tests.apis.conversations import SYSTEM, TOOLS, USER


def test_messages_are_sent_unchanged() -> None:
    body = OpenAIProvider().build_payload(TOOLS).body
    assert list(body) == ["model", "messages"]
    assert body["messages"] == [message.as_dict() for message in TOOLS]


def test_the_default_model_is_a_constant() -> None:
    assert OpenAIProvider().build_payload((USER,)).body["model"] == "gpt-5.5"


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        pytest.param({"temperature": 0}, {"temperature": 0}, id="a temperature of 0 is a value"),
        pytest.param({"max_output_tokens": 10}, {"max_completion_tokens": 10}, id="a token limit"),
        pytest.param(
            {"max_output_tokens": 10, "max_tokens_parameter": "max_tokens"},
            {"max_tokens": 10},
            id="a token limit under its older name",
        ),
        pytest.param({}, {}, id="nothing set"),
    ],
)
def test_only_settings_that_are_set_are_sent(settings: dict[str, Any], sent: dict[str, Any]) -> None:
    body = OpenAIProvider(**settings).build_payload((SYSTEM, USER)).body
    assert {key: value for key, value in body.items() if key not in {"model", "messages"}} == sent


@pytest.mark.parametrize(
    ("reply", "text", "finish_reason", "blocked", "tokens"),
    [
        pytest.param(
            {
                "choices": [{"message": {"content": "ho"}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 3, "completion_tokens": 4},
            },
            "ho", "stop", None, (3, 4), id="text",
        ),
        pytest.param(
            {"choices": [{"message": {"content": None, "reasoning_content": "hm"}, "finish_reason": "tool_calls"}]},
            "", "tool_calls", None, (None, None), id="no text",
        ),
        pytest.param(
            {"choices": [{"message": {"content": [{"type": "text", "text": "a"}, {"type": "thinking"}, {"type": "text", "text": "b"}]}}], "usage": None},
            "ab", None, None, (None, None), id="a list of parts, from a compatible server",
        ),
        pytest.param(
            {"choices": [{"message": {"content": None, "refusal": "I cannot."}, "finish_reason": "stop"}]},
            "", "stop", "I cannot.", (None, None), id="a refusal",
        ),
        pytest.param(
            {"choices": [{"message": {}, "finish_reason": "content_filter"}]},
            "", "content_filter", "content_filter", (None, None), id="a filtered answer",
        ),
    ],
)  # fmt: skip
def test_a_reply_becomes_a_response(
    reply: dict[str, Any],
    text: str,
    finish_reason: str | None,
    blocked: str | None,
    tokens: tuple[int | None, int | None],
) -> None:
    response = OpenAIProvider().read_reply(reply)
    assert (response.text, response.finish_reason, response.blocked) == (text, finish_reason, blocked)
    assert (response.usage.input_tokens, response.usage.output_tokens) == tokens
    assert response.raw == reply
