"""OpenAI Responses: the body that is sent, and the reply that comes back."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt import ChatMessage, OpenAIResponsesProvider, PayloadError, ProviderRequest
from tests.apis.conversations import SYSTEM, TOOLS, USER
from tests.replies import plain_reply
from tests.server import Server

RESPONSES = OpenAIResponsesProvider(model="m")
HI = ChatMessage("user", "hi")


def test_the_system_text_is_the_instructions(server: Server) -> None:
    server.reply_with(plain_reply("openai-responses"))
    provider = OpenAIResponsesProvider(base_url=f"{server.url}/v1", api_key="k1", temperature=0)
    response = provider.send(ProviderRequest(chat_prompt=(SYSTEM, USER)))
    provider.close()
    assert (response.text, response.finish_reason) == ("(offline)", "completed")
    ((path, headers, body),) = server.requests
    assert (path, headers["authorization"]) == ("/v1/responses", "Bearer k1")
    assert body == {
        "model": "gpt-5.5",
        "instructions": "Be kind.",
        "input": [{"role": "user", "content": "hi"}],
        "temperature": 0,
    }


def test_e3_calls_and_results_are_items_of_their_own_in_the_order_of_the_messages() -> None:
    payload = RESPONSES.build_payload(TOOLS)
    assert payload.body["input"] == [
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": "Let me see."},
        {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city": "Paris"}'},
        {"type": "function_call", "call_id": "c2", "name": "now", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "sunny"},
        {"type": "function_call_output", "call_id": "c2", "output": ""},
        {"role": "user", "content": "And?"},
        {"type": "function_call", "call_id": "c3", "name": "more", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c3", "output": '{"a": 1}'},
    ]
    assert payload.adjustments == ("message 5: null sent as an empty result",)


def test_names_and_further_system_messages_are_adjusted() -> None:
    prompt = (SYSTEM, ChatMessage("user", "hi", name="bob", number=2), ChatMessage("system", "Be brief.", number=3))
    payload = RESPONSES.build_payload(prompt)
    assert payload.body["instructions"] == "Be kind.\n\nBe brief."
    assert payload.adjustments == (
        "message 2: name 'bob' left out, OpenAI Responses has none",
        "message 3: merged into the first system message",
    )


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        pytest.param(
            (SYSTEM,),
            "OpenAI Responses needs a message besides the system message; add a user message with content of its own",
            id="system messages only",
        ),
        pytest.param(
            (USER, ChatMessage("tool", "x", number=5)),
            "message 5: a tool message without 'tool_call_id'; name the call that it answers",
            id="a result without an id",
        ),
    ],
)
def test_e3_messages_that_the_api_cannot_express_are_an_error(prompt: tuple[ChatMessage, ...], text: str) -> None:
    with pytest.raises(PayloadError) as caught:
        RESPONSES.build_payload(prompt)
    assert str(caught.value) == text


@pytest.mark.parametrize(("name", "value"), [("stop", "END"), ("seed", 1)])
def test_a_setting_that_the_api_lacks_is_an_error_with_its_place(name: str, value: Any) -> None:
    with pytest.raises(PayloadError) as caught:
        RESPONSES.prepare(ProviderRequest(chat_prompt=(HI,), settings={name: value}))
    assert (caught.value.location, caught.value.reason) == (
        ("settings", name),
        f"OpenAI Responses has no setting {name!r}; leave it out, or put it under the name of a provider that has it",
    )


def test_the_shape_of_chat_completions_becomes_that_of_responses() -> None:
    grammar = {"definition": "start: /x/", "syntax": "lark"}
    nested = {"type": "custom", "custom": {"name": "c", "format": {"type": "grammar", "grammar": grammar}}}
    flat = {"type": "custom", "name": "c", "format": {"type": "grammar", **grammar}}
    search = {"type": "web_search", "filters": {"allowed_domains": ["a.example"]}}
    text = {"type": "custom", "name": "t", "format": {"type": "text"}}
    assert RESPONSES.tools_payload([nested, flat, search, text]).body == {"tools": [flat, flat, search, text]}
    choice = {
        "type": "allowed_tools",
        "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "a"}}]},
    }
    assert RESPONSES.tool_choice_payload(choice).body == {
        "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "a"}]}
    }
    assert RESPONSES.tool_choice_payload({"type": "file_search"}).body == {"tool_choice": {"type": "file_search"}}


def message(*content: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": list(content)}


def text(value: str) -> dict[str, Any]:
    return {"type": "output_text", "text": value, "annotations": []}


@pytest.mark.parametrize(
    ("reply", "answer", "finish_reason", "blocked"),
    [
        pytest.param(
            {"status": "completed", "output": [{"type": "reasoning", "summary": []}, message(text("a"), text("b"))]},
            "ab", "completed", None, id="all text, without the reasoning",
        ),
        pytest.param(
            {"status": "completed", "output": [message({"type": "refusal", "refusal": "I cannot."})]},
            "", "completed", "I cannot.", id="a refusal",
        ),
        pytest.param(
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": [message(text("a"))]},
            "a", "max_output_tokens", None, id="an answer that was cut off",
        ),
        pytest.param(
            {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}, "output": []},
            "", "content_filter", "content_filter", id="a filtered answer",
        ),
        pytest.param(
            {"status": "failed", "error": {"code": "server_error", "message": "It broke."}, "output": []},
            "", "failed", "server_error: It broke.", id="an answer that failed, with the status 200",
        ),
    ],
)  # fmt: skip
def test_a_reply_becomes_a_response(
    reply: dict[str, Any], answer: str, finish_reason: str, blocked: str | None
) -> None:
    response = RESPONSES.read_reply(reply)
    assert (response.text, response.finish_reason, response.blocked) == (answer, finish_reason, blocked)
    assert (response.usage.input_tokens, response.usage.output_tokens) == (None, None)
    assert response.raw == reply


def test_calls_and_usage_are_read() -> None:
    item = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "now", "arguments": '{"a": 1}'}
    own = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    response = RESPONSES.read_reply({"output": [own, item], "usage": {"input_tokens": 3, "output_tokens": 4}})
    (called,) = response.tool_calls
    assert (called.id, called.function.name, called.function.arguments) == ("c1", "now", '{"a": 1}')
    assert (response.usage.input_tokens, response.usage.output_tokens) == (3, 4)


def test_an_empty_key_is_not_sent() -> None:
    assert RESPONSES.auth_headers("") == {}


def test_it_has_no_api_version() -> None:
    arguments: Any = {"api_version": "v1"}
    with pytest.raises(TypeError, match="OpenAIResponsesProvider has no setting 'api_version'"):
        OpenAIResponsesProvider(**arguments)
