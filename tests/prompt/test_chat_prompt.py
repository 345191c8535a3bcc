"""The messages of a chat prompt as data."""

from __future__ import annotations

from pytest_chatprompt import ChatMessage, FunctionCall, ToolCall


def test_a_message_as_json_data_has_only_the_fields_that_are_set() -> None:
    call = ToolCall(id="c", function=FunctionCall(name="f", arguments="{}"))
    assert ChatMessage("user", "hi").as_dict() == {"role": "user", "content": "hi"}
    assert ChatMessage("assistant", None, name="bob", tool_calls=(call,)).as_dict() == {
        "role": "assistant",
        "content": None,
        "name": "bob",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }
    assert ChatMessage("tool", "x", tool_call_id="c").as_dict() == {"role": "tool", "content": "x", "tool_call_id": "c"}
