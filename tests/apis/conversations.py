"""Chat prompts that the tests of several providers send."""

from __future__ import annotations

from pytest_chatprompt import ChatMessage, FunctionCall, ToolCall


def call(call_id: str, name: str, arguments: str = "{}") -> ToolCall:
    return ToolCall(id=call_id, function=FunctionCall(name=name, arguments=arguments))


SYSTEM = ChatMessage("system", "Be kind.", number=1)
USER = ChatMessage("user", "hi", number=2)

TOOLS = (
    SYSTEM,
    ChatMessage("user", "Weather?", number=2),
    ChatMessage(
        "assistant", "Let me see.", tool_calls=(call("c1", "weather", '{"city": "Paris"}'), call("c2", "now")), number=3
    ),
    ChatMessage("tool", "sunny", tool_call_id="c1", number=4),
    ChatMessage("tool", None, tool_call_id="c2", number=5),
    ChatMessage("user", "And?", number=6),
    ChatMessage("assistant", None, tool_calls=(call("c3", "more"),), number=7),
    ChatMessage("tool", '{"a": 1}', tool_call_id="c3", number=8),
)
