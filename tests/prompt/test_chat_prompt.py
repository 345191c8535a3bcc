"""The messages of a chat prompt as data."""

from __future__ import annotations

import pytest

from pytest_chatprompt import ChatMessage, FunctionCall, ToolCall
from pytest_chatprompt.prompt.chat_prompt import describe_messages


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


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        pytest.param([ChatMessage("user", "x", number=2)], "message 2", id="one with a number"),
        pytest.param(
            [ChatMessage("user", "x", number=2), ChatMessage("user", "y", number=3)], "messages 2 and 3", id="several"
        ),
        pytest.param([ChatMessage("assistant", "x")], "assistant message", id="one without a number"),
        pytest.param(
            [ChatMessage("tool", "x"), ChatMessage("tool", "y")], "tool messages", id="several without numbers"
        ),
        pytest.param(
            [ChatMessage("tool", "x"), ChatMessage("tool", "y", number=3)], "message 3", id="only one has a number"
        ),
    ],
)
def test_messages_are_described_by_their_numbers_or_else_by_their_role(messages: list[ChatMessage], text: str) -> None:
    assert describe_messages(messages) == text
