"""The prefix of a prompt: where two requests part, in the order in which each API's model reads them."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import Any

import pytest

from pytest_chatprompt.apis.table import API_NAMES, get_api
from pytest_chatprompt.capture.prompt_size import assert_conversation, find_break
from pytest_chatprompt.capture.sent_request import SentRequest

TOOL = {"name": "search", "description": "Searches.", "input_schema": {"type": "object"}}
FUNCTION = {"type": "function", "function": {"name": "search", "description": "Searches.", "parameters": {}}}
CHAT: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hi"},
    ],
    "tools": [FUNCTION, copy.deepcopy(FUNCTION)],
    "temperature": 0,
}
ANTHROPIC: dict[str, Any] = {
    "model": "m",
    "max_tokens": 10,
    "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
    "system": "Be brief.",
    "tools": [TOOL],
}
GEMINI: dict[str, Any] = {
    "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
    "systemInstruction": {"parts": [{"text": "Be brief."}]},
    "tools": [{"functionDeclarations": [{"name": "search"}]}],
}
BEDROCK: dict[str, Any] = {
    "messages": [{"role": "user", "content": [{"text": "hi"}]}],
    "system": [{"text": "Be brief."}],
    "toolConfig": {"tools": [{"toolSpec": {"name": "search"}}]},
}
RESPONSES: dict[str, Any] = {"model": "m", "instructions": "Be brief.", "input": [{"role": "user", "content": "hi"}]}
ENDPOINTS = {
    "chat": ("POST /v1/chat/completions", CHAT),
    "anthropic": ("POST /v1/messages", ANTHROPIC),
    "gemini": ("POST /v1/models/gemini-3-pro:generateContent", GEMINI),
    "bedrock": ("POST /model/nova/converse", BEDROCK),
    "responses": ("POST /v1/responses", RESPONSES),
}

Change = Callable[[dict[str, Any]], Any]


def changed(name: str, change: Change) -> tuple[SentRequest, SentRequest]:
    """A request as it was, and as a change made it."""
    endpoint, body = ENDPOINTS[name]
    new = copy.deepcopy(body)
    change(new)
    return SentRequest(endpoint, body), SentRequest(endpoint, new)


def place_of_break(stored: SentRequest, sent: SentRequest, *, must_go_on: bool = False) -> str | None:
    broken = find_break(stored, sent, must_go_on=must_go_on)
    return None if broken is None else broken[0]


def set_tool(body: dict[str, Any]) -> Any:
    return body["tools"][1]["function"].update(description="Finds.")


PARTS: list[tuple[str, str, Change, str | None]] = [
    ("a setting is not part of the prompt", "chat", lambda body: body.update(temperature=1, stream=True), None),
    ("another model reads it all anew", "chat", lambda body: body.update(model="n"), "model"),
    ("a further message extends it", "chat", lambda body: body["messages"].append({"role": "user"}), None),
    ("fewer messages are its beginning", "chat", lambda body: body["messages"].pop(), None),
    (
        "the first change counts",
        "chat",
        lambda body: (body["messages"][0].update(content="Be long."), body["messages"].pop()),
        "messages[0].content",
    ),
    (
        "tools come before messages",
        "chat",
        lambda body: (body["messages"][0].update(content="Be long."), set_tool(body)),
        "tools[1].function.description",
    ),
    ("a removed tool moves the messages", "chat", lambda body: body["tools"].pop(), "tools[1].type"),
    ("so does a new one", "chat", lambda body: body["tools"].append(FUNCTION), "tools[2].type"),
    ("and the first one", "chat", lambda body: body.pop("tools"), "tools[0].type"),
    (
        "a schema of the answer comes before all",
        "chat",
        lambda body: (set_tool(body), body.update(response_format={"type": "json_object"})),
        "response_format.type",
    ),
    ("the order of keys is none", "chat", lambda body: body.update(messages=body.pop("messages")), None),
    ("a text that grows at the end", "chat", lambda body: body["messages"][1].update(content="hi you"), None),
    (
        "one that grows before the end",
        "chat",
        lambda body: body["messages"][0].update(content="Be brief. Do."),
        "messages[0].content",
    ),
    ("an empty list is the beginning of any", "responses", lambda body: body.update(input=[]), None),
    ("a key that a message gets", "chat", lambda body: body["messages"][0].update(name="x"), "messages[0].name"),
    ("another type", "chat", lambda body: body["messages"][1].update(content=None), "messages[1].content"),
    ("a key of null", "chat", lambda body: body.update(response_format=None), "response_format"),
    ("True is not 1", "chat", lambda body: body["tools"][0].update(strict=True), "tools[0].strict"),
    (
        "tools before system",
        "anthropic",
        lambda body: (body.update(system="x"), body.update(tools=[])),
        "tools[0].name",
    ),
    ("system before messages", "anthropic", lambda body: (body.update(system="x"), body.update(messages=[])), "system"),
    (
        "a mark of the cache is not text",
        "anthropic",
        lambda body: body["messages"][0]["content"][0].update(cache_control={"type": "ephemeral"}),
        None,
    ),
    (
        "the instruction first",
        "gemini",
        lambda body: body.update(systemInstruction={}, tools=[]),
        "systemInstruction.parts[0].text",
    ),
    ("in snake case too", "gemini", lambda body: body.update(system_instruction="x"), "system_instruction"),
    (
        "tools next",
        "gemini",
        lambda body: body.update(contents=["x"], tools=[]),
        "tools[0].functionDeclarations[0].name",
    ),
    (
        "a point of the cache is not text",
        "bedrock",
        lambda body: body["system"].insert(0, {"cachePoint": {"type": "default"}}),
        None,
    ),
    (
        "tools first",
        "bedrock",
        lambda body: (body.update(system=[]), body["toolConfig"].update(tools=[])),
        "toolConfig.tools[0].toolSpec.name",
    ),
    ("instructions before input", "responses", lambda body: body.update(instructions="x", input=[]), "instructions"),
    (
        "the format before all",
        "responses",
        lambda body: body.update(instructions="x", text={"format": {"type": "text"}}),
        "text.format.type",
    ),
    ("items are added at the end", "responses", lambda body: body["input"].append({"type": "message"}), None),
]


@pytest.mark.parametrize(("name", "change", "place"), [pytest.param(*row[1:], id=row[0]) for row in PARTS])
def test_where_a_request_no_longer_begins_as_it_did(name: str, change: Change, place: str | None) -> None:
    stored, sent = changed(name, change)
    assert place_of_break(stored, sent) == place
    assert find_break(sent, sent) is None


EPHEMERAL = {"cache_control": {"type": "ephemeral"}}


@pytest.mark.parametrize(
    ("name", "key", "value", "otherwise"),
    [
        pytest.param("anthropic", "system", "Be brief.", [{"type": "text", "text": "Be brief.", **EPHEMERAL}], id="a system text"),
        pytest.param(
            "anthropic",
            "messages",
            [{"role": "user", "content": "hi"}],
            [{"role": "user", "content": [{"type": "text", "text": "hi", **EPHEMERAL}]}],
            id="a text that gets a breakpoint",
        ),
        pytest.param(
            "anthropic",
            "messages",
            [{"role": "user", "content": [{"type": "text", "text": "a", **EPHEMERAL}, {"type": "text", "text": "b"}]}],
            [{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b", **EPHEMERAL}]}],
            id="a breakpoint that moves",
        ),
        pytest.param(
            "anthropic",
            "messages",
            [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "hi"}]}],
            [
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "hi"}], **EPHEMERAL}],
                }
            ],
            id="a tool result",
        ),
        pytest.param(
            "bedrock",
            "messages",
            [{"role": "user", "content": [{"text": "a"}, {"cachePoint": {"type": "default"}}, {"text": "b"}]}],
            [{"role": "user", "content": [{"text": "a"}, {"text": "b"}, {"cachePoint": {"type": "default"}}]}],
            id="a point that moves",
        ),
        pytest.param(
            "chat",
            "messages",
            [{"role": "user", "content": "hi"}],
            [
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "hi", "prompt_cache_breakpoint": {"mode": "explicit"}}],
                }
            ],
            id="a breakpoint of OpenAI",
        ),
        pytest.param("responses", "input", "hi", [{"role": "user", "content": "hi"}], id="an input"),
        pytest.param(
            "responses",
            "input",
            [{"role": "user", "content": "hi"}],
            [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}],
            id="a message",
        ),
        pytest.param(
            "responses",
            "input",
            [{"type": "function_call_output", "call_id": "1", "output": "hi"}],
            [{"type": "function_call_output", "call_id": "1", "output": [{"type": "input_text", "text": "hi"}]}],
            id="the output of a function",
        ),
    ],
)  # fmt: skip
def test_a_text_is_the_beginning_of_the_same_text_written_otherwise(
    name: str, key: str, value: Any, otherwise: Any
) -> None:
    one, other = changed(name, lambda body: body.update({key: otherwise}))
    one = SentRequest(one.endpoint, {**one.body, key: value})
    assert find_break(one, other, must_go_on=True) is None
    assert find_break(other, one, must_go_on=True) is None


def test_another_text_differs_where_it_is_written_otherwise() -> None:
    old, new = changed("anthropic", lambda body: body["messages"][0].update(content="ho"))
    assert find_break(old, new) == ("messages[0].content[0].text", 25)
    assert find_break(new, old) == ("messages[0].content", 25)


def test_the_model_of_a_path_counts() -> None:
    stored = SentRequest("POST /v1/models/one:generateContent", GEMINI)
    assert place_of_break(stored, SentRequest("POST /v1/models/two:generateContent", GEMINI)) == "endpoint"
    streamed = SentRequest("POST /v1/models/one:streamGenerateContent?alt=sse", GEMINI)
    assert find_break(stored, streamed) is None


def test_what_no_api_of_the_table_reads_is_compared_key_by_key() -> None:
    stored = SentRequest("POST /predict", {"a": 1, "b": [1, {"c": "x"}]})
    assert place_of_break(stored, SentRequest("POST /predict", {"a": 1, "b": [1, {"c": "y"}]})) == "b[1].c"
    assert place_of_break(stored, SentRequest("POST /predict", "text")) == "a"
    assert find_break(SentRequest("POST /predict", None), SentRequest("POST /predict", None)) is None


def test_a_conversation_that_goes_on_extends_the_request_before() -> None:
    messages = [{"role": "user", "content": text} for text in ("a", "b", "c")]
    requests = [SentRequest("POST /v1/chat/completions", {"messages": messages[:count]}) for count in (1, 2, 3)]
    assert [find_break(one, other, must_go_on=True) for one, other in itertools.pairwise(requests)] == [
        None,
        None,
    ]
    assert find_break(requests[0], requests[0], must_go_on=True) is None
    # One that is shorter than the one before is a beginning of it, and extends nothing.
    assert place_of_break(requests[2], requests[1], must_go_on=True) == "messages[2].role"
    grown = SentRequest("POST /v1/chat/completions", {"messages": [{"role": "user", "content": "ab"}]})
    assert find_break(requests[0], grown, must_go_on=True) is None


def test_a_conversation_is_asserted_request_by_request() -> None:
    messages = [{"role": "user", "content": text} for text in ("a", "b", "c")]
    requests = [SentRequest("POST /v1/chat/completions", {"messages": messages[:count]}) for count in (1, 2, 3)]
    assert_conversation(requests)
    late = SentRequest("POST /v1/chat/completions", {"messages": [messages[0], messages[2]]})
    with pytest.raises(AssertionError) as caught:
        assert_conversation([*requests[:2], late])
    assert str(caught.value) == (
        "request 3 (POST /v1/chat/completions) does not begin with all of request 2: "
        "the first difference is at messages[1].content; the vendor can reuse nothing from there on"
    )
    for few in ([], requests[:1]):
        with pytest.raises(AssertionError, match=f"^a conversation has at least two requests, but here is {len(few)}$"):
            assert_conversation(few)


@pytest.mark.parametrize("key", ["previous_response_id", "conversation"])
def test_a_request_that_goes_on_from_what_the_vendor_has_kept_extends_the_one_before(key: str) -> None:
    first = SentRequest("POST /v1/responses", {"model": "m", "input": "a"})
    assert_conversation([first, SentRequest("POST /v1/responses", {"model": "m", "input": "b", key: "id_1"})])
    with pytest.raises(AssertionError, match="the first difference is at"):
        assert_conversation([first, SentRequest("POST /v1/responses", {"model": "m", "input": "b", key: ""})])


def test_every_api_of_conversations_says_what_its_model_reads() -> None:
    silent = [name for name in API_NAMES if not get_api(name).prompt_keys]
    assert silent == []


ARGUMENTS: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "Which."}, "type": {}},
}


def with_arguments(body: dict[str, Any], **arguments: Any) -> None:
    parameters = {**ARGUMENTS, "properties": {**ARGUMENTS["properties"], **arguments}}
    body["tools"][1]["function"].update(parameters=parameters)


@pytest.mark.parametrize(
    ("change", "characters"),
    [
        pytest.param(lambda body: body["messages"][0].update(content="Be long."), 47, id="within a text"),
        pytest.param(lambda body: body["messages"][0].update(content="Brief."), 45, id="from its first letters on"),
        pytest.param(lambda body: body["messages"][0].update(role="user"), 44, id="a role is no text"),
        pytest.param(lambda body: body["messages"][1].update(content="hi you", name="x"), 53, id="a key before a text"),
        pytest.param(
            lambda body: body["messages"].insert(0, {"role": "user", "content": "Be"}), 44, id="a turn before"
        ),
        pytest.param(lambda body: body["tools"].pop(), 15, id="a tool less"),
        pytest.param(lambda body: body.update(model="n"), 0, id="another model"),
        pytest.param(lambda body: with_arguments(body, unit={"description": "In which."}), 44, id="an argument more"),
    ],
)
def test_the_characters_up_to_the_first_difference_are_counted(change: Change, characters: int) -> None:
    body = copy.deepcopy(CHAT)
    with_arguments(body)
    sent = copy.deepcopy(body)
    change(sent)
    broken = find_break(*(SentRequest("POST /v1/chat/completions", each) for each in (body, sent)))
    assert broken is not None
    assert broken[1] == characters
