"""`Reply`: what a test may queue, and what it is told otherwise."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from pytest_chatprompt.apis.reply import Reply


@pytest.mark.parametrize(
    "arguments",
    [
        {"text": ""},
        {"text": "Hello", "tool_calls": [{"name": "f"}]},
        {"json": 0},
        {"json": []},
        {"error": 429},
        {"usage": {"input_tokens": 1}},
        {"finish_reason": "length"},
        {"tool_calls": ({"name": "f", "arguments": {"a": 1}, "id": "x"},), "finish_reason": "stop", "usage": {}},
    ],
)
def test_what_makes_sense_is_taken(arguments: Any) -> None:
    Reply(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "the reply is empty; give one of text, tool_calls, json or error"),
        ({"text": {"a": 1}}, "text must be a str, not dict; give data as json={...}"),
        ({"text": "a", "json": 1}, "give json or text, not both: json is the whole text of a reply"),
        (
            {"tool_calls": [{"name": "f"}], "json": 1},
            "give json or tool_calls, not both: json is the whole text of a reply",
        ),
        ({"error": 429, "text": "a", "usage": {}}, "error stands alone: leave out text and usage"),
        ({"error": 200}, "error must be an HTTP status from 400 to 599, such as 429, not 200"),
        ({"error": "429"}, "error must be an HTTP status from 400 to 599, such as 429, not '429'"),
        ({"error": True}, "error must be an HTTP status from 400 to 599, such as 429, not True"),
        ({"tool_calls": "f"}, "tool_calls must be a list of mappings, [{'name': ..., 'arguments': {...}}], not 'f'"),
        ({"tool_calls": ["f"]}, "tool_calls[0] must be a mapping, {'name': ..., 'arguments': {...}}, not 'f'"),
        ({"tool_calls": [{}]}, "tool_calls[0] needs the name of the tool: {'name': ..., 'arguments': {...}}"),
        (
            {"tool_calls": [{"name": "f", "args": {}}]},
            "tool_calls[0]: unknown key 'args'; known are name, arguments, id",
        ),
        ({"tool_calls": [{"nam": "f"}]}, "tool_calls[0]: unknown key 'nam'; known are name, arguments, id"),
        ({"tool_calls": [{"name": "f", "arguments": "{}"}]}, "tool_calls[0]: arguments must be a mapping, not str"),
        (
            {"tool_calls": [{"name": "f", "arguments": {"a": float("nan")}}]},
            "tool_calls[0]: arguments cannot be written as JSON: Out of range float values are not JSON compliant",
        ),
        ({"json": {"a": {1}}}, "json cannot be written as JSON: Object of type set is not JSON serializable"),
        ({"text": "a", "usage": 5}, "usage must be a mapping, {'input_tokens': 3, 'output_tokens': 5}, not 5"),
        ({"text": "a", "usage": {"prompt": 5}}, "usage: unknown key 'prompt'; known are input_tokens, output_tokens"),
        ({"text": "a", "usage": {"input_tokens": -1}}, "usage: input_tokens must be a number of tokens, not -1"),
        ({"text": "a", "usage": {"input_tokens": True}}, "usage: input_tokens must be a number of tokens, not True"),
    ],
)
def test_what_does_not_is_refused_with_what_to_write(arguments: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError)) as raised:
        Reply(**arguments)
    assert str(raised.value).partition(": nan")[0] == message


def test_a_reply_does_not_change_with_the_data_that_it_was_made_of() -> None:
    data: dict[str, Any] = {"a": [1]}
    reply = Reply(json=data)
    calls = Reply(tool_calls=[{"name": "f", "arguments": MappingProxyType({"b": MappingProxyType(data)})}])
    data["a"].append(2)
    assert reply.json == {"a": [1]}
    assert calls.tool_calls == ({"name": "f", "arguments": {"b": {"a": [1]}}},)
