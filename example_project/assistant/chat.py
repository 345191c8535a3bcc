"""Answers the questions of customers with Anthropic's Claude, which may look up the stock first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from anthropic import Anthropic
from anthropic.types import MessageParam, ToolParam, ToolResultBlockParam, ToolUseBlock

from assistant.stock import count_in_stock

MODEL = "claude-sonnet-5-5"
SYSTEM_PROMPT = """\
You answer the customers of Blue Kettle, a small shop for tea and kettles.
Look up the stock before you say that something is available."""
STOCK_TOOL: ToolParam = {
    "name": "count_in_stock",
    "description": "How many pieces of an article are in stock.",
    "input_schema": {
        "type": "object",
        "properties": {"article": {"type": "string", "description": "For example: 'steel kettle'."}},
        "required": ["article"],
    },
}
_MOST_LOOKUPS = 5


def answer(question: str) -> Iterator[str]:
    """Answer a question, piece by piece, as the model writes it."""
    client = Anthropic()
    messages: list[MessageParam] = [{"role": "user", "content": question}]
    for _ in range(_MOST_LOOKUPS):
        with client.messages.stream(
            model=MODEL, max_tokens=1024, system=SYSTEM_PROMPT, tools=[STOCK_TOOL], messages=messages
        ) as stream:
            yield from stream.text_stream
            message = stream.get_final_message()
        calls = [block for block in message.content if isinstance(block, ToolUseBlock)]
        if not calls:
            return
        messages.append({"role": "assistant", "content": message.content})
        messages.append({"role": "user", "content": [_look_up(call) for call in calls]})


def _look_up(call: ToolUseBlock) -> ToolResultBlockParam:
    arguments: dict[str, Any] = dict(call.input)
    return {
        "type": "tool_result",
        "tool_use_id": call.id,
        "content": str(count_in_stock(str(arguments["article"]))),
    }
