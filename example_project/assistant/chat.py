"""Answers the questions of customers with Anthropic's Claude, which may look up the stock first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from anthropic import Anthropic
from anthropic.types import MessageParam, ToolParam, ToolResultBlockParam, ToolUseBlock

from assistant.stock import count_in_stock

MODEL = "claude-sonnet-5-5"
SYSTEM_PROMPT = """\
You answer the customers of Blue Kettle, a small shop for tea and kettles.
Look up the stock before you say that something is available."""
_MOST_LOOKUPS = 5
# The tools have OpenAI's shape there, for other models and for the evals.
_TOOLS_FILE = Path(__file__).with_name("tools.json")


def answer(question: str) -> Iterator[str]:
    """Answer a question, piece by piece, as the model writes it."""
    client = Anthropic()
    tools = _read_tools()
    messages: list[MessageParam] = [{"role": "user", "content": question}]
    for _ in range(_MOST_LOOKUPS):
        with client.messages.stream(
            model=MODEL, max_tokens=1024, system=SYSTEM_PROMPT, tools=tools, messages=messages
        ) as stream:
            yield from stream.text_stream
            message = stream.get_final_message()
        calls = [block for block in message.content if isinstance(block, ToolUseBlock)]
        if not calls:
            return
        messages.append({"role": "assistant", "content": message.content})
        messages.append({"role": "user", "content": [_look_up(call) for call in calls]})


def _read_tools() -> list[ToolParam]:
    """The assistant's tools, as Claude wants them."""
    functions = [tool["function"] for tool in json.loads(_TOOLS_FILE.read_text(encoding="utf-8"))]
    return [
        {"name": function["name"], "description": function["description"], "input_schema": function["parameters"]}
        for function in functions
    ]


def _look_up(call: ToolUseBlock) -> ToolResultBlockParam:
    arguments: dict[str, Any] = dict(call.input)
    return {
        "type": "tool_result",
        "tool_use_id": call.id,
        "content": str(count_in_stock(str(arguments["article"]))),
    }
